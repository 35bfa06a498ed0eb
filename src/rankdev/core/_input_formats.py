"""What references and lists of runs are given as, made into their columns.

References become rows of query, item and rank or grade first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from rankdev._common.arrays import Floats, Ints, offsets_of
from rankdev._common.checks import is_list
from rankdev._common.columns import column, number_column, number_series, text_column, truth_column
from rankdev._common.ids import as_id, text_series
from rankdev._common.reading import caution, reading
from rankdev._common.tables import as_frame, check_mapping, is_table, tabled
from rankdev.core.batches import RunColumns, warn_of_repeats
from rankdev.core.columns import Groups, Nonrelevant, group, item_names, item_series
from rankdev.core.responses import items_of, of_one_input
from rankdev.core.row_checks import (
    check_once,
    check_ranks,
    check_unique,
    dense_ranks,
    documents_of,
    kept_once,
    repeated_rows,
    tier_ranks,
)
from rankdev.errors import DataError


def rows_of_lists(lists: Any, nonrelevant: Any) -> pl.DataFrame:
    """Rank the items of each query by their order: ``{query: [item, …]}`` or a table with query, item."""
    lists = tabled(lists)
    if is_table(lists):
        return _with_nonrelevant(_numbered(as_frame(lists)), nonrelevant)
    lists = check_mapping(lists, "lists", "{query: [item, …]}")
    return rows_of_tiers(
        {query: [[item] for item in _listed(items, query, "item")] for query, items in lists.items()}, nonrelevant
    )


def rows_of_tiers(tiers: Any, nonrelevant: Any) -> pl.DataFrame:
    """Rank the items of each query by their tiers: ``{query: [[item, …], …]}`` or a table with query, tiers."""
    tiers = tabled(tiers)
    if is_table(tiers):
        frame = as_frame(tiers)
        names = text_column(frame, "query", "references")
        check_once(names, "query-twice")
        tiers = dict(zip(names, column(frame, "tiers", "references").to_list(), strict=True))
    tiers = check_mapping(tiers, "tiers", "{query: [[item, …], …]}")
    return _ranked(
        {
            query: [
                (item, rank)
                for rank, tier in enumerate(_listed(levels, query, "tier"), start=1)
                for item in _filled(tier, query, rank)
            ]
            for query, levels in tiers.items()
        },
        nonrelevant,
    )


def rows_of_ranks(ranks: Any, nonrelevant: Any) -> pl.DataFrame:
    """Take ranks as they are: ``{query: {item: rank}}`` or a table with query, item, rank."""
    ranks = tabled(ranks)
    if is_table(ranks):
        return _with_nonrelevant(as_frame(ranks), nonrelevant)
    ranks = check_mapping(ranks, "ranks", "{query: {item: rank}} or a table with query, item, rank")
    return _ranked({query: _pairs(values, query, "rank") for query, values in ranks.items()}, nonrelevant)


def rows_of_grades(grades: Any) -> pl.DataFrame:
    """Take grades as they are: ``{query: {item: grade}}`` or a table with query, item, grade."""
    grades = tabled(grades)
    if is_table(grades):
        return as_frame(grades)
    grades = check_mapping(grades, "grades", "{query: {item: grade}} or a table with query, item, grade")
    return _frame({query: _pairs(values, query, "grade") for query, values in grades.items()}, "grade")


def names_of(frame: pl.DataFrame) -> list[pl.Series]:
    """Return the columns query and item as text."""
    return [text_column(frame, name, "references") for name in ("query", "item")]


def _numbered(frame: pl.DataFrame) -> pl.DataFrame:
    """Rank the rows of each query in the order of the table."""
    queries, items = names_of(frame)
    groups = group(queries)
    rows = np.argsort(groups.codes, kind="stable")
    rank = np.empty(len(rows), np.int64)
    rank[rows] = np.arange(len(rows)) - groups.offsets[groups.codes[rows]] + 1
    return pl.DataFrame({"query": queries, "item": items, "rank": rank})


def _ranked(pairs: Mapping[Any, list[tuple[Any, Any]]], nonrelevant: Any) -> pl.DataFrame:
    return _with_nonrelevant(_frame(pairs, "rank", nonrelevant or {}), nonrelevant, pairs)


def _frame(pairs: Mapping[Any, list[tuple[Any, Any]]], name: str, elsewhere: Any = ()) -> pl.DataFrame:
    """Make rows of query, item and rank or grade; a query may be empty where something is known of it elsewhere."""
    if not pairs and not elsewhere:
        raise DataError("no-queries")
    for query, entries in pairs.items():
        if not entries and query not in elsewhere:
            raise DataError("no-items", query=query)
    items = item_series({query: [item for item, _ in entries] for query, entries in pairs.items()})
    names = text_series("query", [as_id(query) for query in pairs])
    check_once(names, "number-and-text")
    counts = [len(entries) for entries in pairs.values()]
    values = [value for entries in pairs.values() for _, value in entries]
    query = names.gather(np.repeat(np.arange(len(names)), counts))
    return pl.DataFrame({"query": query, "item": items, name: number_series(name, values)})


def _with_nonrelevant(frame: pl.DataFrame, nonrelevant: Any, queries: Iterable[Any] = ()) -> pl.DataFrame:
    """Add rows of nonrelevant items, if any are given, and put the rows in the order of the queries."""
    if nonrelevant is None:
        return frame
    lists = check_mapping(nonrelevant, "nonrelevant", "{query: [item, …]}")
    for query, items in lists.items():
        if isinstance(items, str | Mapping) or not isinstance(items, Collection):
            raise DataError("wrong-form", role="nonrelevant", query=query, expected="[item, …]", value=items)
    query = text_series("query", [as_id(query) for query, items in lists.items() for _ in items])
    unranked = pl.DataFrame({"query": query, "item": item_series(lists)})
    ranked = pl.DataFrame(names_of(frame))
    both = unranked.join(ranked, on=["query", "item"], how="semi")
    if len(both):
        query, item = both.row(0)
        raise DataError("ranked-and-nonrelevant", query=query, item=item)
    ranked = ranked.with_columns(column(frame, "rank", "references"), nonrelevant=pl.lit(False))
    rows = pl.concat([ranked, unranked.with_columns(nonrelevant=pl.lit(True))], how="diagonal")
    order = pl.concat([text_series("query", [as_id(query) for query in queries]), rows["query"]]).unique(
        maintain_order=True
    )
    return pl.DataFrame({"query": order}).join(rows, on="query", how="inner", maintain_order="left_right")


def _listed(value: Any, query: object, what: str) -> Iterable[Any]:
    """Refuse what has no order of its own."""
    if isinstance(value, str | Mapping | Set) or not isinstance(value, Iterable):
        raise DataError("wrong-form", query=query, expected=f"[best {what}, …]", value=value)
    return value


def _filled(tier: Any, query: object, rank: int) -> list[Any]:
    if isinstance(tier, str | Mapping) or not isinstance(tier, Iterable):
        raise DataError("not-a-tier", query=query, tier=rank, value=tier)
    items = list(tier)
    if not items:
        raise DataError("empty-tier", query=query, tier=rank)
    return items


def _pairs(values: Any, query: object, name: str) -> list[tuple[Any, Any]]:
    return list(check_mapping(values, None, f"{{item: {name}}}", query=query).items())


Columns = tuple[pl.Series, Ints, pl.Series, Ints, Floats | None, Nonrelevant | None]


def ranked_columns(frame: pl.DataFrame) -> Columns:
    """Return the columns of references whose rows have ranks; nonrelevant items are marked."""
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
        raise DataError("ranked-and-nonrelevant", query=query[row], item=item[row], row=row)
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
        names = item.gather(others).alias("item")
        nonrelevant = Nonrelevant(groups.take(others).offsets, names, other_grades)
    queries, items = groups.names.alias("query"), item.gather(relevant).alias("item")
    return (queries, groups.take(relevant).offsets, items, ranks.astype(np.int64), grades, nonrelevant)


def _grouped(query: pl.Series, item: pl.Series, value: Floats, name: str) -> tuple[Groups, Ints]:
    """Group rows by query; return the groups and the rows that do not repeat another."""
    if not len(query):
        raise DataError("no-rows", what="table of references")
    groups = group(query)
    repeated = check_unique(groups, item, value, name)
    if repeated.any():
        row = int(np.argmax(repeated))
        caution("repeated-rows", count=int(repeated.sum()), query=query[row], item=item[row])
    return groups, np.flatnonzero(~repeated)


def check_agreement(graded: pl.DataFrame, frame: pl.DataFrame) -> None:
    """Refuse ranks that are not those of the grades in the same table; ``graded`` has those."""
    relevant = number_column(frame, "grade", "references") > 0
    ranked = frame.with_columns(rank=number_column(frame, "rank", "references", needed=relevant))
    ranked = ranked.select(*names_of(frame), "rank")
    pairs = graded.join(ranked, on=["query", "item"], suffix="_given")
    wrong = pairs.filter(pl.col("rank") != pl.col("rank_given"))
    if len(wrong):
        query, item, rank, grade, given = wrong.row(0)
        raise DataError("rank-against-grade", query=query, item=item, rank=given, grade=grade, expected=rank)


def listed_columns(lists: Any) -> RunColumns:
    """Return the columns of a run from ``{query: [item, …]}``."""
    lists = check_mapping(lists, "a run", "{query: [item, …]}")
    with of_one_input():
        lists = {query: items_of(items, query) for query, items in lists.items()}
    for query, items in lists.items():
        if isinstance(items, Set) or not is_list(items):
            raise DataError("wrong-form", query=query, expected="[best item, …]", value=items)
    lists = {query: items if isinstance(items, Sequence) else list(items) for query, items in lists.items()}
    counts = np.array([len(items) for items in lists.values()], np.int64)
    names, offsets = item_names(lists), offsets_of(counts)
    ids = [as_id(query) for query in lists]
    queries, items = text_series("query", ids), text_series("item", names)
    if (separator := reading().collapse) is not None:
        items = documents_of(items, separator)
        names = items.to_list()
    if len(set(ids)) < len(ids):
        check_once(queries, "number-and-text")
    repeats, left_out = None, 0
    if any(len(set(names[begin:end])) < end - begin for begin, end in pairwise(offsets.tolist())):
        codes = np.repeat(np.arange(len(counts)), counts)
        if (duplicates := reading().duplicates) is None:
            repeats = repeated_rows(codes, items)
            warn_of_repeats(repeats, queries.gather(codes), items)
        else:
            kept = kept_once(codes, items, -np.arange(len(items), dtype=float), duplicates)
            offsets = offsets_of(np.bincount(codes[kept], minlength=len(counts)))
            items, left_out = items.filter(pl.Series(kept)), len(kept) - int(kept.sum())
    return RunColumns(queries, offsets, items, None, repeats, left_out=left_out)
