"""Tables with named columns: CSV, TSV, JSONL and Parquet."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import polars as pl

from rankdev.errors import DataError, FileFormatError
from rankdev.formats.streams import Kind, PathLike, Source, plain_suffix
from rankdev.frames import known_names
from rankdev.references.reference import as_id


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
    """Read a table; in text files, identifiers stay as they are written."""
    content = source.read()
    if kind == "parquet":
        table = Table(source.name, _parquet(source.name, content), lambda row: None)
    elif kind == "jsonl":
        table = _jsonl(source.name, content)
    else:
        table = _delimited(source.name, content, "," if kind == "csv" else "\t")
    if table.frame.is_empty():
        raise FileFormatError(source.name, "the table has no rows")
    return Table(table.name, known_names(table.frame), table.line_of)


def read_json(source: Source) -> dict[str, Any]:
    """Read one JSON object."""
    content = source.read()
    try:
        value = json.loads(content)
    except ValueError as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else None
        raise FileFormatError(source.name, f"this is not JSON ({error})", line) from None
    if not isinstance(value, dict) or not value:
        raise FileFormatError(source.name, "expected a JSON object that maps each query to its items")
    return value


def encode_table(frame: pl.DataFrame, path: PathLike) -> bytes:
    """Give a table as the bytes of the kind of file that the name asks for."""
    suffix = plain_suffix(path)
    if suffix == ".parquet":
        buffer = io.BytesIO()
        frame.write_parquet(buffer)
        return buffer.getvalue()
    if suffix == ".jsonl":
        return frame.write_ndjson().encode()
    return frame.write_csv(separator="\t" if suffix == ".tsv" else ",").encode()


def _parquet(name: str, content: bytes) -> pl.DataFrame:
    try:
        return pl.read_parquet(io.BytesIO(content))
    except (pl.exceptions.PolarsError, OSError, ValueError) as error:
        raise FileFormatError(name, f"this Parquet file cannot be read ({error}); it may be damaged") from None


def _delimited(name: str, content: bytes, separator: str) -> Table:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise FileFormatError(name, "this line is not UTF-8; save the file as UTF-8", line) from None
    try:
        rows, lines = _csv_rows(name, text, separator)
    except csv.Error as error:
        raise FileFormatError(name, f"this is not a table ({error})") from None
    columns = {column: list(values) for column, values in zip(rows[0], zip(*rows[1:], strict=True), strict=False)}
    return Table(
        name,
        pl.DataFrame(columns, schema_overrides=dict.fromkeys(columns, pl.String)),
        lambda row: lines[row + 1],
    )


def _csv_rows(name: str, text: str, separator: str) -> tuple[list[list[str]], list[int]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    rows: list[list[str]] = []
    lines: list[int] = []
    for row in reader:
        if not row:
            continue
        fields = [field.strip() for field in row]
        if rows and len(fields) != len(rows[0]):
            raise FileFormatError(name, f"{len(fields)} columns; the header has {len(rows[0])}", reader.line_num)
        rows.append(fields)
        lines.append(reader.line_num)
    repeated = {column for column in rows[0] if rows[0].count(column) > 1}
    if repeated:
        raise FileFormatError(name, f"the column {min(repeated)!r} stands twice in the header", 1)
    return rows, lines


def _jsonl(name: str, content: bytes) -> Table:
    lines = [at for at, line in enumerate(content.split(b"\n"), start=1) if line.strip()]
    try:
        frame = pl.read_ndjson(content, infer_schema_length=None)
        if frame.height == len(lines) and not any(column.null_count() for column in frame):
            return Table(name, frame, lambda row: lines[row])
    except (pl.exceptions.PolarsError, ValueError):
        pass  # mixed types or a broken line: read again, line by line, to tell which
    return Table(name, _records(name, content, lines), lambda row: lines[row])


def _records(name: str, content: bytes, lines: list[int]) -> pl.DataFrame:
    texts = content.split(b"\n")
    records: list[dict[str, Any]] = []
    for at in lines:
        try:
            record = json.loads(texts[at - 1])
        except ValueError as error:
            raise FileFormatError(name, f"this line is not JSON ({error}); expected one object a line", at) from None
        if not isinstance(record, dict):
            raise FileFormatError(name, "this line is not a JSON object; expected one object a line", at)
        try:
            records.append({key: _plain(key, value) for key, value in record.items()})
        except DataError as error:
            raise FileFormatError(name, str(error), at) from None
    keys = dict.fromkeys(key for record in records for key in record)
    return pl.DataFrame({key: pl.Series(key, [record.get(key) for record in records], strict=False) for key in keys})


def _plain(key: str, value: Any) -> Any:
    """Make identifiers text, so that a column that mixes numbers and text has one type."""
    if key in ("tiers", "items") and isinstance(value, list):
        return [[as_id(item) for item in tier] if isinstance(tier, list) else as_id(tier) for tier in value]
    return as_id(value) if key in ("query", "item") and value is not None else value
