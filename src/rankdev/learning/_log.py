"""Click logs as counts: impressions and clicks of each item at each position, by bag of sessions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from rankdev._common.arrays import Bools, Floats, Ints
from rankdev._common.columns import column, number_column
from rankdev._common.tables import as_frame, check_mapping
from rankdev.errors import DataError, UsageError

BAGS = 400  # sessions are resampled in so many bags at most: enough for an interval, for logs of any size
MOST = 2**53  # larger floats may not be exact counts
NAMES = {
    "click": "clicked",
    "clicks": "clicked",
    "viewed": "clicked",
    "item_id": "item",
    "session_id": "session",
    "pos": "position",
    "propensity_score": "propensity",
    "impressions": "shown",
    "views": "clicked",
}


def sums(code: Ints, values: Any, size: int = 0) -> Floats:
    """Sum values by code."""
    return np.asarray(np.bincount(code, values, size), np.float64)


@dataclass(frozen=True, eq=False, kw_only=True)
class ClickLog:
    """Counts of a log, one entry per bag of sessions, item and position.

    ``unit`` numbers the (query, item) pairs and ``place`` indexes ``positions``. ``shown`` and ``clicked`` are
    counts, or sums of inverse propensities where the log has them. ``grid`` has the (row, column) of each position
    where the log is of a grid. ``rows`` are the impressions themselves, and ``keys`` the columns that make a unit.
    """

    positions: tuple[int, ...]
    unit: Ints = field(repr=False)
    place: Ints = field(repr=False)
    bag: Ints = field(repr=False)
    shown: Floats = field(repr=False)
    clicked: Floats = field(repr=False)
    units: int
    bags: int
    impressions: int
    clicks: int
    sessions: int | None
    weighted: bool
    grid: tuple[tuple[int, int], ...] | None
    rows: pl.DataFrame = field(repr=False)
    keys: tuple[str, ...] = field(repr=False)

    @classmethod
    def from_table(
        cls, table: Any, *, columns: Mapping[str, str] | None = None, weighted: bool = False, seed: int = 0
    ) -> ClickLog:
        """Count a table of impressions: query, item, position, clicked; session and propensity where there are any.

        Instead of a position an impression may have a ``row`` and a ``column``. ``columns`` renames columns:
        ``{"clicked": "was_clicked"}``. ``weighted`` weights each impression by its inverse propensity.
        With a column ``shown`` a row holds counts: impressions, and how many of them were clicked.
        """
        named = {} if columns is None else check_mapping(columns, "columns", "{name here: name in the log}")
        frame = _named_columns(as_frame(table), named)
        frame, grid = _with_positions(frame)
        if "shown" in frame.columns:
            return cls._from_counts(frame, grid, views=weighted, seed=seed)
        clicked = _click_column(frame)
        weighted = weighted and "propensity" in frame.columns
        weight = _inverse_propensities(frame) if weighted else np.ones(frame.height)
        units = _units(frame)
        positions, place = np.unique(_positions_of(frame), return_inverse=True)
        bag, sessions = _bags(frame, seed)
        rows = frame.with_columns(
            place=pl.Series(place), bag=pl.Series(bag), n=pl.Series(weight), c=pl.Series(weight * clicked)
        )
        return cls._of_rows(rows, units, positions, int(clicked.sum()), sessions, weighted, grid)

    @classmethod
    def _from_counts(
        cls, frame: pl.DataFrame, grid: tuple[tuple[int, int], ...] | None, *, views: bool, seed: int
    ) -> ClickLog:
        """Read counts: shown, and how many of them clicked (or viewed); impressions are divided into bags."""
        if "session" in frame.columns or "propensity" in frame.columns:
            raise DataError("counts-of-sessions")
        if views and "item" not in frame.columns:
            frame = frame.with_columns(item=pl.lit("any"))
        units = _units(frame)
        shown, clicked = _counts(frame)
        positions, place = np.unique(_positions_of(frame), return_inverse=True)
        rng = np.random.default_rng([seed, 0])
        even = np.full(BAGS, 1 / BAGS)
        hits, misses = (rng.multinomial(part, even) for part in (clicked, shown - clicked))  # [row, bag]
        row, bag = np.nonzero(hits + misses)
        columns = {"place": place[row], "bag": bag, "n": (hits + misses)[row, bag], "c": hits[row, bag]}
        rows = frame[row].with_columns(pl.Series(name, values.astype(np.float64)) for name, values in columns.items())
        rows = rows.with_columns(pl.col("place", "bag").cast(pl.Int64))
        return cls._of_rows(rows, units, positions, int(clicked.sum()), None, False, grid)

    @classmethod
    def _of_rows(
        cls,
        rows: pl.DataFrame,
        units: list[str],
        positions: Ints,
        clicks: int,
        sessions: int | None,
        weighted: bool,
        grid: tuple[tuple[int, int], ...] | None,
    ) -> ClickLog:
        """Sum n shown and c clicked of each unit, place and bag."""
        counts = (
            rows.select(*units, "place", "bag", "n", "c")
            .group_by(*units, "place", "bag")
            .agg(pl.col("n", "c").sum())
            .sort(*units, "place", "bag")
        )
        unit = counts.select(pl.struct(units).rle_id()).to_series().to_numpy().astype(np.int64)
        return cls(
            positions=tuple(positions.tolist()),
            unit=unit,
            place=counts["place"].to_numpy().astype(np.int64),
            bag=counts["bag"].to_numpy().astype(np.int64),
            shown=counts["n"].to_numpy(),
            clicked=counts["c"].to_numpy(),
            units=int(unit[-1]) + 1,
            bags=int(counts["bag"].max()) + 1,  # type: ignore[arg-type]
            impressions=int(rows["n"].sum()) if "shown" in rows.columns else rows.height,
            clicks=clicks,
            sessions=sessions,
            weighted=weighted,
            grid=grid,
            rows=rows,
            keys=tuple(units),
        )

    @cached_property
    def cells(self) -> tuple[Ints, Ints, Ints]:
        """The (unit, place) pairs that occur, as two arrays, and the cell of each entry."""
        key = self.unit * len(self.positions) + self.place
        known, cell = np.unique(key, return_inverse=True)
        return known // len(self.positions), known % len(self.positions), cell

    @cached_property
    def _by_bag(self) -> tuple[Any, Any]:
        """Impressions and clicks as sparse tables ``[cell, bag]``."""
        from scipy.sparse import csr_array

        where = (self.cells[2], self.bag)
        shape = (len(self.cells[0]), self.bags)
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

    def impressions_with_units(self) -> pl.DataFrame:
        """Return the impressions with the number of their unit."""
        names = self.rows.select(self.keys).unique().sort(*self.keys).with_row_index("unit")
        return self.rows.join(names, on=self.keys, how="left", maintain_order="left")

    def lists(self) -> pl.DataFrame:
        """Return the impressions with the list that each belongs to: one per session and query."""
        if self.sessions is None:
            raise DataError("no-column", role="a click log", name="session", known=self.rows.columns)
        keys = ["session", *(["query"] if "query" in self.keys else [])]
        rows = self.impressions_with_units().with_columns(list=pl.struct(keys).rank("dense") - 1)
        if rows.select("list", "place").is_duplicated().any():
            raise DataError("two-impressions")
        return rows.select("list", "unit", "place", "bag", clicked=pl.col("c"))

    def features(self, names: Sequence[str]) -> Floats:
        """Return some columns of each unit, ``[unit, feature]``, by its first impression."""
        if not names:
            raise UsageError("needed", name="features", use="method='regression-em'")
        unknown = [name for name in names if name not in self.rows.columns]
        if unknown:
            raise UsageError("no-column", role="features", name=unknown[0], known=self.rows.columns)
        first = self.rows.group_by(self.keys).agg(pl.col(name).first() for name in names).sort(*self.keys)
        return np.column_stack([number_column(first, name, "a click log").to_numpy() for name in names])

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
    taken = [name for name in renamed.values() if name in frame.columns and name not in renamed]
    return frame.drop(taken).rename(renamed)


def _with_positions(frame: pl.DataFrame) -> tuple[pl.DataFrame, tuple[tuple[int, int], ...] | None]:
    """Number the places of a grid in reading order where the log has rows and columns."""
    if "position" in frame.columns or not {"row", "column"} <= set(frame.columns):
        return frame, None
    places = np.stack([_whole(frame, "row"), _whole(frame, "column")], axis=1)
    grid, place = np.unique(places, axis=0, return_inverse=True)
    cells = tuple((int(row), int(column)) for row, column in grid)
    return frame.with_columns(position=pl.Series(place.ravel() + 1)), cells


def _positions_of(frame: pl.DataFrame) -> Ints:
    """Return the position of each impression, from 1."""
    return _whole(frame, "position")


def _whole(frame: pl.DataFrame, name: str) -> Ints:
    values = number_column(frame, name, "a click log").to_numpy()
    _refuse((values != np.floor(values)) | (values < 1), name, values, "a whole number from 1")
    return values.astype(np.int64)


def _click_column(frame: pl.DataFrame) -> Floats:
    """Return which impressions were clicked: 0 or 1."""
    values = number_column(frame, "clicked", "a click log").to_numpy()
    _refuse((values != 0) & (values != 1), "clicked", values, "0 or 1, one row per impression")
    return values


def _refuse(wrong: Bools, name: str, values: Floats, expected: str) -> None:
    """Refuse a log with a wrong value."""
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError("bad-value", role="a click log", row=row, name=name, value=values[row], expected=expected)


def _units(frame: pl.DataFrame) -> list[str]:
    units: list[str] = [name for name in ("query", "item") if name in frame.columns]
    if "item" not in units:
        raise DataError("no-column", role="a click log", name="item", known=frame.columns)
    for name in units:
        _without_gaps(frame, name)
    return units


def _without_gaps(frame: pl.DataFrame, name: str) -> pl.Series:
    values = column(frame, name, "a click log")
    if values.null_count():
        row = int(values.is_null().arg_max() or 0)
        raise DataError("no-value", role="a click log", row=row, name=name)
    return values


def _counts(frame: pl.DataFrame) -> tuple[Ints, Ints]:
    """Return how often each row was shown and, of these, clicked."""
    shown, clicked = (number_column(frame, name, "a click log").to_numpy() for name in ("shown", "clicked"))
    whole = (shown == np.floor(shown)) & (clicked == np.floor(clicked))
    wrong = ~whole | (clicked < 0) | (shown < clicked) | (shown > MOST)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError("bad-counts", role="a click log", row=row, shown=shown[row], clicked=clicked[row])
    return shown.astype(np.int64), clicked.astype(np.int64)


def _inverse_propensities(frame: pl.DataFrame) -> Floats:
    values = number_column(frame, "propensity", "a click log").to_numpy()
    _refuse((values <= 0) | (values > 1), "propensity", values, "a number above 0 and at most 1")
    return np.mean(values) / values


def _bags(frame: pl.DataFrame, seed: int) -> tuple[Ints, int | None]:
    """Divide sessions (or impressions, if there are no sessions) into bags at random."""
    rng = np.random.default_rng([seed, 0])
    if "session" not in frame.columns:
        return rng.permutation(np.arange(frame.height) % BAGS), None
    session = _without_gaps(frame, "session")
    codes = session.rank("dense").to_numpy().astype(np.int64) - 1
    count = int(codes.max()) + 1
    if count < 2:
        raise DataError("one-session", role="a click log", session=session[0])
    return rng.permutation(np.arange(count) % BAGS)[codes], count
