"""Pieces of TREC qrels read by the compiled library."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt

from rankdev.native.library import GradedColumns, Written
from rankdev.native.pieces import OddError, Piece, check_gathered

LINE = len("q 0 d 1\n")  # the shortest
COLUMNS = {  # the type of each, and how many bytes of qrels make an entry at the least; names are lines of text
    "group_hash": (np.uint64, LINE),
    "group_good": (np.int64, LINE),
    "group_worthless": (np.int64, LINE),
    "queries": (np.uint8, 1),
    "good_grades": (np.float64, LINE),
    "good_ranks": (np.int32, LINE),
    "good_items": (np.uint8, 1),
    "worthless_grades": (np.float64, LINE),
    "worthless_items": (np.uint8, 1),
}


def read_grades(library: ctypes.CDLL, piece: Piece, size: int) -> dict[str, npt.NDArray[Any]]:
    """Read the lines in the first ``size`` bytes: all lines of some queries, the last with its newline.

    Gives for each query its name and how many of its items are good and how many worthless; for each good item, the
    best of a query first, grade, rank and name; for each worthless one grade and name.
    """
    columns = piece.columns(tuple(COLUMNS.values()))
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
    check_gathered(columns[0][: found.groups])
    return {name: column[:count].copy() for name, column, count in zip(COLUMNS, columns, counts, strict=True)}
