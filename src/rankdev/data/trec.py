"""TREC text as rows: runs ``query Q0 item rank score tag`` and qrels ``query 0 item grade``.

One reader splits lines with care, defines the format and names the line that is wrong; the other is quick, and leaves
to the first whatever it is not sure of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rankdev._common.arrays import Floats, Ints, Unsigned
from rankdev._common.lazy import pl
from rankdev.data import ids
from rankdev.data.formats import BYTE_ORDER_MARK, kind_of_text
from rankdev.data.ids import FIRST, Words, words_of
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
_BLOCK_BYTES = 1 << 18  # of lines that are looked at together: what is made of them stays in the cache
SMALL = 1 << 14  # bytes that are split sooner one by one
_ROOM = b"0" * 8  # around a text, so that words can begin and end anywhere in it
Tags = Any  # of each line: a list of texts or of nothing, or words


def read_trec(
    content: bytes, layout: Layout, read: ReadOptions, *, several: bool = False
) -> tuple[Rows, Tags, Callable[[int], int]]:
    """Return the rows of a text, the tags of a run's lines, and the line of a row; one system unless asked for."""
    text = read.dialect.uncommented(content)
    if layout is RUN:
        text = read.dialect.cut(text)
    found = quickly(text, layout, read) if len(text) >= SMALL and (layout is RUN or not read.grades) else None
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
        if not several and (isinstance(tags, list) or (tags.words != tags.words[0]).any()):
            names = dict.fromkeys(filter(None, tags))
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
    if layout is QRELS:
        return rows, None
    return _with_rise(rows, lambda count: _finite(columns[3][:count]), read), columns[5]


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


def _with_rise(rows: Rows, ranks_of: Callable[[int], Floats | None], read: ReadOptions) -> Rows:
    return replace(rows, rises=opposed(rows.codes, read.keys(rows.value), ranks_of)) if rows.what == "score" else rows


def _finite(texts: list[str]) -> Any:
    """Return numbers; None where one of the texts is none."""
    try:
        values = np.array(list(map(float, texts)), np.float64)
    except ValueError:
        return None
    whole = "".join(texts)
    return values if np.isfinite(values).all() and whole.isascii() and "_" not in whole else None


def quickly(text: bytes, layout: Layout, read: ReadOptions) -> tuple[Rows, Tags] | None:
    """Read lines of one blank between columns, many at once; None for anything that takes more care."""
    try:
        text.isascii() or text.decode()
    except UnicodeDecodeError:
        return None
    number = _number(layout, read)
    at = layout.columns.index(number)
    found = _columns(text, layout, at) or _columns(text := _single_spaced(text), layout, at)
    names, items, tags, numbers = found or [()] * 4
    values = _numbers(numbers, text, layout, at) if numbers else None
    if values is None:
        return None
    queries, codes = ids.numbered(ids.joined(names))
    rows = Rows(queries, codes, ids.joined(items), values, number)
    if layout is QRELS:
        return rows, None
    return _with_rise(rows, lambda count: _ranks(text, layout, count / len(values)), read), ids.joined(tags)


@dataclass(frozen=True)
class _Block:
    """Lines of as many columns each, in a text with room; column ``at`` of a line ends at ``ends[at, line]``."""

    text: bytes
    ends: Ints

    def bounds(self, at: int) -> tuple[Ints, Ints]:
        """Return where a column begins and ends in each line."""
        begins = self.ends[at - 1] if at else np.append(len(_ROOM) - 1, self.ends[-1, :-1])
        return begins + 1, self.ends[at]

    def names(self, at: int) -> Any:
        """Return a column of names; of nothing where lines have fewer."""
        known, count = at < len(self.ends), self.ends.shape[1]
        return Words.within(self.text, *self.bounds(at)) if known else [None] * count


def _blocks(text: bytes, layout: Layout) -> Iterator[_Block | None]:
    """Cut a text into blocks; None for one of which not all lines have as many columns, with one blank between."""
    begin = 0
    while begin < len(text):
        end = text.rfind(b"\n", begin, begin + _BLOCK_BYTES) + 1 or text.find(b"\n", begin) + 1 or len(text)
        missing = b"" if text.startswith(b"\n", end - 1) else b"\n"
        lines = b"".join([_ROOM, memoryview(text)[begin:end], missing, _ROOM])
        yield _block(lines, lines.count(b" ", 0, lines.find(b"\n")) + 1, layout)
        begin = end


def _block(text: bytes, width: int, layout: Layout) -> _Block | None:
    characters = np.frombuffer(text, np.uint8)
    blank = characters <= ord(" ")
    found = blank.nonzero()[0]
    if not layout.least <= width <= len(layout.columns) or len(found) % width or (blank[1:] & blank[:-1]).any():
        return None
    ends = np.ascontiguousarray(found.reshape(-1, width).T)
    whole = np.count_nonzero(characters < ord(" ")) == ends.shape[1] and (characters[ends[-1]] == ord("\n")).all()
    return _Block(text, ends) if whole and ends[0, 0] > len(_ROOM) else None


def _columns(text: bytes, layout: Layout, at: int) -> Any:
    """Return queries, items, tags and the numbers of column ``at``, block by block; None where a block is none."""
    found = []
    for block in _blocks(text, layout):
        if block is None:
            return None
        found.append((block.names(0), block.names(2), block.names(5), _decimals(block.text, *block.bounds(at))))
    return [*zip(*found, strict=True)] or None


def _numbers(blocks: Sequence[Floats | None], text: bytes, layout: Layout, at: int) -> Floats | None:
    """Return a column of numbers: what was read of each block, or else all of it as polars reads 1e-05 and the like."""
    found = [values for values in blocks if values is not None]
    if len(found) == len(blocks):
        return np.concatenate(found)
    # polars takes a text that begins with x^ for packed, and drops a byte-order mark, which here is part of a name
    shield = BYTE_ORDER_MARK if text.startswith((b"x", BYTE_ORDER_MARK)) else b""
    schema = dict.fromkeys(layout.columns, pl.String) | {layout.columns[at]: pl.Float64}
    options: Any = {"has_header": False, "separator": " ", "quote_char": None, "missing_columns": "insert"}
    try:
        column = pl.read_csv(shield + text, schema=schema, columns=[at], **options).to_series()
    except (pl.exceptions.PolarsError, ValueError):
        return None
    values = column.to_numpy()  # NaN where there is none
    return values if np.isfinite(values).all() else None


def _ranks(text: bytes, layout: Layout, share: float) -> Floats | None:
    """Return the ranks of the first lines, as many as this share of a text has; None where one is no number."""
    at, first = layout.columns.index("rank"), text[: text.find(b"\n", int(share * len(text)) - 1) + 1 or len(text)]
    if len(first) < SMALL:
        return _finite([line.split(" ")[at] for line in first.decode().removesuffix("\n").split("\n")])
    blocks = filter(None, _blocks(first, layout))
    return _numbers([_decimals(block.text, *block.bounds(at)) for block in blocks], first, layout, at)


_MOST = 8  # digits in a word
_ZEROS, _HIGH, _ABOVE_NINE = (np.uint64(0x0101010101010101 * byte) for byte in (ord("0"), 0x80, 0x80 - 10))
_LAST = ~FIRST[::-1]  # marks the last bytes of a word


def _decimals(text: bytes, begin: Ints, end: Ints) -> Floats | None:
    """Return numbers with as many digits after the point each, at most eight, and at most seven before it.

    None of any others. Such a number is the quotient of two whole numbers that are exact: as near as it can be.
    """
    characters, words = np.frombuffer(text, np.uint8), words_of(text)
    point = text.find(b".", begin[0], end[0])
    after = 0 if point < 0 else int(end[0]) - point - 1
    negative = characters[begin] == ord("-")
    last = end if point < 0 else end - (after + 1)
    before = last - begin - negative
    if after > _MOST or before.min() < 1 or before.max() >= _MOST:
        return None
    if point >= 0 and (characters[last] != ord(".")).any():
        return None
    digits = words[end - _MOST]
    if not after or after + before.max() > _MOST:
        values = _whole(words[last - _MOST], _LAST[before])
        fraction = _whole(digits, _LAST[after]) if after else 0.0
        values = None if values is None or fraction is None else values * 10**after + fraction
    else:  # without the point, all fit into a word
        shifted = digits << np.uint64(8) | characters[end - _MOST - 1]
        values = _whole(digits & _LAST[after] | shifted & ~_LAST[after], _LAST[before + after])
    if values is None:
        return None
    values /= 10**after
    return np.where(negative, -values, values) if negative.any() else values


def _whole(words: Unsigned, which: Unsigned) -> Floats | None:
    """Return the numbers whose digits are the marked last bytes of words; None where one is no digit."""
    digits = (words ^ _ZEROS) & which
    if ((digits | digits + _ABOVE_NINE) & _HIGH).any():
        return None
    digits = (digits * np.uint64(1 + (10 << 8)) >> np.uint64(8)) & np.uint64(0x00FF00FF00FF00FF)  # pairs
    digits = (digits * np.uint64(1 + (100 << 16)) >> np.uint64(16)) & np.uint64(0x0000FFFF0000FFFF)  # fours
    return (digits * np.uint64(1 + (10_000 << 32)) >> np.uint64(32)).astype(np.float64)


def _single_spaced(text: bytes) -> bytes:
    """Return the lines with one blank between columns and none elsewhere, without empty lines."""
    text = text.replace(b"\t", b" ").replace(b"\r", b" ")
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
