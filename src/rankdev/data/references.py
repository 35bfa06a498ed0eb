"""References: the ordered reference lists of all queries, kept as columns; and that of one query."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from types import MappingProxyType
from typing import Any, Self, TypeAlias

import numpy as np

from rankdev._common.arrays import Bools, Floats, Ints
from rankdev._common.checks import is_number
from rankdev._common.lazy import pl
from rankdev.data import ids, records, tables
from rankdev.data.ids import Ids, Index, Words
from rankdev.data.options import ReadOptions
from rankdev.data.rows import (
    ByQuery,
    Rows,
    What,
    are_lists,
    counted_once,
    hidden,
    last_of_each,
    named,
    of_lists,
    of_numbers,
    offsets_of,
    plain_series,
    refuse_two_values,
)
from rankdev.data.tables import OfRanx, TableLike, check_mapping
from rankdev.data.write import PathLike
from rankdev.errors import DataError, Note, counted, errors_at

ONE = "this"  # names the query of a reference alone
_FORMS = {  # what each query has
    "item": "{query: [item, …]}",
    "tier": "{query: [[item, …], …]}",
    "item or tier": "{query: [item, …]} or {query: [[item, …], …]}",
    "rank": "{query: {item: rank}} or a table with query, item, rank",
    "grade": "{query: {item: grade}} or a table with query, item, grade",
}
LISTED = 50  # items of a reference that repr lists; more are counted


class Reference(Mapping[str, int]):
    """The reference of one query: a mapping item → rank.

    Ranks are consecutive from 1, and items of equal rank form a tier. A reference is empty only where nothing but
    ``nonrelevant`` items is known: every ranking scores 0 then.

    Parameters
    ----------
    ranks : dict of str to int
        Rank of each relevant item, 1 the best.
    nonrelevant : iterable of str, optional
        Items judged nonrelevant. Default: unknown.

    Examples
    --------
    >>> Reference({"d1": 1, "d2": 2, "d3": 1}).tiers
    [['d1', 'd3'], ['d2']]
    """

    __slots__ = ("_grades", "_nonrelevant", "_ranks")
    _ranks: dict[str, int]
    _grades: dict[str, float] | None
    _nonrelevant: dict[str, float] | None

    def __init__(self, ranks: Mapping[Any, int], *, nonrelevant: Iterable[Any] | None = None) -> None:
        lists = None if nonrelevant is None else {ONE: list(nonrelevant)}
        made = _alone(References.from_ranks, {ONE: ranks}, nonrelevant=lists)
        self._ranks, self._grades, self._nonrelevant = made._ranks, made._grades, made._nonrelevant

    @classmethod
    def _of(cls, ranks: dict[str, int], grades: dict[str, float] | None, nonrelevant: dict[str, float] | None) -> Self:
        """Make a reference of what was checked."""
        made = cls.__new__(cls)
        made._ranks, made._grades, made._nonrelevant = ranks, grades, nonrelevant
        return made

    @classmethod
    def from_grades(cls, grades: Mapping[Any, float]) -> Reference:
        """Make a reference from relevance grades.

        Parameters
        ----------
        grades : dict of str to float
            Grade of each judged item. Items of grade 0 or less are nonrelevant.

        Returns
        -------
        Reference
            Each distinct positive grade is a tier, the highest first.

        Examples
        --------
        >>> Reference.from_grades({"d1": 3, "d2": 1, "d3": 1, "d4": 0})
        Reference({'d1': 1, 'd2': 2, 'd3': 2})
        """
        return _alone(References.from_grades, {ONE: grades})

    @classmethod
    def of(cls, value: Any) -> Reference:
        """Make a reference from whatever the functions of rankdev accept as one.

        Parameters
        ----------
        value : Reference, list of str, list of lists of str or set of str
            A reference, or items or tiers, best first; a set is one tier. A dict is refused: it could mean grades or
            ranks.

        Returns
        -------
        Reference
            The value itself where it is a Reference.

        Examples
        --------
        >>> Reference.of([["d1", "d3"], "d2"])
        Reference({'d1': 1, 'd3': 1, 'd2': 2})
        """
        return value if isinstance(value, Reference) else _alone(References.of, {ONE: value})

    @property
    def tiers(self) -> list[list[str]]:
        """Items by rank, best tier first."""
        tiers: list[list[str]] = [[] for _ in range(max(self._ranks.values(), default=0))]
        for item, rank in self._ranks.items():
            tiers[rank - 1].append(item)
        return tiers

    @property
    def grades(self) -> dict[str, float] | None:
        """Native grades, where the reference was made from grades."""
        return self._grades

    @property
    def nonrelevant(self) -> Mapping[str, float] | None:
        """Items judged nonrelevant, with their grades (0 or less); None where it is not known which they are."""
        return None if self._nonrelevant is None else MappingProxyType(self._nonrelevant)

    def __getitem__(self, item: str) -> int:
        return self._ranks[str(item) if ids.is_integer(item) else item]

    def __iter__(self) -> Iterator[str]:
        return iter(self._ranks)

    def __len__(self) -> int:
        return len(self._ranks)

    def __repr__(self) -> str:
        if len(self._ranks) <= LISTED:
            return f"Reference({self._ranks})"
        return f"Reference({len(self._ranks):,} items on {len(set(self._ranks.values())):,} ranks)"


def _alone(make: Callable[..., References], value: Any, **options: Any) -> Reference:
    """Make the reference of one query, which has no name that an error could tell."""
    try:
        return make(value, **options)[ONE]
    except DataError as error:
        if error.fields.get("query") == ONE:
            del error.fields["query"]
        raise


def tier_record(query: str, reference: Reference) -> dict[str, Any]:
    """Return a query's tiers, the grade of each where there are grades, and the nonrelevant items."""
    record: dict[str, Any] = {"query": query, "tiers": reference.tiers}
    if reference.grades is not None:
        record["grades"] = [reference.grades[tier[0]] for tier in reference.tiers]
    if reference.nonrelevant is not None:
        record["nonrelevant"] = list(reference.nonrelevant)
        if any(reference.nonrelevant.values()):
            record["nonrelevant_grades"] = list(reference.nonrelevant.values())
    return record


ReferencesLike: TypeAlias = "References | PathLike | TableLike | OfRanx | Mapping[Any, Iterable[Any]]"
"""References: their file, References, a table, Qrels of ranx, or ``{query: …}`` of lists or tiers."""


@dataclass(frozen=True, eq=False)
class Nonrelevant:
    """Items judged nonrelevant: query ``i`` owns the rows ``offsets[i]:offsets[i + 1]``; grades are 0 or less.

    A grade below 0 is kept as it is: trec_eval takes −1 and −2 for items that were not judged after all.
    """

    offsets: Ints
    item_ids: Ids
    grades: Floats

    @property
    def codes(self) -> Ints:
        """Query index of each row."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    def of_query(self, place: int) -> dict[str, float]:
        """Items of one query and their grades."""
        rows = slice(int(self.offsets[place]), int(self.offsets[place + 1]))
        return dict(zip(ids.listed(self.item_ids[rows]), self.grades[rows].tolist(), strict=True))

    def of_queries(self, places: Ints) -> Nonrelevant:
        """Keep some queries, in order."""
        rows = np.flatnonzero(np.isin(self.codes, places))
        return Nonrelevant(offsets_of(np.diff(self.offsets)[places]), ids.take(self.item_ids, rows), self.grades[rows])


@dataclass(frozen=True, eq=False, repr=False)
class References(ByQuery[Reference]):
    """The references of all queries: a mapping query → :class:`Reference`.

    Relevant items have consecutive ranks from 1; tied items share a rank. Inside, query ``i`` owns the rows
    ``offsets[i]:offsets[i + 1]`` of ``item_ids`` and ``ranks``, sorted by rank.

    Attributes
    ----------
    queries : list of str
        Names of the queries.
    offsets : numpy.ndarray
        Where the rows of each query begin, and where the last ones end.
    item_ids : list of str or Words
        Names of the items of all queries.
    ranks : numpy.ndarray
        Rank of each item.
    grades : numpy.ndarray or None
        Grade of each item; None where the references were made from ranks.
    nonrelevant : Nonrelevant or None
        Items judged nonrelevant; None where it is not known which they are.
    notes : tuple of str
        What may be wrong with them, such as rows that appear twice.

    Examples
    --------
    >>> references = References.from_lists({"q1": ["d1", "d2"], "q2": ["d9"]})
    >>> references["q1"].tiers
    [['d1'], ['d2']]
    """

    queries: list[str]
    offsets: Ints
    item_ids: Ids
    ranks: Ints
    grades: Floats | None = None
    nonrelevant: Nonrelevant | None = None
    notes: tuple[Note, ...] = ()

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
        return cls.of_known(lists, "item", ReadOptions(), nonrelevant).with_warnings()

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
        return cls.of_known(tiers, "tier", ReadOptions(), nonrelevant).with_warnings()

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
        return cls.of_known(ranks, "rank", ReadOptions(), nonrelevant).with_warnings()

    @classmethod
    def from_grades(cls, grades: Any, *, words: Mapping[str, float] | None = None) -> References:
        """Make references from relevance grades.

        Each distinct positive grade is a tier; items of grade 0 or less are nonrelevant. A query may have only
        such items: every run scores 0 there.

        Parameters
        ----------
        grades : dict of str to dict of str to float, or table
            Grade of each judged item: ``{query: {item: grade}}``, or a table with the columns query, item and grade.
        words : dict of str to float, optional
            The grades that words stand for: ``{"Exact": 3, "Substitute": 2, "Complement": 1, "Irrelevant": 0}``.

        Returns
        -------
        References
            With grades, and with the nonrelevant items.

        Examples
        --------
        >>> References.from_grades({"q1": {"d1": 3, "d2": 1, "d3": 1, "d4": 0}})["q1"]
        Reference({'d1': 1, 'd2': 2, 'd3': 2})
        """
        return cls.of_known(grades, "grade", ReadOptions(grades=words)).with_warnings()

    @classmethod
    def from_table(cls, table: Any, *, grades: Mapping[str, float] | None = None) -> References:
        """Make references from a table of ranks or grades.

        Parameters
        ----------
        table : table
            Columns query, item and rank or grade; where it has both, they must agree. In a table of ranks, a column
            ``nonrelevant`` may mark items without a rank that were judged nonrelevant. A table of users (``user_id``)
            and items without either is one tier for each user.
        grades : dict of str to float, optional
            The grades that words stand for: ``{"Exact": 3, "Substitute": 2, "Complement": 1, "Irrelevant": 0}``.

        Returns
        -------
        References
            With grades where the table has them.

        Examples
        --------
        >>> import polars as pl
        >>> rows = pl.DataFrame({"query": ["q1", "q1"], "item": ["d1", "d2"], "rank": [1, 2]})
        >>> References.from_table(rows)["q1"]
        Reference({'d1': 1, 'd2': 2})
        """
        return cls.of_table(table, ReadOptions(grades=grades)).with_warnings()

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
        from rankdev.preferences import references_from_preferences

        return references_from_preferences(preferences, method, **options)

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
        references = cls.of_value(value, ReadOptions())
        return value if references is value else references.with_warnings()

    @classmethod
    def of_value(cls, value: Any, read: ReadOptions) -> References:
        """Make references of anything but a path; what may be wrong with them is in their notes."""
        if isinstance(value, References):
            return value
        if type(value) is dict and value and are_lists(value.values()) and all(value.values()):
            return cls.of_rows(replace(of_lists(value), listed=False), None, read)
        if isinstance(value, Rows):
            return cls.of_rows(value, None, read)
        gold = records.gold_of(value, read)
        if gold is not None:
            return cls.of_gold(gold, read)
        if isinstance(value, Mapping) and records.answers_in(value) is not None:
            raise DataError("looks-like-run")
        listed = isinstance(value, list) and bool(value) and all(isinstance(record, Mapping) for record in value)
        if listed and records.names_tiers(value[0], read):
            return cls._of_tiers(value, read)
        value = tables.table_of_records(value)
        return cls.of_table(value, read) if tables.is_table(value) else cls._of_mapping(value, read)

    @classmethod
    def _of_mapping(cls, value: Any, read: ReadOptions) -> References:
        if hasattr(value, "qrels") and hasattr(value, "to_dict"):  # of ranx
            return cls.of_known(value.to_dict(), "grade", read)
        value = check_mapping(value, "references", "References, a table, {query: [item, …]} or {query: [[item, …], …]}")
        if records.holds_records(value):
            found = records.of_records(value, read, ("grade", "rank"))
            if not isinstance(found, dict):
                return cls.of_gold(found, read)
        if not any(isinstance(entry, Reference) for entry in value.values()):
            return cls.of_known(value, "item or tier", read)
        made = [
            tier_record(query, entry if isinstance(entry, Reference) else cls.of_value({query: entry}, read)[query])
            for query, entry in value.items()
        ]
        shared = set.intersection(*map(set, made)) | {"nonrelevant_grades"}
        return cls._of_tiers([{name: record[name] for name in record if name in shared} for record in made], read)

    @classmethod
    def of_gold(cls, gold: Any, read: ReadOptions) -> References:
        """Make references of what :func:`rankdev.data.records.gold_of` found."""
        if not isinstance(gold, dict):
            with tables.renumbered(()):
                return cls.of_table(gold, read)
        graded = any(isinstance(entry, Mapping) for entry in gold.values())
        return cls.of_known(gold, "grade" if graded else "item or tier", read)

    @classmethod
    def of_known(cls, value: Any, what: str, read: ReadOptions, nonrelevant: Any = None) -> References:
        """Make references of what is known to give each query's items a ``rank`` or a ``grade``, or to list them.

        What is listed, best first, is an ``item``, a ``tier``, or each of them an ``item or tier``.
        """
        value = tables.table_of_records(value)
        if not tables.is_table(value):
            return cls.of_rows(*_with_nonrelevant(_of_mapping(value, what, read, nonrelevant), nonrelevant), read)
        frame = read.named(tables.as_polars(value))
        if what == "tier":
            queries = tables.text_column(frame, "query", "references").to_list()
            check_once(queries)
            tiers = tables.column(frame, "tiers", "references").to_list()
            return cls.of_known(dict(zip(queries, tiers, strict=True)), what, read, nonrelevant)
        if what == "grade":
            return cls.of_rows(_of_frame(tables.graded(frame, read.grades), "grade"), None, read)
        if what == "item":  # the first row of a query is its best item
            tables.column(frame, "query", "references")
            frame = frame.with_columns(rank=pl.int_range(1, pl.len() + 1).over("query"))
        return cls._ranked(frame, read, nonrelevant)

    @classmethod
    def of_table(cls, table: Any, read: ReadOptions) -> References:
        """Make references from a table of ranks or grades, of tiers or contexts, or of users and what they chose."""
        table = tables.as_polars(table)
        gold = records.gold_of(records.records_in(table, records.RIGHT, read), read)
        if gold is not None:
            return cls.of_gold(gold, read)
        if records.names_tiers(table.columns, read):
            return cls._of_tiers(table.to_dicts(), read)
        kept = tables.rated(table, read)
        with tables.renumbered(kept):
            frame = read.named(table if isinstance(kept, range) else table[kept])
            if tables.is_interactions(table.columns, read.columns or tables.NONE):  # each item has rank 1
                if name := next(filter(None, map(tables.levels, frame.drop("query", "item"))), None):
                    read.note("not-grades", name=name)
                return cls._ranked(frame.with_columns(rank=pl.lit(1)), read)
            names = {*frame.columns}
            ranked_run = "score" in names and "grade" not in names and read.chosen("rank") is None
            if ranked_run or not names & {"rank", "grade"}:
                raise DataError(_not_references(frame), known=table.columns)
            if "grade" not in frame.columns:
                return cls._ranked(frame, read)
            frame = tables.graded(frame, read.grades)
            references = cls.of_rows(_of_frame(frame, "grade"), None, read)
            if "rank" in frame.columns:
                _check_agreement(references.to_polars(), frame)
            return references

    @classmethod
    def _of_tiers(cls, listed: Iterable[Mapping[Any, Any]], read: ReadOptions) -> References:
        """Make references of records, each with the tiers of a query, or items, each a tier."""
        chosen = read.columns or tables.NONE
        named = [{tables.our_name(str(name), chosen): record[name] for name in record} for record in listed]
        read.met.update(chosen.values())
        graded, judged = (any(record.get(name) is not None for record in named) for name in ("grades", "nonrelevant"))
        found: list[tuple[int, str, str, float, bool]] = []
        for row, record in enumerate(named):
            with errors_at(row=row, query=record.get("query")):
                if record.get("query") in (None, ""):
                    raise DataError("no-value", name="query")
                query = ids.as_id(record["query"])
                found += ((row, query, *entry) for entry in records.tier_rows(record, graded))
        check_once([ids.as_id(record["query"]) for record in named])
        if not found:
            raise DataError("no-rows", what="table of references")
        origin, names, items, values, poor = map(list, zip(*found, strict=True))
        queries, codes = ids.numbered(names)
        value, what = np.array(values, np.float64), "grade" if graded else "rank"
        rows = Rows(queries, codes, items, value, what, origin=np.array(origin))  # type: ignore[arg-type]
        references = cls.of_rows(rows, np.array(poor) if judged and not graded else None, read)
        return references if judged else replace(references, nonrelevant=None)

    @classmethod
    def _ranked(cls, frame: pl.DataFrame, read: ReadOptions, nonrelevant: Any = None) -> References:
        if nonrelevant is not None or "nonrelevant" not in frame.columns:
            return cls.of_rows(*_with_nonrelevant(_of_frame(frame, "rank"), nonrelevant), read)
        marked = tables.truth_column(frame, "nonrelevant", "references")
        return cls.of_rows(_of_frame(frame, "rank", needed=~marked), marked.to_numpy(), read)

    @classmethod
    def of_rows(cls, rows: Rows, marked: Bools | None, read: ReadOptions) -> References:
        """Make references of rows with a rank or a grade; ``marked`` are those that were judged nonrelevant."""
        if not len(rows.codes):
            raise DataError("no-rows", what="table of references")
        if marked is None:
            rows = counted_once(rows, read.duplicates)
        again = None if rows.distinct else ids.repeated(rows.codes, rows.item)
        if again is not None:
            refuse_two_values(rows, again, "two-values")
            first = rows.at(int(np.argmax(again)))
            read.note("repeated-rows", count=int(again.sum()), query=first["query"], item=first["item"])
            rows, marked = rows.take(np.flatnonzero(~again)), None if marked is None else marked[~again]
        if (name := hidden(rows)) is not None:
            read.note("hidden-characters", name=name)
        graded, value = rows.what == "grade", rows.value
        order = ids.sorted_rows(rows.codes, value if graded else -value)
        good = value > 0
        if not graded:
            good = np.ones(len(value), bool) if marked is None else ~marked
            if (value[~good] != 0).any():
                raise DataError("ranked-and-nonrelevant", **rows.at(int(np.argmax(~good & (value != 0)))))
        good = good[order]
        relevant, others = order[good], order[~good]
        ranks = _tiers_of(rows.codes[relevant], value[relevant]) if graded else _checked_ranks(rows, relevant, read)

        def offsets(kept: Ints) -> Ints:
            return offsets_of(np.bincount(rows.codes[kept], minlength=len(rows.queries)))

        nonrelevant = None
        if graded or marked is not None:
            grades = value[others] if graded else np.zeros(len(others))
            nonrelevant = Nonrelevant(offsets(others), ids.take(rows.item, others), grades)
        return cls(
            rows.queries,
            offsets(relevant),
            ids.take(rows.item, relevant),
            ranks,
            value[relevant] if graded else None,
            nonrelevant,
            tuple(read.notes),
        )

    @cached_property
    def judged(self) -> tuple[Ints, Ids]:
        """Query and id of every item that was judged, the nonrelevant ones last."""
        if self.nonrelevant is None:
            return self.codes, self.item_ids
        codes = np.concatenate([self.codes, self.nonrelevant.codes])
        return codes, ids.joined([self.item_ids, self.nonrelevant.item_ids])

    @cached_property
    def kept(self) -> dict[object, Any]:
        """What is computed of the references once, by those that use them."""
        return {}

    @cached_property
    def index(self) -> Index:
        """Where each judged item is in :attr:`judged`."""
        return Index(*self.judged)

    @property
    def tier_counts(self) -> Ints:
        """Number of tiers of each query (T)."""
        return last_of_each(self.offsets, self.ranks)

    @cached_property
    def empty(self) -> int:
        """Number of queries without any reference item: all that was judged there is nonrelevant."""
        return int(np.count_nonzero(self.sizes == 0))

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
            queries=[self.queries[place] for place in places.tolist()],
            offsets=offsets_of(self.sizes[places]),
            item_ids=ids.take(self.item_ids, rows),
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
        columns = {"query": self.codes, "item": ids.series(self.item_ids), "rank": self.ranks, "grade": self.grades}
        frame = pl.DataFrame({name: given for name, given in columns.items() if given is not None})
        if (others := self.nonrelevant) is not None and nonrelevant:
            below = pl.DataFrame({"query": others.codes, "item": ids.series(others.item_ids)})
            if self.grades is not None:
                below = below.with_columns(grade=others.grades)
            else:
                frame, below = (part.with_columns(nonrelevant=pl.lit(part is below)) for part in (frame, below))
            frame = pl.concat([frame, below], how="diagonal").sort("query", maintain_order=True)
        return frame.with_columns(ids.series(self.queries, "query").gather(frame["query"]))

    def __getitem__(self, query: str) -> Reference:
        rows = self.rows(query)
        items = ids.listed(self.item_ids[rows])
        nonrelevant = None if self.nonrelevant is None else self.nonrelevant.of_query(self.place_of(query))
        grades = None if self.grades is None else dict(zip(items, self.grades[rows].tolist(), strict=True))
        return Reference._of(dict(zip(items, self.ranks[rows].tolist(), strict=True)), grades, nonrelevant)

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


def _not_references(frame: pl.DataFrame) -> str:
    """Return the kind of error about a table that holds no references."""
    names = {*frame.columns}
    for kind, error in ((records.RIGHT, "contexts-in-table"), (records.RETRIEVED, "no-contexts")):
        if any(kind.fullmatch(tables.plain_name(name)) for name in names):
            return error
    return "looks-like-run" if names & {"score", "response", "hits"} else "not-references"


def check_once(queries: list[str]) -> None:
    """Refuse a query that appears twice."""
    if len({*queries}) < len(queries):
        row = next(row for row, query in enumerate(queries) if query in queries[:row])
        raise DataError("query-twice", query=queries[row], row=row)


def _of_frame(frame: pl.DataFrame, what: What, needed: pl.Series | None = None) -> Rows:
    """Return the rows of a table whose columns have our names."""
    query, item = (tables.text_column(frame, name, "references") for name in ("query", "item"))
    queries, codes = ids.numbered(query)
    value = tables.number_column(frame, what, "references", needed).to_numpy()
    return Rows(queries, codes, Words.of(item), value, what).numbered()


def _of_mapping(value: Any, what: str, read: ReadOptions, nonrelevant: Any) -> Rows:
    """Return the rows of ``{query: {item: rank or grade}}``, or of a list of items or tiers for each query."""
    value = check_mapping(value, f"{what}s", _FORMS[what])
    if what in ("rank", "grade"):
        _check_filled(value, nonrelevant or {})
        return of_numbers(value, what, f"{{item: {what}}}", read.grades)  # type: ignore[arg-type]
    levels = {query: _levels(plain_series(query, entry), query, what) for query, entry in value.items()}
    _check_filled(levels, nonrelevant or {})
    counts = [len(entry) for entry in levels.values()]
    sizes = [len(tier) for entry in levels.values() for tier in entry]
    rank = np.concatenate([np.zeros(0), *(np.arange(1.0, count + 1) for count in counts)])
    codes = np.repeat(np.repeat(np.arange(len(counts)), counts), sizes)
    flat = {query: [*chain.from_iterable(entry)] for query, entry in levels.items()}
    items = named(flat, chain.from_iterable(flat.values()))
    return Rows(named(flat, flat), codes, items, np.repeat(rank, sizes), "rank")


def _with_nonrelevant(rows: Rows, nonrelevant: Any) -> tuple[Rows, Bools | None]:
    """Add rows of nonrelevant items, if any are given, and mark them."""
    if nonrelevant is None:
        return rows, None
    lists = check_mapping(nonrelevant, "nonrelevant", "{query: [item, …]}")
    for query, items in lists.items():
        if isinstance(items, str | Mapping) or not isinstance(items, Collection):
            raise DataError("wrong-form", role="nonrelevant", query=query, expected="[item, …]", value=items)
    names, items = named(lists, lists), named(lists, chain.from_iterable(lists.values()))
    owners = [name for name, entry in zip(names, lists.values(), strict=True) for _ in entry]
    all_owners = [*ids.take(rows.queries, rows.codes), *owners]
    used = {*all_owners}
    queries = [name for name in dict.fromkeys([*rows.queries, *names]) if name in used]
    codes = np.array(list(map({name: place for place, name in enumerate(queries)}.__getitem__, all_owners)), np.int64)
    marked = np.arange(len(codes)) >= len(rows.codes)
    known = Index(codes[~marked], rows.item).places(codes[marked], items) >= 0
    if known.any():
        row = int(np.argmax(known))
        raise DataError("ranked-and-nonrelevant", query=owners[row], item=items[row])
    item, value = ids.joined([rows.item, items]), np.append(rows.value, np.zeros(len(items)))
    return Rows(queries, codes, item, value, rows.what), marked


def _check_filled(entries: Mapping[Any, Any], elsewhere: Any) -> None:
    """Refuse a query without items, of which nothing is known elsewhere."""
    if not entries and not elsewhere:
        raise DataError("no-queries")
    for query, entry in entries.items():
        if isinstance(entry, Collection) and not len(entry) and query not in elsewhere:
            raise DataError("no-items", query=query)


def _levels(entry: Any, query: object, what: str) -> list[list[Any]]:
    """Return what a query lists as tiers; refuse what has no order of its own."""
    if isinstance(entry, Mapping) and what == "item or tier":
        raise DataError("grades-or-ranks", query=query)
    if isinstance(entry, Set) and what == "item or tier":
        return [sorted(entry, key=str)]
    listed = isinstance(entry, Iterable) and not isinstance(entry, str | bytes | Set | Mapping)
    if not listed or hasattr(type(entry), "columns") or getattr(entry, "ndim", 1) == 0:
        raise DataError("wrong-form", query=query, expected=f"[best {what}, …]", value=entry)
    levels = []
    for rank, tier in enumerate(entry, 1):
        if tables.is_record(tier) and what != "item":
            raise DataError("record-for-items", query=query, value=tier)
        plural = what != "item" and not isinstance(tier, str | bytes) and isinstance(tier, Iterable)
        if what == "tier" and not plural:
            raise DataError("not-a-tier", query=query, tier=rank, value=tier)
        levels.append(list(tier) if plural else [tier])
        if not levels[-1]:
            raise DataError("empty-tier", query=query, tier=rank)
    pairs = [tier for tier in levels if len(tier) == 2 and isinstance(tier[0], str) and is_number(tier[1])]
    if what == "item or tier" and levels == pairs != []:
        raise DataError("grades-or-ranks", query=query)
    return levels


def _tiers_of(codes: Ints, values: Floats) -> Ints:
    """Number the different values of each query, of rows sorted by query and value, from 1."""
    new_query, new_value = np.ones((2, len(codes)), bool)
    np.not_equal(codes[1:], codes[:-1], out=new_query[1:])
    np.not_equal(values[1:], values[:-1], out=new_value[1:])
    tier = np.cumsum(new_query | new_value)
    return np.asarray(tier - np.maximum.accumulate(np.where(new_query, tier, 0)) + 1)


def _checked_ranks(rows: Rows, order: Ints, read: ReadOptions) -> Ints:
    """Return the tiers of rows whose ranks are consecutive, or skip as many as are tied; refuse others.

    ``order`` sorts the rows by query and rank.
    """
    codes, given = rows.codes[order], rows.value[order]
    tiers = expected = _tiers_of(codes, given)
    if read.ranks == "competition":  # 1, 2, 2, 4
        number = np.arange(len(order))
        new_query = np.diff(codes, prepend=-1) != 0
        new_tier = new_query | (np.diff(tiers, prepend=0) != 0)
        place = number - np.maximum.accumulate(np.where(new_query, number, 0)) + 1
        expected = place[np.maximum.accumulate(np.where(new_tier, number, 0))]
    wrong = np.flatnonzero(given != expected)
    if not len(wrong):
        return tiers
    row, rank, right = int(order[wrong[0]]), given[wrong[0]], expected[wrong[0]]
    if rank < 1 or rank != np.floor(rank):
        raise DataError("not-a-rank", **rows.at(row), rank=rank)
    if read.ranks == "competition":
        raise DataError("not-competition", **rows.near(row), rank=rank, expected=right)
    skipped = right > 1 and (np.diff(given) == 0).any()
    raise DataError("rank-skipped" if skipped else "rank-missing", **rows.near(row), rank=right)


def _check_agreement(graded: pl.DataFrame, frame: pl.DataFrame) -> None:
    """Refuse ranks that are not those of the grades in the same table; ``graded`` has those."""
    relevant = tables.number_column(frame, "grade", "references") > 0
    ranked = frame.with_columns(rank=tables.number_column(frame, "rank", "references", needed=relevant))
    ranked = ranked.select(*(tables.text_column(frame, name, "references") for name in ("query", "item")), "rank")
    pairs = graded.join(ranked, on=["query", "item"], suffix="_given")
    wrong = pairs.filter(pl.col("rank") != pl.col("rank_given"))
    if len(wrong):
        query, item, rank, grade, given = wrong.row(0)
        raise DataError("rank-against-grade", query=query, item=item, rank=given, grade=grade, expected=rank)
