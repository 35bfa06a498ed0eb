"""References: the ordered reference lists of all queries, kept as columns."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from rankdev.errors import DataError, RankdevWarning, shown
from rankdev.references.columns import (
    ByQuery,
    Floats,
    Groups,
    Ints,
    check_once,
    check_ranks,
    check_unique,
    group,
    item_series,
    tier_ranks,
)
from rankdev.references.reference import Reference, as_id
from rankdev.tabular import (
    as_frame,
    check_mapping,
    column,
    is_table,
    number_column,
    number_series,
    text_column,
    text_series,
)


@dataclass(frozen=True, eq=False, repr=False)
class References(ByQuery[Reference]):
    """What is right for every query: items with consecutive ranks from 1, ties sharing a rank.

    A mapping query → :class:`Reference`. Inside, query ``i`` owns the rows ``offsets[i]:offsets[i + 1]`` of
    ``item_ids`` and ``ranks``, sorted by rank.

    >>> references = References.from_lists({"q1": ["d1", "d2"], "q2": ["d9"]})
    >>> references["q1"].tiers
    [['d1'], ['d2']]
    """

    queries: pl.Series
    offsets: Ints
    item_ids: pl.Series
    ranks: Ints
    grades: Floats | None = None
    skipped: int = 0

    @classmethod
    def from_lists(cls, lists: Any) -> References:
        """Take strict orders, best item first: ``{query: [item, …]}`` or a table with query, item in that order."""
        if is_table(lists):
            frame = as_frame(lists)
            queries, items = (text_column(frame, name, "references") for name in ("query", "item"))
            groups = group(queries)
            rows = np.argsort(groups.codes, kind="stable")
            rank = np.empty(len(rows), np.int64)
            rank[rows] = np.arange(len(rows)) - groups.offsets[groups.codes[rows]] + 1
            return cls._from_table(pl.DataFrame({"query": queries, "item": items, "rank": rank}), "rank")
        lists = check_mapping(lists, "lists", "{query: [item, …]}")
        return cls.from_tiers({query: [[item] for item in _listed(items, query)] for query, items in lists.items()})

    @classmethod
    def from_tiers(cls, tiers: Any) -> References:
        """Take tiers of equally good items, best first: ``{query: [[item, …], …]}`` or a table with query, tiers."""
        if is_table(tiers):
            frame = as_frame(tiers)
            names = text_column(frame, "query", "references")
            check_once(names, "query {} stands twice; give all its tiers in one row")
            tiers = dict(zip(names, column(frame, "tiers", "references").to_list(), strict=True))
        tiers = check_mapping(tiers, "tiers", "{query: [[item, …], …]}")
        ranks: dict[Any, list[tuple[Any, int]]] = {}
        for query, levels in tiers.items():
            ranks[query] = [
                (item, rank)
                for rank, tier in enumerate(_listed(levels, query), start=1)
                for item in _filled(tier, query, rank)
            ]
        return cls._from_pairs(ranks, "rank")

    @classmethod
    def from_ranks(cls, ranks: Any) -> References:
        """Take ranks, 1 the best: ``{query: {item: rank}}`` or a table with query, item, rank."""
        if is_table(ranks):
            return cls._from_table(as_frame(ranks), "rank")
        ranks = check_mapping(ranks, "ranks", "{query: {item: rank}} or a table with query, item, rank")
        return cls._from_pairs({query: _pairs(values, query, "rank") for query, values in ranks.items()}, "rank")

    @classmethod
    def from_grades(cls, grades: Any) -> References:
        """Take relevance grades: ``{query: {item: grade}}`` or a table with query, item, grade.

        Each distinct positive grade is a tier; other items are left out. Queries without a positive grade are
        skipped and counted.

        >>> References.from_grades({"q1": {"d1": 3, "d2": 1, "d3": 1, "d4": 0}})["q1"]
        Reference({'d1': 1, 'd2': 2, 'd3': 2})
        """
        if is_table(grades):
            return cls._from_table(as_frame(grades), "grade")
        grades = check_mapping(grades, "grades", "{query: {item: grade}} or a table with query, item, grade")
        return cls._from_pairs({query: _pairs(values, query, "grade") for query, values in grades.items()}, "grade")

    @classmethod
    def from_table(cls, table: Any) -> References:
        """Take a table with query, item and rank or grade; where it has both, they must agree."""
        frame = as_frame(table)
        if "grade" not in frame.columns:
            return cls._from_table(frame, "rank")
        references = cls._from_table(frame, "grade")
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
    def of(cls, value: Any) -> References:
        """Take references as they are, a table (rank or grade), ``{query: [item, …]}`` or ``{query: {item: rank}}``."""
        if isinstance(value, References):
            return value
        if is_table(value):
            return cls.from_table(value)
        value = check_mapping(value, "references", "References, a table, {query: [item, …]} or {query: {item: rank}}")
        entries = {query: Reference.of(entry, query=query) for query, entry in value.items()}
        grades = {query: entry.grades for query, entry in entries.items()}
        return cls.from_ranks(entries) if None in grades.values() else cls.from_grades(grades)

    @classmethod
    def _from_pairs(cls, pairs: Mapping[Any, list[tuple[Any, Any]]], name: str) -> References:
        if not pairs:
            raise DataError("references need at least one query")
        for query, entries in pairs.items():
            if not entries:
                raise DataError(f"query {shown(query)}: a reference needs at least one item")
        items = item_series({query: [item for item, _ in entries] for query, entries in pairs.items()})
        names = text_series("query", [as_id(query) for query in pairs])
        check_once(names, "query {} stands twice, as a number and as text; keep one")
        counts = [len(entries) for entries in pairs.values()]
        values = [value for entries in pairs.values() for _, value in entries]
        query = names.gather(np.repeat(np.arange(len(names)), counts))
        frame = pl.DataFrame({"query": query, "item": items, name: number_series(name, values)})
        return cls._from_table(frame, name)

    @classmethod
    def _from_table(cls, frame: pl.DataFrame, name: str) -> References:
        query = text_column(frame, "query", "references")
        item = text_column(frame, "item", "references")
        value = number_column(frame, name, "references").to_numpy()
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
                stacklevel=3,
            )
        if name == "grade":
            return cls._from_graded(groups, item, value, ~repeated & (value > 0))
        rows = np.lexsort((value, groups.codes))
        rows = rows[~repeated[rows]]
        check_ranks(groups, item, value, rows)
        offsets = Groups(groups.names, groups.codes[rows]).offsets
        return cls(groups.names.alias("query"), offsets, item.gather(rows).alias("item"), value[rows].astype(np.int64))

    @classmethod
    def _from_graded(cls, groups: Groups, item: pl.Series, grade: Floats, keep: Any) -> References:
        rows = np.flatnonzero(keep)
        rows = rows[np.lexsort((-grade[rows], groups.codes[rows]))]
        used = np.bincount(groups.codes[rows], minlength=len(groups.names)) > 0
        skipped = int((~used).sum())
        if not used.any():
            raise DataError("no query has a positive grade, so there is no reference item")
        if skipped:
            example = groups.names[int(np.argmin(used))]
            warnings.warn(
                f"{skipped} of {len(used)} queries have no positive grade and are skipped, such as {shown(example)}",
                RankdevWarning,
                stacklevel=4,
            )
        codes = (np.cumsum(used) - 1)[groups.codes[rows]]
        names = groups.names.filter(pl.Series(used)).alias("query")
        ranks = tier_ranks(codes, grade[rows]).astype(np.int64)
        offsets = Groups(names, codes).offsets
        return cls(names, offsets, item.gather(rows).alias("item"), ranks, grade[rows], skipped)

    @property
    def tier_counts(self) -> Ints:
        """Number of tiers of each query (T)."""
        return self.ranks[self.offsets[1:] - 1]

    def to_polars(self) -> pl.DataFrame:
        """One row a reference item: query, item, rank, and grade where there are grades."""
        columns = {
            "query": self.queries.gather(self.codes),
            "item": self.item_ids,
            "rank": pl.Series(self.ranks),
        }
        if self.grades is not None:
            columns["grade"] = pl.Series(self.grades)
        return pl.DataFrame(columns)

    def __getitem__(self, query: str) -> Reference:
        rows = self.rows(query)
        items = self.item_ids[rows].to_list()
        if self.grades is not None:
            return Reference.from_grades(dict(zip(items, self.grades[rows].tolist(), strict=True)))
        return Reference(dict(zip(items, self.ranks[rows].tolist(), strict=True)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, References):
            return NotImplemented
        return self._canonical().equals(other._canonical())

    __hash__ = None  # type: ignore[assignment]

    def _canonical(self) -> pl.DataFrame:
        return self.to_polars().sort("query", "rank", "item")

    def __repr__(self) -> str:
        graded = ", graded" if self.grades is not None else ""
        return f"References({len(self)} queries, {len(self.item_ids)} items{graded})"


def _check_agreement(references: References, frame: pl.DataFrame) -> None:
    ranked = frame.with_columns(rank=number_column(frame, "rank", "references"))
    ranked = ranked.select(text_column(frame, "query", "references"), text_column(frame, "item", "references"), "rank")
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
