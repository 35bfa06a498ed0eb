"""Pieces of TREC qrels read by the compiled library."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankdev.arrays import Floats, Ints
from rankdev.native.library import GradedColumns, Written
from rankdev.native.pieces import OddError, Piece, check_gathered

LINE = len("q 0 d 1\n")  # the shortest
GROUPS = ((np.uint64, LINE), (np.int64, LINE), (np.int64, LINE), (np.uint8, 1))
GOOD = ((np.float64, LINE), (np.int32, LINE), (np.uint8, 1))
WORTHLESS = ((np.float64, LINE), (np.uint8, 1))


@dataclass(frozen=True, eq=False)
class Graded:
    """What a piece of qrels holds: queries, good items (by query, the best first) and worthless ones.

    Names are lines of text. ``group_good`` and ``group_worthless`` count the items of each query.
    """

    group_hash: npt.NDArray[np.uint64]
    group_good: Ints
    group_worthless: Ints
    queries: bytes
    good_grades: Floats
    good_ranks: npt.NDArray[np.int32]
    good_items: bytes
    worthless_grades: Floats
    worthless_items: bytes


def read_grades(library: ctypes.CDLL, piece: Piece, size: int) -> Graded:
    """Read the lines in the first ``size`` bytes: all lines of some queries, the last with its newline."""
    columns = piece.columns(GROUPS + GOOD + WORTHLESS)
    address = [column.ctypes.data for column in columns]
    found = GradedColumns(
        *(0, *address[:3], Written(address[3], 0)),
        *(0, *address[4:6], Written(address[6], 0)),
        *(0, address[7], Written(address[8], 0)),
    )
    if library.rankdev_read_grades(piece.address, size, found) != 0:
        raise OddError("something is not plain")
    counts = [found.groups] * 3 + [found.queries.size]
    counts += [found.good] * 2 + [found.good_items.size, found.worthless, found.worthless_items.size]
    parts: list[Any] = [column[:count] for column, count in zip(columns, counts, strict=True)]
    check_gathered(parts[0])
    copies: list[Any] = [part.tobytes() if part.dtype == np.uint8 else part.copy() for part in parts]
    return Graded(*copies)
