"""Tables with named columns: CSV, TSV, JSONL and Parquet."""

from __future__ import annotations

import io
import json
from collections.abc import Collection, Iterable, Iterator

import polars as pl

from rankdev.errors import DataError, FileFormatError, UsageError, shown
from rankdev.formats.delimited import csv_parts
from rankdev.formats.parts import Part, Table, joined
from rankdev.formats.records import jsonl_parts
from rankdev.formats.streams import Kind, PathLike, Source, plain_suffix
from rankdev.tabular import ALIASES, first_line, known_names

ENDINGS = (".csv", ".tsv", ".jsonl", ".json", ".parquet")
_SLICE_ROWS = 1_000_000


def read_table(source: Source, kind: Kind) -> Table:
    """Read a table, its columns called as rankdev does; in text files, identifiers stay as they are written."""
    table = parse_table(source.name, source.read(), kind)
    return Table(table.name, known_names(table.frame), table.line_of)


def parse_table(name: str, content: bytes, kind: Kind) -> Table:
    """Make a table of a file's content, its columns called as they are there."""
    parts = _parquet_parts(name, content) if kind == "parquet" else _text_parts(name, [content], kind)
    table = joined(name, parts)
    if table.frame.is_empty():
        raise FileFormatError(name, "the table has no rows")
    return table


def table_batches(
    source: Source, kind: Kind, columns: Collection[str], *, may_be_empty: bool = False
) -> Iterator[Table]:
    """Give a table batch by batch, so that it never has to fit into memory; of Parquet, only these columns."""
    if kind == "parquet":
        parts = _parquet_parts(source.name, source.read(), columns)
    else:
        parts = _text_parts(source.name, source.batches(), kind)
    empty = True
    for frame, line_of in parts:
        if not frame.is_empty():
            yield Table(source.name, known_names(frame), line_of)
            empty = False
    if empty and not may_be_empty:
        raise FileFormatError(source.name, "the table has no rows")


def encode_records(frame: pl.DataFrame) -> bytes:
    """Give a table as a JSON list of records; what is not finite is null, since JSON has no infinity."""
    floats = [name for name, dtype in frame.schema.items() if dtype.is_float()]
    finite = frame.with_columns(pl.when(pl.col(name).is_finite()).then(pl.col(name)) for name in floats)
    return (json.dumps(finite.to_dicts(), ensure_ascii=False, indent=1, allow_nan=False) + "\n").encode()


def check_table_name(path: PathLike) -> str:
    """Give the ending of a table's file; refuse one that no kind of table has."""
    suffix = plain_suffix(path)
    if suffix not in ENDINGS:
        raise UsageError(f"{path}: a table is written as {', '.join(ENDINGS)}; give such an ending")
    return suffix


def spreadsheet_safe(frame: pl.DataFrame) -> pl.DataFrame:
    """Put an apostrophe before each text that a spreadsheet would take for a formula; numbers stay as they are."""
    risky = pl.col(pl.String).str.contains(r"^[=+\-@\t\r]")
    return frame.with_columns(pl.when(risky).then("'" + pl.col(pl.String)).otherwise(pl.col(pl.String)).name.keep())


def encode_table(frame: pl.DataFrame, path: PathLike) -> bytes:
    """Give a table as the bytes of the kind of file that the name asks for."""
    suffix = check_table_name(path)
    if suffix == ".parquet":
        buffer = io.BytesIO()
        frame.write_parquet(buffer)
        return buffer.getvalue()
    if suffix == ".jsonl":
        return frame.write_ndjson().encode()
    if suffix == ".json":
        return encode_records(frame)
    for column in frame.select(pl.col(pl.String)):
        odd = column.filter(column.str.contains(r"^\s|\s$|\x00"))
        if len(odd):
            raise DataError(f"{shown(odd[0])} has white space at an end, which {suffix} loses; write .jsonl instead")
    return frame.write_csv(separator="\t" if suffix == ".tsv" else ",").encode()


def _text_parts(name: str, batches: Iterable[bytes], kind: Kind) -> Iterator[Part]:
    return jsonl_parts(name, batches) if kind == "jsonl" else csv_parts(name, batches, "," if kind == "csv" else "\t")


def _parquet_parts(name: str, content: bytes, columns: Collection[str] | None = None) -> Iterator[Part]:
    """Give the rows in slices: a small file may unpack to much."""
    try:
        scan = pl.scan_parquet(io.BytesIO(content))
        names = [
            column for column in scan.collect_schema() if columns is None or ALIASES.get(column, column) in columns
        ]
        scan = scan.select(names or pl.all())
        rows = scan.select(pl.len()).collect().item()
        for begin in range(0, max(rows, 1), _SLICE_ROWS):
            yield scan.slice(begin, _SLICE_ROWS).collect(), lambda row: None
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as error:
        raise FileFormatError(
            name, f"this Parquet file cannot be read ({first_line(error)}); it may be damaged"
        ) from None
