"""What a system returned, and the one rule for its order."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import polars as pl

from rankdev.errors import DataError, RankdevWarning, UsageError, suggestion
from rankdev.frames import as_frame, check_mapping, is_table, number_column, text_column, to_pandas
from rankdev.references.columns import Floats, Groups, Ints, group, repeated_rows
from rankdev.references.reference import as_id

if TYPE_CHECKING:
    import pandas as pd

Bools = npt.NDArray[np.bool_]
Order = Literal["score", "rank"]
Ties = Literal["trec_eval", "ascending", "given"]


@dataclass(frozen=True)
class Ordering:
    """How a run is put in order: by ``score`` (high first) or by the ``rank`` column.

    Equal scores are broken by ``ties``: ``trec_eval`` compares scores in single precision, as trec_eval stores
    them, and puts the higher item id first; ``ascending`` compares them as they are and puts the lower id first
    (the Compatibility authors' rule); ``given`` keeps the order of the source.
    """

    order: Order = "score"
    ties: Ties = "trec_eval"

    def __post_init__(self) -> None:
        for name, known in (("order", get_args(Order)), ("ties", get_args(Ties))):
            value = getattr(self, name)
            if value not in known:
                raise UsageError(
                    f"unknown {name} {value!r}; choose from {', '.join(known)}{suggestion(str(value), known)}"
                )

    def keys(self, values: Floats) -> Floats:
        """Sort keys of scores or ranks, the highest first."""
        if self.order == "rank":
            return -values
        if self.ties != "trec_eval":
            return values
        with np.errstate(over="ignore"):
            return values.astype(np.float32).astype(np.float64)

    @property
    def names_descend(self) -> bool | None:
        """Whether ties put the higher item id first; None where ids do not matter."""
        if self.order == "rank" or self.ties == "given":
            return None
        return self.ties == "trec_eval"


TREC_EVAL = Ordering()


@dataclass(frozen=True, eq=False, repr=False)
class Run(Mapping[str, list[str]]):
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
    _index: dict[str, int] = field(default_factory=dict)

    @classmethod
    def from_lists(cls, lists: Any) -> Run:
        """Take ``{query: [item, …]}``, already in order."""
        lists = check_mapping(lists, "a run", "{query: [item, …]}")
        for query, items in lists.items():
            if isinstance(items, str) or not isinstance(items, Sequence):
                raise DataError(f"query {query!r}: expected a list of items; got {items!r}")
        counts = np.array([len(items) for items in lists.values()], np.int64)
        items = pl.Series("item", [as_id(item) for items in lists.values() for item in items], dtype=pl.String)
        queries = pl.Series("query", [as_id(query) for query in lists], dtype=pl.String)
        codes = np.repeat(np.arange(len(counts)), counts)
        repeats = repeated_rows(codes, items)
        if repeats.any():
            _warn_repeats(repeats, queries.gather(codes), items)
        return cls(queries, np.concatenate([[0], np.cumsum(counts)]), items, None, repeats if repeats.any() else None)

    @classmethod
    def from_scores(cls, scores: Any, *, ties: Ties = "trec_eval") -> Run:
        """Take ``{query: {item: score}}``, to be ordered by score."""
        scores = check_mapping(scores, "a run", "{query: {item: score}}")
        entries = [
            (as_id(query), as_id(item), value)
            for query, values in scores.items()
            for item, value in check_mapping(values, f"query {query!r}", "{item: score}").items()
        ]
        columns = [list(part) for part in zip(*entries, strict=True)] or [[], [], []]
        frame = pl.DataFrame(
            {"query": columns[0], "item": columns[1], "score": pl.Series(columns[2], strict=False)},
            schema_overrides={"query": pl.String, "item": pl.String},
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
    def of(cls, value: Any, *, order: Order = "score", ties: Ties = "trec_eval") -> Run:
        """Take a run, a table, ``{query: [item, …]}`` or ``{query: {item: score}}``."""
        if isinstance(value, Run):
            return value
        if is_table(value):
            return cls.from_table(value, order=order, ties=ties)
        value = check_mapping(value, "a run", "a path, a Run, a table, {query: [item, …]} or {query: {item: score}}")
        if any(isinstance(entry, Mapping) for entry in value.values()):
            return cls.from_scores(value, ties=ties)
        return cls.from_lists(value)

    @property
    def lengths(self) -> Ints:
        """Number of items kept for each query."""
        return np.diff(self.offsets)

    @property
    def codes(self) -> Ints:
        """Query index of each row."""
        return np.repeat(np.arange(len(self.queries)), self.lengths)

    @property
    def positions(self) -> Ints:
        """Position of each row in its query, from 0."""
        return np.arange(len(self.item_ids)) - np.repeat(self.offsets[:-1], self.lengths)

    def to_polars(self) -> pl.DataFrame:
        """One row an item, in order: query, item, rank, and score where there are scores."""
        columns = {
            "query": self.queries.gather(self.codes),
            "item": self.item_ids,
            "rank": pl.Series(self.positions + 1),
        }
        if self.scores is not None:
            columns["score"] = pl.Series(self.scores)
        return pl.DataFrame(columns)

    def to_pandas(self) -> pd.DataFrame:
        """Give the table of :meth:`to_polars` as a pandas frame."""
        return to_pandas(self.to_polars())

    def __getitem__(self, query: str) -> list[str]:
        if not self._index:
            self._index.update((name, i) for i, name in enumerate(self.queries))
        begin, end = self.offsets[self._index[query] :][:2]
        return self.item_ids[begin:end].to_list()

    def __iter__(self) -> Iterator[str]:
        return iter(self.queries)

    def __len__(self) -> int:
        return len(self.queries)

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


class RunBuilder:
    """Collects a run batch by batch, keeping only the positions that can matter."""

    def __init__(self, ordering: Ordering, depth: int | None = None) -> None:
        self._ordering = ordering
        self._depth = depth
        self._batches: list[pl.DataFrame] = []
        self._rows = 0
        self._compact_at = 4_000_000

    def add(self, query: pl.Series, item: pl.Series, value: Floats) -> None:
        """Add rows; ``value`` is the score, or the rank where the order goes by rank."""
        batch = pl.DataFrame({"query": query, "item": item, "value": value})
        self._check_repeats(batch)
        if self._depth is not None:
            batch = self._cut(batch, self._depth)
        self._batches.append(batch)
        self._rows += batch.height
        if self._depth is not None and self._rows > self._compact_at:
            self._compact(self._depth)

    def finish(self) -> Run:
        """Put everything in order."""
        frame = pl.concat(self._batches) if self._batches else _EMPTY
        self._batches.clear()
        groups, rows = self._order(frame)
        query, item = groups.names.alias("query"), frame["item"]
        value = frame["value"].to_numpy()
        if rows is not None:
            groups, item, value = Groups(groups.names, groups.codes[rows]), item.gather(rows), value[rows]
        self._check_positions(groups, value)
        rows_query = query.gather(groups.codes)
        repeats = self._check_repeats(pl.DataFrame({"query": rows_query, "item": item, "value": value}))
        if repeats.any():
            _warn_repeats(repeats, rows_query, item)
        return Run(
            query,
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
        if frame["query"].n_unique() < len(frame["query"].rle()):
            frame = self._cut(frame, depth)
        self._batches = [frame]
        self._rows = frame.height
        self._compact_at = max(self._compact_at, 2 * self._rows)

    def _cut(self, frame: pl.DataFrame, depth: int) -> pl.DataFrame:
        """Keep the first ``depth`` positions of each query, and what is tied with the last of them."""
        groups, rows = self._order(frame)
        codes = groups.codes if rows is None else groups.codes[rows]
        begins = np.flatnonzero(np.diff(codes, prepend=-1))
        counts = np.diff(np.append(begins, len(codes)))
        position = np.arange(len(codes)) - np.repeat(begins, counts)
        keep = position < depth
        if self._ordering.order == "score":
            value = frame["value"].to_numpy()
            keys = self._ordering.keys(value if rows is None else value[rows])
            last = np.repeat(begins + np.minimum(counts, depth) - 1, counts)
            keep |= keys == keys[last]
        return frame[np.flatnonzero(keep) if rows is None else rows[keep]]

    def _order(self, frame: pl.DataFrame) -> tuple[Groups, Ints | None]:
        """Group rows by query; the rows in order, or None where they already are."""
        groups = group(frame["query"])
        codes = groups.codes
        keys = self._ordering.keys(frame["value"].to_numpy())
        same_query = codes[1:] == codes[:-1]
        grouped = bool((codes[1:] >= codes[:-1]).all())
        wrong = same_query & ((keys[1:] > keys[:-1]) | self._misordered_ties(frame["item"], keys, same_query))
        if grouped and not wrong.any():
            return groups, None
        if not grouped:
            return groups, self._sort(frame["item"], keys, codes, np.arange(len(codes)))
        rows = np.arange(len(codes))
        loose = np.isin(codes, codes[1:][wrong])
        rows[loose] = self._sort(frame["item"], keys, codes, np.flatnonzero(loose))
        return groups, rows

    def _misordered_ties(self, item: pl.Series, keys: Floats, same_query: Bools) -> Bools:
        tied = same_query & (keys[1:] == keys[:-1])
        if self._ordering.names_descend is None or not tied.any():
            return np.zeros(len(tied), bool)
        at = np.flatnonzero(tied)
        upper, lower = item.gather(at), item.gather(at + 1)
        tied[at] = ((lower > upper) if self._ordering.names_descend else (lower < upper)).to_numpy()
        return tied

    def _sort(self, item: pl.Series, keys: Floats, codes: Ints, rows: Ints) -> Ints:
        columns: dict[str, Any] = {"code": codes[rows], "key": -keys[rows], "row": rows}
        by, descending = ["code", "key", "row"], [False, False, False]
        if self._ordering.names_descend is not None:
            columns["item"] = item.gather(rows)
            by, descending = (
                ["code", "key", "item", "row"],
                [False, False, self._ordering.names_descend, False],
            )
        return pl.DataFrame(columns).sort(by, descending=descending)["row"].to_numpy()

    def _check_repeats(self, frame: pl.DataFrame) -> Bools:
        """Mark items that return in their query; refuse an item with two scores."""
        repeated = repeated_rows(group(frame["query"]).codes, frame["item"])
        if repeated.any():
            first = pl.col("value").first().over("query", "item")
            clash = frame.select((first != pl.col("value")).alias("clash"), first.alias("first"))
            if clash["clash"].any():
                row = int(clash["clash"].arg_max() or 0)
                query, item, value = frame.row(row)
                raise DataError(
                    f"query {query!r}: item {item!r} has two {self._ordering.order}s, {clash['first'][row]:g} and"
                    f" {value:g}; keep one",
                    row=row,
                )
        return repeated

    def _check_positions(self, groups: Groups, value: Floats) -> None:
        shared = (groups.codes[1:] == groups.codes[:-1]) & (value[1:] == value[:-1])
        if self._ordering.order == "rank" and shared.any():
            at = int(np.argmax(shared))
            query = groups.names[int(groups.codes[at])]
            raise DataError(f"query {query!r}: rank {value[at]:g} stands twice; each item needs a rank of its own")


_EMPTY = pl.DataFrame(schema={"query": pl.String, "item": pl.String, "value": pl.Float64})


def _warn_repeats(repeats: Bools, query: pl.Series, item: pl.Series) -> None:
    row = int(np.argmax(repeats))
    warnings.warn(
        f"{repeats.sum()} items are returned twice for the same query, such as {item[row]!r} for {query[row]!r};"
        " only the first occurrence counts",
        RankdevWarning,
        stacklevel=4,
    )
