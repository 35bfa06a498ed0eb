"""What a system returned, and the one rule for its order."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from rankdev.arrays import Bools, Floats, Ints
from rankdev.errors import DataError, RankdevWarning, UsageError, shown
from rankdev.files_in_use import PathLike
from rankdev.ordering import TREC_EVAL, Order, Ordering, Ties
from rankdev.references.columns import ByQuery, Groups, check_once, check_unique, group, item_series, repeated_rows
from rankdev.tabular import (
    OfRanx,
    TableLike,
    as_frame,
    as_id,
    check_mapping,
    check_no_records,
    from_ranx,
    is_table,
    number_column,
    number_series,
    tabled,
    text_column,
    text_series,
)

RunLike: TypeAlias = "Run | PathLike | TableLike | OfRanx | Mapping[Any, Iterable[Any]]"
"""A run: its file, a Run, a table, a Run of ranx, ``{query: [item, …]}`` or ``{query: {item: score}}``."""


@dataclass(frozen=True, eq=False, repr=False)
class Run(ByQuery[list[str]]):
    """One system's ranked items for every query, a mapping query → items in order.

    Query ``i`` owns the rows ``offsets[i]:offsets[i + 1]`` of ``item_ids``. ``repeats`` marks rows whose item stood
    higher in the same query already. ``depth`` is how many positions were kept of a run that was cut.

    >>> run = Run.from_scores({"q1": {"d1": 0.2, "d2": 0.7}})
    >>> run["q1"]
    ['d2', 'd1']
    """

    queries: pl.Series
    offsets: Ints
    item_ids: pl.Series
    scores: Floats | None = None
    repeats: Bools | None = None
    ordering: Ordering = TREC_EVAL
    depth: int | None = None

    @classmethod
    def from_lists(cls, lists: Any) -> Run:
        """Take ``{query: [item, …]}``, already in order."""
        lists = check_mapping(lists, "a run", "{query: [item, …]}")
        check_no_records(lists)
        for query, items in lists.items():
            if isinstance(items, str) or not isinstance(items, Sequence):
                raise DataError(f"query {shown(query)}: expected a list of items; got {shown(items)}")
        counts = np.array([len(items) for items in lists.values()], np.int64)
        items = item_series(lists)
        queries = text_series("query", [as_id(query) for query in lists])
        check_once(queries, "query {} appears twice, as a number and as text; keep one")
        codes = np.repeat(np.arange(len(counts)), counts)
        repeats = repeated_rows(codes, items)
        if repeats.any():
            _warn_repeats(repeats, queries.gather(codes), items)
        return cls(queries, np.concatenate([[0], np.cumsum(counts)]), items, None, repeats if repeats.any() else None)

    @classmethod
    def from_scores(cls, scores: Any, *, ties: Ties = "trec_eval") -> Run:
        """Take ``{query: {item: score}}``, to be ordered by score."""
        scores = check_mapping(scores, "a run", "{query: {item: score}}")
        for query, values in scores.items():
            check_mapping(values, f"query {shown(query)}", "{item: score}")
        frame = pl.DataFrame(
            {
                "query": text_series("query", [as_id(query) for query, values in scores.items() for _ in values]),
                "item": item_series(scores),
                "score": number_series("score", [value for values in scores.values() for value in values.values()]),
            }
        )
        return cls.from_table(frame, ties=ties)

    @classmethod
    def from_table(cls, table: Any, *, order: Order = "score", ties: Ties = "trec_eval") -> Run:
        """Take a table with the columns query, item and score (or rank)."""
        frame = as_frame(table)
        if order == "score" and "score" not in frame.columns and "rank" in frame.columns:
            order = "rank"
        builder = RunBuilder(Ordering(order, ties))
        builder.add(
            text_column(frame, "query", "a run"),
            text_column(frame, "item", "a run"),
            number_column(frame, order, "a run").to_numpy(),
        )
        return builder.finish()

    @classmethod
    def of(cls, value: RunLike, *, order: Order | None = None, ties: Ties | None = None) -> Run:
        """Take a run, a table, a list of records, ranx's Run, ``{query: [item, …]}`` or ``{query: {item: score}}``.

        Without ``order`` and ``ties`` a Run keeps its own; all else is ordered by score, ties as trec_eval 9 does.
        """
        if isinstance(value, Run):
            return value.reordered(order, ties)
        ordering = Ordering("score" if order is None else order, "trec_eval" if ties is None else ties)
        value = tabled(value)
        if is_table(value):
            return cls.from_table(value, order=ordering.order, ties=ordering.ties)
        value = from_ranx(value, "run")
        value = check_mapping(value, "a run", "a path, a Run, a table, {query: [item, …]} or {query: {item: score}}")
        if any(isinstance(entry, Mapping) for entry in value.values()):
            if order == "rank":
                raise DataError("a run {query: {item: score}} has no ranks; order it by score")
            return cls.from_scores(value, ties=ordering.ties)
        return cls.from_lists(value)

    def reordered(self, order: Order | None = None, ties: Ties | None = None) -> Run:
        """Put the run in another order; refused where it does not know any more what that takes.

        >>> Run.from_scores({"q": {"a": 1.0, "b": 1.0}}).reordered(ties="ascending")["q"]
        ['a', 'b']
        """
        wanted = Ordering(order or self.ordering.order, ties or self.ordering.ties)
        if self.scores is None:
            if (self.ordering.order, order) == ("rank", "score"):
                raise UsageError("this Run was ordered by rank and knows no scores; read it again with order='score'")
            return self
        if wanted == self.ordering:
            return self
        if wanted.order == "rank":
            raise UsageError("this Run was ordered by score and knows no ranks; read it again with order='rank'")
        if self.depth is not None:
            raise UsageError(f"this Run was cut at {self.depth}; read it again with ties={wanted.ties!r}")
        if wanted.ties == "given":
            raise UsageError("this Run has forgotten the order of its source; read it again with ties='given'")
        return Run.from_table(self.to_polars(), ties=wanted.ties)

    def top(self, depth: int | None) -> Top:
        """Find the rows that can matter in the first ``depth`` positions."""
        positions = self.positions
        ties = np.arange(len(positions))
        if self.scores is not None:
            keys = self.ordering.keys(self.scores)
            new = np.ones(len(keys), bool)
            new[1:] = (keys[1:] != keys[:-1]) | (positions[1:] == 0)
            ties = np.cumsum(new)
        wanted = np.ones(len(positions), bool) if self.repeats is None else ~self.repeats
        if depth is not None:
            wanted &= positions[np.searchsorted(ties, ties)] < depth  # where the row's tie begins
        rows = np.flatnonzero(wanted)
        lengths = self.sizes if depth is None else np.minimum(self.sizes, depth)
        within = positions[rows] < (depth or np.inf)
        return Top(rows, self.codes[rows], positions[rows], ties[rows], within, lengths)

    @property
    def positions(self) -> Ints:
        """Position of each row in its query, from 0."""
        return np.arange(len(self.item_ids)) - np.repeat(self.offsets[:-1], self.sizes)

    def to_polars(self) -> pl.DataFrame:
        """One row per item, in order: query, item, rank, and score where there are scores."""
        columns = {
            "query": self.queries.gather(self.codes),
            "item": self.item_ids,
            "rank": pl.Series(self.positions + 1),
        }
        if self.scores is not None:
            columns["score"] = pl.Series(self.scores)
        return pl.DataFrame(columns)

    def __getitem__(self, query: str) -> list[str]:
        return self.item_ids[self.rows(query)].to_list()

    def __eq__(self, other: object) -> bool:
        """Runs are equal when they return the same items in the same order for the same queries."""
        if not isinstance(other, Run):
            return NotImplemented
        columns = ["query", "rank", "item"]
        mine, theirs = (run.to_polars().select(columns).sort("query", "rank") for run in (self, other))
        return mine.equals(theirs)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Run({len(self)} queries, {len(self.item_ids)} items)"


@dataclass(frozen=True, eq=False)
class Top:
    """The first positions of a run: where it is cut is decided here, for all that comes after.

    ``rows`` do not repeat an item; those that are not ``within`` the cut are there because they share the score
    (``tie``) of one that is. ``lengths`` counts the positions of each query, repeated items included.
    """

    rows: Ints
    query: Ints
    position: Ints
    tie: Ints
    within: Bools
    lengths: Ints


LONGEST_TIE = 10_000  # rows of a query that are kept past the depth because they are tied with the last within it


class RunBuilder:
    """Collects a run batch by batch, keeping only the positions that can matter.

    The last query of a batch may go on in the next one, so its rows wait, uncut, until another query comes: a
    contradiction between rows of a query is noticed wherever its rows stand together, whatever is cut afterwards.
    """

    def __init__(self, ordering: Ordering, depth: int | None = None, name: str = "") -> None:
        self._ordering = ordering
        self._name = name
        self._depth = depth
        self._batches: list[pl.DataFrame] = []
        self._rows = 0
        self._waiting: list[pl.DataFrame] = []  # rows of one query
        self._compact_at = 4_000_000

    def add(self, query: pl.Series, item: pl.Series, value: Floats) -> None:
        """Add rows; ``value`` is the score, or the rank where the order goes by rank."""
        batch = pl.DataFrame({"query": query, "item": item, "value": value})
        groups = group(query)
        self._check(groups, item, value)
        if self._depth is None:
            self._batches.append(batch)
        elif batch.height:
            self._add_cut(groups, batch, self._depth)

    def _add_cut(self, groups: Groups, batch: pl.DataFrame, depth: int) -> None:
        codes = groups.codes
        begin, end = 0, batch.height - _length_of_first(codes[::-1])
        if self._waiting and self._waiting[0]["query"][0] == groups.names[0]:
            begin = _length_of_first(codes)
            self._waiting.append(batch[:begin])
        if begin < batch.height:
            self._release(depth)
            self._keep(self._cut(Groups(groups.names, codes[begin:end]), batch[begin:end], depth))
            self._waiting = [batch[end:]]
        if sum(frame.height for frame in self._waiting) > self._compact_at:
            self._release(depth)
        if self._rows > self._compact_at:
            self._compact(depth)

    def _release(self, depth: int) -> None:
        """Check and cut the query that was waiting for more rows."""
        if not self._waiting:
            return
        frame = pl.concat(self._waiting, rechunk=True)
        groups = group(frame["query"])
        if len(self._waiting) > 1:
            try:
                self._check(groups, frame["item"], frame["value"].to_numpy())
            except DataError as error:
                raise DataError(str(error)) from None  # its row is none of the batch that is added
        self._waiting = []
        self._keep(self._cut(groups, frame, depth))

    def _keep(self, batch: pl.DataFrame) -> None:
        self._batches.append(batch)
        self._rows += batch.height

    def _check(self, groups: Groups, item: pl.Series, value: Floats) -> Bools:
        """Refuse two values of an item, or two items of a rank; mark items that are returned twice."""
        repeats = check_unique(groups, item, value, self._ordering.order)
        if self._ordering.order == "rank":
            pairs = pl.DataFrame({"code": groups.codes, "rank": value})
            shared = ~pairs.select(pl.struct("code", "rank").is_first_distinct()).to_series().to_numpy()
            if shared.any():
                row = int(np.argmax(shared))
                query = shown(groups.names[int(groups.codes[row])])
                raise DataError(
                    f"query {query}: rank {value[row]:g} appears twice; each item needs a rank of its own", row
                )
        return repeats

    def finish(self) -> Run:
        """Put everything in order."""
        if self._depth is not None:
            self._release(self._depth)
        frame = pl.concat(self._batches, rechunk=True) if self._batches else _EMPTY
        self._batches.clear()
        if self._depth is not None:
            frame = self._cut(group(frame["query"]), frame, self._depth)
        groups = group(frame["query"])
        item, value = frame["item"], frame["value"].to_numpy()
        rows = self._order(groups, frame)
        if rows is not None:
            groups, item, value = Groups(groups.names, groups.codes[rows]), item.gather(rows), value[rows]
        repeats = self._check(groups, item, value)
        if repeats.any():
            _warn_repeats(repeats, groups.names.gather(groups.codes), item, self._name)
        return Run(
            groups.names.alias("query"),
            groups.offsets,
            item.alias("item"),
            value if self._ordering.order == "score" else None,
            repeats if repeats.any() else None,
            self._ordering,
            self._depth,
        )

    def _compact(self, depth: int) -> None:
        """Cut again over all batches: queries whose rows lie apart in the source were cut in each batch alone."""
        frame = pl.concat(self._batches, rechunk=True)
        frame = self._cut(group(frame["query"]), frame, depth)
        self._batches = [frame]
        self._rows = frame.height
        self._compact_at = max(self._compact_at, 2 * self._rows)

    def _cut(self, groups: Groups, frame: pl.DataFrame, depth: int) -> pl.DataFrame:
        """Keep the first ``depth`` positions of each query, and what is tied with the last of them.

        Of a very long tie only the first are kept: they are enough to know that it decides.
        """
        rows = self._order(groups, frame)
        offsets = groups.offsets
        begins, counts = offsets[:-1], np.diff(offsets)
        kept = np.minimum(counts, depth)
        value = frame["value"].to_numpy()
        keys = self._ordering.keys(value if rows is None else value[rows])
        longer = np.flatnonzero(kept < counts)
        last = begins[longer] + kept[longer] - 1
        tied = keys[last] == keys[last + 1]
        if tied.any():
            longer, last = longer[tied], last[tied]
            steps = np.append(np.flatnonzero(keys[1:] != keys[:-1]), len(keys) - 1)  # where equal keys end
            until = steps[np.searchsorted(steps, last)] + 1
            most = np.inf if self._ordering.leaves_ties_open else depth + LONGEST_TIE
            kept[longer] = np.minimum(np.minimum(until - begins[longer], counts[longer]), most)
        ends = np.cumsum(kept)
        at = np.arange(kept.sum()) + np.repeat(begins - ends + kept, kept)
        return frame[at if rows is None else rows[at]]

    def _order(self, groups: Groups, frame: pl.DataFrame) -> Ints | None:
        """Rows by query and position; None where they stand so already."""
        codes = groups.codes
        keys = self._ordering.keys(frame["value"].to_numpy())
        same_query = codes[1:] == codes[:-1]
        grouped = bool((codes[1:] >= codes[:-1]).all())
        wrong = same_query & ((keys[1:] > keys[:-1]) | self._misordered_ties(frame["item"], keys, same_query))
        if grouped and not wrong.any():
            return None
        if not grouped:
            return self._sort(frame["item"], keys, codes, np.arange(len(codes)))
        rows = np.arange(len(codes))
        loose = np.isin(codes, codes[1:][wrong])
        rows[loose] = self._sort(frame["item"], keys, codes, np.flatnonzero(loose))
        return rows

    def _misordered_ties(self, item: pl.Series, keys: Floats, same_query: Bools) -> Bools:
        tied = same_query & (keys[1:] == keys[:-1])
        if self._ordering.names_descend is None or not tied.any():
            return np.zeros(len(tied), bool)
        at = np.flatnonzero(tied)
        upper, lower = item.gather(at), item.gather(at + 1)
        tied[at] = ((lower > upper) if self._ordering.names_descend else (lower < upper)).to_numpy()
        return tied

    def _sort(self, item: pl.Series, keys: Floats, codes: Ints, rows: Ints) -> Ints:
        columns: dict[str, Any] = {"code": codes[rows], "key": -keys[rows]}
        if self._ordering.names_descend is not None:
            columns["item"] = item.gather(rows)
        columns["row"] = rows
        descending = [name == "item" and bool(self._ordering.names_descend) for name in columns]
        return pl.DataFrame(columns).sort(list(columns), descending=descending)["row"].to_numpy()


def _length_of_first(codes: Ints) -> int:
    """Length of the stretch of equal codes at the beginning."""
    differs = codes != codes[0]
    return int(np.argmax(differs)) if differs.any() else len(codes)


_EMPTY = pl.DataFrame(schema={"query": pl.String, "item": pl.String, "value": pl.Float64})


def _warn_repeats(repeats: Bools, query: pl.Series, item: pl.Series, name: str = "") -> None:
    row = int(np.argmax(repeats))
    where = f"{name}: " if name else ""
    warnings.warn(
        f"{where}{repeats.sum()} items are returned twice for the same query, such as {shown(item[row])} for"
        f" {shown(query[row])}; only the first occurrence counts",
        RankdevWarning,
        stacklevel=4,
    )
