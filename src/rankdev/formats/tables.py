"""Tables with named columns: CSV, TSV, JSONL and Parquet."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import polars as pl

from rankdev.errors import DataError, FileFormatError, shown
from rankdev.formats.streams import Kind, PathLike, Source, plain_suffix
from rankdev.references.reference import as_id
from rankdev.tabular import first_line, known_names, mixed_series, text_series

_SPACE = " \t"
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


@dataclass(frozen=True)
class Table:
    """Columns read from a file, and the line of a row where the file has lines."""

    name: str
    frame: pl.DataFrame
    line_of: Callable[[int], int | None]

    def fail(self, error: DataError) -> NoReturn:
        """Raise again an error about a row, saying which file and line it is."""
        raise FileFormatError(self.name, str(error), None if error.row is None else self.line_of(error.row)) from None


def joined(name: str, parts: Iterable[tuple[pl.DataFrame, Callable[[int], int]]]) -> Table:
    """Make one table of batches."""
    frames, lines = zip(*parts, strict=True)
    begins = np.cumsum([0, *(frame.height for frame in frames)])

    def line_of(row: int) -> int:
        batch = int(np.searchsorted(begins, row, side="right")) - 1
        line: int = lines[batch](row - int(begins[batch]))
        return line

    return Table(name, pl.concat(frames, rechunk=True), line_of)


def read_table(source: Source, kind: Kind) -> Table:
    """Read a table, its columns called as rankdev does; in text files, identifiers stay as they are written."""
    table = parse_table(source.name, source.read(), kind)
    return Table(table.name, known_names(table.frame), table.line_of)


def parse_table(name: str, content: bytes, kind: Kind) -> Table:
    """Make a table of a file's content, its columns called as they are there."""
    if kind == "parquet":
        table = Table(name, _parquet(name, content), lambda row: None)
    elif kind == "jsonl":
        table = _jsonl(name, content)
    else:
        table = _delimited(name, content, "," if kind == "csv" else "\t")
    if table.frame.is_empty():
        raise FileFormatError(name, "the table has no rows")
    return table


def read_json(source: Source) -> dict[str, Any]:
    """Read one JSON object."""
    try:
        value = _loads(source.read())
    except DataError as error:
        raise FileFormatError(source.name, str(error)) from None
    except (ValueError, RecursionError) as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else None
        raise FileFormatError(source.name, f"this is not JSON ({first_line(error)})", line) from None
    if not isinstance(value, dict) or not value:
        raise FileFormatError(source.name, "expected a JSON object that maps each query to its items")
    return value


def _loads(content: bytes) -> Any:
    value = json.loads(content.decode(), object_pairs_hook=_unrepeated)
    if _SURROGATE.search(content):
        json.dumps(value, ensure_ascii=False).encode()  # fails where half a pair stands alone, which is not text
    return value


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a name that stands twice in an object, where JSON would keep the last."""
    value = dict(pairs)
    if len(value) < len(pairs):
        name = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise DataError(f"{shown(name)} stands twice in the same object; keep one")
    return value


def encode_records(frame: pl.DataFrame) -> bytes:
    """Give a table as a JSON list of records; what is not finite is null, since JSON has no infinity."""
    floats = [name for name, dtype in frame.schema.items() if dtype.is_float()]
    finite = frame.with_columns(pl.when(pl.col(name).is_finite()).then(pl.col(name)) for name in floats)
    return (json.dumps(finite.to_dicts(), ensure_ascii=False, indent=1, allow_nan=False) + "\n").encode()


def encode_table(frame: pl.DataFrame, path: PathLike) -> bytes:
    """Give a table as the bytes of the kind of file that the name asks for."""
    suffix = plain_suffix(path)
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


def _parquet(name: str, content: bytes) -> pl.DataFrame:
    try:
        return pl.read_parquet(io.BytesIO(content))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as error:
        raise FileFormatError(
            name, f"this Parquet file cannot be read ({first_line(error)}); it may be damaged"
        ) from None


def _delimited(name: str, content: bytes, separator: str) -> Table:
    frame = _plain_csv(content, separator)
    if frame is not None:
        return Table(name, frame, lambda row: _csv_rows(name, content, separator)[1][row])
    rows, lines = _csv_rows(name, content, separator)
    columns = dict(zip(rows[0], zip(*rows[1:], strict=True), strict=False))
    return Table(
        name, pl.DataFrame({key: text_series(key, values) for key, values in columns.items()}), lines.__getitem__
    )


def _plain_csv(content: bytes, separator: str) -> pl.DataFrame | None:
    """Read a table without anything odd, fast; None where it takes more care."""
    mark = re.escape(separator).encode()
    quoted = rb'(?:(?<=[\n%b])|^)"[^"]*(?:""[^"]*)*"(?=[\r\n%b]|$)' % (mark, mark)
    bare = re.sub(quoted, b"", content) if b'"' in content else content
    if b'"' in bare:
        return None
    if content.count(b"\r") != content.count(b"\r\n"):
        return None
    try:
        frame = pl.read_csv(content, has_header=False, separator=separator, infer_schema=False)
    except (pl.exceptions.PolarsError, OSError, ValueError):
        return None
    frame = frame.select(pl.all().str.strip_chars(_SPACE))
    if min(frame.shape) < 2 or any(column.null_count() for column in frame) or len(set(frame.row(0))) < frame.width:
        return None
    if bare.count(separator.encode()) != frame.height * (frame.width - 1):  # polars drops fields past the header's
        return None
    return frame[1:].rename(dict(zip(frame.columns, frame.row(0), strict=True)))


def _csv_rows(name: str, content: bytes, separator: str) -> tuple[list[list[str]], list[int]]:
    """Read a table with care: its rows, the header among them, and the line of each row below the header."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise FileFormatError(name, "this line is not UTF-8; save the file as UTF-8", line) from None
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True, skipinitialspace=True)
    rows: list[list[str]] = []
    lines: list[int] = []
    try:
        for row in reader:
            fields = [field.strip(_SPACE) for field in row]
            if fields in ([], [""]):
                continue
            rows.append(fields)
            lines.append(reader.line_num)
            if len(row) != len(rows[0]):
                raise FileFormatError(name, f"{len(row)} columns; the header has {len(rows[0])}", reader.line_num)
    except csv.Error as error:
        raise FileFormatError(name, f"this is not a table ({error})", reader.line_num) from None
    if not rows:
        raise FileFormatError(name, "the table is empty")
    column, count = Counter(rows[0]).most_common(1)[0]
    if count > 1:
        raise FileFormatError(name, f"the column {shown(column)} stands twice in the header", lines[0])
    return rows, lines[1:]


def _jsonl(name: str, content: bytes) -> Table:
    lines = [at for at, line in enumerate(content.split(b"\n"), start=1) if line.strip()]
    frame = _plain_jsonl(content)
    if frame is None or frame.height != len(lines):
        frame = _records(name, content, lines)
    return Table(name, frame, lines.__getitem__)


def _plain_jsonl(content: bytes) -> pl.DataFrame | None:
    """Read records that are all alike, fast; None for mixed types or a broken line."""
    if _SURROGATE.search(content):
        return None
    try:
        frame = pl.read_ndjson(content, infer_schema_length=None)
    except (pl.exceptions.PolarsError, ValueError):
        return None
    return None if any(column.null_count() for column in frame) else frame


def _records(name: str, content: bytes, lines: list[int]) -> pl.DataFrame:
    texts = content.split(b"\n")
    records: list[dict[str, Any]] = []
    for at in lines:
        try:
            record = _loads(texts[at - 1])
            if not isinstance(record, dict):
                raise DataError("this line is not a JSON object; expected one object a line")
            records.append({key: _plain(key, value) for key, value in record.items()})
        except DataError as error:
            raise FileFormatError(name, str(error), at) from None
        except UnicodeDecodeError:
            raise FileFormatError(name, "this line is not UTF-8; save the file as UTF-8", at) from None
        except (ValueError, RecursionError) as error:
            raise FileFormatError(name, f"this line is not JSON ({error}); expected one object a line", at) from None
    keys = dict.fromkeys(key for record in records for key in record)
    return pl.DataFrame({key: mixed_series(key, [record.get(key) for record in records]) for key in keys})


def _plain(key: str, value: Any) -> Any:
    """Make identifiers text, so that a column that mixes numbers and text has one type."""
    if key in ("tiers", "items") and isinstance(value, list):
        return [[as_id(item) for item in tier] if isinstance(tier, list) else as_id(tier) for tier in value]
    return as_id(value) if key in ("query", "item") and value is not None else value
