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
from rankdev._common.lazy import pl
from rankdev.data import ids
from rankdev.data.ids import Ids, Index
from rankdev.data.options import ReadOptions
from rankdev.data.records import (
    RETRIEVED,
    RIGHT,
    frame_of_lists,
    gold_of,
    holds_records,
    is_answer,
    items_of_lists,
    names_tiers,
    records_in,
    tier_rows,
)
from rankdev.data.rows import (
    ByQuery,
    Rows,
    are_lists,
    counted_once,
    hidden,
    last_of_each,
    named,
    of_lists,
    of_numbers,
    offsets_of,
    refuse_two_values,
)
from rankdev.data.tables import (
    NONE,
    OfRanx,
    TableLike,
    as_polars,
    check_mapping,
    column,
    graded,
    is_interactions,
    is_record,
    is_table,
    number_column,
    our_name,
    rated,
    renumbered,
    tabled,
    text_column,
    truth_column,
)
from rankdev.data.write import PathLike
from rankdev.errors import DataError, Note, UsageError, counted, errors_at

ONE = "this"  # names the query of a reference alone
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
    query : str, optional
        Name of the query, for messages.

    Examples
    --------
    >>> reference = Reference.from_tiers([["d1", "d3"], ["d2"]])
    >>> dict(reference)
    {'d1': 1, 'd3': 1, 'd2': 2}
    """

    __slots__ = ("_grades", "_nonrelevant", "_ranks")
    _ranks: dict[str, int]
    _grades: dict[str, float] | None
    _nonrelevant: dict[str, float] | None

    def __init__(
        self, ranks: Mapping[Any, int], *, nonrelevant: Iterable[Any] | None = None, query: str | None = None
    ) -> None:
        lists = None if nonrelevant is None else {ONE: list(nonrelevant)}
        self._take(lambda: References.from_ranks({ONE: ranks}, nonrelevant=lists), query)

    def _take(self, make: Callable[[], References], query: str | None) -> None:
        """Take the reference of one query from references that are made here."""
        try:
            made = make()[ONE]
        except DataError as error:
            if error.fields.pop("query", ONE) != ONE:
                raise
            raise error.at(query=query) from None
        self._ranks, self._grades, self._nonrelevant = made._ranks, made._grades, made._nonrelevant

    @classmethod
    def _made(cls, make: Callable[[], References], query: str | None) -> Self:
        made = cls.__new__(cls)
        made._take(make, query)
        return made

    @classmethod
    def _of(cls, ranks: dict[str, int], grades: dict[str, float] | None, nonrelevant: dict[str, float] | None) -> Self:
        """Make a reference of what was checked."""
        made = cls.__new__(cls)
        made._ranks, made._grades, made._nonrelevant = ranks, grades, nonrelevant
        return made

    @classmethod
    def from_list(cls, items: Iterable[Any], *, query: str | None = None) -> Self:
        """Make a reference from a strict order.

        Parameters
        ----------
        items : iterable of str
            The relevant items, best first.
        query : str, optional
            Name of the query, for messages.

        Returns
        -------
        Reference
            Each item has a rank of its own.

        Examples
        --------
        >>> Reference.from_list(["d1", "d2"])
        Reference({'d1': 1, 'd2': 2})
        """
        return cls._made(lambda: References.from_lists({ONE: items}), query)

    @classmethod
    def from_tiers(cls, tiers: Iterable[Iterable[Any]], *, query: str | None = None) -> Self:
        """Make a reference from tiers of equally relevant items.

        Parameters
        ----------
        tiers : iterable of iterables of str
            The items of each tier, best tier first.
        query : str, optional
            Name of the query, for messages.

        Returns
        -------
        Reference
            The items of a tier share a rank.

        Examples
        --------
        >>> Reference.from_tiers([["d1", "d3"], ["d2"]])
        Reference({'d1': 1, 'd3': 1, 'd2': 2})
        """
        return cls._made(lambda: References.from_tiers({ONE: tiers}), query)

    @classmethod
    def from_grades(cls, grades: Mapping[Any, float], *, query: str | None = None) -> Self:
        """Make a reference from relevance grades.

        Parameters
        ----------
        grades : dict of str to float
            Grade of each judged item. Items of grade 0 or less are nonrelevant.
        query : str, optional
            Name of the query, for messages.

        Returns
        -------
        Reference
            Each distinct positive grade is a tier, the highest first.

        Examples
        --------
        >>> Reference.from_grades({"d1": 3, "d2": 1, "d3": 1, "d4": 0})
        Reference({'d1': 1, 'd2': 2, 'd3': 2})
        """
        return cls._made(lambda: References.from_grades({ONE: grades}), query)

    @classmethod
    def from_ranks(cls, ranks: Mapping[Any, int], *, query: str | None = None) -> Self:
        """Make a reference from ranks.

        Parameters
        ----------
        ranks : dict of str to int
            Rank of each relevant item, 1 the best; consecutive.
        query : str, optional
            Name of the query, for messages.

        Returns
        -------
        Reference
            Items of equal rank form a tier.

        Examples
        --------
        >>> Reference.from_ranks({"d1": 1, "d2": 2, "d3": 1}).tiers
        [['d1', 'd3'], ['d2']]
        """
        return cls(ranks, query=query)

    @classmethod
    def of(cls, value: Any, *, query: str | None = None) -> Reference:
        """Make a reference from whatever the functions of rankdev accept as one.

        Parameters
        ----------
        value : Reference, list of str, list of lists of str or set of str
            A reference, or items or tiers, best first; a set is one tier. A dict is refused: it could mean grades or
            ranks.
        query : str, optional
            Name of the query, for messages.

        Returns
        -------
        Reference
            The value itself where it is a Reference.

        Examples
        --------
        >>> Reference.of([["d1", "d3"], "d2"])
        Reference({'d1': 1, 'd3': 1, 'd2': 2})
        """
        if isinstance(value, Reference):
            return value
        return cls._made(lambda: References.of({ONE: value}), query)

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
    item_ids : list of str or polars.Series
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
        return cls.of_lists(lists, ReadOptions(), nonrelevant).told()

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
        return cls.of_tiers(tiers, ReadOptions(), nonrelevant).told()

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
        return cls.of_ranks(ranks, ReadOptions(), nonrelevant).told()

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
        return cls.of_grades(grades, ReadOptions(grades=words)).told()

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
        return cls.of_table(table, ReadOptions(grades=grades)).told()

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
        return value if references is value else references.told()

    @classmethod
    def of_value(cls, value: Any, read: ReadOptions) -> References:
        """Make references of anything but a path; what may be wrong with them is in their notes."""
        if isinstance(value, References):
            return value
        if type(value) is dict and value and are_lists(value.values()) and all(value.values()):
            return cls.of_rows(replace(of_lists(value), listed=False), None, read)
        if isinstance(value, Rows):
            return cls.of_rows(value, None, read)
        gold = gold_of(value, read)
        if gold is not None:
            return cls.of_gold(gold, read)
        if isinstance(value, Mapping) and is_answer(value):
            raise DataError("looks-like-run")
        if isinstance(value, list) and value and isinstance(value[0], Mapping) and names_tiers(value[0], read):
            return cls._of_tiers(value, read)
        value = tabled(value)
        return cls.of_table(value, read) if is_table(value) else cls._of_mapping(value, read)

    @classmethod
    def _of_mapping(cls, value: Any, read: ReadOptions) -> References:
        if hasattr(value, "qrels") and hasattr(value, "to_dict"):  # of ranx
            return cls.of_grades(value.to_dict(), read)
        value = check_mapping(value, "references", "References, a table, {query: [item, …]} or {query: [[item, …], …]}")
        if holds_records(value):
            items, columns, _ = items_of_lists(value, read, ("grade", "rank"))
            if columns:
                with renumbered(()):
                    return cls.of_table(frame_of_lists(items, columns), read)
        if not any(isinstance(entry, Reference) for entry in value.values()):
            return cls.of_entries(value, "item or tier", read)
        entries = {
            query: entry if isinstance(entry, Reference) else Reference.of(entry, query=query)
            for query, entry in value.items()
        }
        poor = {query: entry.nonrelevant for query, entry in entries.items()}
        known = None not in poor.values()
        if any(entry.grades is None for entry in entries.values()):
            return cls.of_ranks(entries, read, {query: [*(poor[query] or ())] for query in poor} if known else None)
        grades = {query: {**(entry.grades or {}), **(entry.nonrelevant or {})} for query, entry in entries.items()}
        found = cls.of_grades(grades, read)
        return found if known else replace(found, nonrelevant=None)

    @classmethod
    def of_gold(cls, gold: Mapping[Any, Any], read: ReadOptions) -> References:
        """Make references of what :func:`rankdev.data.records.gold_of` found."""
        if any(isinstance(entry, Mapping) for entry in gold.values()):
            return cls.of_grades(gold, read)
        return cls.of_entries(gold, "item", read)

    @classmethod
    def of_entries(cls, value: Mapping[Any, Any], what: str, read: ReadOptions, nonrelevant: Any = None) -> References:
        """Rank what each query lists, best first: an ``item``, a ``tier``, or each of them an ``item or tier``."""
        levels = {query: _levels(entry, query, what) for query, entry in value.items()}
        _check_filled(levels, nonrelevant or {})
        counts = [len(entry) for entry in levels.values()]
        sizes = [len(tier) for entry in levels.values() for tier in entry]
        rank = np.concatenate([np.zeros(0), *(np.arange(1.0, count + 1) for count in counts)])
        codes = np.repeat(np.repeat(np.arange(len(counts)), counts), sizes)
        flat = {query: [*chain.from_iterable(entry)] for query, entry in levels.items()}
        items = named(flat, chain.from_iterable(flat.values()))
        rows = Rows(named(flat, flat), codes, items, np.repeat(rank, sizes), "rank")
        return cls.of_rows(*_with_nonrelevant(rows, nonrelevant), read)

    @classmethod
    def of_lists(cls, lists: Any, read: ReadOptions, nonrelevant: Any = None) -> References:
        """Rank the items of each query by their order: ``{query: [item, …]}`` or a table with query, item."""
        lists = tabled(lists)
        if not is_table(lists):
            return cls.of_entries(check_mapping(lists, "lists", "{query: [item, …]}"), "item", read, nonrelevant)
        rows = _of_frame(read.named(as_polars(lists)), None)
        return cls.of_rows(*_with_nonrelevant(replace(rows, value=_nth(rows.codes)), nonrelevant), read)

    @classmethod
    def of_tiers(cls, tiers: Any, read: ReadOptions, nonrelevant: Any = None) -> References:
        """Rank the items of each query by their tiers: ``{query: [[item, …], …]}`` or a table with query, tiers."""
        tiers = tabled(tiers)
        if is_table(tiers):
            frame = read.named(as_polars(tiers))
            names = text_column(frame, "query", "references")
            check_once(names.to_list())
            tiers = dict(zip(names, column(frame, "tiers", "references").to_list(), strict=True))
        return cls.of_entries(check_mapping(tiers, "tiers", "{query: [[item, …], …]}"), "tier", read, nonrelevant)

    @classmethod
    def of_ranks(cls, ranks: Any, read: ReadOptions, nonrelevant: Any = None) -> References:
        """Take ranks as they are: ``{query: {item: rank}}`` or a table with query, item, rank."""
        ranks = tabled(ranks)
        if is_table(ranks):
            return cls._ranked(read.named(as_polars(ranks)), read, nonrelevant)
        ranks = check_mapping(ranks, "ranks", "{query: {item: rank}} or a table with query, item, rank")
        _check_filled(ranks, nonrelevant or {})
        return cls.of_rows(*_with_nonrelevant(of_numbers(ranks, "rank", "{item: rank}"), nonrelevant), read)

    @classmethod
    def of_grades(cls, grades: Any, read: ReadOptions) -> References:
        """Take grades as they are: ``{query: {item: grade}}`` or a table with query, item, grade."""
        grades = tabled(grades)
        if is_table(grades):
            return cls.of_rows(_of_frame(graded(read.named(as_polars(grades)), read.grades), "grade"), None, read)
        grades = check_mapping(grades, "grades", "{query: {item: grade}} or a table with query, item, grade")
        rows = of_numbers(grades, "grade", "{item: grade}", read.grades)
        _check_filled(grades, {})
        return cls.of_rows(rows, None, read)

    @classmethod
    def of_table(cls, table: Any, read: ReadOptions) -> References:
        """Make references from a table of ranks or grades, of tiers or contexts, or of users and what they chose."""
        table = as_polars(tabled(table))
        gold = gold_of(records_in(table, RIGHT), read)
        if gold is not None:
            return cls.of_gold(gold, read)
        if names_tiers(table.columns, read):
            return cls._of_tiers(table.to_dicts(), read)
        kept = rated(table, read)
        with renumbered(kept):
            frame = read.named(table if isinstance(kept, range) else table[kept])
            if is_interactions(table.columns, read.columns or NONE):  # each item has rank 1
                return cls._ranked(frame.with_columns(rank=pl.lit(1)), read)
            names = {*frame.columns}
            ranked_run = "score" in names and "grade" not in names and read.chosen("rank") is None
            if ranked_run or not names & {"rank", "grade"}:
                raise DataError(_not_references(frame), known=frame.columns)
            if "grade" not in frame.columns:
                return cls._ranked(frame, read)
            frame = graded(frame, read.grades)
            references = cls.of_rows(_of_frame(frame, "grade"), None, read)
            if "rank" in frame.columns:
                _check_agreement(references.to_polars(), frame)
            return references

    @classmethod
    def _of_tiers(cls, records: Iterable[Mapping[Any, Any]], read: ReadOptions) -> References:
        """Make references of records, each with the tiers of a query, or items, each a tier."""
        records = [{our_name(str(name), read.columns or NONE): record[name] for name in record} for record in records]
        read.met.update((read.columns or NONE).values())
        graded, judged = (any(record.get(name) is not None for record in records) for name in ("grades", "nonrelevant"))
        found: list[tuple[int, str, str, float, bool]] = []
        for row, record in enumerate(records):
            with errors_at(row=row, query=record.get("query")):
                if record.get("query") in (None, ""):
                    raise DataError("no-value", name="query")
                query = ids.as_id(record["query"])
                found += ((row, query, *entry) for entry in tier_rows(record, graded))
        check_once([ids.as_id(record["query"]) for record in records])
        origin, names, items, values, poor = (list(column) for column in zip(*found, strict=True))
        queries, codes = ids.numbered(names)
        rows = Rows(queries, codes, items, np.array(values, np.float64), "grade" if graded else "rank")
        marked = np.array(poor) if judged and not graded else None
        references = cls.of_rows(replace(rows, origin=np.array(origin)), marked, read)
        return references if judged else replace(references, nonrelevant=None)

    @classmethod
    def _ranked(cls, frame: pl.DataFrame, read: ReadOptions, nonrelevant: Any = None) -> References:
        if nonrelevant is not None:
            return cls.of_rows(*_with_nonrelevant(_of_frame(frame, "rank"), nonrelevant), read)
        marked = truth_column(frame, "nonrelevant", "references") if "nonrelevant" in frame.columns else None
        rows = _of_frame(frame, "rank", None if marked is None else ~marked)
        return cls.of_rows(rows, None if marked is None else marked.to_numpy(), read)

    @classmethod
    def of_rows(cls, rows: Rows, marked: Bools | None, read: ReadOptions) -> References:
        """Make references of rows with a rank or a grade; ``marked`` are those that were judged nonrelevant."""
        if not len(rows.codes):
            raise DataError("no-rows", what="table of references")
        rows, marked = _counted(rows, marked, read)
        again = None if rows.distinct else ids.repeated(rows.codes, rows.item)
        order = np.arange(len(rows.codes))
        if again is not None:
            refuse_two_values(rows, again, "two-values")
            first = rows.at(int(np.argmax(again)))
            read.note("repeated-rows", count=int(again.sum()), query=first["query"], item=first["item"])
            order = order[~again]
        if (name := hidden(rows)) is not None:
            read.note("hidden-characters", name=name)
        graded, value = rows.what == "grade", rows.value
        order = order[ids.sorted_rows(rows.codes[order], value[order] if graded else -value[order])]
        if graded:
            good = value[order] > 0
            ranks = _ranks_of_grades(rows.codes[order[good]], value[order[good]])
        else:
            good = np.ones(len(order), bool) if marked is None else ~marked[order]
            value = _checked_ranks(rows, marked, order[good], read)
            ranks = value[order[good]].astype(np.int64)
        relevant, others = order[good], order[~good]

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
    def index(self) -> Index:
        """Where each judged item is in :attr:`judged`."""
        return Index(*self.judged)

    @property
    def tier_counts(self) -> Ints:
        """Number of tiers of each query (T)."""
        return last_of_each(self.offsets, self.ranks)

    @property
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
        queries = ids.series(self.queries, "query")
        columns = {
            "query": queries.gather(self.codes),
            "item": ids.series(self.item_ids),
            "rank": pl.Series(self.ranks),
        }
        if self.grades is not None:
            columns["grade"] = pl.Series(self.grades)
        frame, others = pl.DataFrame(columns), self.nonrelevant
        if others is None or not nonrelevant:
            return frame
        below = pl.DataFrame({"query": queries.gather(others.codes), "item": ids.series(others.item_ids)})
        below = below.with_columns(rank=pl.lit(None, pl.Int64))
        if self.grades is not None:
            below = below.with_columns(grade=pl.Series(others.grades))
        else:
            frame, below = (part.with_columns(nonrelevant=pl.lit(part is below)) for part in (frame, below))
        rows = np.argsort(np.concatenate([self.codes, others.codes]), kind="stable")
        return pl.concat([frame, below])[rows]

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
    if names & {*RIGHT}:
        return "contexts-in-table"
    if names & {*RETRIEVED}:
        return "no-contexts"
    return "looks-like-run" if names & {"score", "response", "hits"} else "not-references"


def check_once(queries: list[str]) -> None:
    """Refuse a query that appears twice."""
    if len({*queries}) < len(queries):
        row = next(row for row, query in enumerate(queries) if query in queries[:row])
        raise DataError("query-twice", query=queries[row], row=row)


def _counted(rows: Rows, marked: Bools | None, read: ReadOptions) -> tuple[Rows, Bools | None]:
    """Keep one row of each item, where the call says which: the first, last or best, or the mean of its grades."""
    again = None if rows.distinct or read.duplicates is None else ids.repeated(rows.codes, rows.item)
    if again is None or marked is not None:
        return rows, marked
    if read.duplicates != "mean":
        return counted_once(rows, read.duplicates), None
    if rows.what == "rank":
        raise UsageError("no-mean-of-ranks")
    first = np.flatnonzero(~again)
    place = Index(rows.codes[first], ids.take(rows.item, first)).places(rows.codes, rows.item)
    means = np.bincount(place, rows.value) / np.bincount(place)
    return replace(rows.take(first), value=means, distinct=True), None


def _of_frame(frame: pl.DataFrame, what: Any, needed: pl.Series | None = None) -> Rows:
    """Return the rows of a table whose columns have our names; ``what`` is None where their order is the rank."""
    query, item = (text_column(frame, name, "references") for name in ("query", "item"))
    queries, codes = ids.numbered(query)
    value = np.zeros(len(codes)) if what is None else number_column(frame, what, "references", needed).to_numpy()
    return Rows(queries, codes, item, value, what or "rank").numbered()


def _with_nonrelevant(rows: Rows, nonrelevant: Any) -> tuple[Rows, Bools | None]:
    """Add rows of nonrelevant items, if any are given, and mark them."""
    if nonrelevant is None:
        return rows, None
    lists = check_mapping(nonrelevant, "nonrelevant", "{query: [item, …]}")
    for query, items in lists.items():
        if isinstance(items, str | Mapping) or not isinstance(items, Collection):
            raise DataError("wrong-form", role="nonrelevant", query=query, expected="[item, …]", value=items)
    names, items = named(lists, lists), named(lists, chain.from_iterable(lists.values()))
    places = {name: place for place, name in enumerate(rows.queries)}
    codes = np.array([places.setdefault(name, len(places)) for name in names], np.int64)
    codes = np.repeat(codes, [len(entry) for entry in lists.values()])
    known = Index(rows.codes, rows.item).places(codes, items) if len(rows.codes) else np.full(len(codes), -1)
    if (known >= 0).any():
        row = int(np.argmax(known >= 0))
        raise DataError("ranked-and-nonrelevant", query=[*places][codes[row]], item=items[row])
    value = np.concatenate([rows.value, np.zeros(len(codes))])
    marked = np.arange(len(value)) >= len(rows.value)
    both = replace(
        rows,
        queries=[*places],
        codes=np.concatenate([rows.codes, codes]),
        item=ids.joined([rows.item, items]),
        value=value,
        distinct=False,
    )
    used = np.bincount(both.codes, minlength=len(places)) > 0
    if used.all():
        return both, marked
    kept = [name for name, there in zip(places, used.tolist(), strict=True) if there]
    return replace(both, queries=kept, codes=(np.cumsum(used) - 1)[both.codes]), marked


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
    if isinstance(entry, str | Set | Mapping) or not isinstance(entry, Iterable) or getattr(entry, "ndim", 1) == 0:
        raise DataError("wrong-form", query=query, expected=f"[best {what}, …]", value=entry)
    levels = []
    for rank, tier in enumerate(entry, 1):
        if is_record(tier) and what != "item":
            raise DataError("record-for-items", query=query, value=tier)
        plural = what != "item" and not isinstance(tier, str) and isinstance(tier, Iterable)
        if what == "tier" and not plural:
            raise DataError("not-a-tier", query=query, tier=rank, value=tier)
        levels.append(list(tier) if plural else [tier])
        if not levels[-1]:
            raise DataError("empty-tier", query=query, tier=rank)
    return levels


def _nth(codes: Ints) -> Floats:
    """Number the rows of each query from 1."""
    order = np.argsort(codes, kind="stable")
    sizes = np.bincount(codes)
    nth = np.empty(len(codes))
    nth[order] = np.arange(len(codes)) - np.repeat(np.cumsum(sizes) - sizes, sizes) + 1
    return nth


def _ranks_of_grades(codes: Ints, grades: Floats) -> Ints:
    """Ranks of rows sorted by query and falling grade: one tier for each distinct grade."""
    new_query = np.diff(codes, prepend=-1) != 0
    tier = np.cumsum(new_query | (np.diff(grades, prepend=np.inf) != 0))
    return np.asarray(tier - np.maximum.accumulate(np.where(new_query, tier, 0)) + 1 if len(tier) else tier)


def _checked_ranks(rows: Rows, marked: Bools | None, order: Ints, read: ReadOptions) -> Floats:
    """Return ranks that are whole and consecutive; refuse others. ``order`` sorts those of relevant items."""
    rank = rows.value
    if read.ranks == "competition":
        rank = _dense(rows, order)
    if marked is not None and (marked & (rank != 0)).any():
        raise DataError("ranked-and-nonrelevant", **rows.at(int(np.argmax(marked & (rank != 0)))))
    whole = rank == np.floor(rank)
    if not whole.all():
        row = int(np.argmin(whole))
        raise DataError("not-a-rank", **rows.at(row), rank=rank[row])
    codes, ordered = rows.codes[order], rank[order]
    first = np.diff(codes, prepend=-1) != 0
    low = np.flatnonzero(first & (ordered != 1))
    if len(low):
        row = int(order[low[0]])
        if ordered[low[0]] < 1:
            raise DataError("not-a-rank", **rows.at(row), rank=ordered[low[0]])
        raise DataError("rank-missing", **rows.near(row), rank=1)
    gaps = np.flatnonzero(~first & (np.diff(ordered, prepend=0) > 1))
    if len(gaps):
        kind = "rank-skipped" if (np.diff(ordered) == 0).any() else "rank-missing"
        raise DataError(kind, **rows.near(int(order[gaps[0]])), rank=ordered[gaps[0] - 1] + 1)
    return rank


def _dense(rows: Rows, order: Ints) -> Floats:
    """Make 1, 2, 2, 3 of 1, 2, 2, 4; ``order`` sorts them by query and rank. Refuse ranks that count otherwise."""
    codes, ordered = rows.codes[order], rows.value[order]
    first = np.diff(codes, prepend=-1) != 0
    new = first | (np.diff(ordered, prepend=0) != 0)
    place = np.arange(len(order)) - np.maximum.accumulate(np.where(first, np.arange(len(order)), 0)) + 1
    wrong = np.flatnonzero(new & (ordered != place))
    if len(wrong):
        rank, expected = ordered[wrong[0]], place[wrong[0]]
        raise DataError("not-competition", **rows.near(int(order[wrong[0]])), rank=rank, expected=expected)
    tier = np.cumsum(new)
    dense = rows.value.copy()
    dense[order] = tier - np.maximum.accumulate(np.where(first, tier, 0)) + 1
    return dense


def _check_agreement(graded: pl.DataFrame, frame: pl.DataFrame) -> None:
    """Refuse ranks that are not those of the grades in the same table; ``graded`` has those."""
    relevant = number_column(frame, "grade", "references") > 0
    ranked = frame.with_columns(rank=number_column(frame, "rank", "references", needed=relevant))
    ranked = ranked.select(*(text_column(frame, name, "references") for name in ("query", "item")), "rank")
    pairs = graded.join(ranked, on=["query", "item"], suffix="_given")
    wrong = pairs.filter(pl.col("rank") != pl.col("rank_given"))
    if len(wrong):
        query, item, rank, grade, given = wrong.row(0)
        raise DataError("rank-against-grade", query=query, item=item, rank=given, grade=grade, expected=rank)
