"""Preferences, pairwise judgments as columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from rankdev._common.arrays import Floats
from rankdev._common.checks import check_number, is_list
from rankdev._common.tables import Tabular, as_id, as_polars, check_mapping
from rankdev.errors import DataError, UsageError, shown
from rankdev.preferences._pairs import Pairs, count_pairs
from rankdev.preferences.columns import check_rows, columns_of, frame_of_grades, frame_of_records, frame_of_rows

if TYPE_CHECKING:
    from rankdev.preferences.diagnostics import Diagnostics


def _known(items: Mapping[Any, Any]) -> list[tuple[str, str]]:
    for query, names in items.items():
        if not is_list(names):
            raise DataError(f"items of query {shown(query)} must be a list; got {shown(names)}")
    return [(as_id(query), as_id(item)) for query, names in items.items() for item in names]


def encode(frame: pl.DataFrame, items: Mapping[Any, Iterable[Any]] | None) -> dict[str, Any]:
    """Number queries, items and workers; refuse what cannot be a comparison."""
    known = _known({} if items is None else check_mapping(items, "items", "{query: [item, …]}"))
    if not len(frame) and not known:
        raise DataError("no comparisons; at least one is needed")
    same = (frame["winner"] == frame["loser"]).arg_max() if len(frame) else None
    if same is not None and frame["winner"][same] == frame["loser"][same]:
        raise DataError(f"item {frame['winner'][same]!r} is compared with itself", same)
    queries, query = _codes([*(q for q, _ in known)], frame["query"])
    names, pair = _codes([*(i for _, i in known)], frame["winner"], frame["loser"])
    size, rows, given = len(names), len(frame), len(known)
    keys = np.concatenate([query, query[given:]]).astype(np.int64) * size + pair
    distinct, number = np.unique(keys, return_inverse=True)
    number = number.astype(np.int32)
    if items is not None and len(distinct) > len(np.unique(keys[:given])):
        row = int(np.argmax(~np.isin(keys[given:], keys[:given])))
        name = names[int(keys[given + row] % size)]
        raise DataError(f"item {name!r} is not among the items given for its query", row % rows)
    workers, worker = _codes([], frame["worker"]) if "worker" in frame.columns else ((), None)
    optional: dict[str, Any] = {
        name: frame[name].to_numpy() for name in ("weight", "share", "winner_first") if name in frame.columns
    }
    return {
        "queries": queries,
        "items": tuple(names[i] for i in (distinct % size).tolist()),
        "item_query": (distinct // size).astype(np.int32),
        "winner": number[given : given + rows],
        "loser": number[given + rows :],
        "tie": frame["tie"].to_numpy(),
        "workers": workers,
        "worker": worker,
        **optional,
    }


def _codes(before: list[str], *columns: pl.Series) -> tuple[tuple[str, ...], npt.NDArray[np.int32]]:
    values = pl.concat([pl.Series(before, dtype=pl.String), *columns]).rename("name")
    known = values.unique(maintain_order=True)
    lookup = pl.DataFrame({"name": known, "code": np.arange(len(known), dtype=np.int32)})
    joined = values.to_frame().join(lookup, on="name", how="left", maintain_order="left")
    return tuple(known.to_list()), joined["code"].to_numpy()


Ints = npt.NDArray[np.int32]
MAKE_THEM = "make them with Preferences.from_rows, Preferences.from_table or read_preferences"
OPTIONAL = ("worker", "weight", "share", "winner_first")


@dataclass(frozen=True, eq=False)
class Preferences(Tabular):
    """Judgments of pairs of items, one row per judgment.

    ``items`` are the items of all queries one after the other, ``item_query`` the query each belongs to
    (non-decreasing); ``winner`` and ``loser`` index them. Where ``tie`` is set neither won. ``worker``
    indexes ``workers`` and is None where it was not recorded who judged. ``share`` says how much of a
    judgment the winner gets where judges gave probabilities; ``winner_first`` whether the winner was the
    item shown first (of a tie: the item in the winner's place). Both are None where unknown.
    ``remarks`` say what reading assumed or left out.
    """

    queries: tuple[str, ...]
    items: tuple[str, ...] = field(repr=False)
    item_query: Ints = field(repr=False)
    winner: Ints = field(repr=False)
    loser: Ints = field(repr=False)
    tie: npt.NDArray[np.bool_] = field(repr=False)
    workers: tuple[str, ...] = field(default=(), repr=False)
    worker: Ints | None = field(default=None, repr=False)
    weight: Floats | None = field(default=None, repr=False)
    share: Floats | None = field(default=None, repr=False)
    winner_first: npt.NDArray[np.bool_] | None = field(default=None, repr=False)
    remarks: tuple[str, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        columns = (self.winner, self.loser, self.tie, *(getattr(self, name) for name in OPTIONAL))
        if len({len(column) for column in columns if column is not None}) != 1:
            raise DataError(f"preferences: winner, loser, tie, {', '.join(OPTIONAL)} must have one length")
        if len(self.items) != len(self.item_query) or np.any(np.diff(self.item_query) < 0):
            raise DataError("preferences: item_query must give each item's query, in order")
        if len(self.items) and len(self.winner):
            ends = (self.winner.min(), self.loser.min(), self.winner.max(), self.loser.max())
            if min(ends) < 0 or max(ends) >= len(self.items):
                raise DataError("preferences: winner and loser must index the items")
        if np.any(self.winner == self.loser):
            row = int(np.argmax(self.winner == self.loser))
            raise DataError(f"row {row}: item {self.items[self.winner[row]]!r} is compared with itself")
        if np.any(self.item_query[self.winner] != self.item_query[self.loser]):
            raise DataError("preferences: an item is compared with an item of another query")
        if self.weight is not None and not np.all(np.isfinite(self.weight) & (self.weight >= 0)):
            raise DataError("preferences: every weight must be a finite number, 0 or more")
        if self.share is not None and not np.all((self.share >= 0) & (self.share <= 1)):
            raise DataError("preferences: every share must lie between 0 and 1")

    @classmethod
    def from_table(
        cls,
        table: Any,
        *,
        items: Mapping[Any, Iterable[Any]] | None = None,
        columns: Mapping[str, str | None] | None = None,
        values: str | Mapping[str, str | float] | None = None,
    ) -> Preferences:
        """Take judgments from a polars, pandas or Arrow table.

        Columns are query, winner, loser; or query, two sides such as a and b, and an outcome such as winner
        or label; a worker, tie and weight column are optional. Where names say otherwise, ``columns`` tells:
        ``{"query": "topic", "item_a": "x", "item_b": "y", "winner": "label", "worker": "who"}``; None for
        the query where all judgments are of one. ``values`` tells what the outcome holds where that is not
        plain: ``items``, ``position``, ``graded`` (negative: the first), ``graded-first`` (positive: the
        first), ``probability`` (that the first wins), or what each value means: first, second, tie, skip or
        a degree (negative: the first). ``items`` lists what may be compared: an item outside it is an error,
        one that was never compared is kept.

        >>> import polars as pl
        >>> table = pl.DataFrame({"query": ["q", "q"], "winner": ["x", "y"], "loser": ["y", "z"]})
        >>> len(Preferences.from_table(table))
        2
        """
        frame, remarks = columns_of(as_polars(table), columns, values)
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
        """Take judgments as tuples (query, winner, loser) or (query, winner, loser, worker), or as records.

        A record is a dict with the names of :meth:`from_table`, whose options it takes.

        >>> Preferences.from_rows([("q", "x", "y"), ("q", "y", "z")]).items
        ('x', 'y', 'z')
        >>> Preferences.from_rows([{"query": "q", "a": "x", "b": "y", "winner": "b"}]).to_polars()["winner"].item()
        'y'
        """
        rows = list(check_rows(rows))
        if rows and isinstance(rows[0], Mapping):
            return cls.from_table(frame_of_records(rows), items=items, columns=columns, values=values)
        if columns is not None or values is not None:
            raise UsageError(
                "columns and values are for tables and records; tuples are (query, winner, loser[, worker])"
            )
        return cls(**encode(frame_of_rows(rows), items))

    def __len__(self) -> int:
        return len(self.winner)

    @cached_property
    def pairs(self) -> Pairs:
        """The judgments counted by pair of items, all queries in one."""
        return count_pairs(self)

    @cached_property
    def starts(self) -> npt.NDArray[np.int64]:
        """Where each query's items begin, and the end of the last."""
        return np.searchsorted(self.item_query, np.arange(len(self.queries) + 1))

    @cached_property
    def groups(self) -> npt.NDArray[np.int64]:
        """The group (a number) of each item: comparisons connect the items of a group, but not groups."""
        return self.pairs.components()

    @cached_property
    def group_counts(self) -> npt.NDArray[np.int64]:
        """How many groups each query has; 1 where all its items are connected."""
        _, representative = np.unique(self.groups, return_index=True)
        return np.bincount(self.item_query[representative], minlength=len(self.queries))

    def disconnected(self) -> dict[str, list[list[str]]]:
        """Name the groups of every query whose items were not all compared, even indirectly, largest first.

        >>> Preferences.from_rows([("q", "x", "y"), ("q", "v", "w")]).disconnected()
        {'q': [['x', 'y'], ['v', 'w']]}
        """
        found: dict[str, list[list[str]]] = {}
        for query in np.flatnonzero(self.group_counts > 1):
            start, stop = self.starts[query], self.starts[query + 1]
            named: dict[int, list[str]] = {}
            for item, label in zip(self.items[start:stop], self.groups[start:stop].tolist(), strict=True):
                named.setdefault(label, []).append(item)
            found[self.queries[query]] = sorted(named.values(), key=len, reverse=True)
        return found

    def largest_groups(self) -> Preferences:
        """Keep of every query only the largest group of connected items, and the judgments on them."""
        sizes = np.bincount(self.groups)
        size = sizes[self.groups]
        best = np.maximum.reduceat(size, self.starts[:-1])[self.item_query]
        # of equally large groups the one met first stays
        order = np.lexsort((np.arange(len(size)), -size, self.item_query))
        leader = self.groups[order[self.starts[:-1]]][self.item_query]
        return self._keep((size == best) & (self.groups == leader))

    def split_groups(self) -> Preferences:
        """Make every group of a disconnected query a query of its own, named ``query#1``, ``query#2``, …"""
        broken = self.disconnected()
        new = (f"{query}#{number}" for query, groups in broken.items() for number in range(1, len(groups) + 1))
        if taken := set(self.queries).intersection(new):
            raise DataError(f"query {min(taken)!r} already exists, so a group cannot be given that name; rename it")
        names = {
            (query, item): f"{query}#{number}"
            for query, groups in broken.items()
            for number, group in enumerate(groups, 1)
            for item in group
        }
        labels = [
            names.get((self.queries[query], item), self.queries[query])
            for query, item in zip(self.item_query.tolist(), self.items, strict=True)
        ]
        queries = tuple(dict.fromkeys(labels))
        number = {name: code for code, name in enumerate(queries)}
        codes = np.array([number[label] for label in labels], np.int32)
        order = np.argsort(codes, kind="stable")
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        return replace(
            self,
            queries=queries,
            items=tuple(self.items[i] for i in order),
            item_query=codes[order],
            winner=place[self.winner].astype(np.int32),
            loser=place[self.loser].astype(np.int32),
        )

    def select(self, queries: Iterable[str]) -> Preferences:
        """Keep some queries."""
        wanted = set(queries)
        if unknown := wanted - set(self.queries):
            raise UsageError(f"no judgments for query {sorted(unknown)[0]!r}")
        mask = np.array([query in wanted for query in self.queries])
        kept = self._keep(mask[self.item_query])
        codes = np.cumsum(mask) - 1
        names = tuple(query for query in self.queries if query in wanted)
        return replace(kept, queries=names, item_query=codes[kept.item_query].astype(np.int32))

    def with_grades(self, grades: Mapping[Any, Any], *, weight: float = 1.0) -> Preferences:
        """Add what grades say, as judgments by a worker called ``grades``.

        ``grades`` are ``{query: {item: grade}}`` or references made from grades. Each item of a grade is preferred
        to each item of the next lower grade of its query; the items of the larger of the two grades get ``weight``
        judgments each. Equal grades say nothing. Items that were only graded join the others.

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

    def _keep(self, mask: npt.NDArray[np.bool_]) -> Preferences:
        place = (np.cumsum(mask) - 1).astype(np.int32)
        rows = mask[self.winner] & mask[self.loser]
        optional: dict[str, Any] = {
            name: None if (column := getattr(self, name)) is None else column[rows] for name in OPTIONAL
        }
        return replace(
            self,
            items=tuple(self.items[i] for i in np.flatnonzero(mask)),
            item_query=self.item_query[mask],
            winner=place[self.winner[rows]],
            loser=place[self.loser[rows]],
            tie=self.tie[rows],
            **optional,
        )

    def diagnostics(self) -> Diagnostics:
        """Say for every query what there is: comparisons, items, workers, groups, cycles, agreement."""
        from rankdev.preferences.diagnostics import diagnose

        return diagnose(self)

    def to_polars(self) -> pl.DataFrame:
        """One row per judgment: query, winner, loser, tie, and worker, weight, share, first where there are any.

        ``first`` is the item that was shown first.
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
        if self.weight is not None:
            columns["weight"] = self.weight
        if self.share is not None:
            columns["share"] = self.share
        if self.winner_first is not None:
            columns["first"] = names.gather(np.where(self.winner_first, self.winner, self.loser))
        return pl.DataFrame(columns)
