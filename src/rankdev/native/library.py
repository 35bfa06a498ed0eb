"""Load the compiled reader; join runs, read qrels."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankdev._common.arrays import Ints

FILE = Path(__file__).with_name("_reader.so")
SWITCH = "RANKDEV_NATIVE"
INTERFACE = 9  # the number of the functions and structures that are declared here; reader.c has the same


class Names(ctypes.Structure):
    """``Names`` and ``Lists`` of reader.c."""

    _fields_ = (("text", ctypes.c_void_p), ("bounds", ctypes.c_void_p))


class ReferenceColumns(ctypes.Structure):
    """``References`` of reader.c."""

    _fields_ = (
        ("queries", ctypes.c_int64),
        ("names", ctypes.c_int64),
        ("query", Names),
        ("slots", ctypes.c_void_p),
        ("mask", ctypes.c_uint64),
        ("good_items", Names),
        ("nonrelevant_items", Names),
        ("good", ctypes.c_int64),
        ("good_offsets", ctypes.c_void_p),
        ("nonrelevant_offsets", ctypes.c_void_p),
        ("ranks", ctypes.c_void_p),
        ("lettered", ctypes.c_int64),
    )


class Table(ctypes.Structure):
    """``Table`` of reader.c."""

    _fields_ = (
        ("around", ctypes.c_char_p * 4),
        ("sizes", ctypes.c_int64 * 4),
        ("query", ctypes.c_int64),
        ("item", ctypes.c_int64),
        ("score", ctypes.c_int64),
        ("separator", ctypes.c_int64),
        ("whole", ctypes.c_int64),
    )


class JoinedColumns(ctypes.Structure):
    """``Joined`` of reader.c."""

    _fields_ = (
        ("groups", ctypes.c_int64),
        ("group_hash", ctypes.c_void_p),
        ("group_loose_hash", ctypes.c_void_p),
        ("group_query", ctypes.c_void_p),
        ("group_length", ctypes.c_void_p),
        ("hits", ctypes.c_int64),
        ("hit_query", ctypes.c_void_p),
        ("hit_position", ctypes.c_void_p),
        ("hit_place", ctypes.c_void_p),
        ("ties", ctypes.c_int64),
        ("tie_query", ctypes.c_void_p),
        ("tie_begin", ctypes.c_void_p),
        ("tie_end", ctypes.c_void_p),
        ("tie_best", ctypes.c_void_p),
        ("tie_worst", ctypes.c_void_p),
        ("tag", ctypes.c_uint64),
        ("agrees", ctypes.c_int64),
        ("opposes", ctypes.c_int64),
    )


class Written(ctypes.Structure):
    """``Written`` of reader.c."""

    _fields_ = (("text", ctypes.c_void_p), ("size", ctypes.c_int64))


class GradedColumns(ctypes.Structure):
    """``Graded`` of reader.c."""

    _fields_ = (
        ("groups", ctypes.c_int64),
        ("group_hash", ctypes.c_void_p),
        ("good_count", ctypes.c_void_p),
        ("good_bytes", ctypes.c_void_p),
        ("nonrelevant_count", ctypes.c_void_p),
        ("nonrelevant_bytes", ctypes.c_void_p),
        ("queries", Written),
        ("good", ctypes.c_int64),
        ("good_grade", ctypes.c_void_p),
        ("good_rank", ctypes.c_void_p),
        ("good_items", Written),
        ("nonrelevant", ctypes.c_int64),
        ("nonrelevant_grade", ctypes.c_void_p),
        ("nonrelevant_items", Written),
    )


def library() -> ctypes.CDLL | None:
    """Return the library; None where it was not built, or is switched off by ``RANKDEV_NATIVE=0``."""
    return None if os.environ.get(SWITCH) == "0" else _loaded(FILE)


@cache
def _loaded(file: Path) -> ctypes.CDLL | None:
    try:
        found = ctypes.CDLL(str(file))  # calls release the GIL
        if found.rankdev_interface() != INTERFACE:  # built from an older source
            return None
    except (OSError, AttributeError):
        return None
    text = (ctypes.c_void_p, ctypes.c_int64)
    found.rankdev_index_queries.argtypes = (ctypes.POINTER(ReferenceColumns),)
    found.rankdev_loose_hashes.argtypes = (ctypes.POINTER(Names), ctypes.c_int64, ctypes.c_void_p)
    found.rankdev_loose_hashes.restype = None
    found.rankdev_last_query.argtypes = (ctypes.POINTER(Table), *text)
    found.rankdev_last_query.restype = ctypes.c_int64
    found.rankdev_read_grades.argtypes = (*text, ctypes.POINTER(GradedColumns))
    found.rankdev_join.argtypes = (
        ctypes.POINTER(ReferenceColumns),
        ctypes.POINTER(Table),
        *text,
        ctypes.c_int64,
        ctypes.POINTER(JoinedColumns),
    )
    return found


PADDING = 64  # bytes past the end of a text that may be read


class UnsupportedInputError(Exception):
    """The compiled reader does not handle this input: the general reader has to read it, and owns every message."""


class Piece:
    """Memory for a piece of a file and for what is found in it: allocated once, used again and again."""

    def __init__(self, size: int) -> None:
        memory = bytearray(size + PADDING)
        self.text = memoryview(memory)[:size]
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        self._columns: list[npt.NDArray[Any]] = []

    def columns(self, kinds: tuple[tuple[npt.DTypeLike, int], ...]) -> list[npt.NDArray[Any]]:
        """Return memory for columns, each of a type and with an entry for so many bytes of the text."""
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
        """Return a column and forget it."""
        return np.frombuffer(self._content.pop(name), self._kinds[name])


def check_gathered(hashes: npt.NDArray[np.uint64]) -> None:
    """Refuse a list of queries in which one appears twice: its lines are scattered."""
    ordered = np.sort(hashes)
    if (ordered[1:] == ordered[:-1]).any():
        raise UnsupportedInputError("a query's lines are scattered")


@dataclass(frozen=True)
class PackedNames:
    """Names in UTF-8, with a newline between them; one after the last is not read.

    ``bounds`` holds for each name where the next one begins; or, where they belong to queries, where the names of each
    query begin and, at last, where another query's would.
    """

    text: npt.NDArray[np.uint8]
    bounds: Ints

    def pointers(self) -> Names:
        """Return the names as the library takes them."""
        return Names(self.text.ctypes.data, self.bounds.ctypes.data)


EVERY_POSITION = np.iinfo(np.int64).max
SHORTEST_ROW = len("q,d,1\n")  # the shortest
GROUPS = {
    "group_hash": np.uint64,
    "group_loose_hash": np.uint64,
    "group_query": np.int64,
    "group_length": np.int64,
}
HITS = dict.fromkeys(("hit_query", "hit_position", "hit_place"), np.int64)
TIES = dict.fromkeys(("tie_query", "tie_begin", "tie_end", "tie_best", "tie_worst"), np.int64)
JOINED = GROUPS | HITS | TIES
JOINED_COLUMNS = tuple((kind, SHORTEST_ROW) for kind in JOINED.values())


class Joiner:
    """Joins pieces of runs with one set of references, in any number of threads at once."""

    def __init__(
        self,
        library: ctypes.CDLL,
        query: PackedNames,
        items: PackedNames,
        nonrelevant_items: PackedNames,
        offsets: Ints,
        nonrelevant_offsets: Ints,
        ranks: Ints,
    ) -> None:
        """Take references as columns; names of queries that they do not have follow those that they have."""
        columns = [np.ascontiguousarray(column, np.int64) for column in (offsets, nonrelevant_offsets, ranks)]
        slots = np.zeros(1 << (2 * len(query.bounds)).bit_length(), np.uint32)
        self._kept = (query, items, nonrelevant_items, slots, columns)  # the library has their addresses only
        self.library = library
        self._references = ReferenceColumns(
            len(offsets) - 1,
            len(query.bounds),
            query.pointers(),
            slots.ctypes.data,
            len(slots) - 1,
            items.pointers(),
            nonrelevant_items.pointers(),
            len(ranks),
            *(column.ctypes.data for column in columns),
        )
        self.usable = library.rankdev_index_queries(self._references) == 0

    def join(self, piece: Piece, size: int, table: Table | None, depth: int | None) -> dict[str, npt.NDArray[Any]]:
        """Join the lines in the first ``size`` bytes: all lines of some queries, the last with its newline.

        They are those of a table, or of TREC.

        Return what is common to the run and the references: for each query of the run its index (-1 where they do not
        know it) and how many positions it fills; for each hit query, position and place; and for each tie of items of
        different rank query, first position, position after the last, best and worst rank. And of all lines the hash of
        their tag, and whether higher scores have better ranks somewhere, or worse ones.
        """
        columns = piece.columns(JOINED_COLUMNS)
        address = [column.ctypes.data for column in columns]
        hits, ties = len(GROUPS), len(GROUPS) + len(HITS)
        found = JoinedColumns(0, *address[:hits], 0, *address[hits:ties], 0, *address[ties:])
        limit = EVERY_POSITION if depth is None else depth
        if self.library.rankdev_join(self._references, table, piece.address, size, limit, found) != 0:
            raise UnsupportedInputError("the compiled reader does not handle this line")
        counts = [found.groups] * len(GROUPS) + [found.hits] * len(HITS) + [found.ties] * len(TIES)
        check_gathered(columns[0][: found.groups])  # a run that is scattered throughout is given up at its first piece
        part = {name: column[:count].copy() for name, column, count in zip(JOINED, columns, counts, strict=True)}
        return part | {
            "tag": np.array([found.tag], np.uint64),
            "agrees": np.array([found.agrees], np.bool_),
            "opposes": np.array([found.opposes], np.bool_),
        }

    def loose_hashes(self) -> npt.NDArray[np.uint64]:
        """Return for each query a hash that names share which differ by case, blanks or Unicode form only."""
        names = self._kept[0]
        hashes = np.empty(len(names.bounds), np.uint64)
        self.library.rankdev_loose_hashes(names.pointers(), len(hashes), hashes.ctypes.data)
        return hashes


SHORTEST_GRADE = len("q 0 d 1\n")  # the shortest
GRADED_COLUMNS = {  # the type of each, and how many bytes of qrels make an entry at the least; names are lines of text
    "group_hash": (np.uint64, SHORTEST_GRADE),
    "good_count": (np.int64, SHORTEST_GRADE),
    "good_bytes": (np.int64, SHORTEST_GRADE),
    "nonrelevant_count": (np.int64, SHORTEST_GRADE),
    "nonrelevant_bytes": (np.int64, SHORTEST_GRADE),
    "queries": (np.uint8, 1),
    "good_grades": (np.float64, SHORTEST_GRADE),
    "good_ranks": (np.int32, SHORTEST_GRADE),
    "good_items": (np.uint8, 1),
    "nonrelevant_grades": (np.float64, SHORTEST_GRADE),
    "nonrelevant_items": (np.uint8, 1),
}


def read_graded(library: ctypes.CDLL, piece: Piece, size: int, table: Table | None) -> dict[str, npt.NDArray[Any]]:
    """Read the lines in the first ``size`` bytes: all lines of some queries, the last with its newline.

    Return for each query its name, how many of its items are relevant and nonrelevant, and how many bytes their names
    take; for each relevant item, best first, grade, rank and name; for each nonrelevant one grade and name.
    """
    if table is not None:
        raise UnsupportedInputError("a table, not qrels")
    columns = piece.columns(tuple(GRADED_COLUMNS.values()))
    address = [column.ctypes.data for column in columns]
    found = GradedColumns(
        *(0, *address[:5], Written(address[5], 0)),
        *(0, *address[6:8], Written(address[8], 0)),
        *(0, address[9], Written(address[10], 0)),
    )
    if library.rankdev_read_grades(piece.address, size, found) != 0:
        raise UnsupportedInputError("the compiled reader does not handle this line")
    counts = [found.groups] * 5 + [found.queries.size]
    counts += [found.good] * 2 + [found.good_items.size, found.nonrelevant, found.nonrelevant_items.size]
    check_gathered(columns[0][: found.groups])
    return {name: column[:count].copy() for name, column, count in zip(GRADED_COLUMNS, columns, counts, strict=True)}
