"""Pieces of TREC runs joined with references by the compiled library."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt

from rankdev.arrays import Ints
from rankdev.native.library import JoinedColumns, ReferenceColumns, Table
from rankdev.native.pieces import OddError, PackedNames, Piece, check_gathered

EVERY_POSITION = np.iinfo(np.int64).max
LINE = len("q,d,1\n")  # the shortest
GROUPS = {"group_hash": np.uint64, "group_query": np.int64, "group_length": np.int64, "group_tied": np.bool_}
HITS = {"hit_query": np.int64, "hit_position": np.int64, "hit_place": np.int64}
COLUMNS = tuple((kind, LINE) for kind in (GROUPS | HITS).values())


class Joiner:
    """Joins pieces of runs with one set of references, in any number of threads at once."""

    def __init__(
        self,
        library: ctypes.CDLL,
        query: PackedNames,
        items: PackedNames,
        worthless_items: PackedNames,
        offsets: Ints,
        worthless_offsets: Ints,
        ranks: Ints,
    ) -> None:
        """Take references as columns; names of queries that they do not have follow those that they have."""
        columns = [np.ascontiguousarray(column, np.int64) for column in (offsets, worthless_offsets, ranks)]
        slots = np.zeros(1 << (2 * len(query.bounds)).bit_length(), np.uint32)
        self._kept = (query, items, worthless_items, slots, columns)  # the library has their addresses only
        self.library = library
        self._references = ReferenceColumns(
            len(offsets) - 1,
            len(query.bounds),
            query.pointers(),
            slots.ctypes.data,
            len(slots) - 1,
            items.pointers(),
            worthless_items.pointers(),
            len(ranks),
            *(column.ctypes.data for column in columns),
        )
        self.usable = library.rankdev_index_queries(self._references) == 0

    def join(self, piece: Piece, size: int, table: Table | None, depth: int | None) -> dict[str, npt.NDArray[Any]]:
        """Join the lines in the first ``size`` bytes: all lines of some queries, the last with its newline.

        They are those of a table, or of TREC.

        Gives what is common to the run and the references: for each query of the run its index (-1 where they do not
        know it), how many positions it fills and whether ties decide there; and for each hit query, position and place.
        """
        columns = piece.columns(COLUMNS)
        address = [column.ctypes.data for column in columns]
        found = JoinedColumns(0, *address[:4], 0, *address[4:])
        limit = EVERY_POSITION if depth is None else depth
        if self.library.rankdev_join(self._references, table, piece.address, size, limit, found) != 0:
            raise OddError("something is not plain")
        counts = [found.groups] * len(GROUPS) + [found.hits] * len(HITS)
        check_gathered(columns[0][: found.groups])  # a run that is scattered throughout is given up at its first piece
        return {name: column[:count].copy() for name, column, count in zip(GROUPS | HITS, columns, counts, strict=True)}
