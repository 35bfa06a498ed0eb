"""Rows of query, item and rank or grade made into the columns of references."""

from __future__ import annotations

import numpy as np
import polars as pl

from rankdev._common.arrays import Floats, Ints
from rankdev._common.cautions import caution
from rankdev._common.reading import reading
from rankdev._common.tables import number_column, truth_column
from rankdev.core._input_formats import names_of
from rankdev.core.columns import Groups, Items, Nonrelevant, group
from rankdev.core.row_checks import check_ranks, check_unique, dense_ranks, tier_ranks
from rankdev.errors import DataError, counted, shown

Columns = tuple[pl.Series, Ints, Items, Ints, Floats | None, Nonrelevant | None]


def ranked_columns(frame: pl.DataFrame) -> Columns:
    """Return the columns of references whose rows have ranks; a mark tells nonrelevant items."""
    query, item = names_of(frame)
    marked = truth_column(frame, "nonrelevant", "references") if "nonrelevant" in frame.columns else None
    rank = number_column(frame, "rank", "references", needed=None if marked is None else ~marked).to_numpy()
    groups, rows = _grouped(query, item, rank, "rank")
    rows = rows[np.lexsort((rank[rows], groups.codes[rows]))]
    if reading().ranks == "competition":
        rank = dense_ranks(groups, rank, rows if marked is None else rows[~marked.to_numpy()[rows]])
    if marked is None:
        check_ranks(groups, item, rank, rows)
        return _columns(groups, item, rows, rank[rows], None)
    both = np.flatnonzero(marked.to_numpy() & (rank != 0))
    if len(both):
        row = int(both[0])
        raise DataError(
            f"query {shown(query[row])}: item {shown(item[row])} has a rank and is nonrelevant too; keep one", row
        )
    nonrelevant = marked.to_numpy()[rows]
    relevant, others = rows[~nonrelevant], rows[nonrelevant]
    check_ranks(groups, item, rank, relevant)
    return _columns(groups, item, relevant, rank[relevant], None, others, np.zeros(len(others)))


def graded_columns(frame: pl.DataFrame) -> Columns:
    """Return the columns of references whose rows have grades."""
    query, item = names_of(frame)
    grade = number_column(frame, "grade", "references").to_numpy()
    groups, rows = _grouped(query, item, grade, "grade")
    rows = rows[np.lexsort((-grade[rows], groups.codes[rows]))]
    relevant, others = rows[grade[rows] > 0], rows[grade[rows] <= 0]
    ranks = tier_ranks(groups.codes[relevant], grade[relevant])
    return _columns(groups, item, relevant, ranks, grade[relevant], others, grade[others])


def _columns(
    groups: Groups,
    item: pl.Series,
    relevant: Ints,
    ranks: Floats,
    grades: Floats | None,
    others: Ints | None = None,
    other_grades: Floats | None = None,
) -> Columns:
    nonrelevant = None
    if others is not None and other_grades is not None:
        names = Items(item.gather(others).alias("item"))
        nonrelevant = Nonrelevant(groups.take(others).offsets, names, other_grades)
    queries, items = groups.names.alias("query"), Items(item.gather(relevant).alias("item"))
    return (queries, groups.take(relevant).offsets, items, ranks.astype(np.int64), grades, nonrelevant)


def _grouped(query: pl.Series, item: pl.Series, value: Floats, name: str) -> tuple[Groups, Ints]:
    """Group rows by query; return the groups and the rows that do not repeat another."""
    if not len(query):
        raise DataError("references need at least one row")
    groups = group(query)
    repeated = check_unique(groups, item, value, name)
    if repeated.any():
        row = int(np.argmax(repeated))
        count = int(repeated.sum())
        caution(
            f"{counted(count, 'row', 'is')} ignored because of an earlier one with the same query and item,"
            f" the first for query {shown(query[row])}, item {shown(item[row])}"
        )
    return groups, np.flatnonzero(~repeated)
