"""Rows of a run, batch by batch: checked, sorted and cut."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import polars as pl

from rankdev._common.arrays import Bools, Floats, Ints
from rankdev._common.reading import caution, reading
from rankdev.core.columns import Groups, group
from rankdev.core.ordering import TREC_EVAL, Ordering
from rankdev.core.row_checks import check_unique, documents_of, kept_once
from rankdev.errors import DataError

FEW = 1000  # rows that usually tell whether scores and ranks agree
LONGEST_TIE = 10_000  # rows of a query that are kept past the depth because they are tied with the last within it


class RunColumns(NamedTuple):
    """The columns of a run, in the order of its fields."""

    queries: pl.Series
    offsets: Ints
    item_ids: pl.Series
    scores: Floats | None
    repeats: Bools | None
    ordering: Ordering = TREC_EVAL
    depth: int | None = None
    left_out: int = 0


class Rows(NamedTuple):
    """Rows of some queries; ``repeats`` marks those that repeat an earlier row of the batch."""

    groups: Groups
    item: pl.Series
    value: Floats
    repeats: Bools

    def take(self, rows: slice | Ints) -> Rows:
        """Keep some rows, in this order."""
        item = self.item[rows] if isinstance(rows, slice) else self.item.gather(rows)
        return Rows(self.groups.take(rows), item, self.value[rows], self.repeats[rows])

    @property
    def query(self) -> pl.Series:
        """Name of each row's query."""
        return self.groups.names.gather(self.groups.codes)


class Direction:
    """Whether the score rises with the rank on every line, as distances do, batch by batch."""

    def __init__(self, ordering: Ordering) -> None:
        self._ordering = ordering
        self.agrees = False  # somewhere a higher score has the better rank, or ranks are not numbers
        self._opposes = False

    @property
    def is_opposed(self) -> bool:
        """Whether lower scores have better ranks throughout."""
        return self._opposes and not self.agrees

    def add(self, codes: Ints, score: Floats, rank: pl.Series) -> None:
        """Look at rows, at few of them where these agree, as they usually do."""
        for count in (FEW, len(codes)):
            if not self.agrees:
                self._look(codes[:count], score[:count], rank[:count])

    def _look(self, codes: Ints, score: Floats, rank: pl.Series) -> None:
        """Compare neighbours of a query, by rank."""
        ranks = _whole_numbers(rank)
        if ranks is None:
            self.agrees = True
            return
        rows = np.lexsort((ranks, codes))
        same = np.diff(codes[rows]) == 0
        keys, ranks = self._ordering.keys(score[rows]), ranks[rows]
        self.agrees = bool((same & ((keys[1:] < keys[:-1]) | (ranks[1:] == ranks[:-1]))).any())
        self._opposes |= bool((same & (keys[1:] > keys[:-1])).any())


def _whole_numbers(rank: pl.Series) -> Floats | None:
    """Return ranks as numbers; None where one is anything else."""
    if rank.dtype == pl.String and not rank.str.contains(r"^[0-9]{1,18}$").fill_null(False).all():
        return None
    if rank.dtype != pl.String and not rank.dtype.is_numeric():
        return None
    numbers = rank.cast(pl.Float64, strict=False)
    return None if numbers.null_count() else numbers.to_numpy()


class RunBuilder:
    """Collects a run batch by batch, keeping only the positions that can matter.

    The last query of a batch may continue in the next one, so its rows wait, uncut, until another query comes: a
    contradiction between rows of a query is noticed wherever its rows are adjacent, whatever is cut afterwards.
    Where only one row of an item counts, all are kept until the last is known.
    """

    def __init__(self, ordering: Ordering, depth: int | None = None, name: str = "") -> None:
        self._ordering = ordering
        self._where = {"path": name} if name else {}
        self._duplicates, self._collapse = reading().duplicates, reading().collapse
        self._wanted = depth
        self._depth = depth if self._duplicates is None else None
        self._left_out = 0
        self._batches: list[Rows] = []  # in order, and cut
        self._rows = 0
        self._waiting: list[Rows] = []  # of one query
        self._compact_at = 4_000_000
        self._direction = Direction(ordering)

    def wants_ranks(self) -> bool:
        """Tell whether the ranks of rows are worth a look."""
        return self._ordering.order == "score" and not self._direction.agrees

    def add(self, query: pl.Series, item: pl.Series, value: Floats, rank: pl.Series | None = None) -> None:
        """Add rows; ``value`` is the score, or the rank where the order goes by rank; ``rank`` is only looked at."""
        if not len(query):
            return
        if self._collapse is not None:
            item = documents_of(item, self._collapse)
        rows = self._counting(query, item, value)
        if rows is not None:
            query, item, value = query.gather(rows), item.gather(rows), value[rows]
            rank = None if rank is None else rank.gather(rows)
        try:
            batch = self._checked(query, item, value)
        except DataError as error:
            if rows is not None and "row" in error.fields:
                error.fields["row"] = int(rows[error.fields["row"]])
            raise
        if rank is not None and self.wants_ranks():
            self._direction.add(batch.groups.codes, value, rank)
        names, codes = batch.groups.names, batch.groups.codes
        begin, end = 0, len(codes) - _length_of_first(codes[::-1])
        if self._waiting and _name_of(self._waiting[0]) == names[0]:
            begin = _length_of_first(codes)
            self._waiting.append(batch.take(slice(begin)))
        if begin < len(codes):
            self._release()
            self._keep(batch.take(slice(begin, end)))
            self._waiting = [batch.take(slice(end, None))]
        if self._depth is not None:
            self._bound_memory()

    def finish(self) -> RunColumns:
        """Return the columns of the whole run."""
        self._release()
        if not self._batches:
            return RunColumns(
                _NO_NAMES, np.zeros(1, np.int64), _NO_NAMES, np.zeros(0), None, self._ordering, self._wanted, 0
            )
        rows = self._together()
        self._batches.clear()
        if self._depth != self._wanted:
            self._depth = self._wanted
            rows = self._arranged(rows)
        if rows.repeats.any():
            warn_of_repeats(rows.repeats, rows.query, rows.item, **self._where)
        if self._direction.is_opposed:
            caution("rising-scores", **self._where)
        return RunColumns(
            rows.groups.names.alias("query"),
            rows.groups.offsets,
            rows.item.alias("item"),
            rows.value if self._ordering.order == "score" else None,
            rows.repeats if rows.repeats.any() else None,
            self._ordering,
            self._depth,
            self._left_out,
        )

    def _counting(self, query: pl.Series, item: pl.Series, value: Floats) -> Ints | None:
        """Find the rows that count where an item may have several; None for all."""
        if self._duplicates is None:
            return None
        better = value if self._ordering.order == "score" else -value
        rows = np.flatnonzero(kept_once(group(query).codes, item, better, self._duplicates))
        self._left_out += len(query) - len(rows)
        return None if len(rows) == len(query) else rows

    def _checked(self, query: pl.Series, item: pl.Series, value: Floats) -> Rows:
        """Refuse two values of an item, or two items of a rank; mark items that are returned twice."""
        groups = group(query)
        repeats = check_unique(groups, item, value, self._ordering.order, "two-in-run")
        if self._ordering.order == "rank":
            pairs = pl.DataFrame({"code": groups.codes, "rank": value})
            shared = ~pairs.select(pl.struct("code", "rank").is_first_distinct()).to_series().to_numpy()
            if shared.any():
                row = int(np.argmax(shared))
                query_name = groups.names[int(groups.codes[row])]
                raise DataError("rank-twice", query=query_name, rank=value[row], row=row)
        return Rows(groups, item, value, repeats)

    def _release(self) -> None:
        """Keep the query that was waiting for more rows."""
        if self._waiting:
            self._keep(self._waiting[0] if len(self._waiting) == 1 else self._joined(self._waiting))
            self._waiting = []

    def _keep(self, rows: Rows) -> None:
        if len(rows.value):
            self._batches.append(self._arranged(rows))
            self._rows += len(self._batches[-1].value)

    def _bound_memory(self) -> None:
        """Join and cut the rows of queries that are scattered in the source: they were cut in each batch alone."""
        if sum(len(rows.value) for rows in self._waiting) > self._compact_at:
            self._release()
        if self._rows > self._compact_at:
            rows = self._together()
            self._batches = [rows]
            self._rows = len(rows.value)
            self._compact_at = max(self._compact_at, 2 * self._rows)

    def _together(self) -> Rows:
        """Join the batches, which is all there is to do where no query is in two of them."""
        names = pl.concat([rows.groups.names for rows in self._batches])
        sizes = np.concatenate([rows.groups.sizes for rows in self._batches])
        used = sizes > 0  # a batch knows the query that waits for the next one by name
        names, sizes = names.filter(pl.Series(used)), sizes[used]
        if names.n_unique() < len(names):
            return self._arranged(self._joined(self._batches))
        return Rows(
            Groups(names, np.repeat(np.arange(len(names)), sizes)),
            pl.concat([rows.item for rows in self._batches], rechunk=True),
            np.concatenate([rows.value for rows in self._batches]),
            np.concatenate([rows.repeats for rows in self._batches]),
        )

    def _joined(self, parts: list[Rows]) -> Rows:
        """Check rows together that were checked in separate batches."""
        columns = ([getattr(rows, name) for rows in parts] for name in ("query", "item"))
        query, item = (pl.concat(pieces, rechunk=True) for pieces in columns)
        value = np.concatenate([rows.value for rows in parts])
        counting = self._counting(query, item, value)
        if counting is not None:
            query, item, value = query.gather(counting), item.gather(counting), value[counting]
        try:
            return self._checked(query, item, value)
        except DataError as error:
            del error.fields["row"]  # it is not one of the batch that is added
            raise

    def _arranged(self, rows: Rows) -> Rows:
        """Sort rows by query and position where they are not so already, and keep those that can matter."""
        keys = self._ordering.keys(rows.value)
        order = self._order(rows, keys)
        kept = self._kept(rows.groups.sizes, keys if order is None else keys[order])
        if kept is not None:
            order = kept if order is None else order[kept]
        return rows if order is None else rows.take(order)

    def _kept(self, counts: Ints, keys: Floats) -> Ints | None:
        """Find the first ``depth`` positions of each query, and what is tied with the last of them; None for all rows.

        Of a very long tie only the first are kept: they are enough to know that it decides.
        """
        if self._depth is None or counts.max() <= self._depth:
            return None
        begins = np.cumsum(counts) - counts
        kept = np.minimum(counts, self._depth)
        longer = np.flatnonzero(kept < counts)
        last = begins[longer] + kept[longer] - 1
        tied = keys[last] == keys[last + 1]
        if tied.any():
            longer, last = longer[tied], last[tied]
            steps = np.append(np.flatnonzero(keys[1:] != keys[:-1]), len(keys) - 1)  # where equal keys end
            until = steps[np.searchsorted(steps, last)] + 1
            most = np.inf if self._ordering.leaves_ties_open else self._depth + LONGEST_TIE
            kept[longer] = np.minimum(np.minimum(until - begins[longer], counts[longer]), most)
        ends = np.cumsum(kept)
        return np.arange(kept.sum()) + np.repeat(begins - ends + kept, kept)

    def _order(self, rows: Rows, keys: Floats) -> Ints | None:
        """Find the order of rows by query and position; None where they have it already."""
        codes = rows.groups.codes
        if not (codes[1:] >= codes[:-1]).all():
            return self._sort(rows.item, keys, codes, np.arange(len(codes)))
        same_query = codes[1:] == codes[:-1]
        wrong = same_query & ((keys[1:] > keys[:-1]) | self._misordered_ties(rows.item, keys, same_query))
        if not wrong.any():
            return None
        order = np.arange(len(codes))
        loose = np.isin(codes, codes[1:][wrong])
        order[loose] = self._sort(rows.item, keys, codes, np.flatnonzero(loose))
        return order

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


def _name_of(rows: Rows) -> str:
    """Name of the one query that all rows have."""
    return str(rows.groups.names[int(rows.groups.codes[0])])


def _length_of_first(codes: Ints) -> int:
    """Length of the stretch of equal codes at the beginning."""
    differs = codes != codes[0]
    return int(np.argmax(differs)) if differs.any() else len(codes)


_NO_NAMES = pl.Series("query", [], pl.String)


def warn_of_repeats(repeats: Bools, query: pl.Series, item: pl.Series, **where: str) -> None:
    """Warn that items are returned twice."""
    row = int(np.argmax(repeats))
    caution("returned-twice", count=int(repeats.sum()), item=item[row], query=query[row], **where)
