"""Reports: tables and sentences about a result, for readers and for programs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from typing import IO, Any

from rankdev._common.lazy import pl
from rankdev.display.cells import Cell, as_cell
from rankdev.display.layout import Column, Paint, coloured, paragraph, table_lines, uncoloured
from rankdev.errors import Note, printable

WIDTH = 80  # columns where the width is unknown
NOTES = 2  # that a brief report shows; more are counted


def screen_width(stream: IO[str] | None) -> int:
    """Return the columns of a terminal, or those that ``COLUMNS`` sets; 80 where neither is known."""
    known = "COLUMNS" in os.environ or (stream is not None and stream.isatty())
    return shutil.get_terminal_size((WIDTH, 24)).columns if known else WIDTH


@dataclass(frozen=True)
class Table:
    """A frame for reading, computed on use where it is a function; lists by column need no polars, which loads slowly.

    ``best`` marks cells, (row, column) pairs; ``digits`` is the number of decimals, and ``formats`` writes the values
    of some columns differently. Leading columns of text are names: they may be shortened, and are repeated where
    the columns do not fit side by side; ``names`` lists them where they are other columns. Columns of ``prose``
    are broken into lines; headers of those in ``titled`` are names too. Numbers are set right and text left, but for
    the columns named in ``right`` and ``left``.
    ``raised`` has marks that follow cells, as superscripts where there are any. ``notes`` follow the table, and so
    does its ``caption``, which stays with it in LaTeX too. ``groups`` has the group of a column and its name there, for
    LaTeX: a head of two rows.
    """

    frame: pl.DataFrame | Mapping[str, Sequence[Any]] | Callable[[], pl.DataFrame]
    title: str = ""
    notes: Sequence[str] = ()
    _: KW_ONLY
    best: Collection[tuple[int, str]] = ()
    digits: int = 4
    formats: Mapping[str, Callable[[Any], str | Cell]] = field(default_factory=dict)
    right: Collection[str] = ()
    left: Collection[str] = ()
    prose: Collection[str] = ()
    titled: Collection[str] = ()
    names: Collection[str] = ()
    raised: Mapping[tuple[int, str], str] = field(default_factory=dict)
    caption: str = ""
    groups: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    @cached_property
    def shown(self) -> pl.DataFrame:
        """The frame, computed where it is a function."""
        if isinstance(self.frame, Mapping):
            return pl.DataFrame(self.frame)
        return self.frame() if callable(self.frame) else self.frame

    def _values(self) -> tuple[Mapping[str, Sequence[Any]], list[str]]:
        """Return the values of each column, and which columns are text."""
        if isinstance(self.frame, Mapping):
            values = self.frame
            return values, [name for name in values if all(isinstance(value, str) for value in values[name])]
        texts = [name for name, dtype in self.shown.schema.items() if dtype == pl.String]
        return self.shown.to_dict(as_series=False), texts

    @cached_property
    def columns(self) -> list[Column]:
        """The cells as text, column by column."""
        columns, texts = self._values()
        marked = {name for _, name in self.best}
        free = [name in texts and name not in (*self.right, *self.prose) for name in columns]
        names = self.names or list(columns)[: (*free, False).index(False)]
        found = []
        for name, values in columns.items():
            right = name in self.right or name not in (*texts, *self.left)
            cells = [self._cell(i, name, value, name in marked) for i, value in enumerate(values)]
            if any(name == marked for _, marked in self.raised):
                cells = self._with_raised(name, cells)
            found.append(Column(printable(name), cells, right, name in names, name in self.prose, name in self.titled))
        return found

    @property
    def rows(self) -> Iterator[tuple[Cell, ...]]:
        """The cells as text, row by row."""
        return zip(*(column.cells for column in self.columns), strict=True)

    def _with_raised(self, name: str, cells: Sequence[Cell]) -> list[Cell]:
        """Add the marks of a column, padded so that numbers stay below each other."""
        marks = [self.raised.get((i, name), "") for i in range(len(cells))]
        width = max(map(len, marks))
        return [
            replace(cell, text=f"{cell.text} {mark:{width}}", raised=mark)
            for cell, mark in zip(cells, marks, strict=True)
        ]

    def _cell(self, row: int, name: str, value: Any, marked: bool) -> Cell:
        if value is not None and name in self.formats:
            written = self.formats[name](value)
            value = written if isinstance(written, Cell) else Cell(written)
        cell = as_cell(value, self.digits)
        if not marked:
            return cell
        return Cell(cell.text + "*", "best") if (row, name) in self.best else Cell(cell.text + " ", cell.style)


@dataclass(frozen=True)
class Report:
    """Tables and sentences for readers; ``rows``, one fact each, for programs, made on use by a function.

    ``opening`` comes before the tables, ``closing`` and ``remarks`` after them. The report of a result also has the
    ``command`` that prints it, its ``parameters``, ``conclusion`` and ``summary``, and ``more`` tables by name, all of
    which are in the JSON.
    Rows that are read again have a ``provenance``, in the metadata of Parquet files. The text of a ``brief`` one shows
    two notes, and counts the others.
    """

    facts: pl.DataFrame | Callable[[], pl.DataFrame]
    tables: Sequence[Table] = ()
    _: KW_ONLY
    opening: Sequence[str] = ()
    closing: Sequence[str] = ()
    remarks: Sequence[str] = ()
    command: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    conclusion: str = ""
    summary: pl.DataFrame | None = None
    more: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    provenance: str = ""
    brief: bool = False

    @cached_property
    def rows(self) -> pl.DataFrame:
        """The facts, computed where they are a function."""
        return self.facts() if callable(self.facts) else self.facts

    @property
    def tables_or_rows(self) -> Sequence[Table]:
        """Its tables; where it has none, its rows as one."""
        return self.tables or [Table(self.rows)]

    def text(self, width: int = WIDTH, paint: Paint = uncoloured) -> str:
        """Return everything as text for a terminal of some width."""
        return "\n".join(self._lines(width, paint)) + "\n"

    def print_text(self, stream: IO[str]) -> None:
        """Print for a reader: on a terminal in its colours, elsewhere uncoloured."""
        terminal = stream.isatty()
        colours = terminal and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
        stream.write(self.text(screen_width(stream), coloured if colours else uncoloured))

    def shortened(self, rows: int) -> Report:
        """Return the report with the first rows of each table only, and a note where that leaves some out."""

        def cut(table: Table) -> Table:
            note = f"first {rows:,} of {table.shown.height:,} rows; print(…) shows all of them"
            return replace(table, frame=table.shown.head(rows), notes=(*table.notes, note))

        return replace(self, tables=[cut(table) if table.shown.height > rows else table for table in self.tables])

    def _lines(self, width: int, paint: Paint) -> Iterator[str]:
        for text in self.opening:
            yield from paragraph(printable(text), width)
        for i, table in enumerate(self.tables):
            if i or self.opening:
                yield ""
            if table.title:
                yield from (paint(line, "title") for line in paragraph(printable(table.title), width))
                yield ""
            yield from table_lines(table.columns, width, paint)
            below = [text for text in (table.caption, *table.notes) if text]
            if below:
                yield ""
            for text in below:
                yield from paragraph(printable(text), width)
        if self.tables and (self.closing or self.remarks):
            yield ""
        notes = self.remarks
        if self.brief and len(notes) > NOTES + 1:
            notes = [*notes[:NOTES], f"{len(notes) - NOTES} more notes (-v, .remarks)"]
        for text in (*self.closing, *notes):
            yield from paragraph(printable(text), width)


def best_cells(
    frame: pl.DataFrame | Mapping[str, Sequence[Any]],
    columns: Sequence[str],
    digits: int = 4,
    lowest: Collection[str] = (),
) -> frozenset[tuple[int, str]]:
    """Mark the best value of each column with several: the highest, or the lowest, to the shown decimals."""
    cells = set()
    for name in columns:
        shown = {i: round(value, digits) for i, value in enumerate(frame[name]) if value is not None}
        if len(shown) < 2:
            continue
        top = min(shown.values()) if name in lowest else max(shown.values())
        cells |= {(i, name) for i, value in shown.items() if value == top}
    return frozenset(cells)


def report_by_segment(parts: Mapping[str, Report], remarks: Sequence[str] = ()) -> Report:
    """Put the reports of segments one after the other; rows, summaries and further tables name the segment.

    So do lines that the first report, of all queries, does not have.
    """
    first = next(iter(parts.values()))
    tables = [
        replace(table, title=f"{name}: {table.title}" if table.title else name)
        for name, part in parts.items()
        for table in part.tables
    ]
    summaries = {name: part.summary for name, part in parts.items() if part.summary is not None}
    opening = [f"{name}: {text}" for name, part in parts.items() for text in part.opening]
    return replace(
        first,
        facts=named_rows({name: part.rows for name, part in parts.items()}),
        tables=tables,
        opening=opening,
        closing=_labelled({name: part.closing for name, part in parts.items()}),
        remarks=(*_labelled({name: part.remarks for name, part in parts.items()}), *remarks),
        summary=named_rows(summaries) if summaries else None,
        more={
            table: named_rows({name: part.more[table] for name, part in parts.items() if table in part.more})
            for table in first.more
        },
    )


def _labelled(lines: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    known = next(iter(lines.values()))
    others = ((name, text) for name, texts in lines.items() for text in texts if text not in known)
    return (*known, *(text.at(segment=name) if isinstance(text, Note) else f"{name}: {text}" for name, text in others))


def named_rows(frames: Mapping[str, pl.DataFrame], column: str = "segment") -> pl.DataFrame:
    """Put tables one below the other, with their names in a first column."""
    named = [frame.select(pl.lit(name).alias(column), pl.all()) for name, frame in frames.items()]
    return pl.concat(named, how="diagonal_relaxed")
