"""TREC text: runs ``query Q0 item rank score tag`` and qrels ``query 0 item grade``."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NoReturn

import polars as pl

from rankdev.errors import DataError, FileFormatError
from rankdev.formats.streams import Source


@dataclass(frozen=True)
class Layout:
    """Columns of a TREC file, and how many of them a line needs."""

    what: str
    columns: tuple[str, ...]
    least: int
    mistaken_for: str


RUN = Layout(
    "a run",
    ("query", "Q0", "item", "rank", "score", "tag"),
    5,
    "it looks like qrels (query 0 item grade), which belong in the place of the references",
)
QRELS = Layout(
    "qrels",
    ("query", "0", "item", "grade"),
    4,
    "it looks like a run (query Q0 item rank score tag), which belongs in the place of the runs",
)

Batch = tuple[pl.DataFrame, Callable[[int], int]]


def read_trec(source: Source, layout: Layout, number: str) -> Iterator[Batch]:
    """Give batches of (query, item, number) and, for each, the line of a row."""
    first_line = 1
    for text in source.batches():
        yield _parse(source.name, text, first_line, layout, number)
        first_line += text.count(b"\n")


def _parse(name: str, text: bytes, first_line: int, layout: Layout, number: str) -> Batch:
    frame = _columns(text, layout, number)
    if frame is not None:
        return frame, lambda row: first_line + row
    # not plain single spaces throughout: bring the white space in order, or find the line that is wrong
    single_spaced = re.sub(rb" ?\n[ \n]*", b"\n", re.sub(rb"[ \t\r]+", b" ", text)).strip() + b"\n"
    frame = _columns(single_spaced, layout, number)
    if frame is None:
        _complain(name, text, first_line, layout, number)
    return frame, lambda row: _line_of(text, first_line, row)


def _columns(text: bytes, layout: Layout, number: str) -> pl.DataFrame | None:
    """Read single-spaced lines; None where a line is anything else."""
    extra = len(layout.columns)
    schema = dict.fromkeys(layout.columns, pl.String) | {number: pl.Float64, "extra": pl.String}
    wanted = [layout.columns.index(column) for column in ("query", "item", number)]
    try:
        frame = pl.read_csv(
            text,
            has_header=False,
            separator=" ",
            quote_char=None,
            schema=schema,
            columns=[*wanted, extra],
            missing_columns="insert",
        )
    except (pl.exceptions.PolarsError, ValueError):
        return None
    columns = frame.select("query", "item", number)
    whole = frame["extra"].null_count() == frame.height and not any(series.null_count() for series in columns)
    return columns if whole and frame[number].is_finite().all() else None


def _complain(name: str, text: bytes, first_line: int, layout: Layout, number: str) -> NoReturn:
    """Find the first wrong line and say what is wrong with it."""
    for at, raw in enumerate(text.split(b"\n"), start=first_line):
        try:
            fields = raw.decode("utf-8").split()
        except UnicodeDecodeError:
            raise FileFormatError(name, "this line is not UTF-8; save the file as UTF-8", at) from None
        if not fields:
            continue
        if not layout.least <= len(fields) <= len(layout.columns):
            expected = f"{len(fields)} columns; expected {len(layout.columns)}: {' '.join(layout.columns)}"
            other = len(fields) in ((4,) if layout is RUN else (5, 6))
            raise FileFormatError(name, f"{expected}{f'; {layout.mistaken_for}' if other else ''}", at)
        value = fields[layout.columns.index(number)]
        if not _is_finite(value):
            raise FileFormatError(name, f"the {number} is {value!r}; expected a finite number", at)
    raise FileFormatError(name, f"this cannot be read as {layout.what}: {' '.join(layout.columns)}")


def _is_finite(text: str) -> bool:
    try:
        return math.isfinite(float(text)) and "_" not in text
    except ValueError:
        return False


def _line_of(text: bytes, first_line: int, row: int) -> int:
    lines = [at for at, line in enumerate(text.split(b"\n"), start=first_line) if line.strip()]
    return lines[row]


def write_trec(columns: list[pl.Series], what: str) -> bytes:
    """Join columns by single spaces; names with white space cannot be written so."""
    for column in columns:
        if column.dtype == pl.String and column.str.contains(r"\s|^$").any():
            bad = column.filter(column.str.contains(r"\s|^$"))[0]
            raise DataError(f"{bad!r} has white space, which TREC files cannot hold; write {what} as .jsonl instead")
    frame = pl.DataFrame({f"c{i}": column for i, column in enumerate(columns)})
    return frame.write_csv(separator=" ", include_header=False, quote_style="never").encode()
