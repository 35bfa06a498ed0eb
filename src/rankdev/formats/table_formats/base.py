"""What a format of tables is: a class that recognises, reads and writes it."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator
from typing import Any, ClassVar

import polars as pl

from rankdev.formats.parts import Part

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
