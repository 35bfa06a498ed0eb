"""Click logs as counts: impressions and clicks of each item at each position, by bag of sessions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from rankdev._common.arrays import Bools, Floats, Ints
from rankdev.data.tables import as_polars, check_mapping, column, known_names, number_column
from rankdev.errors import DataError, UsageError
from rankdev.preferences.pairs import sums

BAGS = 400  # sessions are resampled in so many bags at most: enough for an interval, for logs of any size
MOST = 2**53  # larger floats may not be exact counts
ROLE = "a click log"
NAMES = {
    **dict.fromkeys(("click", "clicks", "viewed", "views"), "clicked"),
    **{"item_id": "item", "session_id": "session", "pos": "position"},
    **{"propensity_score": "propensity", "impressions": "shown"},
}


@dataclass(frozen=True, eq=False, kw_only=True)
class ClickLog:
    """Counts of a log, one entry per bag of sessions, item and position.

    ``unit`` numbers the (query, item) pairs and ``place`` indexes ``positions``. ``shown`` and ``clicked`` are
    counts, or sums of inverse propensities where the log has them.
    """

    positions: tuple[int, ...]
    unit: Ints
    place: Ints
    bag: Ints
    shown: Floats
    clicked: Floats
    clicks: int
    columns: tuple[str, ...]  # of the table

    @classmethod
    def from_table(
        cls, table: Any, *, columns: Mapping[str, str] | None = None, rates: bool = False, seed: int = 0
    ) -> ClickLog:
        """Count a table of impressions: query, item, position, clicked; session and propensity where there are any.

        With a column ``shown`` a row holds counts: impressions, and how many of them were clicked. ``columns`` renames
        columns: ``{"clicked": "was_clicked"}``. For ``rates`` each impression is weighted by its inverse propensity,
        and counts need no item.
        """
        named = {} if columns is None else check_mapping(columns, "columns", "{name here: name in the log}")
        frame = _named_columns(as_polars(table), named)
        if frame.is_empty():
            raise DataError("no-rows", what="click log")
        counts = "shown" in frame.columns
        if counts and not {"session", "propensity"}.isdisjoint(frame.columns):
            raise DataError("counts-of-sessions")
        if counts and rates and "item" not in frame.columns:
            frame = frame.with_columns(item=pl.lit("any"))
        keys = [name for name in ("query", "item") if name in frame.columns or name == "item"]
        for name in keys:
            _without_gaps(frame, name)
        weighted = rates and "propensity" in frame.columns
        position = _numbers(frame, "position")
        _refuse((position != np.floor(position)) | (position < 1), "position", position, "a whole number from 1")
        positions, place = np.unique(position.astype(np.int64), return_inverse=True)
        row, bag, shown, clicked = _divided(frame, seed) if counts else _impressions(frame, weighted, seed)
        parts = {"place": place[row], "bag": bag, "shown": shown, "clicked": clicked}
        rows = frame[row].select(keys).hstack(pl.DataFrame(parts))
        found = rows.group_by(*keys, "place", "bag").agg(pl.col("shown", "clicked").sum()).sort(*keys, "place", "bag")
        return cls(
            positions=tuple(positions.tolist()),
            unit=found.select(pl.struct(keys).rle_id()).to_series().to_numpy().astype(np.int64),
            **{name: found[name].to_numpy() for name in parts},
            clicks=int(number_column(frame, "clicked", ROLE).sum()),
            columns=tuple(frame.columns),
        )

    @property
    def units(self) -> int:
        """How many (query, item) pairs there are."""
        return int(self.unit[-1]) + 1

    @property
    def bags(self) -> int:
        """How many bags of sessions there are."""
        return int(self.bag.max()) + 1

    @cached_property
    def cells(self) -> tuple[Ints, Ints, Ints]:
        """The (unit, place) pairs that occur, as two arrays, and the cell of each entry."""
        key = self.unit * len(self.positions) + self.place
        known, cell = np.unique(key, return_inverse=True)
        return known // len(self.positions), known % len(self.positions), cell

    @cached_property
    def _by_bag(self) -> tuple[Any, Any]:
        """Impressions and clicks as sparse tables ``[cell, bag]``."""
        where, shape = (self.cells[2], self.bag), (len(self.cells[0]), self.bags)
        return csr_array((self.shown, where), shape), csr_array((self.clicked, where), shape)

    def counts(self, weights: Floats | None = None) -> tuple[Floats, Floats]:
        """Impressions and clicks of each cell; with ``weights`` of bags, those of a resample."""
        w = np.ones(self.bags) if weights is None else weights
        shown, clicked = self._by_bag
        return shown @ w, clicked @ w

    def totals(self, weights: Floats | None = None) -> tuple[Floats, Floats]:
        """Impressions and clicks of each position."""
        place, size = self.cells[1], len(self.positions)
        shown, clicked = self.counts(weights)
        return sums(place, shown, size), sums(place, clicked, size)

    def rates(self, weights: Floats | None = None) -> Floats:
        """Click rate of each position, of half a click more."""
        shown, clicked = self.totals(weights)
        return (clicked + 0.5) / (shown + 1)

    def resamples(self, count: int, seed: int) -> Floats:
        """Resample bags with replacement: ``[resample, bag]``, how often each is drawn."""
        rng = np.random.default_rng([seed, 1])
        return rng.multinomial(self.bags, np.full(self.bags, 1 / self.bags), size=count).astype(np.float64)


def _named_columns(frame: pl.DataFrame, columns: Mapping[str, str]) -> pl.DataFrame:
    """Rename the columns of a log to the usual names; ``columns`` has the names in the log."""
    for theirs in columns.values():
        if theirs not in frame.columns:
            raise UsageError("no-column", role="columns", name=theirs, known=frame.columns)
    renamed = {theirs: name for name, theirs in columns.items()}
    for theirs, name in NAMES.items():
        if theirs in frame.columns and name not in {*frame.columns, *renamed.values()}:
            renamed[theirs] = name
    taken = {*renamed.values()} & {*frame.columns} - renamed.keys()
    return known_names(frame.drop(taken).rename(renamed))


def _impressions(frame: pl.DataFrame, weighted: bool, seed: int) -> tuple[Ints, Ints, Floats, Floats]:
    """Return the row, the bag, the weight and the weighted click of each impression."""
    clicked = _numbers(frame, "clicked")
    _refuse((clicked != 0) & (clicked != 1), "clicked", clicked, "0 or 1, one row per impression")
    weight = np.ones(frame.height)
    if weighted:
        propensity = _numbers(frame, "propensity")
        _refuse((propensity <= 0) | (propensity > 1), "propensity", propensity, "a number above 0 and at most 1")
        weight = np.mean(propensity) / propensity
    return np.arange(frame.height), _bags(frame, seed), weight, weight * clicked


def _divided(frame: pl.DataFrame, seed: int) -> tuple[Ints, Ints, Floats, Floats]:
    """Divide the impressions of counts among bags at random: row, bag, shown, clicked."""
    shown, clicked = (_numbers(frame, name) for name in ("shown", "clicked"))
    whole = (shown == np.floor(shown)) & (clicked == np.floor(clicked))
    wrong = ~whole | (clicked < 0) | (shown < clicked) | (shown > MOST)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError("bad-counts", role=ROLE, row=row, shown=shown[row], clicked=clicked[row])
    rng, even = np.random.default_rng([seed, 0]), np.full(BAGS, 1 / BAGS)
    hits, misses = (rng.multinomial(part.astype(np.int64), even) for part in (clicked, shown - clicked))  # [row, bag]
    rows, bag = np.nonzero(hits + misses)
    return rows, bag, (hits + misses)[rows, bag].astype(np.float64), hits[rows, bag].astype(np.float64)


def _bags(frame: pl.DataFrame, seed: int) -> Ints:
    """Divide sessions (or impressions, if there are no sessions) into bags at random."""
    rng = np.random.default_rng([seed, 0])
    if "session" not in frame.columns:
        return rng.permutation(np.arange(frame.height) % BAGS)
    session = _without_gaps(frame, "session")
    codes = session.rank("dense").to_numpy().astype(np.int64) - 1
    count = int(codes.max()) + 1
    if count < 2:
        raise DataError("one-session", role=ROLE, session=session[0])
    return rng.permutation(np.arange(count) % BAGS)[codes]


def _without_gaps(frame: pl.DataFrame, name: str) -> pl.Series:
    values = column(frame, name, ROLE)
    if values.null_count():
        raise DataError("no-value", role=ROLE, row=int(values.is_null().arg_max() or 0), name=name)
    return values


def _numbers(frame: pl.DataFrame, name: str) -> Floats:
    return number_column(frame, name, ROLE).to_numpy()


def _refuse(wrong: Bools, name: str, values: Floats, expected: str) -> None:
    """Refuse a log with a wrong value."""
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError("bad-value", role=ROLE, row=row, name=name, value=values[row], expected=expected)
