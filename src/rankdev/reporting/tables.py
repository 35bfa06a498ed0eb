"""Results as text: terminal tables, JSON, CSV, LaTeX; and Parquet."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import IO, TYPE_CHECKING, Any, Literal

from rankdev.errors import UsageError
from rankdev.formats.streams import plain_suffix
from rankdev.formats.tables import encode_records

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console
    from rich.table import Table

Format = Literal["table", "json", "csv", "latex", "parquet"]
FORMATS: tuple[Format, ...] = ("table", "json", "csv", "latex", "parquet")
_SUFFIXES: Mapping[str, Format] = {".json": "json", ".csv": "csv", ".tex": "latex", ".parquet": "parquet"}
_NOT_AVAILABLE = "–"


@dataclass(frozen=True)
class Report:
    """One result in two shapes: ``records``, a row a fact, for machines; ``display`` for people, made on use.

    ``best`` marks cells of the display, (row, column) pairs; ``digits`` is the number of decimals shown.
    """

    records: pl.DataFrame
    display: pl.DataFrame | Callable[[], pl.DataFrame]
    title: str = ""
    notes: Sequence[str] = ()
    best: frozenset[tuple[int, str]] = field(default_factory=frozenset)
    digits: int = 4

    @cached_property
    def shown(self) -> pl.DataFrame:
        """The display, made now where it was not made before."""
        return self.display() if callable(self.display) else self.display

    def encode(self, form: Format) -> bytes:
        """Give the report as the bytes of a file."""
        if form == "json":
            return encode_records(self.records)
        if form == "csv":
            buffer = io.BytesIO()
            self.records.write_csv(buffer)
            return buffer.getvalue()
        if form == "latex":
            return self._latex().encode()
        if form == "parquet":
            buffer = io.BytesIO()
            self.records.write_parquet(buffer)
            return buffer.getvalue()
        buffer_text = io.StringIO()
        self.print_table(buffer_text)
        return buffer_text.getvalue().encode()

    def text(self) -> str:
        """Give what the command line prints."""
        return self.encode("table").decode()

    def html(self) -> str:
        """Give the same for a notebook."""
        from html import escape

        return f"<pre>{escape(self.text())}</pre>"

    def print_table(self, stream: IO[str]) -> None:
        """Print for a person; on a terminal the best values stand out."""
        table = self._table()
        printer = console(stream, max(80, _natural_width(table)))
        if self.title:
            printer.print(self.title, markup=False, soft_wrap=True)
        printer.print(table)
        for note in self.notes:
            printer.print(note, markup=False, soft_wrap=not printer.is_terminal)

    def _table(self) -> Table:
        from rich.box import SIMPLE_HEAD
        from rich.table import Table
        from rich.text import Text

        table = Table(box=SIMPLE_HEAD, pad_edge=False)
        for name, dtype in self.shown.schema.items():
            table.add_column(name, justify="right" if dtype.is_numeric() else "left", overflow="fold")
        starred = {name for _, name in self.best}
        for i, row in enumerate(self.shown.iter_rows(named=True)):
            cells = []
            for name, value in row.items():
                marked = (i, name) in self.best
                text = self._cell(value) + ("*" if marked else " " if name in starred else "")
                cells.append(Text(text, style="bold green" if marked else ""))
            table.add_row(*cells)
        return table

    def _latex(self) -> str:
        alignment = "".join("r" if dtype.is_numeric() else "l" for dtype in self.shown.dtypes)
        lines = [f"\\begin{{tabular}}{{{alignment}}}", "\\toprule"]
        lines += [" & ".join(_escaped(name) for name in self.shown.columns) + " \\\\", "\\midrule"]
        for i, row in enumerate(self.shown.iter_rows(named=True)):
            cells = [
                f"\\textbf{{{_escaped(self._cell(value))}}}" if (i, name) in self.best else _escaped(self._cell(value))
                for name, value in row.items()
            ]
            lines.append(" & ".join(cells) + " \\\\")
        return "\n".join([*lines, "\\bottomrule", "\\end{tabular}", ""])

    def _cell(self, value: Any) -> str:
        if value is None:
            return _NOT_AVAILABLE
        return f"{value:.{self.digits}f}" if isinstance(value, float) else str(value)


def console(stream: IO[str], natural_width: int) -> Console:
    """Print to a terminal at its width, but at least so wide that no number is folded; the same in a pipe."""
    from rich.console import Console

    terminal = Console(file=stream, highlight=False)
    if terminal.is_terminal and terminal.width >= natural_width:
        return terminal
    return Console(file=stream, highlight=False, width=natural_width, force_terminal=terminal.is_terminal)


def _natural_width(table: Table) -> int:
    from rich.console import Console

    return int(Console(width=100_000).measure(table).maximum)


def choose_format(form: str | None, output: str | None) -> Format:
    """Take the format that was asked for, or the one that the output's name says, or a table."""
    if form is None:
        return _SUFFIXES.get("" if output is None else plain_suffix(output), "table")
    for known in FORMATS:
        if form == known:
            return known
    raise UsageError(f"unknown format {form!r}; choose from {', '.join(FORMATS)}")


def best_cells(display: pl.DataFrame, columns: Sequence[str], digits: int = 4) -> frozenset[tuple[int, str]]:
    """Mark the highest value of each column, as far as the shown decimals tell them apart."""
    if display.height < 2:
        return frozenset()
    cells = set()
    for name in columns:
        shown = display[name].round(digits)
        top = shown.max()
        cells |= {(i, name) for i, value in enumerate(shown) if value is not None and value == top}
    return frozenset(cells)


def count_cell(value: float | None) -> str:
    """Show a number of queries: without decimals, ∞ where it was not reached."""
    if value is None:
        return _NOT_AVAILABLE
    return "∞" if math.isinf(value) else f"{value:g}"


def _escaped(text: str) -> str:
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", _NOT_AVAILABLE: "--"}
    return "".join(special.get(char, f"\\{char}" if char in "&%$#_{}" else char) for char in text)
