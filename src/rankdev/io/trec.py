"""TREC text: runs ``query Q0 item rank score tag`` and qrels ``query 0 item grade``."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from operator import add
from typing import NoReturn

import numpy as np
import polars as pl

from rankdev.core.columns import BYTE_ORDER_MARK
from rankdev.errors import DataError
from rankdev.io.formats.base import Part
from rankdev.io.streams import HEAD_BYTES, Source, kind_of


@dataclass(frozen=True)
class Layout:
    """Columns of a TREC file, and how many of them a line needs."""

    columns: tuple[str, ...]
    least: int
    mistaken: str  # kind of the error about the other layout


RUN = Layout(
    ("query", "Q0", "item", "rank", "score", "tag"),
    5,
    "looks-like-references",
)
QRELS = Layout(
    ("query", "0", "item", "grade"),
    4,
    "looks-like-run",
)


@dataclass(frozen=True)
class Dialect:
    """What lines may hold besides their columns: comments, which begin with #, and columns after those of a run."""

    comments: bool = False
    further_columns: bool = False

    def uncommented(self, text: bytes) -> bytes:
        """Blank out comments; lines keep their numbers."""
        return _COMMENT.sub(b"", text) if self.comments and b"#" in text else text

    def cut(self, text: bytes, layout: Layout) -> bytes:
        """Cut off further columns."""
        return _FURTHER.sub(rb"\1", text) if self.further_columns and layout is RUN else text


PLAIN = Dialect()
_COMMENT = re.compile(rb"^[ \t]*#[^\n]*", re.MULTILINE)
_FURTHER = re.compile(rb"^([ \t]*(?:[^ \t\r\n]+[ \t]+){5}[^ \t\r\n]+)[ \t][^\n]*", re.MULTILINE)

_CACHED_BYTES = 1 << 18
_SPACE = " \t\r"  # what trec_eval and polars agree to be between columns; names may hold other white space


def read_trec(
    source: Source,
    layout: Layout,
    number: str,
    dialect: Dialect = PLAIN,
    with_rank: Callable[[], bool] = bool,
) -> Iterator[Part]:
    """Yield batches of (query, item, number) and, for each, the line of a row.

    Batches of a run have the tag too, and the rank as long as it is wanted.
    """
    first_line = 1
    last: list[str | None] = []  # tags of the last two lines
    for piece in source.batches():
        text = dialect.uncommented(piece.replace(b"\r\n", b"\n") if b"\r" in piece else piece)
        wanted = [number, *(["tag"] if layout is RUN else []), *(["rank"] if with_rank() else [])]
        frame = _columns(text, layout, wanted) if _is_single_spaced(text) else None
        line_of: Callable[[int], int | None] = partial(add, first_line)
        lines = text.count(b"\n") if frame is None else frame.height
        if frame is None and text.strip(_SPACE.encode() + b"\n"):
            frame, line_of = _mended(dialect.cut(text, layout), first_line, layout, wanted)
        first_line += lines
        if frame is None:
            continue
        if layout is RUN:
            last = [*last, *frame["tag"].tail(2)][-2:]
            if not text.endswith(b"\n") and len(last) == 2 and _is_cut(*last):
                raise DataError("cut-short", tag=last[0], line=line_of(frame.height - 1))
        yield frame, line_of


def _is_cut(before: str | None, last: str | None) -> bool:
    """Tell whether a line without an end of its own lacks its tag, or part of it, that the line before has."""
    return before is not None and before != last and before.startswith(last or "")


def _mended(text: bytes, first_line: int, layout: Layout, wanted: Sequence[str]) -> Part:
    """Read lines that are not single-spaced throughout: normalise the white space, or find the malformed line."""
    frame = _columns(_single_spaced(text), layout, wanted)
    if frame is None:
        _fail_at_malformed_line(text, first_line, layout, wanted[0])
    return frame, lambda row: _line_of(text, first_line, row)


def _is_single_spaced(text: bytes) -> bool:
    """Return whether one blank is between columns and none elsewhere, so that a simple split finds the columns."""
    if b"\t" in text or b"\r" in text or text[:1] <= b" " or text[-1:] == b" ":
        return False
    characters = np.frombuffer(text, np.uint8)
    for begin in range(0, len(characters), _CACHED_BYTES):  # much faster than to look for pairs of bytes
        blank = characters[begin : begin + _CACHED_BYTES + 1] <= ord(" ")
        if (blank[1:] & blank[:-1]).any():
            return False
    return True


def _single_spaced(text: bytes) -> bytes:
    text = text.translate(bytes.maketrans(_SPACE.encode(), b" " * len(_SPACE)))
    for pair, one in ((b"  ", b" "), (b" \n", b"\n"), (b"\n ", b"\n"), (b"\n\n", b"\n")):
        while pair in text:  # halves what is left, much faster than a regular expression
            text = text.replace(pair, one)
    return text.strip(b" \n") + b"\n"


def _columns(text: bytes, layout: Layout, wanted: Sequence[str]) -> pl.DataFrame | None:
    """Read single-spaced lines, each a row: names, a number, and texts; None where a line is anything else."""
    number, *texts = wanted
    extra = len(layout.columns)
    schema = dict.fromkeys(layout.columns, pl.String) | {number: pl.Float64, "extra": pl.String}
    needed = ("query", "item", number, layout.columns[layout.least - 1])  # without the last, the line is cut short
    # polars takes a text that begins with x^ for packed, and drops a byte-order mark, which here is part of a name
    shield = BYTE_ORDER_MARK if text.startswith((b"x", BYTE_ORDER_MARK)) else b""
    try:
        frame = pl.read_csv(
            shield + text,
            has_header=False,
            separator=" ",
            quote_char=None,
            schema=schema,
            columns=[*sorted({layout.columns.index(column) for column in (*needed, *texts)}), extra],
            missing_columns="insert",
        )
    except (pl.exceptions.PolarsError, ValueError):
        return None
    whole = frame["extra"].null_count() == frame.height > 0 and not any(frame[name].null_count() for name in needed)
    if not whole or not frame[number].is_finite().all():
        return None
    return frame.select("query", "item", number).rechunk().with_columns(frame[name] for name in texts)


def _fail_at_malformed_line(text: bytes, first_line: int, layout: Layout, number: str) -> NoReturn:
    """Find the first malformed line and raise an error about it."""
    for at, raw in enumerate(text.split(b"\n"), start=first_line):
        try:
            line = raw.decode("utf-8").strip(_SPACE)
        except UnicodeDecodeError:
            raise DataError("not-utf8", line=at) from None
        if not line:
            continue
        fields = re.split(f"[{_SPACE}]+", line)
        if not layout.least <= len(fields) <= len(layout.columns):
            if at == 1 and len(fields) in ((4,) if layout is RUN else (5, 6)):
                raise DataError(layout.mistaken, line=at)
            expected = len(layout.columns)
            raise DataError("column-count", count=len(fields), expected=expected, names=layout.columns, line=at)
        value = fields[layout.columns.index(number)]
        if not _is_finite(value):
            raise DataError("not-finite", name=number, value=value, line=at)
    raise DataError("not-trec", names=layout.columns)


def _is_finite(text: str) -> bool:
    try:
        return math.isfinite(float(text)) and text.isascii() and "_" not in text
    except ValueError:
        return False


def _line_of(text: bytes, first_line: int, row: int) -> int:
    lines = [at for at, line in enumerate(text.split(b"\n"), start=first_line) if line.strip()]
    return lines[row]


def write_trec(columns: list[pl.Series]) -> bytes:
    """Join columns by single spaces; names with white space cannot be written so."""
    for column in columns:
        if column.dtype == pl.String:
            spaced = column.filter(column.str.contains(r"[\s\x00]|^$"))
            if len(spaced):
                raise DataError("unwritable-name", name=spaced[0])
    frame = pl.DataFrame({f"c{i}": column for i, column in enumerate(columns)})
    content = frame.write_csv(separator=" ", include_header=False, quote_style="never").encode()
    if content.startswith(BYTE_ORDER_MARK) or kind_of(content[:HEAD_BYTES]) != "trec":
        raise DataError("unwritable-name", name=columns[0][0])
    return content
