"""TREC text as rows: runs ``query Q0 item rank score tag`` and qrels ``query 0 item grade``.

One reader splits lines with care, defines the format and names the line that is wrong; the other is quick, and leaves
to the first whatever it is not sure of.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from operator import add
from typing import Any

import numpy as np

from rankdev._common.lazy import pl
from rankdev.data import ids
from rankdev.data.formats.base import BYTE_ORDER_MARK
from rankdev.data.options import ReadOptions
from rankdev.data.rows import Rows, opposed
from rankdev.data.text import HEAD_BYTES, Source, kind_of
from rankdev.errors import DataError


@dataclass(frozen=True)
class Layout:
    """Columns of a TREC file, how many of them a line needs, and the kind of error about a file of the other layout."""

    columns: tuple[str, ...]
    least: int
    mistaken: str


RUN = Layout(("query", "Q0", "item", "rank", "score", "tag"), 5, "looks-like-references")
QRELS = Layout(("query", "0", "item", "grade"), 4, "looks-like-run")
SMALL = 1 << 19  # bytes that are split before polars is even imported
_CACHED_BYTES = 1 << 18
_BLANKS = str.maketrans("\t\r", "  ")  # what trec_eval and polars agree to be between columns, besides blanks
Tags = Any  # of each line: a list, or a polars column


def trec_rows(
    source: Source, layout: Layout, read: ReadOptions, *, several: bool = False
) -> Iterator[tuple[Rows, Tags]]:
    """Yield rows, some at a time, and the tags of a run's lines; several systems are refused unless asked for."""
    number = "grade" if layout is QRELS else read.order or "score"
    first_line, system, undecided = 1, None, number == "score"
    last: list[str | None] = []  # tags of the last two lines
    for piece in source.batches():
        text = read.dialect.uncommented(piece.replace(b"\r\n", b"\n") if b"\r" in piece else piece)
        large = first_line > 1 or len(text) >= SMALL
        found = _quickly(text, layout, number, undecided) if large and _is_single_spaced(text) else None
        if found is None:
            cut = read.dialect.cut(text) if layout is RUN else text
            found = _carefully(cut, first_line, layout, number)
        lines, rank, tags = found
        line_of = lines.line_of or partial(add, first_line)
        first_line += text.count(b"\n") if lines.line_of else len(lines.codes)
        if not len(lines.codes):
            continue
        if layout is RUN:
            last = [*last, *tags[-2:]][-2:]
            if not text.endswith(b"\n") and len(last) == 2 and _is_cut(*last):
                raise DataError("cut-short", tag=last[0], line=line_of(len(tags) - 1))
            system = system if several else _one_system(tags, system)
        rises = None
        if undecided and rank is not None:
            rises = opposed(lines.codes, read.keys(lines.value), rank)
            undecided = rises is not False
        yield Rows(lines.queries, lines.codes, lines.item, lines.value, lines.what, rises=rises, line_of=line_of), tags


def _one_system(tags: Tags, known: str | None) -> str | None:
    """Refuse the lines of several systems; return the name of the one, where a line has it."""
    if isinstance(tags, list):
        names = [*dict.fromkeys([known, *tags])]
    else:
        known = tags.drop_nulls().head(1).to_list()[0] if known is None and tags.null_count() < len(tags) else known
        others = tags.filter(tags != known) if known is not None else tags.head(0)
        names = [known, *others.unique(maintain_order=True)]
    names = [name for name in names if name is not None]
    if len(names) > 1:
        raise DataError("several-systems", column="tag", names=names)
    return names[0] if names else None


def _is_cut(before: str | None, last: str | None) -> bool:
    """Tell whether a line without an end of its own lacks its tag, or part of it, that the line before has."""
    return before is not None and before != last and before.startswith(last or "")


def _carefully(text: bytes, first_line: int, layout: Layout, number: str) -> tuple[Rows, Any, Tags]:
    """Split line by line, whatever the white space; an error names the line."""
    try:
        plain = text.decode().translate(_BLANKS)
    except UnicodeDecodeError as error:
        _carefully(text[: text.rfind(b"\n", 0, error.start) + 1], first_line, layout, number)
        raise DataError("not-utf8", line=first_line + text.count(b"\n", 0, error.start)) from None
    lines, found = [], []
    least, most, wrong = layout.least, len(layout.columns), None
    for at, line in enumerate(plain.split("\n"), first_line):
        fields = line.split(" ")
        if "" in fields:
            fields = [field for field in fields if field]
            if not fields:
                continue
        if not least <= len(fields) <= most:
            wrong = at, len(fields)
            break
        lines.append(at)
        found.append(fields)
    place = layout.columns.index(number)
    texts = [fields[place] for fields in found]
    values = _numbers(texts)
    if values is None:
        row = next(row for row, word in enumerate(texts) if not _is_finite(word))
        raise DataError("not-finite", name=number, value=texts[row], line=lines[row])
    if wrong is not None:
        at, count = wrong
        if at == 1 and count in ((4,) if layout is RUN else (5, 6)):
            raise DataError(layout.mistaken, line=at)
        raise DataError("column-count", count=count, expected=most, names=layout.columns, line=at)
    queries, codes = ids.numbered([fields[0] for fields in found])
    items = [fields[2] for fields in found]
    rows = Rows(queries, codes, items, values, number, line_of=lines.__getitem__)  # type: ignore[arg-type]
    if layout is QRELS:
        return rows, None, None
    return rows, [fields[3] for fields in found], [fields[5] if len(fields) == most else None for fields in found]


def _numbers(texts: list[str]) -> Any:
    """Return numbers; None where one of the texts is none."""
    try:
        values = np.array(list(map(float, texts)), np.float64)
    except ValueError:
        return None
    whole = "".join(texts)
    return values if np.isfinite(values).all() and whole.isascii() and "_" not in whole else None


def _is_finite(text: str) -> bool:
    try:
        return math.isfinite(float(text)) and text.isascii() and "_" not in text
    except ValueError:
        return False


def _quickly(text: bytes, layout: Layout, number: str, with_rank: bool) -> tuple[Rows, Any, Tags] | None:
    """Read single-spaced lines by polars, each a row; None for anything else, which takes care."""
    texts = [*(["tag"] if layout is RUN else []), *(["rank"] if with_rank else [])]
    extra = len(layout.columns)
    schema: dict[str, Any] = dict.fromkeys(layout.columns, pl.String) | {number: pl.Float64, "extra": pl.String}
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
    frame = frame.rechunk()
    queries, codes = ids.numbered(frame["query"])
    rows = Rows(queries, codes, frame["item"], frame[number].to_numpy(), number)  # type: ignore[arg-type]
    return rows, frame["rank"] if with_rank else None, frame["tag"] if layout is RUN else None


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
