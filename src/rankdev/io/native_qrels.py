"""TREC qrels read by compiled code."""

from __future__ import annotations

from functools import partial

import numpy as np

from rankdev._common.arrays import offsets_of
from rankdev._common.work import Progress
from rankdev.core.columns import Items, Nonrelevant, column_of_lines
from rankdev.core.references import References
from rankdev.io.native_input import read_whole_queries
from rankdev.io.streams import PathLike
from rankdev.native.library import PackedNames, UnsupportedInputError, check_gathered, library, read_graded


def read_qrels_natively(path: PathLike, progress: Progress | None) -> References | None:
    """Read references from qrels by compiled code; None where the general reader has to do it."""
    compiled = library()
    if compiled is None:
        return None
    try:
        columns = read_whole_queries(compiled, path, partial(read_graded, compiled), progress)
        check_gathered(columns.take("group_hash"))
    except UnsupportedInputError:
        return None
    return References(
        column_of_lines("query", columns.take("queries")),
        offsets_of(columns.take("good_count")),
        Items(PackedNames(columns.take("good_items"), offsets_of(columns.take("good_bytes")))),
        columns.take("good_ranks").astype(np.int64),
        columns.take("good_grades"),
        Nonrelevant(
            offsets_of(columns.take("nonrelevant_count")),
            Items(PackedNames(columns.take("nonrelevant_items"), offsets_of(columns.take("nonrelevant_bytes")))),
            columns.take("nonrelevant_grades"),
        ),
    )
