"""Pieces of TREC qrels read by the compiled library."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt

from rankdev.native.library import GradedColumns, Table, Written
from rankdev.native.pieces import OddError, Piece, check_gathered

LINE = len("q 0 d 1\n")  # the shortest
COLUMNS = {  # the type of each, and how many bytes of qrels make an entry at the least; names are lines of text
    "group_hash": (np.uint64, LINE),
    "good_count": (np.int64, LINE),
    "good_bytes": (np.int64, LINE),
    "worthless_count": (np.int64, LINE),
    "worthless_bytes": (np.int64, LINE),
    "queries": (np.uint8, 1),
    "good_grades": (np.float64, LINE),
    "good_ranks": (np.int32, LINE),
    "good_items": (np.uint8, 1),
    "worthless_grades": (np.float64, LINE),
    "worthless_items": (np.uint8, 1),
}


def read_grades(library: ctypes.CDLL, piece: Piece, size: int, table: Table | None) -> dict[str, npt.NDArray[Any]]:
    """Read the lines in the first ``size`` bytes: all lines of some queries, the last with its newline.

    Gives for each query its name, how many of its items are good and how many worthless, and how many bytes their names
    take; for each good item, the best of a query first, grade, rank and name; for each worthless one grade and name.
    """
    if table is not None:
        raise OddError("a table, not qrels")
    columns = piece.columns(tuple(COLUMNS.values()))
    address = [column.ctypes.data for column in columns]
    found = GradedColumns(
        *(0, *address[:5], Written(address[5], 0)),
        *(0, *address[6:8], Written(address[8], 0)),
        *(0, address[9], Written(address[10], 0)),
    )
    if library.rankdev_read_grades(piece.address, size, found) != 0:
        raise OddError("something is not plain")
    counts = [found.groups] * 5 + [found.queries.size]
    counts += [found.good] * 2 + [found.good_items.size, found.worthless, found.worthless_items.size]
    check_gathered(columns[0][: found.groups])
    return {name: column[:count].copy() for name, column, count in zip(COLUMNS, columns, counts, strict=True)}
