"""Tables and paragraphs as lines of text that fit a width: nothing is left to a terminal to wrap.

A table that is too wide shortens its names in the middle, as long as all of them stay different; where that is not
enough, it is split into blocks of columns, each of which repeats the names.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile, zip_longest

from rich.cells import cell_len, set_cell_size

from rankdev.display.cells import Cell

GAP = 2
SHORTEST = 10  # what a name keeps before columns are split into blocks
HEAD = 6  # what a head that is a name keeps: it is as wide as 0.1234
NARROWEST = 24  # what running text in a column keeps
COLOURS = {"best": "1;32", "bad": "31", "title": "1"}
Paint = Callable[[str, str], str]


@dataclass(frozen=True)
class Column:
    """One column of a table as text.

    A ``name`` identifies rows and may be shortened, and so may a header that is a name (``titled``); ``prose`` may be
    broken into lines; all else is shown whole.
    """

    header: str
    cells: Sequence[Cell]
    right: bool = False
    name: bool = False
    prose: bool = False
    titled: bool = False

    @cached_property
    def width(self) -> int:
        """Width of the column in characters."""
        return max(cell_len(self.header), self._inside)

    @cached_property
    def _inside(self) -> int:
        return max((cell_len(line) for cell in self.cells for line in cell.text.split("\n")), default=0)

    @property
    def least(self) -> int:
        """Smallest width of the column."""
        if self.prose or self.name:
            return min(self.width, max(cell_len(self.header), NARROWEST if self.prose else SHORTEST))
        return min(self.width, max(self._inside, HEAD)) if self.titled else self.width


def uncoloured(text: str, style: str) -> str:
    """Show text without colours."""
    return text


def coloured(text: str, style: str) -> str:
    """Show text in a terminal's colours."""
    if style == "bar":
        full = text.count("▇")
        return f"\x1b[32m{text[:full]}\x1b[31m{text[full:]}\x1b[0m"
    return f"\x1b[{COLOURS[style]}m{text}\x1b[0m" if style in COLOURS else text


def paragraph(text: str, width: int, *, anywhere: bool = False) -> list[str]:
    """Break running text at words; or ``anywhere`` in words that are longer than a line.

    >>> paragraph("東京 検索 a", 7)
    ['東京', '検索 a']
    """
    wide = text if text.isascii() else "".join(char + "\0" * (cell_len(char) - 1) for char in text)
    lines = textwrap.wrap(wide, width, break_long_words=anywhere, break_on_hyphens=False)
    return [line.replace("\0", "") for line in lines] or [""]


def table_lines(columns: Sequence[Column], width: int, paint: Paint = uncoloured) -> Iterator[str]:
    """Yield the lines of a table no wider than ``width``, as far as shortened names stay different."""
    for i, block in enumerate(blocks(columns, width)):
        if i:
            yield ""
        yield _line([Cell(column.header) for column in block], block, uncoloured)
        yield "─" * _total(column.width for column in block)
        for row in zip(*(column.cells for column in block), strict=True):
            parts = [[Cell(line, cell.style) for line in cell.text.split("\n")] for cell in row]
            for line in zip_longest(*parts, fillvalue=Cell("")):
                yield _line(line, block, paint)


def blocks(columns: Sequence[Column], width: int) -> list[list[Column]]:
    """Split columns into as few blocks as fit."""
    whole = squeezed(columns, width)
    if _total(column.width for column in whole) <= width:
        return [whole]
    names = squeezed([column for column in columns if column.name], width // 2)
    space = width - _total(column.width for column in names) - (GAP if names else 0)
    found: list[list[Column]] = []
    for column in squeezed([column for column in columns if not column.name], 0, each=space):
        if found and _total(entry.width for entry in (*found[-1], column)) <= width:
            found[-1].append(column)
        else:
            found.append([*names, column])
    return found or [names]


def squeezed(columns: Sequence[Column], width: int, each: int = 0) -> list[Column]:
    """Shorten names and fold prose, the widest first, until all columns fit together, or ``each`` by itself."""
    widths = _widths(columns, width, each)
    prose = [_folded(column, wanted, {}) for column, wanted in zip(columns, widths, strict=True)]
    left = width - _total(one.width if one.prose else wanted for one, wanted in zip(prose, widths, strict=True))
    spare = max(0, left) // max(1, sum(column.name for column in columns))
    titles = {column.header: wanted for column, wanted in zip(columns, widths, strict=True) if column.titled}
    heads = apart(list(titles), min(titles.values(), default=0), HEAD)
    cut: dict[str, str] = {}
    found = []
    for column, wanted in zip(columns, widths, strict=True):
        made = column
        if column.name:
            made = _shortened(column, wanted + spare)
            cut |= {cell.text: short.text for cell, short in zip(column.cells, made.cells, strict=True)}
        elif column.titled and cell_len(column.header) > wanted:
            made = replace(column, header=heads[column.header])
        found.append(made)
    return [_folded(column, wanted, cut) for column, wanted in zip(found, widths, strict=True)]


def _widths(columns: Sequence[Column], width: int, each: int) -> list[int]:
    if each:
        return [max(column.least, 0 if column.titled else min(column.width, each)) for column in columns]
    widths = [column.width for column in columns]
    while _total(widths) > width:
        able = [i for i, column in enumerate(columns) if widths[i] > column.least]
        if not able:
            break
        widths[max(able, key=lambda i: widths[i])] -= 1
    return widths


def _folded(column: Column, width: int, cut: Mapping[str, str]) -> Column:
    """Break prose into lines; names that are longer than a line are ``cut`` as in their own column."""
    if not column.prose or column.width <= width:
        return column
    longer = {name: short for name, short in cut.items() if len(name) >= width}
    cells = []
    for cell in column.cells:
        text = cell.text
        for name, short in longer.items():
            text = text.replace(name, short)
        cells.append(Cell("\n".join(paragraph(text, width, anywhere=True)), cell.style))
    return replace(column, cells=cells)


def _shortened(column: Column, width: int) -> Column:
    short = apart([cell.text for cell in column.cells], width)
    return replace(column, cells=[Cell(short[cell.text], cell.style) for cell in column.cells])


def apart(names: Sequence[str], width: int, least: int = SHORTEST) -> dict[str, str]:
    """Cut names to a width, or to the first above at which all of them still differ; to no less than ``least``.

    >>> apart(["a-long-name-one-x", "a-long-name-two-x"], 11)
    {'a-long-name-one-x': 'a-lon…one-x', 'a-long-name-two-x': 'a-lon…two-x'}
    >>> list(apart(["same-begin-1-same-end", "same-begin-2-same-end"], 10).values())
    ['…in-1-sam…', '…in-2-sam…']
    """
    texts = dict.fromkeys(names)
    around = _around([text for text in texts if cell_len(text) > width])  # at one end where they differ at the other
    for wanted in range(max(width, least), max(map(cell_len, texts), default=0)):
        for cut in (_middle, around):
            short = {text: text if cell_len(text) <= wanted else cut(text, wanted) for text in texts}
            if len({*short.values()}) == len(texts):
                return short
    return {text: text for text in texts}


def _around(texts: Sequence[str]) -> Callable[[str, int], str]:
    """Return what cuts names that differ in their middle only, at both ends."""
    both = (texts, [text[::-1] for text in texts])
    begin, end = (
        sum(1 for _ in takewhile(lambda letters: len({*letters}) == 1, zip(*each, strict=False))) for each in both
    )

    def cut(text: str, width: int) -> str:
        apart = max(0, len(text) - begin - end)
        start = max(0, begin - max(0, width - 2 - apart) // 2)
        return "…" * (start > 0) + _head(text[start:], width - 2) + "…"

    return cut


def _middle(text: str, width: int) -> str:
    tail = (width - 1) // 2
    return f"{_head(text, width - 1 - tail)}…{_tail(text, tail)}"


def _head(text: str, width: int) -> str:
    return text if cell_len(text) <= width else set_cell_size(text, width).rstrip()


def _tail(text: str, width: int) -> str:
    return _head(text[::-1], width)[::-1]


def _line(cells: Sequence[Cell], block: Sequence[Column], paint: Paint) -> str:
    shown = []
    for cell, column in zip(cells, block, strict=True):
        space = " " * (column.width - cell_len(cell.text))
        text = paint(cell.text, cell.style)
        shown.append(space + text if column.right else text + space)
    return (" " * GAP).join(shown).rstrip()


def _total(widths: Iterator[int] | Sequence[int]) -> int:
    known = list(widths)
    return sum(known) + GAP * max(len(known) - 1, 0)
