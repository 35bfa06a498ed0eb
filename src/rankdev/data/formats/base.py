"""The interface of table formats, and frames with line numbers."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn, TypeAlias

import numpy as np

from rankdev._common.lazy import pl
from rankdev._common.names import NONE
from rankdev.data.options import ReadOptions
from rankdev.errors import DataError

Part: TypeAlias = "tuple[pl.DataFrame, Callable[[int], int | None]]"  # and the line of each row, if any


@dataclass(frozen=True)
class Table:
    """Columns read from a file, and the line of a row where the file has lines."""

    name: str
    frame: pl.DataFrame
    line_of: Callable[[int], int | None]

    def fail(self, error: DataError) -> NoReturn:
        """Raise an error about a row again, with its file and line."""
        row = error.fields.get("row")
        raise error.at(path=self.name, line=None if row is None else self.line_of(row)) from None


def joined(name: str, parts: Iterable[Part]) -> Table:
    """Make one table of its parts."""
    frames, lines = zip(*parts, strict=True)
    begins = np.cumsum([0, *(frame.height for frame in frames)])

    def line_of(row: int) -> int | None:
        part = int(np.searchsorted(begins, row, side="right")) - 1
        line: int | None = lines[part](row - int(begins[part]))
        return line

    return Table(name, pl.concat(frames, rechunk=True), line_of)


BYTE_ORDER_MARK = "\ufeff".encode()
TABLE_FORMATS: dict[str, TableFormat] = {}
_JSON_BEGINS = re.compile(rb'\s*(\{\s*(["}]|$)|\[\s*([\[{"\]]|$))')


class TableFormat(ABC):
    """A file format for tables; a subclass is registered under its ``name``, which is its extension.

    What is ``binary`` comes in pieces that end anywhere, anything else in batches of whole lines. Where the
    ``ending_decides``, a file so called is of this kind whatever it holds. What is not ``written`` is only read.
    """

    name: ClassVar[str]
    binary: ClassVar[bool] = False
    ending_decides: ClassVar[bool] = False
    written: ClassVar[bool] = True

    def __init_subclass__(cls, abstract: bool = False, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if not abstract:
            TABLE_FORMATS[cls.name] = cls()

    @property
    def ending(self) -> str:
        """How its files' names end."""
        return f".{self.name}"

    @abstractmethod
    def recognises(self, head: bytes, ending: str, columns: Mapping[str, str] = NONE) -> bool:
        """Return whether a file seems to have this format; ``columns`` are names that were chosen, by ours."""

    @abstractmethod
    def parts(
        self, pieces: Iterable[bytes], read: ReadOptions, columns: Collection[str] | None = None
    ) -> Iterator[Part]:
        """Yield the rows of a file in parts; where ``columns`` are given, no others are needed."""

    @abstractmethod
    def encode(self, frame: pl.DataFrame) -> bytes:
        """Return a table as the bytes of such a file."""


def begins_json(head: bytes, ending: str) -> bool:
    """Return whether a file begins as JSON does, unless its extension decides that it is something else."""
    decided = any(ending == known.ending for known in TABLE_FORMATS.values() if known.ending_decides)
    return not decided and _JSON_BEGINS.match(head) is not None


def check_header(header: list[str], line: int) -> None:
    """Refuse two columns of the same name."""
    column, count = Counter(header).most_common(1)[0] if header else ("", 0)
    if count > 1:
        raise DataError("column-twice", name=column, line=line)
