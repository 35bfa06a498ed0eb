"""Pieces of TREC runs joined with references by the compiled library."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, fields
from typing import Self

import numpy as np
import numpy.typing as npt

from rankdev.arrays import Bools, Ints
from rankdev.native.library import JoinedColumns, Names, ReferenceColumns

PADDING = 8  # bytes past the end of a text that may be read
SHORTEST_LINE = len("q 0 d 1 2\n")
EVERY_POSITION = np.iinfo(np.int64).max


class OddError(Exception):
    """Something is not plain: the general reader has to read the file, and to say what there is to say."""


@dataclass(frozen=True)
class PackedNames:
    """Names one after the other, in UTF-8: name ``i`` ends at ``ends[i]``, where the next one begins."""

    text: bytes
    ends: Ints

    def pointers(self) -> Names:
        """Give the names as the library takes them."""
        return Names(ctypes.cast(ctypes.c_char_p(self.text), ctypes.c_void_p), self.ends.ctypes.data)


@dataclass(frozen=True, eq=False)
class Joined:
    """What a run and the references have in common: an entry for each query of the run, and one for each hit.

    ``group_query`` is -1 for queries that are not among the references' names.
    """

    group_hash: npt.NDArray[np.uint64]
    group_query: Ints
    group_length: Ints
    group_tied: Bools
    hit_query: Ints
    hit_position: Ints
    hit_place: Ints

    @classmethod
    def together(cls, parts: list[Self]) -> Self:
        """Put the parts of a run together."""
        names = [column.name for column in fields(cls)]
        return cls(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})

    def check_gathered(self) -> None:
        """Refuse a run in which the lines of a query are scattered."""
        if len(np.unique(self.group_hash)) < len(self.group_hash):
            raise OddError("a query's lines are scattered")


class Piece:
    """Room for a piece of a run and for what is found in it: taken once, used again and again."""

    def __init__(self, size: int) -> None:
        room = bytearray(size + PADDING)
        self.text = memoryview(room)[:size]
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(room))
        most = size // SHORTEST_LINE + 1
        self._groups = [np.empty(most, kind) for kind in (np.uint64, np.int64, np.int64, bool)]
        self._hits = [np.empty(most, np.int64) for _ in range(3)]

    def columns(self) -> JoinedColumns:
        """Give room for what is found, as the library takes it."""
        groups, hits = ([column.ctypes.data for column in part] for part in (self._groups, self._hits))
        return JoinedColumns(0, *groups, 0, *hits)

    def joined(self, found: JoinedColumns) -> Joined:
        """Copy what was found there."""
        groups = [column[: found.groups].copy() for column in self._groups]
        return Joined(*groups, *(column[: found.hits].copy() for column in self._hits))


class Joiner:
    """Joins pieces of runs with one set of references, in any number of threads at once."""

    def __init__(
        self,
        library: ctypes.CDLL,
        query: PackedNames,
        item: PackedNames,
        offsets: Ints,
        worthless_offsets: Ints,
        ranks: Ints,
    ) -> None:
        """Take references as columns; names of queries that they do not have follow those that they have."""
        columns = [np.ascontiguousarray(column, np.int64) for column in (offsets, worthless_offsets, ranks)]
        slots = np.zeros(1 << (2 * len(query.ends)).bit_length(), np.uint32)
        self._kept = (query, item, slots, columns)  # the library has their addresses only
        self._library = library
        self._references = ReferenceColumns(
            len(offsets) - 1,
            len(query.ends),
            query.pointers(),
            slots.ctypes.data,
            len(slots) - 1,
            item.pointers(),
            len(ranks),
            *(column.ctypes.data for column in columns),
        )
        self.usable = library.rankdev_index_queries(self._references) == 0

    def last_query(self, piece: Piece, size: int) -> int:
        """Find where the lines of the last query begin, which may go on; 0 where that is the first query."""
        begin: int = self._library.rankdev_last_query(piece.address, size)
        return begin

    def join(self, piece: Piece, size: int, depth: int | None) -> Joined:
        """Join the lines in the first ``size`` bytes: all lines of some queries, the last with its newline."""
        found = piece.columns()
        limit = EVERY_POSITION if depth is None else depth
        if self._library.rankdev_join(self._references, piece.address, size, limit, found) != 0:
            raise OddError("something is not plain")
        joined = piece.joined(found)
        joined.check_gathered()  # here too: a run that is scattered throughout is given up at its first piece
        return joined
