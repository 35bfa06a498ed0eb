"""Text for the compiled library: pieces of a file, and names."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankdev.arrays import Ints
from rankdev.native.library import Names

PADDING = 64  # bytes past the end of a text that may be read


class OddError(Exception):
    """Something is not plain: the general reader has to read the file, and to say what there is to say."""


class Piece:
    """Room for a piece of a file and for what is found in it: taken once, used again and again."""

    def __init__(self, size: int) -> None:
        room = bytearray(size + PADDING)
        self.text = memoryview(room)[:size]
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(room))
        self._columns: list[npt.NDArray[Any]] = []

    def columns(self, kinds: tuple[tuple[npt.DTypeLike, int], ...]) -> list[npt.NDArray[Any]]:
        """Give room for columns, each of a type and with an entry for so many bytes of the text."""
        if not self._columns:
            self._columns = [np.empty(len(self.text) // size + 1, kind) for kind, size in kinds]
        return self._columns


class Columns:
    """Columns that grow part by part, so that no part has to be kept until all of them are there."""

    def __init__(self) -> None:
        self._content: dict[str, bytearray] = {}
        self._kinds: dict[str, np.dtype[Any]] = {}

    def add(self, part: Mapping[str, npt.NDArray[Any]]) -> None:
        """Add a part: the same columns each time."""
        for name, column in part.items():
            self._kinds[name] = column.dtype
            self._content.setdefault(name, bytearray()).extend(column.data)

    def take(self, name: str) -> npt.NDArray[Any]:
        """Give a column away."""
        return np.frombuffer(self._content.pop(name), self._kinds[name])


def check_gathered(hashes: npt.NDArray[np.uint64]) -> None:
    """Refuse queries of which one appears twice: its lines are scattered."""
    ordered = np.sort(hashes)
    if (ordered[1:] == ordered[:-1]).any():
        raise OddError("a query's lines are scattered")


@dataclass(frozen=True)
class PackedNames:
    """Names in UTF-8, with a newline between them; one after the last is not read.

    ``bounds`` says for each name where the next one begins; or, where they belong to queries, where the names of each
    query begin and, at last, where another query's would.
    """

    text: npt.NDArray[np.uint8]
    bounds: Ints

    def pointers(self) -> Names:
        """Give the names as the library takes them."""
        return Names(self.text.ctypes.data, self.bounds.ctypes.data)
