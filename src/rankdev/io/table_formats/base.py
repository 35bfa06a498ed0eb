"""TableFormat interface, frames with line numbers."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

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


TABLE_FORMATS: dict[str, TableFormat] = {}
_JSON_BEGINS = re.compile(rb'\s*(\{\s*(["}]|$)|\[\s*([\[{"\]]|$))')


class TableFormat(ABC):
    """A kind of file that holds a table; a class that derives from it is one under its ``name``, its ending.

    What is ``binary`` comes in pieces that end anywhere, anything else in batches of whole lines. Where the
    ``ending_decides``, a file so called is of this kind whatever it holds.
    """

    name: ClassVar[str]
    binary: ClassVar[bool] = False
    ending_decides: ClassVar[bool] = False

    def __init_subclass__(cls, abstract: bool = False, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if not abstract:
            TABLE_FORMATS[cls.name] = cls()

    @property
    def ending(self) -> str:
        """How its files' names end."""
        return f".{self.name}"

    @abstractmethod
    def recognises(self, head: bytes, ending: str) -> bool:
        """Tell from the first bytes of a file, and the ending of its name, whether it seems to be of this kind."""

    @abstractmethod
    def parts(self, name: str, pieces: Iterable[bytes], columns: Collection[str] | None = None) -> Iterator[Part]:
        """Give the rows of the file ``name`` in parts; those who ask for some ``columns`` need no others."""

    @abstractmethod
    def encode(self, frame: pl.DataFrame) -> bytes:
        """Give a table as the bytes of such a file."""


def begins_json(head: bytes, ending: str) -> bool:
    """Tell whether a file begins as JSON does, unless its ending decides that it is something else."""
    decided = any(ending == known.ending for known in TABLE_FORMATS.values() if known.ending_decides)
    return not decided and _JSON_BEGINS.match(head) is not None
