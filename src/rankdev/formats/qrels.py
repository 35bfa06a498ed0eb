"""TREC qrels read by compiled code, where they are plain."""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt
import polars as pl

from rankdev.arrays import Ints
from rankdev.formats.streams import PathLike
from rankdev.formats.trec import BYTE_ORDER_MARK
from rankdev.formats.whole_queries import read_whole_queries
from rankdev.native.grading import read_grades
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
        columns = read_whole_queries(compiled, path, partial(read_grades, compiled), progress)
        check_gathered(columns.take("group_hash"))
    except OddError:
        return None
    return References(
        _names("query", columns.take("queries")),
        _offsets(columns.take("group_good")),
        _names("item", columns.take("good_items")),
        columns.take("good_ranks").astype(np.int64),
        columns.take("good_grades"),
        Worthless(
            _offsets(columns.take("group_worthless")),
            _names("item", columns.take("worthless_items")),
            columns.take("worthless_grades"),
        ),
    )


def _offsets(counts: Ints) -> Ints:
    return np.concatenate([[0], np.cumsum(counts)])


def _names(name: str, lines: npt.NDArray[np.uint8]) -> pl.Series:
    """Make a column of names that are lines, which polars reads fastest as a table."""
    if not len(lines):
        return pl.Series(name, [], pl.String)
    text = b"".join([BYTE_ORDER_MARK, lines.data])  # which polars drops, and does not guess at what follows
    table = pl.read_csv(text, has_header=False, separator=" ", quote_char=None, schema={name: pl.String})
    return table[name].rechunk()
