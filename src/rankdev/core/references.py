"""References: the ordered reference lists of all queries, kept as columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from rankdev._common.arrays import Floats, Ints, offsets_of
from rankdev._common.files_in_use import PathLike
from rankdev._common.lazy import later_step
from rankdev._common.names import is_interactions, unrated
from rankdev._common.reading import caution
from rankdev._common.tables import (
    OfRanx,
    TableLike,
    as_frame,
    as_polars,
    check_mapping,
    check_no_records,
    from_ranx,
    is_table,
    tabled,
)
from rankdev.core._input_formats import (
    check_agreement,
    graded_columns,
    ranked_columns,
    rows_of_grades,
    rows_of_lists,
    rows_of_ranks,
    rows_of_tiers,
)
from rankdev.core.columns import ByQuery, Nonrelevant, last_of_each
from rankdev.core.records import RIGHT, grades_of, records_in
from rankdev.core.single import Reference
from rankdev.errors import counted

ReferencesLike: TypeAlias = "References | PathLike | TableLike | OfRanx | Mapping[Any, Iterable[Any]]"
"""References: their file, References, a table, Qrels of ranx, or ``{query: …}`` of lists or tiers."""


@dataclass(frozen=True, eq=False, repr=False)
class References(ByQuery[Reference]):
    """The references of all queries: a mapping query → :class:`Reference`.

    Relevant items have consecutive ranks from 1; tied items share a rank. Inside, query ``i`` owns the rows
    ``offsets[i]:offsets[i + 1]`` of ``item_ids`` and ``ranks``, sorted by rank.

    Attributes
    ----------
    queries : polars.Series
        Names of the queries.
    offsets : numpy.ndarray
        Where the rows of each query begin, and where the last ones end.
    item_ids : polars.Series
        Names of the items of all queries.
    ranks : numpy.ndarray
        Rank of each item.
    grades : numpy.ndarray or None
        Grade of each item; None where the references were made from ranks.
    nonrelevant : Nonrelevant or None
        Items judged nonrelevant; None where it is not known which they are.

    Examples
    --------
    >>> references = References.from_lists({"q1": ["d1", "d2"], "q2": ["d9"]})
    >>> references["q1"].tiers
    [['d1'], ['d2']]
    """

    queries: pl.Series
    offsets: Ints
    item_ids: pl.Series
    ranks: Ints
    grades: Floats | None = None
    nonrelevant: Nonrelevant | None = None

    @classmethod
    def from_lists(cls, lists: Any, *, nonrelevant: Any = None) -> References:
        """Make references from strict orders.

        Parameters
        ----------
        lists : dict of str to list of str, or table
            Relevant items of each query, best first: ``{query: [item, …]}``, or a table with the columns query and
            item, in that order.
        nonrelevant : dict of str to list of str, optional
            Items judged nonrelevant, by query. Default: unknown.

        Returns
        -------
        References
            Each item has a rank of its own.

        Examples
        --------
        >>> References.from_lists({"q1": ["d1", "d2"]})["q1"]
        Reference({'d1': 1, 'd2': 2})
        """
        return cls._from_ranked(rows_of_lists(lists, nonrelevant))

    @classmethod
    def from_tiers(cls, tiers: Any, *, nonrelevant: Any = None) -> References:
        """Make references from tiers of equally relevant items.

        Parameters
        ----------
        tiers : dict of str to list of lists of str, or table
            Tiers of each query, best first: ``{query: [[item, …], …]}``, or a table with the columns query and tiers.
        nonrelevant : dict of str to list of str, optional
            Items judged nonrelevant, by query. Default: unknown.

        Returns
        -------
        References
            The items of a tier share a rank.

        Examples
        --------
        >>> References.from_tiers({"q1": [["d1", "d3"], ["d2"]]}, nonrelevant={"q1": ["d9"]})["q1"].tiers
        [['d1', 'd3'], ['d2']]
        """
        return cls._from_ranked(rows_of_tiers(tiers, nonrelevant))

    @classmethod
    def from_ranks(cls, ranks: Any, *, nonrelevant: Any = None) -> References:
        """Make references from ranks.

        Parameters
        ----------
        ranks : dict of str to dict of str to int, or table
            Rank of each item, 1 the best: ``{query: {item: rank}}``, or a table with the columns query, item and rank.
        nonrelevant : dict of str to list of str, optional
            Items judged nonrelevant, by query. Default: unknown.

        Returns
        -------
        References
            Items of equal rank form a tier.

        Examples
        --------
        >>> References.from_ranks({"q1": {"d1": 1, "d2": 2, "d3": 1}})["q1"].tiers
        [['d1', 'd3'], ['d2']]
        """
        return cls._from_ranked(rows_of_ranks(ranks, nonrelevant))

    @classmethod
    def from_grades(cls, grades: Any) -> References:
        """Make references from relevance grades.

        Each distinct positive grade is a tier; items of grade 0 or less are nonrelevant. A query may have only
        such items: every run scores 0 there.

        Parameters
        ----------
        grades : dict of str to dict of str to float, or table
            Grade of each judged item: ``{query: {item: grade}}``, or a table with the columns query, item and grade.

        Returns
        -------
        References
            With grades, and with the nonrelevant items.

        Examples
        --------
        >>> References.from_grades({"q1": {"d1": 3, "d2": 1, "d3": 1, "d4": 0}})["q1"]
        Reference({'d1': 1, 'd2': 2, 'd3': 2})
        """
        return cls._from_graded(rows_of_grades(grades))

    @classmethod
    def from_table(cls, table: Any) -> References:
        """Make references from a table of ranks or grades.

        Parameters
        ----------
        table : table
            Columns query, item and rank or grade; where it has both, they must agree. In a table of ranks, a column
            ``nonrelevant`` may mark items without a rank that were judged nonrelevant. A table of users (``user_id``)
            and items without either is one tier for each user.

        Returns
        -------
        References
            With grades where the table has them.

        Examples
        --------
        >>> rows = pl.DataFrame({"query": ["q1", "q1"], "item": ["d1", "d2"], "rank": [1, 2]})
        >>> References.from_table(rows)["q1"]
        Reference({'d1': 1, 'd2': 2})
        """
        table = as_polars(tabled(table))
        if (missing := unrated(table)) is not None:
            caution("unrated", role="references", count=int(missing.sum()))
            table = table.filter(~missing)
        frame = as_frame(table)
        if is_interactions(table.columns):
            return cls._from_ranked(frame.with_columns(rank=pl.lit(1)))
        if "grade" not in frame.columns:
            return cls._from_ranked(frame)
        references = cls._from_graded(frame)
        if "rank" in frame.columns:
            check_agreement(references.to_polars(), frame)
        return references

    @classmethod
    def from_preferences(cls, preferences: Any, method: str = "bradley-terry", **options: Any) -> References:
        """Make references from pairwise judgments; items that they do not distinguish share a rank.

        Parameters
        ----------
        preferences : Preferences, table or list of tuples
            Judgments; tuples are (query, winner, loser).
        method : str, default "bradley-terry"
            Model of the items' strengths.
        **options : Any
            Those of :func:`rankdev.preferences.tiers_from_preferences`.

        Returns
        -------
        References
            The tiers of each query.

        Examples
        --------
        >>> References.from_preferences([("q", "x", "y")] * 6)["q"]
        Reference({'x': 1, 'y': 2})
        """
        made: References = later_step("preferences").references_from_preferences(preferences, method, **options)
        return made

    @classmethod
    def of(cls, value: ReferencesLike) -> References:
        """Make references from whatever the functions of rankdev accept as references, except a path.

        Parameters
        ----------
        value : References, table, list of records, ranx.Qrels or dict
            A table or records have ranks or grades; a dict maps each query to a list of items or tiers, best first.
            ``{query: {item: number}}`` is refused: it could mean grades or ranks.

        Returns
        -------
        References
            The value itself where it is References.

        Examples
        --------
        >>> References.of({"q1": ["d1", ["d2", "d3"]]})["q1"]
        Reference({'d1': 1, 'd2': 2, 'd3': 2})
        """
        if isinstance(value, References):
            return value
        rated = grades_of(value)
        if rated is not None:
            return cls.from_grades(rated)
        value = tabled(value)
        if is_table(value):
            value = as_polars(value)
            return cls.from_table(value) if (found := records_in(value, RIGHT)) is None else cls.of(found)
        if hasattr(value, "qrels"):
            return cls.from_grades(from_ranx(value, "qrels"))
        value = check_mapping(value, "references", "References, a table, {query: [item, …]} or {query: [[item, …], …]}")
        check_no_records(value)
        return cls._from_each({query: Reference.of(entry, query=query) for query, entry in value.items()})

    @classmethod
    def _from_each(cls, entries: Mapping[Any, Reference]) -> References:
        grades = {query: entry.grades for query, entry in entries.items()}
        nonrelevant = {query: entry.nonrelevant for query, entry in entries.items()}
        known = None not in nonrelevant.values()
        if None in grades.values():
            lists = {query: list(items or ()) for query, items in nonrelevant.items()}
            return cls.from_ranks(entries, nonrelevant=lists if known else None)
        all_grades = {query: {**(grades[query] or {}), **(nonrelevant[query] or {})} for query in entries}
        return cls.from_grades(all_grades) if known else replace(cls.from_grades(all_grades), nonrelevant=None)

    @classmethod
    def _from_ranked(cls, frame: pl.DataFrame) -> References:
        return cls(*ranked_columns(frame))

    @classmethod
    def _from_graded(cls, frame: pl.DataFrame) -> References:
        return cls(*graded_columns(frame))

    @property
    def tier_counts(self) -> Ints:
        """Number of tiers of each query (T)."""
        return last_of_each(self.offsets, self.ranks)

    @property
    def empty(self) -> int:
        """Number of queries without any reference item: all that was judged there is nonrelevant."""
        return int((self.sizes == 0).sum())

    def without_empty(self) -> References:
        """Return the references without the queries that have no relevant item.

        Returns
        -------
        References
            The other queries, in the same order.

        Examples
        --------
        >>> len(References.from_grades({"q1": {"d1": 1}, "q2": {"d1": 0}}).without_empty())
        1
        """
        return self.of_queries(np.flatnonzero(self.sizes))

    def of_queries(self, places: Ints) -> References:
        """Return the references of some queries.

        Parameters
        ----------
        places : numpy.ndarray of int
            Indices of the queries, from 0, in ascending order.

        Returns
        -------
        References
            Those queries, in the same order.

        Examples
        --------
        >>> list(References.from_lists({"q1": ["d1"], "q2": ["d2"]}).of_queries(np.array([1])))
        ['q2']
        """
        rows = np.flatnonzero(np.isin(self.codes, places))
        return replace(
            self,
            queries=self.queries.gather(places),
            offsets=offsets_of(self.sizes[places]),
            item_ids=self.item_ids.gather(rows),
            ranks=self.ranks[rows],
            grades=None if self.grades is None else self.grades[rows],
            nonrelevant=None if self.nonrelevant is None else self.nonrelevant.of_queries(places),
        )

    def to_polars(self, *, nonrelevant: bool = False) -> pl.DataFrame:
        """Return one row per reference item.

        Parameters
        ----------
        nonrelevant : bool, default False
            Whether to add the items known to be nonrelevant after those of their query; they have no rank.

        Returns
        -------
        polars.DataFrame
            Columns query, item, rank, and grade where there are grades.

        Examples
        --------
        >>> References.from_lists({"q1": ["d1", "d2"]}).to_polars().rows()
        [('q1', 'd1', 1), ('q1', 'd2', 2)]
        """
        columns = {
            "query": self.queries.gather(self.codes),
            "item": self.item_ids,
            "rank": pl.Series(self.ranks),
        }
        if self.grades is not None:
            columns["grade"] = pl.Series(self.grades)
        frame = pl.DataFrame(columns)
        if self.nonrelevant is None or not nonrelevant:
            return frame
        return self.nonrelevant.added_to(frame, self.queries, self.codes)

    def __getitem__(self, query: str) -> Reference:
        rows = self.rows(query)
        items = self.item_ids[rows].to_list()
        nonrelevant = None if self.nonrelevant is None else self.nonrelevant.of_query(self.place_of(query))
        if self.grades is not None:
            grades = dict(zip(items, self.grades[rows].tolist(), strict=True))
            reference = Reference.from_grades({**grades, **(nonrelevant or {})}, query=query)
            return reference if nonrelevant is not None else reference.without_nonrelevant()
        return Reference(dict(zip(items, self.ranks[rows].tolist(), strict=True)), nonrelevant=nonrelevant, query=query)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, References):
            return NotImplemented
        known = (self.nonrelevant is None) == (other.nonrelevant is None)
        return known and self.canonical().equals(other.canonical())

    __hash__ = None  # type: ignore[assignment]

    def canonical(self) -> pl.DataFrame:
        """Return one row per item, nonrelevant ones too, in an order that does not depend on how they were given.

        Returns
        -------
        polars.DataFrame
            The columns of :meth:`to_polars`.
        """
        return self.to_polars(nonrelevant=True).sort("query", "rank", "item", nulls_last=True)

    def __repr__(self) -> str:
        graded = ", graded" if self.grades is not None else ""
        return f"References({counted(len(self), 'query')}, {counted(len(self.ranks), 'item')}{graded})"
