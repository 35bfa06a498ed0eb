"""Pieces of TREC runs joined with references by the compiled library."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, fields
from typing import Self

import numpy as np
import numpy.typing as npt

from rankdev.arrays import Bools, Ints
from rankdev.native.library import JoinedColumns, Names, ReferenceColumns

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


class Joiner:
    """Joins pieces of runs with one set of references, in any number of threads at once."""

    def __init__(
        self,
        library: ctypes.CDLL,
        query: PackedNames,
        item: PackedNames,
        offsets: Ints,
        worthless_offsets: Ints | None,
        ranks: Ints,
    ) -> None:
        """Take references as columns; names of queries that they do not have follow those that they have."""
        slots = np.zeros(1 << (2 * len(query.ends)).bit_length(), np.uint32)
        self._kept = (query, item, slots, offsets, worthless_offsets, ranks)  # the library has their addresses only
        self._library = library
        self._references = ReferenceColumns(
            len(offsets) - 1,
            len(query.ends),
            query.pointers(),
            slots.ctypes.data,
            len(slots) - 1,
            item.pointers(),
            len(ranks),
            offsets.ctypes.data,
            None if worthless_offsets is None else worthless_offsets.ctypes.data,
            ranks.ctypes.data,
        )
        self.usable = library.rankdev_index_queries(self._references) == 0

    def last_query(self, text: bytes) -> int:
        """Find where the lines of the last query begin."""
        begin: int = self._library.rankdev_last_query(text, len(text))
        return begin

    def join(self, text: bytes, size: int, depth: int | None) -> Joined:
        """Join the lines in the first ``size`` bytes: all lines of some queries, the last with its newline."""
        room = size // SHORTEST_LINE + 1
        hashes, tied = np.empty(room, np.uint64), np.empty(room, bool)
        query, length, hit_query, position, place = (np.empty(room, np.int64) for _ in range(5))
        columns = [hashes, query, length, tied, hit_query, position, place]
        found = JoinedColumns(0, *(c.ctypes.data for c in columns[:4]), 0, *(c.ctypes.data for c in columns[4:]))
        limit = EVERY_POSITION if depth is None else depth
        if self._library.rankdev_join(self._references, text, size, limit, found) != 0:
            raise OddError("something is not plain")
        joined = Joined(
            *(c[: found.groups].copy() for c in columns[:4]), *(c[: found.hits].copy() for c in columns[4:])
        )
        joined.check_gathered()  # here too: a run that is scattered throughout is given up at its first piece
        return joined
