"""References: the ordered reference lists of all queries, kept as columns."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Mapping, Set
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from rankdev.arrays import Floats, Ints
from rankdev.errors import DataError, RankdevWarning, shown
from rankdev.files_in_use import PathLike
from rankdev.references.columns import (
    ByQuery,
    Groups,
    Worthless,
    check_once,
    check_ranks,
    check_unique,
    group,
    item_series,
    last_of_each,
    tier_ranks,
)
from rankdev.references.reference import Reference
from rankdev.tabular import (
    OfRanx,
    TableLike,
    as_frame,
    as_id,
    check_mapping,
    check_no_records,
    column,
    from_ranx,
    is_table,
    number_column,
    number_series,
    tabled,
    text_column,
    text_series,
    truth_column,
)

ReferencesLike: TypeAlias = "References | PathLike | TableLike | OfRanx | Mapping[Any, Iterable[Any]]"
"""References: their file, References, a table, Qrels of ranx, or ``{query: …}`` of lists or tiers."""


@dataclass(frozen=True, eq=False, repr=False)
class References(ByQuery[Reference]):
    """What is right for every query: items with consecutive ranks from 1, ties sharing a rank.

    A mapping query → :class:`Reference`. Inside, query ``i`` owns the rows ``offsets[i]:offsets[i + 1]`` of
    ``item_ids`` and ``ranks``, sorted by rank. Items that were judged and found ``worthless`` are kept apart; None
    where nobody said which they are.

    >>> references = References.from_lists({"q1": ["d1", "d2"], "q2": ["d9"]})
    >>> references["q1"].tiers
    [['d1'], ['d2']]
    """

    queries: pl.Series
    offsets: Ints
    item_ids: pl.Series
    ranks: Ints
    grades: Floats | None = None
    worthless: Worthless | None = None

    @classmethod
    def from_lists(cls, lists: Any, *, worthless: Any = None) -> References:
        """Take strict orders, best item first: ``{query: [item, …]}`` or a table with query, item in that order.

        ``worthless``, here and where tiers or ranks are taken, are items that were judged and are no good:
        ``{query: [item, …]}``.
        """
        lists = tabled(lists)
        if is_table(lists):
            frame = as_frame(lists)
            queries, items = _names(frame)
            groups = group(queries)
            rows = np.argsort(groups.codes, kind="stable")
            rank = np.empty(len(rows), np.int64)
            rank[rows] = np.arange(len(rows)) - groups.offsets[groups.codes[rows]] + 1
            return cls._from_ranked(pl.DataFrame({"query": queries, "item": items, "rank": rank}), worthless)
        lists = check_mapping(lists, "lists", "{query: [item, …]}")
        tiers = {query: [[item] for item in _listed(items, query)] for query, items in lists.items()}
        return cls.from_tiers(tiers, worthless=worthless)

    @classmethod
    def from_tiers(cls, tiers: Any, *, worthless: Any = None) -> References:
        """Take tiers of equally good items, best first: ``{query: [[item, …], …]}`` or a table with query, tiers."""
        tiers = tabled(tiers)
        if is_table(tiers):
            frame = as_frame(tiers)
            names = text_column(frame, "query", "references")
            check_once(names, "query {} appears twice; give all its tiers in one row")
            tiers = dict(zip(names, column(frame, "tiers", "references").to_list(), strict=True))
        tiers = check_mapping(tiers, "tiers", "{query: [[item, …], …]}")
        ranks: dict[Any, list[tuple[Any, int]]] = {}
        for query, levels in tiers.items():
            ranks[query] = [
                (item, rank)
                for rank, tier in enumerate(_listed(levels, query), start=1)
                for item in _filled(tier, query, rank)
            ]
        return cls._from_ranked(_frame(ranks, "rank", worthless or {}), worthless, list(ranks))

    @classmethod
    def from_ranks(cls, ranks: Any, *, worthless: Any = None) -> References:
        """Take ranks, 1 the best: ``{query: {item: rank}}`` or a table with query, item, rank."""
        ranks = tabled(ranks)
        if is_table(ranks):
            return cls._from_ranked(as_frame(ranks), worthless)
        ranks = check_mapping(ranks, "ranks", "{query: {item: rank}} or a table with query, item, rank")
        pairs = {query: _pairs(values, query, "rank") for query, values in ranks.items()}
        return cls._from_ranked(_frame(pairs, "rank", worthless or {}), worthless, list(pairs))

    @classmethod
    def from_grades(cls, grades: Any) -> References:
        """Take relevance grades: ``{query: {item: grade}}`` or a table with query, item, grade.

        Each distinct positive grade is a tier; items of grade 0 or less are worthless. A query may have none but
        such items: every run scores 0 there.

        >>> References.from_grades({"q1": {"d1": 3, "d2": 1, "d3": 1, "d4": 0}})["q1"]
        Reference({'d1': 1, 'd2': 2, 'd3': 2})
        """
        grades = tabled(grades)
        if is_table(grades):
            return cls._from_graded(as_frame(grades))
        grades = check_mapping(grades, "grades", "{query: {item: grade}} or a table with query, item, grade")
        pairs = {query: _pairs(values, query, "grade") for query, values in grades.items()}
        return cls._from_graded(_frame(pairs, "grade"))

    @classmethod
    def from_table(cls, table: Any) -> References:
        """Take a table with query, item and rank or grade; where it has both, they must agree.

        In a table of ranks, a column ``worthless`` may mark the items that have no rank because they are no good.
        """
        frame = as_frame(table)
        if "grade" not in frame.columns:
            return cls._from_ranked(frame)
        references = cls._from_graded(frame)
        if "rank" in frame.columns:
            _check_agreement(references, frame)
        return references

    @classmethod
    def from_preferences(cls, preferences: Any, method: str = "bradley-terry", **options: Any) -> References:
        """Take pairwise judgments: items that they do not separate share a rank.

        ``preferences`` are Preferences, a table or tuples (query, winner, loser); the options are those of
        :func:`rankdev.preferences.tiers_from_preferences`.

        >>> References.from_preferences([("q", "x", "y")] * 6)["q"]
        Reference({'x': 1, 'y': 2})
        """
        from rankdev.preferences import references_from_preferences

        return references_from_preferences(preferences, method, **options)

    @classmethod
    def of(cls, value: ReferencesLike) -> References:
        """Take references, a table or records (rank or grade), ranx's Qrels, or ``{query: …}`` of lists or tiers.

        ``{query: {item: number}}`` is refused: it could mean grades or ranks.
        """
        if isinstance(value, References):
            return value
        value = tabled(value)
        if is_table(value):
            return cls.from_table(value)
        if hasattr(value, "qrels"):
            return cls.from_grades(from_ranx(value, "qrels"))
        value = check_mapping(value, "references", "References, a table, {query: [item, …]} or {query: [[item, …], …]}")
        check_no_records(value)
        return cls._from_each({query: Reference.of(entry, query=query) for query, entry in value.items()})

    @classmethod
    def _from_each(cls, entries: Mapping[Any, Reference]) -> References:
        grades = {query: entry.grades for query, entry in entries.items()}
        worthless = {query: entry.worthless for query, entry in entries.items()}
        known = None not in worthless.values()
        if None in grades.values():
            lists = {query: list(items or ()) for query, items in worthless.items()}
            return cls.from_ranks(entries, worthless=lists if known else None)
        all_grades = {query: {**(grades[query] or {}), **(worthless[query] or {})} for query in entries}
        return cls.from_grades(all_grades) if known else replace(cls.from_grades(all_grades), worthless=None)

    @classmethod
    def _from_ranked(cls, frame: pl.DataFrame, worthless: Any = None, queries: Iterable[Any] = ()) -> References:
        frame = frame if worthless is None else _marked(frame, worthless, queries)
        query, item = _names(frame)
        bad = truth_column(frame, "worthless", "references") if "worthless" in frame.columns else None
        rank = number_column(frame, "rank", "references", needed=None if bad is None else ~bad).to_numpy()
        groups, rows = _grouped(query, item, rank, "rank")
        rows = rows[np.lexsort((rank[rows], groups.codes[rows]))]
        if bad is None:
            check_ranks(groups, item, rank, rows)
            return cls._of_rows(groups, item, rows, rank[rows], None)
        both = np.flatnonzero(bad.to_numpy() & (rank != 0))
        if len(both):
            row = int(both[0])
            raise DataError(
                f"query {shown(query[row])}: item {shown(item[row])} has a rank and is worthless too; keep one", row
            )
        poor = bad.to_numpy()[rows]
        check_ranks(groups, item, rank, rows[~poor])
        return cls._of_rows(groups, item, rows[~poor], rank[rows[~poor]], None, rows[poor], np.zeros(poor.sum()))

    @classmethod
    def _from_graded(cls, frame: pl.DataFrame) -> References:
        query, item = _names(frame)
        grade = number_column(frame, "grade", "references").to_numpy()
        groups, rows = _grouped(query, item, grade, "grade")
        rows = rows[np.lexsort((-grade[rows], groups.codes[rows]))]
        good, poor = rows[grade[rows] > 0], rows[grade[rows] <= 0]
        ranks = tier_ranks(groups.codes[good], grade[good])
        return cls._of_rows(groups, item, good, ranks, grade[good], poor, grade[poor])

    @classmethod
    def _of_rows(
        cls,
        groups: Groups,
        item: pl.Series,
        good: Ints,
        ranks: Floats,
        grades: Floats | None,
        poor: Ints | None = None,
        poor_grades: Floats | None = None,
    ) -> References:
        worthless = None
        if poor is not None and poor_grades is not None:
            worthless = Worthless(groups.take(poor).offsets, item.gather(poor).alias("item"), poor_grades)
        names, items = groups.names.alias("query"), item.gather(good).alias("item")
        return cls(names, groups.take(good).offsets, items, ranks.astype(np.int64), grades, worthless)

    @property
    def tier_counts(self) -> Ints:
        """Number of tiers of each query (T)."""
        return last_of_each(self.offsets, self.ranks)

    @property
    def empty(self) -> int:
        """Number of queries without any reference item: all that was judged there is worthless."""
        return int((self.sizes == 0).sum())

    def without_empty(self) -> References:
        """Leave out the queries without any reference item."""
        return self.of_queries(np.flatnonzero(self.sizes))

    def of_queries(self, places: Ints) -> References:
        """Keep some queries, by their places in ascending order."""
        rows = np.flatnonzero(np.isin(self.codes, places))
        return replace(
            self,
            queries=self.queries.gather(places),
            offsets=np.concatenate([[0], np.cumsum(self.sizes[places])]),
            item_ids=self.item_ids.gather(rows),
            ranks=self.ranks[rows],
            grades=None if self.grades is None else self.grades[rows],
            worthless=None if self.worthless is None else self.worthless.of_queries(places),
        )

    def to_polars(self, *, worthless: bool = False) -> pl.DataFrame:
        """One row per reference item: query, item, rank, and grade where there are grades.

        With ``worthless``, the items known to be so follow those of their query; they have no rank.
        """
        columns = {
            "query": self.queries.gather(self.codes),
            "item": self.item_ids,
            "rank": pl.Series(self.ranks),
        }
        if self.grades is not None:
            columns["grade"] = pl.Series(self.grades)
        frame = pl.DataFrame(columns)
        return frame if self.worthless is None or not worthless else self._with_worthless(frame, self.worthless)

    def _with_worthless(self, frame: pl.DataFrame, worthless: Worthless) -> pl.DataFrame:
        poor = pl.DataFrame({"query": self.queries.gather(worthless.codes), "item": worthless.item_ids})
        poor = poor.with_columns(rank=pl.lit(None, pl.Int64))
        if self.grades is not None:
            poor = poor.with_columns(grade=pl.Series(worthless.grades))
        else:
            frame, poor = (part.with_columns(worthless=pl.lit(part is poor)) for part in (frame, poor))
        rows = np.argsort(np.concatenate([self.codes, worthless.codes]), kind="stable")
        return pl.concat([frame, poor])[rows]

    def __getitem__(self, query: str) -> Reference:
        rows = self.rows(query)
        items = self.item_ids[rows].to_list()
        worthless = None if self.worthless is None else self.worthless.of_query(self._places[query])
        if self.grades is not None:
            grades = dict(zip(items, self.grades[rows].tolist(), strict=True))
            reference = Reference.from_grades({**grades, **(worthless or {})}, query=query)
            return reference if worthless is not None else reference.without_worthless()
        return Reference(dict(zip(items, self.ranks[rows].tolist(), strict=True)), worthless=worthless, query=query)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, References):
            return NotImplemented
        known = (self.worthless is None) == (other.worthless is None)
        return known and self._canonical().equals(other._canonical())

    __hash__ = None  # type: ignore[assignment]

    def _canonical(self) -> pl.DataFrame:
        return self.to_polars(worthless=True).sort("query", "rank", "item", nulls_last=True)

    def __repr__(self) -> str:
        graded = ", graded" if self.grades is not None else ""
        return f"References({len(self)} queries, {len(self.item_ids)} items{graded})"


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
    query = names.gather(np.repeat(np.arange(len(names)), counts))
    return pl.DataFrame({"query": query, "item": items, name: number_series(name, values)})


def _marked(frame: pl.DataFrame, worthless: Any, queries: Iterable[Any]) -> pl.DataFrame:
    """Add rows of worthless items to a table of ranks, and put the rows in the order of the queries."""
    lists = check_mapping(worthless, "worthless", "{query: [item, …]}")
    for query, items in lists.items():
        if isinstance(items, str | Mapping) or not isinstance(items, Collection):
            raise DataError(f"query {shown(query)}: worthless must be a list of items; got {shown(items)}")
    query = text_series("query", [as_id(query) for query, items in lists.items() for _ in items])
    poor = pl.DataFrame({"query": query, "item": item_series(lists)})
    good = pl.DataFrame(_names(frame))
    both = poor.join(good, on=["query", "item"], how="semi")
    if len(both):
        query, item = both.row(0)
        raise DataError(f"query {shown(query)}: item {shown(item)} has a rank and is worthless too; keep one")
    good = good.with_columns(column(frame, "rank", "references"), worthless=pl.lit(False))
    rows = pl.concat([good, poor.with_columns(worthless=pl.lit(True))], how="diagonal")
    order = pl.concat([text_series("query", [as_id(query) for query in queries]), rows["query"]]).unique(
        maintain_order=True
    )
    return pl.DataFrame({"query": order}).join(rows, on="query", how="inner", maintain_order="left_right")


def _names(frame: pl.DataFrame) -> list[pl.Series]:
    return [text_column(frame, name, "references") for name in ("query", "item")]


def _grouped(query: pl.Series, item: pl.Series, value: Floats, name: str) -> tuple[Groups, Ints]:
    """Group rows by query; give the groups and the rows that do not repeat another."""
    if not len(query):
        raise DataError("references need at least one row")
    groups = group(query)
    repeated = check_unique(groups, item, value, name)
    if repeated.any():
        row = int(np.argmax(repeated))
        warnings.warn(
            f"{repeated.sum()} rows repeat a (query, item) and are ignored, the first for query"
            f" {shown(query[row])}, item {shown(item[row])}",
            RankdevWarning,
            stacklevel=4,
        )
    return groups, np.flatnonzero(~repeated)


def _check_agreement(references: References, frame: pl.DataFrame) -> None:
    good = number_column(frame, "grade", "references") > 0
    ranked = frame.with_columns(rank=number_column(frame, "rank", "references", needed=good))
    ranked = ranked.select(*_names(frame), "rank")
    pairs = references.to_polars().join(ranked, on=["query", "item"], suffix="_given")
    wrong = pairs.filter(pl.col("rank") != pl.col("rank_given"))
    if len(wrong):
        query, item, rank, grade, given = wrong.row(0)
        raise DataError(
            f"query {shown(query)}: item {shown(item)} has the rank {given:g}, but its grade {grade:g} makes it {rank};"
            " keep one of the two columns"
        )


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
