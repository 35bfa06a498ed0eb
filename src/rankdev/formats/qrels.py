"""TREC qrels read by compiled code, where they are plain."""

from __future__ import annotations

from functools import partial

import numpy as np

from rankdev.arrays import offsets_of
from rankdev.formats.streams import PathLike
from rankdev.formats.whole_queries import read_whole_queries
from rankdev.native.grading import read_grades
from rankdev.native.library import library
from rankdev.native.pieces import OddError, PackedNames, check_gathered
from rankdev.progress import Progress
from rankdev.references.columns import Worthless
from rankdev.references.items import Items, column_of_lines
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
        column_of_lines("query", columns.take("queries")),
        offsets_of(columns.take("good_count")),
        Items(PackedNames(columns.take("good_items"), offsets_of(columns.take("good_bytes")))),
        columns.take("good_ranks").astype(np.int64),
        columns.take("good_grades"),
        Worthless(
            offsets_of(columns.take("worthless_count")),
            Items(PackedNames(columns.take("worthless_items"), offsets_of(columns.take("worthless_bytes")))),
            columns.take("worthless_grades"),
        ),
    )
