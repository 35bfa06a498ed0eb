"""Pieces of TREC runs joined with references by the compiled library."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from rankdev.arrays import Bools, Ints
from rankdev.native.library import JoinedColumns, ReferenceColumns
from rankdev.native.pieces import OddError, PackedNames, Piece, check_gathered

EVERY_POSITION = np.iinfo(np.int64).max
LINE = len("q 0 d 1 2\n")  # the shortest
COLUMNS = ((np.uint64, LINE), (np.int64, LINE), (np.int64, LINE), (np.bool_, LINE), *[(np.int64, LINE)] * 3)


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
        """Put the parts of a run together; refused where the lines of a query are scattered."""
        names = [column.name for column in fields(cls)]
        whole = cls(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})
        check_gathered(whole.group_hash)
        return whole


class Joiner:
    """Joins pieces of runs with one set of references, in any number of threads at once."""

    def __init__(
        self,
        library: ctypes.CDLL,
        query: PackedNames,
        item: PackedNames,
        worthless_item: PackedNames,
        offsets: Ints,
        worthless_offsets: Ints,
        ranks: Ints,
    ) -> None:
        """Take references as columns; names of queries that they do not have follow those that they have."""
        columns = [np.ascontiguousarray(column, np.int64) for column in (offsets, worthless_offsets, ranks)]
        slots = np.zeros(1 << (2 * len(query.ends)).bit_length(), np.uint32)
        self._kept = (query, item, worthless_item, slots, columns)  # the library has their addresses only
        self.library = library
        self._references = ReferenceColumns(
            len(offsets) - 1,
            len(query.ends),
            query.pointers(),
            slots.ctypes.data,
            len(slots) - 1,
            item.pointers(),
            worthless_item.pointers(),
            len(ranks),
            *(column.ctypes.data for column in columns),
        )
        self.usable = library.rankdev_index_queries(self._references) == 0

    def join(self, piece: Piece, size: int, depth: int | None) -> Joined:
        """Join the lines in the first ``size`` bytes: all lines of some queries, the last with its newline."""
        columns = piece.columns(COLUMNS)
        groups, hits = columns[:4], columns[4:]
        found = JoinedColumns(
            0, *(column.ctypes.data for column in groups), 0, *(column.ctypes.data for column in hits)
        )
        limit = EVERY_POSITION if depth is None else depth
        if self.library.rankdev_join(self._references, piece.address, size, limit, found) != 0:
            raise OddError("something is not plain")
        counts = [found.groups] * 4 + [found.hits] * 3
        copies: list[Any] = [column[:count].copy() for column, count in zip(columns, counts, strict=True)]
        check_gathered(copies[0])  # a run that is scattered throughout is given up at its first piece
        return Joined(*copies)
