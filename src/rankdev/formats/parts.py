"""Rows of a file as frames that know their lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
import polars as pl

from rankdev.errors import DataError, FileFormatError

Part = tuple[pl.DataFrame, Callable[[int], int | None]]  # rows, and the line of each where the file has lines


@dataclass(frozen=True)
class Table:
    """Columns read from a file, and the line of a row where the file has lines."""

    name: str
    frame: pl.DataFrame
    line_of: Callable[[int], int | None]

    def fail(self, error: DataError) -> NoReturn:
        """Raise again an error about a row, saying which file and line it is."""
        line = None if error.row is None else self.line_of(error.row)
        message = str(error) if line is None else str(error).replace(f"row {error.row} ", "this row ", 1)
        raise FileFormatError(self.name, message, line) from None


def joined(name: str, parts: Iterable[Part]) -> Table:
    """Make one table of its parts."""
    frames, lines = zip(*parts, strict=True)
    begins = np.cumsum([0, *(frame.height for frame in frames)])

    def line_of(row: int) -> int | None:
        part = int(np.searchsorted(begins, row, side="right")) - 1
        line: int | None = lines[part](row - int(begins[part]))
        return line

    return Table(name, pl.concat(frames, rechunk=True), line_of)
