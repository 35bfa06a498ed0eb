"""TREC text as rows: runs ``query Q0 item rank score tag`` and qrels ``query 0 item grade``.

One reader splits lines with care, defines the format and names the line that is wrong; the other is quick, and leaves
to the first whatever it is not sure of.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rankdev._common.lazy import pl
from rankdev.data import ids
from rankdev.data.formats import BYTE_ORDER_MARK, kind_of_text
from rankdev.data.options import ReadOptions
from rankdev.data.rows import Rows, opposed
from rankdev.data.tables import is_word
from rankdev.errors import DataError


@dataclass(frozen=True)
class Layout:
    """Columns of a TREC file, how many of them a line needs, and the kind of error about a file of the other layout."""

    columns: tuple[str, ...]
    least: int
    mistaken: str


RUN = Layout(("query", "Q0", "item", "rank", "score", "tag"), 5, "looks-like-references")
QRELS = Layout(("query", "0", "item", "grade"), 4, "looks-like-run")
HEAD_BYTES = 1 << 16  # that tell the kind of a file
_FIRST_BYTES = 1 << 12  # whose lines usually tell whether ranks rise with scores
SMALL = 1 << 19  # bytes that are split before polars is even imported
_CACHED_BYTES = 1 << 18
Tags = Any  # of each line: a list, or a polars column


def read_trec(
    content: bytes, layout: Layout, read: ReadOptions, *, several: bool = False
) -> tuple[Rows, Tags, Callable[[int], int]]:
    """Return the rows of a text, the tags of a run's lines, and the line of a row; one system unless asked for."""
    text = read.dialect.uncommented(content)
    if layout is RUN:
        text = read.dialect.cut(text)
    found = quickly(text, layout, read) if len(text) >= SMALL else None
    rows, tags = carefully(text, layout, read) if found is None else found
    if not len(rows.codes):
        raise DataError("empty-file")
    comment = b"#" in text and next((query for query in rows.queries if query.startswith("#")), None)
    if comment:
        read.note("comment-lines", name=comment)
    if layout is RUN:
        before, last = [*tags[-2:]] if len(tags) > 1 else (None, None)
        if not text.endswith(b"\n") and before is not None and before != last and before.startswith(last or ""):
            raise DataError("cut-short", tag=before, line=_lines(text)[-1])  # the tag lacks its end, or all of it
        if not several and (isinstance(tags, list) or tags.ne_missing(tags[0]).any()):
            names = dict.fromkeys(tags)
            names.pop(None, None)
            if len(names) > 1:
                raise DataError("several-systems", column="tag", names=list(names))
    return rows.numbered(), tags, lambda row: _lines(text)[row]


def _lines(text: bytes) -> list[int]:
    """Number the lines that are not empty."""
    return [at for at, line in enumerate(text.split(b"\n"), 1) if line.strip(b" \t\r")]


def carefully(text: bytes, layout: Layout, read: ReadOptions) -> tuple[Rows, Tags]:
    """Split line by line, whatever the white space; an error names the line."""
    try:
        plain = _blanked(text.decode())
    except UnicodeDecodeError as error:
        carefully(text[: text.rfind(b"\n", 0, error.start) + 1], layout, read)
        raise DataError("not-utf8", line=1 + text.count(b"\n", 0, error.start)) from None
    most, number = len(layout.columns), _number(layout, read)
    columns, wrong = _regular(plain, most), None
    if columns is None:
        columns, wrong = _irregular(plain, layout)
    texts = columns[layout.columns.index(number)]
    if read.grades and layout is QRELS:
        texts = [str(read.grades.get(text, text)) for text in texts]
    values = _finite(texts)
    if values is None:
        row = next(row for row, word in enumerate(texts) if _finite([word]) is None)
        if columns[0][row].startswith("#"):
            raise DataError("comment-line", line=_lines(text)[row])
        if layout is QRELS and is_word(texts[row]):
            raise DataError("word-for-grade", value=texts[row], line=_lines(text)[row])
        raise DataError("not-finite", name=number, value=texts[row], line=_lines(text)[row])
    if wrong is not None:
        at, count = wrong
        if plain.split("\n")[at - 1].lstrip().startswith("#"):
            raise DataError("comment-line", line=at)
        if at == 1 and count in ((4,) if layout is RUN else (5, 6)):
            raise DataError(layout.mistaken, line=at)
        raise DataError("column-count", count=count, expected=most, names=layout.columns, line=at)
    queries, codes = ids.numbered(columns[0])
    rows = Rows(queries, codes, columns[2], values, number)
    return (rows, None) if layout is QRELS else (_with_rise(rows, columns[3], read), columns[5])


def _regular(plain: str, most: int) -> list[list[str]] | None:
    """Return the columns of lines that all have so many, with one blank between; None of any others."""
    whole = plain.removesuffix("\n")
    characters = np.frombuffer(f"{whole}\n".encode(), np.uint8)
    between = characters[characters <= ord(" ")]
    if between.tobytes() != (b" " * (most - 1) + b"\n") * (len(between) // most):
        return None
    words = whole.replace("\n", " ").split(" ")
    return None if "" in words else [words[at::most] for at in range(most)]


def _irregular(plain: str, layout: Layout) -> tuple[list[list[Any]], tuple[int, int] | None]:
    """Return the columns of all lines, and the first that has too few or too many: its number and how many."""
    found: list[list[Any]] = []
    most, wrong = len(layout.columns), None
    for at, line in enumerate(plain.split("\n"), 1):
        fields = fields_of(line)
        if fields and not layout.least <= len(fields) <= most:
            wrong = at, len(fields)
            break
        if fields:
            found.append([*fields, *[None] * (most - len(fields))])
    return [*map(list, zip(*found, strict=True))] or [[] for _ in range(most)], wrong


def fields_of(line: str) -> list[str]:
    """Split a line at blanks and tabs only; other white space may be part of an id."""
    return [field for field in _blanked(line).split(" ") if field]


def _blanked(text: str) -> str:
    """Put blanks for what trec_eval and polars agree to be between columns besides them."""
    return text.replace("\t", " ").replace("\r", " ")


def _number(layout: Layout, read: ReadOptions) -> Any:
    return "grade" if layout is QRELS else read.order or "score"


def _with_rise(rows: Rows, rank: Any, read: ReadOptions) -> Rows:
    return replace(rows, rises=opposed(rows.codes, read.keys(rows.value), rank)) if rows.what == "score" else rows


def _finite(texts: list[str]) -> Any:
    """Return numbers; None where one of the texts is none."""
    try:
        values = np.array(list(map(float, texts)), np.float64)
    except ValueError:
        return None
    whole = "".join(texts)
    return values if np.isfinite(values).all() and whole.isascii() and "_" not in whole else None


def quickly(text: bytes, layout: Layout, read: ReadOptions) -> tuple[Rows, Tags] | None:
    """Read lines by polars, each a row; None for anything that takes more care."""
    number = _number(layout, read)
    head = carefully(text[: text.find(b"\n", _FIRST_BYTES) + 1], layout, read)[0]
    needed = ["query", "item", number, layout.columns[layout.least - 1]]  # without the last, the line is cut short
    more = ["tag"] if layout is RUN else []
    if head.rises is not False and layout is RUN:
        more.append("rank")
    places = sorted({layout.columns.index(name) for name in (*needed, *more)} | {len(layout.columns)})
    schema: dict[str, Any] = dict.fromkeys(layout.columns, pl.String) | {number: pl.Float64, "extra": pl.String}
    text = _single_spaced(text)
    # polars takes a text that begins with x^ for packed, and drops a byte-order mark, which here is part of a name
    shield = BYTE_ORDER_MARK if text.startswith((b"x", BYTE_ORDER_MARK)) else b""
    try:
        frame = pl.read_csv(
            shield + text,
            has_header=False,
            separator=" ",
            quote_char=None,
            schema=schema,
            columns=places,
            missing_columns="insert",
        )
    except (pl.exceptions.PolarsError, ValueError):
        return None
    whole = frame["extra"].null_count() == frame.height > 0 and not any(frame[name].null_count() for name in needed)
    values = frame[number].to_numpy()
    if not whole or not np.isfinite(values).all():
        return None
    queries, codes = ids.numbered(frame["query"])
    rows = Rows(queries, codes, frame["item"].rechunk(), values, number)
    if layout is QRELS:
        return rows, None
    return (_with_rise(rows, frame["rank"], read) if "rank" in more else replace(rows, rises=False)), frame["tag"]


def _single_spaced(text: bytes) -> bytes:
    """Return the lines with one blank between columns and none elsewhere, without empty lines."""
    if b"\t" in text or b"\r" in text:
        text = text.replace(b"\t", b" ").replace(b"\r", b" ")
    characters = np.frombuffer(text, np.uint8)
    doubled = text[:1] <= b" " or text[-1:] == b" "
    for begin in range(0, len(characters) if not doubled else 0, _CACHED_BYTES):  # faster than to look for pairs
        blank = characters[begin : begin + _CACHED_BYTES + 1] <= ord(" ")
        if (blank[1:] & blank[:-1]).any():
            doubled = True
            break
    if not doubled:
        return text
    for pair, one in ((b"  ", b" "), (b" \n", b"\n"), (b"\n ", b"\n"), (b"\n\n", b"\n")):
        while pair in text:
            text = text.replace(pair, one)
    return text.strip(b" \n") + b"\n"


def end_of_queries(piece: bytes) -> int:
    """Return where the lines of the last query begin; 0 where no other is seen: the first line may be a part of one."""
    begin = piece.rfind(b"\n") + 1  # of the last line, which may be a part of one, too
    last = None
    while begin:
        end, begin = begin, piece.rfind(b"\n", 0, begin - 1) + 1
        query = piece[begin:end].split(None, 1)[:1]
        if begin and query != (last := last or query):
            return end
    return 0


def write_trec(columns: list[pl.Series]) -> bytes:
    """Join columns by single spaces; names with white space cannot be written so."""
    for column in columns:
        if column.dtype == pl.String:
            spaced = column.filter(column.str.contains(r"[\s\x00]|^$"))
            if len(spaced):
                raise DataError("unwritable-name", name=spaced[0])
    frame = pl.DataFrame({f"c{i}": column for i, column in enumerate(columns)})
    content = frame.write_csv(separator=" ", include_header=False, quote_style="never").encode()
    if content.startswith(BYTE_ORDER_MARK) or kind_of_text(content[:HEAD_BYTES]) != "trec":
        raise DataError("unwritable-name", name=columns[0][0])
    return content
