"""The compiled library, where there is one: found, checked, and its functions declared."""

from __future__ import annotations

import ctypes
import os
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_name("_reader.so")
SWITCH = "RANKDEV_NATIVE"
INTERFACE = 7  # the number of the functions and structures that are declared here; reader.c has the same


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
        ("worthless_items", Names),
        ("good", ctypes.c_int64),
        ("good_offsets", ctypes.c_void_p),
        ("worthless_offsets", ctypes.c_void_p),
        ("ranks", ctypes.c_void_p),
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
        ("group_query", ctypes.c_void_p),
        ("group_length", ctypes.c_void_p),
        ("group_tied", ctypes.c_void_p),
        ("hits", ctypes.c_int64),
        ("hit_query", ctypes.c_void_p),
        ("hit_position", ctypes.c_void_p),
        ("hit_place", ctypes.c_void_p),
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
        ("worthless_count", ctypes.c_void_p),
        ("worthless_bytes", ctypes.c_void_p),
        ("queries", Written),
        ("good", ctypes.c_int64),
        ("good_grade", ctypes.c_void_p),
        ("good_rank", ctypes.c_void_p),
        ("good_items", Written),
        ("worthless", ctypes.c_int64),
        ("worthless_grade", ctypes.c_void_p),
        ("worthless_items", Written),
    )


def library() -> ctypes.CDLL | None:
    """Give the library; None where it was not built, or is switched off by ``RANKDEV_NATIVE=0``."""
    return None if os.environ.get(SWITCH) == "0" else _loaded(FILE)


@cache
def _loaded(file: Path) -> ctypes.CDLL | None:
    try:
        found = ctypes.CDLL(str(file))  # calls let other threads of Python go on
        if found.rankdev_interface() != INTERFACE:  # built from an older source
            return None
    except (OSError, AttributeError):
        return None
    text = (ctypes.c_void_p, ctypes.c_int64)
    found.rankdev_index_queries.argtypes = (ctypes.POINTER(ReferenceColumns),)
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
