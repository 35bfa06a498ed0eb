"""The formats in which references are given, each made into rows of query, item and rank or grade."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Set
from typing import Any

import numpy as np
import polars as pl

from rankdev._common.ids import as_given
from rankdev._common.tables import (
    as_frame,
    as_id,
    check_mapping,
    column,
    is_table,
    number_series,
    tabled,
    text_column,
    text_series,
)
from rankdev.core.columns import group, item_series
from rankdev.core.row_checks import check_once
from rankdev.errors import DataError, shown


def rows_of_lists(lists: Any, nonrelevant: Any) -> pl.DataFrame:
    """Rank the items of each query by their order: ``{query: [item, …]}`` or a table with query, item."""
    lists = tabled(lists)
    if is_table(lists):
        return _with_nonrelevant(_numbered(as_frame(lists)), nonrelevant)
    lists = check_mapping(lists, "lists", "{query: [item, …]}")
    return rows_of_tiers(
        {query: [[item] for item in _listed(items, query)] for query, items in lists.items()}, nonrelevant
    )


def rows_of_tiers(tiers: Any, nonrelevant: Any) -> pl.DataFrame:
    """Rank the items of each query by their tiers: ``{query: [[item, …], …]}`` or a table with query, tiers."""
    tiers = tabled(tiers)
    if is_table(tiers):
        frame = as_frame(tiers)
        names = text_column(frame, "query", "references")
        check_once(names, "query {} appears twice; give all its tiers in one row")
        tiers = dict(zip(names, column(frame, "tiers", "references").to_list(), strict=True))
    tiers = check_mapping(tiers, "tiers", "{query: [[item, …], …]}")
    return _ranked(
        {
            query: [
                (item, rank)
                for rank, tier in enumerate(_listed(levels, query), start=1)
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
        raise DataError("references need at least one query")
    for query, entries in pairs.items():
        if not entries and query not in elsewhere:
            raise DataError(f"query {shown(query)}: a reference needs at least one item")
    items = item_series({query: [item for item, _ in entries] for query, entries in pairs.items()})
    names = text_series("query", [as_id(query) for query in pairs])
    check_once(names, "query {} appears twice, as a number and as text; keep one")
    counts = [len(entries) for entries in pairs.values()]
    values = [value for entries in pairs.values() for _, value in entries]
    query = as_given(names, pairs).gather(np.repeat(np.arange(len(names)), counts))
    items = as_given(items, (item for entries in pairs.values() for item, _ in entries))
    return pl.DataFrame({"query": query, "item": items, name: number_series(name, values)})


def _with_nonrelevant(frame: pl.DataFrame, nonrelevant: Any, queries: Iterable[Any] = ()) -> pl.DataFrame:
    """Add rows of nonrelevant items, if any are given, and put the rows in the order of the queries."""
    if nonrelevant is None:
        return frame
    lists = check_mapping(nonrelevant, "nonrelevant", "{query: [item, …]}")
    for query, items in lists.items():
        if isinstance(items, str | Mapping) or not isinstance(items, Collection):
            raise DataError(f"query {shown(query)}: nonrelevant must be a list of items; got {shown(items)}")
    query = text_series("query", [as_id(query) for query, items in lists.items() for _ in items])
    unranked = pl.DataFrame({"query": query, "item": item_series(lists)})
    ranked = pl.DataFrame(names_of(frame))
    both = unranked.join(ranked, on=["query", "item"], how="semi")
    if len(both):
        query, item = both.row(0)
        raise DataError(f"query {shown(query)}: item {shown(item)} has a rank and is nonrelevant too; keep one")
    ranked = ranked.with_columns(column(frame, "rank", "references"), nonrelevant=pl.lit(False))
    rows = pl.concat([ranked, unranked.with_columns(nonrelevant=pl.lit(True))], how="diagonal")
    order = pl.concat([text_series("query", [as_id(query) for query in queries]), rows["query"]]).unique(
        maintain_order=True
    )
    return pl.DataFrame({"query": order}).join(rows, on="query", how="inner", maintain_order="left_right")


def _listed(value: Any, query: object) -> Iterable[Any]:
    """Refuse what has no order of its own."""
    if isinstance(value, str | Mapping | Set) or not isinstance(value, Iterable):
        raise DataError(f"query {shown(query)}: expected a list, best first; got {shown(value)}")
    return value


def _filled(tier: Any, query: object, rank: int) -> list[Any]:
    if isinstance(tier, str | Mapping) or not isinstance(tier, Iterable):
        raise DataError(f"query {shown(query)}: tier {rank} must be a list of items; got {shown(tier)}")
    items = list(tier)
    if not items:
        raise DataError(f"query {shown(query)}: tier {rank} is empty; every rank needs an item")
    return items


def _pairs(values: Any, query: object, name: str) -> list[tuple[Any, Any]]:
    return list(check_mapping(values, f"query {shown(query)}", f"{{item: {name}}}").items())
