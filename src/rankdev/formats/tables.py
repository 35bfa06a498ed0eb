"""Tables with named columns, of whatever format."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator

import polars as pl

from rankdev.errors import FileFormatError, UsageError
from rankdev.formats.parts import Table, joined
from rankdev.formats.streams import PathLike, Source, plain_suffix
from rankdev.formats.table_formats import TABLE_FORMATS
from rankdev.tabular import known_names

ENDINGS = (*(known.ending for known in TABLE_FORMATS.values()), ".json")


def read_table(source: Source, kind: str) -> Table:
    """Read a table, its columns called as rankdev does; in text files, identifiers stay as they are written."""
    table = parse_table(source.name, source.read(), kind)
    return Table(table.name, known_names(table.frame), table.line_of)


def parse_table(name: str, content: bytes, kind: str) -> Table:
    """Make a table of a file's content, its columns called as they are there."""
    table = joined(name, TABLE_FORMATS[kind].parts(name, [content]))
    if table.frame.is_empty():
        raise FileFormatError(name, "the table has no rows")
    return table


def table_batches(
    source: Source, kind: str, columns: Collection[str], *, may_be_empty: bool = False
) -> Iterator[Table]:
    """Give a table batch by batch, so that it never has to fit into memory; of Parquet, only these columns."""
    known = TABLE_FORMATS[kind]
    empty = True
    for frame, line_of in known.parts(source.name, source.pieces() if known.binary else source.batches(), columns):
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
    return encode_records(frame) if suffix == ".json" else TABLE_FORMATS[suffix[1:]].encode(frame)
