"""TREC qrels read by compiled code, where they are plain."""

from __future__ import annotations

from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np
import polars as pl

from rankdev.arrays import Ints
from rankdev.formats.streams import PathLike
from rankdev.formats.whole_queries import read_whole_queries
from rankdev.native.grading import Graded, read_grades
from rankdev.native.library import library
from rankdev.native.pieces import OddError, check_gathered
from rankdev.progress import Progress
from rankdev.references.columns import Worthless
from rankdev.references.references import References


def read_plain_qrels(path: PathLike, progress: Progress | None) -> References | None:
    """Read references from qrels; None where the general reader has to do it."""
    compiled = library()
    if compiled is None:
        return None
    try:
        parts = read_whole_queries(compiled, path, partial(read_grades, compiled), progress)
        check_gathered(_column(parts, "group_hash"))
    except OddError:
        return None
    worthless = Worthless(
        _offsets(_column(parts, "group_worthless")),
        _names("item", parts, "worthless_items"),
        _column(parts, "worthless_grades"),
    )
    return References(
        _names("query", parts, "queries"),
        _offsets(_column(parts, "group_good")),
        _names("item", parts, "good_items"),
        _column(parts, "good_ranks").astype(np.int64),
        _column(parts, "good_grades"),
        worthless,
    )


def _column(parts: list[Graded], name: str) -> Any:
    return np.concatenate([getattr(part, name) for part in parts])


def _offsets(counts: Ints) -> Ints:
    return np.concatenate([[0], np.cumsum(counts)])


def _names(name: str, parts: list[Graded], column: str) -> pl.Series:
    """Make a column of names that are lines, which polars reads fastest as a table."""
    lines = b"\n" + b"".join(map(attrgetter(column), parts))  # the first line keeps polars from guessing at the next
    schema = {name: pl.String}
    if len(lines) == 1:
        return pl.Series(name, [], pl.String)
    table = pl.read_csv(lines, has_header=False, skip_lines=1, separator=" ", quote_char=None, schema=schema)
    return table[name].rechunk()
