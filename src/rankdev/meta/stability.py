"""Would fewer queries have ordered the systems the same way?"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from rankdev.arguments import check_seed, check_whole
from rankdev.arrays import Floats
from rankdev.errors import RankdevWarning, UsageError
from rankdev.evaluation.scores import ScoresLike
from rankdev.meta.common_queries import as_scores, carried, panels
from rankdev.meta.orders import Orders
from rankdev.meta.sizes import PAPER_SIZES, fitting
from rankdev.results import Result

SHOWN = 6  # sizes that a summary shows side by side


@dataclass(frozen=True, eq=False)
class Stability(Result):
    """How far a measure's order of systems on n queries agrees with its order on others: arrays ``[measure, size]``.

    ``tau`` is the mean Kendall τ-b with the order on all queries, which include the n; ``tau_ap`` weights the top more.
    ``split`` is the mean τ-b between two sets of n queries that share none, NaN where the pool is too small; with the
    ends of its 95% interval in ``split_ends[end, measure, size]``. ``tau_ends`` are those of ``tau`` over the choice
    of the pool, where ``intervals`` were asked for.
    """

    measures: tuple[str, ...]
    sizes: tuple[int, ...]
    tau: Floats = field(repr=False)
    tau_ap: Floats = field(repr=False)
    split: Floats = field(repr=False)
    split_ends: Floats = field(repr=False)
    subsamples: int
    seed: int
    remarks: tuple[str, ...] = ()
    intervals: int = 0
    tau_ends: Floats | None = field(default=None, repr=False)

    made_with = ("sizes", "subsamples", "intervals", "seed")

    def to_polars(self) -> pl.DataFrame:
        """One row per measure and size: measure, n, tau, tau_ap, split, split_low, split_high; low, high of tau."""
        names = pl.Series(self.measures, dtype=pl.String).gather(np.repeat(range(len(self.measures)), len(self.sizes)))
        columns: dict[str, Any] = {"measure": names, "n": np.tile(self.sizes, len(self.measures))}
        columns |= {"tau": self.tau, "tau_ap": self.tau_ap, "split": self.split}
        columns |= {"split_low": self.split_ends[0], "split_high": self.split_ends[1]}
        if self.tau_ends is not None:
            columns |= {"low": self.tau_ends[0], "high": self.tau_ends[1]}
        flat = {name: x if name == "measure" else np.ravel(x) for name, x in columns.items()}
        return pl.DataFrame(flat).fill_nan(None)

    def summary(self, at: Sequence[int] | None = None) -> pl.DataFrame:
        """Sum up each measure: τ at some sizes, the area under the curve, and the first n with τ ≥ .8.

        The sizes are those given; or all, of many those of 25, 100 and 200 that were simulated. ``auc`` is the
        trapezoid over n divided by its range; ``n_at_0.8`` is infinite where no size reaches .8, with its ends
        where there are intervals. ``split_at_0.8`` asks the same of split halves, among the sizes of which the pool
        has two.
        """
        usual = [n for n in self.sizes if n in (25, 100, 200)] if len(self.sizes) > SHOWN else []
        wanted = list(at or usual or self.sizes)
        for n in wanted:
            if n not in self.sizes:
                known = ", ".join(map(str, self.sizes))
                raise UsageError(f"stability was not simulated at {n} queries; the sizes are {known}")
        columns: dict[str, Any] = {f"tau_{n}": self.tau[:, self.sizes.index(n)] for n in wanted}
        columns |= {"auc": self._area(), "n_at_0.8": self._first(self.tau)}
        if self.tau_ends is not None:
            low, high = self.tau_ends
            columns |= {"n_at_0.8_low": self._first(high), "n_at_0.8_high": self._first(low)}
        columns |= {f"split_{n}": self.split[:, self.sizes.index(n)] for n in wanted}
        columns["split_at_0.8"] = self._first(self.split)
        return pl.DataFrame({"measure": list(self.measures), **columns}).fill_nan(None)

    def _first(self, values: Floats) -> Floats:
        reached = values >= 0.8
        return np.where(reached.any(axis=1), np.array(self.sizes)[reached.argmax(axis=1)], np.inf)

    def _area(self) -> Floats:
        if len(self.sizes) < 2:
            return np.full(len(self.measures), np.nan)
        width = np.diff(self.sizes)
        area: Floats = (self.tau[:, 1:] + self.tau[:, :-1]) @ width / 2 / width.sum()
        return area


def stability(
    scores: ScoresLike,
    *,
    sizes: Sequence[int] = PAPER_SIZES,
    measures: Sequence[str] | None = None,
    subsamples: int = 300,
    intervals: int = 0,
    seed: int = 0,
) -> Stability:
    """Compare the order of systems on subsamples of n queries with the order on all, measure by measure.

    Subsamples are drawn without replacement; equal means are ties (τ-b). A subsample in which all systems tie
    tells nothing and counts as 0; a measure under which they tie on all queries has no τ. The order on all
    queries shares queries with every subsample, so that even equal systems seem stable as n grows: ``split`` compares
    two subsamples that share none. ``intervals`` resamples the pool that often.

    >>> from rankdev.evaluation.scores import Scores
    >>> rng = np.random.default_rng(1)
    >>> values = rng.random((3, 50, 1)) + [[[0.0]], [[1.0]], [[2.0]]]
    >>> scores = Scores(("a", "b", "c"), tuple(map(str, range(50))), ("P@1",), values)
    >>> stability(scores, sizes=[5, 10], subsamples=20).to_polars()["tau"].to_list()
    [1.0, 1.0]
    """
    subsamples, seed = check_whole("subsamples", subsamples, 1), check_seed(seed)
    intervals = check_whole("intervals", intervals, 0)
    scores = as_scores(scores, measures)
    groups = panels(scores)
    remarks: list[str] = []
    plan = fitting(sizes, groups, remarks)
    for remark in remarks:
        warnings.warn(remark, RankdevWarning, stacklevel=2)
    tau, ap, split, low, high, below, above = np.full((7, len(scores.measures), len(plan)), np.nan)
    for panel in groups:
        orders = Orders(panel)
        for i, n in enumerate(plan):
            cell = (list(panel.places), i)
            if n <= len(panel.queries):
                tau[cell], ap[cell] = orders.with_all(n, subsamples, seed)
                if intervals:
                    below[cell], above[cell] = orders.over_pools(n, tau[cell], subsamples, intervals, seed)
            if 2 * n <= len(panel.queries):
                split[cell], low[cell], high[cell] = orders.halves(n, subsamples, seed)
    ends = np.stack([below, above]) if intervals else None
    made = (subsamples, seed, (*remarks, *carried(scores)), intervals, ends)
    return Stability(scores.measures, plan, tau, ap, split, np.stack([low, high]), *made)
