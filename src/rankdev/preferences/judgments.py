"""Preferences: pairwise judgments as columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankdev._common.arrays import Bools, Codes, Floats, Ints
from rankdev._common.checks import check_number, is_list
from rankdev._common.result import Tabular
from rankdev.data.tables import as_polars, is_table
from rankdev.errors import DataError, UsageError, nearest
from rankdev.preferences.columns import columns_of, encode, frame_of_grades, frame_of_records, frame_of_rows
from rankdev.preferences.pairs import Pairs, count_pairs, linked

if TYPE_CHECKING:
    from rankdev.preferences.diagnostics import Diagnostics

MAKE_THEM = "make them with Preferences.from_rows, Preferences.from_table or read_preferences"
OPTIONAL = ("worker", "weight", "share", "winner_first")


@dataclass(frozen=True, eq=False)
class Preferences(Tabular):
    """Pairwise judgments, one row per judgment.

    Make them with :meth:`from_rows`, :meth:`from_table` or :func:`rankdev.read_preferences`.

    Attributes
    ----------
    queries : tuple of str
        Queries, in order of first appearance.
    items : tuple of str
        Items of all queries, query after query.
    item_query : array of int
        Index of the query of each item, non-decreasing.
    winner, loser : array of int
        Items of each judgment, as indices into ``items``.
    tie : array of bool
        Whether neither item won.
    workers : tuple of str
        Names of those who judged; empty where they were not recorded.
    worker : array of int, optional
        Who made each judgment, as an index into ``workers``.
    weight : array of float, optional
        Weight of each judgment; default 1.
    share : array of float, optional
        Probability that a judge gave to the winner, where judgments are probabilities.
    winner_first : array of bool, optional
        Whether the winner was the item shown first (of a tie: the item in the winner's place).
    remarks : tuple of str
        Notes on what reading assumed or left out.

    Examples
    --------
    >>> judged = Preferences.from_rows([("q", "x", "y"), ("q", "y", "z")])
    >>> len(judged), judged.items
    (2, ('x', 'y', 'z'))
    """

    queries: tuple[str, ...]
    items: tuple[str, ...] = field(repr=False)
    item_query: Codes = field(repr=False)
    winner: Codes = field(repr=False)
    loser: Codes = field(repr=False)
    tie: Bools = field(repr=False)
    workers: tuple[str, ...] = field(default=(), repr=False)
    worker: Codes | None = field(default=None, repr=False)
    weight: Floats | None = field(default=None, repr=False)
    share: Floats | None = field(default=None, repr=False)
    winner_first: Bools | None = field(default=None, repr=False)
    remarks: tuple[str, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        columns = {name: getattr(self, name) for name in ("winner", "loser", "tie", *OPTIONAL)}
        lengths = {name: len(column) for name, column in columns.items() if column is not None}
        if len(set(lengths.values())) != 1:
            raise DataError("unequal", names=list(lengths), counts=list(lengths.values()))
        if len(self.items) != len(self.item_query) or np.any(np.diff(self.item_query) < 0):
            expected = "each item's query, in order"
            raise DataError("bad-value", name="item_query", value=self.item_query, expected=expected)
        used = np.concatenate([self.winner, self.loser])
        if len(used) and not 0 <= used.min() <= used.max() < len(self.items):
            raise DataError("bad-value", name="winner or loser", value=used, expected="places of items")
        if np.any(self.winner == self.loser):
            row = int(np.argmax(self.winner == self.loser))
            raise DataError("self-compared", row=row, item=self.items[self.winner[row]])
        if np.any(self.item_query[self.winner] != self.item_query[self.loser]):
            raise DataError("across-queries")
        if self.weight is not None and not np.all(np.isfinite(self.weight) & (self.weight >= 0)):
            raise DataError("bad-value", name="weight", value=self.weight, expected="finite numbers, 0 or more")
        if self.share is not None and not np.all((self.share >= 0) & (self.share <= 1)):
            raise DataError("bad-value", name="share", value=self.share, expected="numbers from 0 to 1")

    @classmethod
    def from_table(
        cls,
        table: Any,
        *,
        items: Mapping[Any, Iterable[Any]] | None = None,
        columns: Mapping[str, str | None] | None = None,
        values: str | Mapping[str, str | float] | None = None,
    ) -> Preferences:
        """Read judgments from a polars, pandas or Arrow table.

        Parameters
        ----------
        table : table
            One row per judgment, with the columns query, winner, loser; or query, two sides such as a and b, and an
            outcome such as winner or label. Columns for worker, tie and weight are optional.
        items : dict of str to list of str, optional
            Items of each query that may be compared. An item outside it is an error; one never compared is kept.
        columns : dict of str to str or None, optional
            Column of each part, where names do not show it: ``{"query": "topic", "item_a": "x", "item_b": "y",
            "winner": "label", "worker": "who"}``. None for the query if all judgments are of one query.
        values : str or dict, optional
            What the outcome column holds, where that is ambiguous: ``items``, ``position``, ``graded`` (negative: the
            first item is better), ``graded-first`` (positive: the first), ``probability`` (that the first wins); or the
            meaning of each value: first, second, tie, skip or a degree (negative: the first).

        Returns
        -------
        Preferences
            The judgments; ``remarks`` has notes on unused columns and skipped rows.

        Examples
        --------
        >>> import polars as pl
        >>> table = pl.DataFrame({"query": ["q", "q"], "winner": ["x", "y"], "loser": ["y", "z"]})
        >>> len(Preferences.from_table(table))
        2
        """
        listed = isinstance(table, list) and all(isinstance(row, Mapping) for row in table)
        frame = frame_of_records(table) if listed else as_polars(table)
        frame, remarks = columns_of(frame, columns, values)
        return cls(**encode(frame, items), remarks=remarks)

    @classmethod
    def from_rows(
        cls,
        rows: Iterable[Any] = (),
        *,
        items: Mapping[Any, Iterable[Any]] | None = None,
        columns: Mapping[str, str | None] | None = None,
        values: str | Mapping[str, str | float] | None = None,
    ) -> Preferences:
        """Make judgments from tuples or records.

        Parameters
        ----------
        rows : iterable of tuple or dict
            Tuples (query, winner, loser) or (query, winner, loser, worker), or records: dicts with the column names
            of :meth:`from_table`. May be empty if ``items`` are given.
        items : dict of str to list of str, optional
            Items of each query that may be compared; see :meth:`from_table`.
        columns : dict of str to str or None, optional
            For records: see :meth:`from_table`.
        values : str or dict, optional
            For records: see :meth:`from_table`.

        Returns
        -------
        Preferences
            The judgments.

        Examples
        --------
        >>> Preferences.from_rows([("q", "x", "y"), ("q", "y", "z")]).items
        ('x', 'y', 'z')
        >>> Preferences.from_rows([{"query": "q", "a": "x", "b": "y", "winner": "b"}]).to_polars()["winner"].item()
        'y'
        """
        if is_table(rows) or not is_list(rows):  # iterating would not yield rows
            raise DataError("not-rows", value=rows)
        rows = list(rows)
        if rows and isinstance(rows[0], Mapping):
            return cls.from_table(frame_of_records(rows), items=items, columns=columns, values=values)
        if columns is not None or values is not None:
            raise UsageError("not-needed", name="columns" if values is None else "values", use="tables and records")
        return cls(**encode(frame_of_rows(rows), items))

    def __len__(self) -> int:
        return len(self.winner)

    @cached_property
    def pairs(self) -> Pairs:
        """Judgments counted by pair of items, all queries together; of a pair, the first is first in ``items``."""
        return count_pairs(self, self.winner < self.loser)

    @property
    def weights(self) -> Floats:
        """Weight of each judgment, 1 where none was given."""
        return np.ones(len(self)) if self.weight is None else self.weight

    @cached_property
    def starts(self) -> Ints:
        """Index of each query's first item, and the number of items."""
        return np.searchsorted(self.item_query, np.arange(len(self.queries) + 1))

    @cached_property
    def groups(self) -> Ints:
        """Connected component of each item in the graph of its query's comparisons, numbered from 0.

        The largest comes first, of equal ones that with more judgments, then that with the first item by name.
        """
        items = len(self.items)
        label = linked(self.pairs.first, self.pairs.second, items)
        judged, first = np.bincount(label[self.winner], minlength=items), np.full(items, items)
        by_name = sorted(range(items), key=self.items.__getitem__)
        np.minimum.at(first, label[by_name], np.arange(items))
        order = np.lexsort((first[label], -judged[label], -np.bincount(label)[label], self.item_query))
        number = np.cumsum(np.diff(label[order], prepend=-1) != 0)
        found = np.empty(items, np.int64)
        found[order] = number - number[self.starts[:-1]][self.item_query[order]]
        return found

    @cached_property
    def group_counts(self) -> Ints:
        """Number of connected components of each query; 1 where all its items are connected."""
        return np.maximum.reduceat(self.groups, self.starts[:-1]) + 1

    def disconnected(self) -> dict[str, list[list[str]]]:
        """List the connected components of every query that has more than one.

        Returns
        -------
        dict of str to list of list of str
            Components of each query whose items were not all compared, even indirectly; largest first, of equal ones
            the one with more judgments, then the one with the first item by name.

        Examples
        --------
        >>> Preferences.from_rows([("q", "x", "y"), ("q", "v", "w")]).disconnected()
        {'q': [['v', 'w'], ['x', 'y']]}
        """
        found: dict[str, list[list[str]]] = {}
        for query in np.flatnonzero(self.group_counts > 1):
            mine = slice(self.starts[query], self.starts[query + 1])
            listed: list[list[str]] = [[] for _ in range(self.group_counts[query])]
            for item, group in zip(self.items[mine], self.groups[mine].tolist(), strict=True):
                listed[group].append(item)
            found[self.queries[query]] = listed
        return found

    def largest_groups(self) -> Preferences:
        """Keep the largest connected component of every query, and the judgments on it.

        Returns
        -------
        Preferences
            Judgments of connected items only. Of equally large components the one with more judgments is kept, and of
            those the one with the first item by name.

        Examples
        --------
        >>> Preferences.from_rows([("q", "x", "y"), ("q", "y", "z"), ("q", "v", "w")]).largest_groups().items
        ('x', 'y', 'z')
        """
        return self._keep(self.groups == 0)

    def split_groups(self) -> Preferences:
        """Make every connected component of a disconnected query a query of its own.

        Returns
        -------
        Preferences
            The same judgments; the new queries are named ``query#1``, ``query#2``, …, largest component first.

        Examples
        --------
        >>> Preferences.from_rows([("q", "x", "y"), ("q", "v", "w")]).split_groups().queries
        ('q#1', 'q#2')
        """
        counts = self.group_counts
        code = (np.cumsum(counts) - counts)[self.item_query] + self.groups
        listed = zip(self.queries, counts.tolist(), strict=True)
        names = [query + f"#{k + 1}" * (count > 1) for query, count in listed for k in range(count)]
        if taken := [name for name, times in Counter(names).items() if times > 1]:
            raise DataError("query-taken", query=taken[0])
        order = np.argsort(code, kind="stable")
        place = np.empty(len(order), np.int32)
        place[order] = np.arange(len(order))
        return replace(
            self,
            queries=tuple(names),
            items=tuple(self.items[k] for k in order),
            item_query=code[order].astype(np.int32),
            winner=place[self.winner],
            loser=place[self.loser],
        )

    def select(self, queries: Iterable[str]) -> Preferences:
        """Keep the judgments of some queries.

        Parameters
        ----------
        queries : iterable of str
            Queries to keep. A query without judgments is an error.

        Returns
        -------
        Preferences
            Judgments of these queries, in their old order.

        Examples
        --------
        >>> Preferences.from_rows([("q1", "x", "y"), ("q2", "v", "w")]).select(["q2"]).items
        ('v', 'w')
        """
        wanted = set(queries)
        if unknown := wanted - set(self.queries):
            raise UsageError("unknown-query", query=min(unknown), near=nearest(min(unknown), self.queries))
        mask = np.array([query in wanted for query in self.queries])
        kept = self._keep(mask[self.item_query])
        codes = np.cumsum(mask) - 1
        names = tuple(query for query in self.queries if query in wanted)
        return replace(kept, queries=names, item_query=codes[kept.item_query].astype(np.int32))

    def with_grades(self, grades: Mapping[Any, Any], *, weight: float = 1.0) -> Preferences:
        """Add the preferences that grades imply, as judgments by a worker called ``grades``.

        Each item of a grade is preferred to each item of the next lower grade of its query. Equal grades imply nothing.
        Items that were only graded are added.

        Parameters
        ----------
        grades : dict of str to dict of str to float, or References
            ``{query: {item: grade}}``, or references made from grades.
        weight : float, default 1
            Total weight of the judgments on each item of the larger of two neighbouring grades.

        Returns
        -------
        Preferences
            The judgments with those of the grades.

        Examples
        --------
        >>> judged = Preferences.from_rows([("q", "x", "y")])
        >>> both = judged.with_grades({"q": {"x": 2, "y": 2, "z": 1}})
        >>> both.to_polars().select("winner", "loser", "weight").rows()
        [('x', 'y', 1.0), ('x', 'z', 0.5), ('y', 'z', 0.5)]
        """
        weight = check_number("weight", weight, 0)
        more, items = frame_of_grades(grades, weight, workers=self.worker is not None)
        own = self.to_polars().drop("first", strict=False)
        frame = pl.concat([own, more], how="diagonal").with_columns(pl.col("weight").fill_null(1.0))
        if self.share is not None:
            frame = frame.with_columns(pl.col("share").fill_null(1.0))
        known = {
            query: list(self.items[a:b]) for query, (a, b) in zip(self.queries, pairwise(self.starts), strict=True)
        }
        named = {query: [*known.get(query, ()), *items.get(query, ())] for query in {**known, **items}}
        return Preferences(**encode(frame, named), remarks=self.remarks)

    def _keep(self, mask: Bools) -> Preferences:
        place = (np.cumsum(mask) - 1).astype(np.int32)
        rows = mask[self.winner] & mask[self.loser]
        kept: dict[str, Any] = {
            name: None if (column := getattr(self, name)) is None else column[rows] for name in ("tie", *OPTIONAL)
        }
        return replace(
            self,
            items=tuple(self.items[i] for i in np.flatnonzero(mask)),
            item_query=self.item_query[mask],
            winner=place[self.winner[rows]],
            loser=place[self.loser[rows]],
            **kept,
        )

    def diagnostics(self) -> Diagnostics:
        """Check the judgments of every query: comparisons, items, workers, components, cycles, agreement.

        Returns
        -------
        Diagnostics
            One row per query.

        Examples
        --------
        >>> judged = Preferences.from_rows([("q", "x", "y"), ("q", "y", "z"), ("q", "z", "x")])
        >>> judged.diagnostics().to_polars().select("comparisons", "items", "in_cycles").rows()
        [(3, 3, 3)]
        """
        from rankdev.preferences.diagnostics import diagnose

        return diagnose(self)

    def to_polars(self) -> pl.DataFrame:
        """Tabulate the judgments.

        Returns
        -------
        polars.DataFrame
            One row per judgment: query, winner, loser, tie, and worker, weight, share, first where known. ``first`` is
            the item that was shown first.

        Examples
        --------
        >>> Preferences.from_rows([("q", "x", "y", "ann")]).to_polars().rows()
        [('q', 'x', 'y', False, 'ann')]
        """
        names = pl.Series(list(self.items), dtype=pl.String)
        queries = pl.Series(list(self.queries), dtype=pl.String)
        columns: dict[str, Any] = {
            "query": queries.gather(self.item_query[self.winner]),
            "winner": names.gather(self.winner),
            "loser": names.gather(self.loser),
            "tie": self.tie,
        }
        if self.worker is not None:
            columns["worker"] = pl.Series(list(self.workers), dtype=pl.String).gather(self.worker)
        columns |= {name: value for name in ("weight", "share") if (value := getattr(self, name)) is not None}
        if self.winner_first is not None:
            columns["first"] = names.gather(np.where(self.winner_first, self.winner, self.loser))
        return pl.DataFrame(columns)
