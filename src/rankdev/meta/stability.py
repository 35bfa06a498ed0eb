"""Would fewer queries have ordered the systems the same way?"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from rankdev.errors import RankdevWarning, UsageError
from rankdev.evaluation.scores import Floats, Scores
from rankdev.meta.common_queries import Panel, as_scores, check_whole, panels
from rankdev.meta.flips.exact_sums import largest_of, scale_for
from rankdev.meta.flips.random_bits import draw, stream_keys
from rankdev.meta.kendall import tau_b
from rankdev.meta.sizes import PAPER_SIZES, fitting
from rankdev.results import Result

if TYPE_CHECKING:
    import polars as pl

SHOWN = 6  # sizes that a summary shows side by side
ROOM = 1 << 23  # numbers held at a time


@dataclass(frozen=True, eq=False)
class Stability(Result):
    """Mean Kendall τ-b between a measure's ordering on n queries and on all: ``tau[measure, size]``."""

    measures: tuple[str, ...]
    sizes: tuple[int, ...]
    tau: Floats = field(repr=False)
    subsamples: int
    seed: int
    remarks: tuple[str, ...] = ()

    made_with = ("sizes", "subsamples", "seed")

    def to_polars(self) -> pl.DataFrame:
        """One row a measure and size: measure, n, tau."""
        import polars as pl

        names = pl.Series(self.measures, dtype=pl.String).gather(np.repeat(range(len(self.measures)), len(self.sizes)))
        columns = {"measure": names, "n": np.tile(self.sizes, len(self.measures)), "tau": self.tau.ravel()}
        return pl.DataFrame(columns).fill_nan(None)

    def summary(self, at: Sequence[int] | None = None) -> pl.DataFrame:
        """Sum up each measure: τ at some sizes, the area under the curve, and the first n with τ ≥ .8.

        The sizes are those given; or all, of many those of 25, 100 and 200 that were simulated. ``auc`` is the
        trapezoid over n divided by its range; ``n_at_0.8`` is infinite where no size reaches .8.
        """
        import polars as pl

        usual = [n for n in self.sizes if n in (25, 100, 200)] if len(self.sizes) > SHOWN else []
        wanted = list(at or usual or self.sizes)
        for n in wanted:
            if n not in self.sizes:
                known = ", ".join(map(str, self.sizes))
                raise UsageError(f"stability was not simulated at {n} queries; the sizes are {known}")
        columns: dict[str, Any] = {f"tau_{n}": self.tau[:, self.sizes.index(n)] for n in wanted}
        reached = self.tau >= 0.8
        first = np.where(reached.any(axis=1), np.array(self.sizes)[reached.argmax(axis=1)], np.inf)
        columns |= {"auc": self._area(), "n_at_0.8": first}
        return pl.DataFrame({"measure": list(self.measures), **columns}).fill_nan(None)

    def _area(self) -> Floats:
        if len(self.sizes) < 2:
            return np.full(len(self.measures), np.nan)
        width = np.diff(self.sizes)
        area: Floats = (self.tau[:, 1:] + self.tau[:, :-1]) @ width / 2 / width.sum()
        return area


def stability(
    scores: Scores | Any,
    *,
    sizes: Sequence[int] = PAPER_SIZES,
    measures: Sequence[str] | None = None,
    subsamples: int = 300,
    seed: int = 0,
) -> Stability:
    """Compare the order of systems on subsamples of n queries with the order on all, measure by measure.

    Subsamples are drawn without replacement; equal means are ties (τ-b). A subsample in which all systems tie
    tells nothing and counts as 0; a measure under which they tie on all queries has no τ.

    >>> rng = np.random.default_rng(1)
    >>> values = rng.random((3, 50, 1)) + [[[0.0]], [[1.0]], [[2.0]]]
    >>> scores = Scores(("a", "b", "c"), tuple(map(str, range(50))), ("P@1",), values)
    >>> stability(scores, sizes=[5, 10], subsamples=20).to_polars()["tau"].to_list()
    [1.0, 1.0]
    """
    subsamples, seed = check_whole("subsamples", subsamples, 1), check_whole("seed", seed, 0)
    scores = as_scores(scores, measures)
    groups = panels(scores)
    remarks: list[str] = []
    plan = fitting(sizes, groups, remarks)
    for remark in remarks:
        warnings.warn(remark, RankdevWarning, stacklevel=2)
    tau = np.full((len(scores.measures), len(plan)), np.nan)
    for panel in groups:
        for i, n in enumerate(plan):
            if n <= len(panel.queries):
                tau[list(panel.places), i] = _mean_tau(panel, n, subsamples, seed)
    return Stability(scores.measures, plan, tau, subsamples, seed, tuple(remarks))


def _mean_tau(panel: Panel, n: int, subsamples: int, seed: int) -> Floats:
    queries, systems, measures = panel.values.shape
    # in whole units sums are exact, so that equal means are equal
    scale = scale_for(largest_of(panel.values), queries)
    units = np.rint(panel.values * scale).reshape(queries, -1)
    whole = units.mean(axis=0).reshape(systems, measures).T
    keys = stream_keys(seed, n, subsamples)[:, 0]
    total = np.zeros(measures)
    step = max(1, ROOM // max(queries, systems * systems * measures))
    for start in range(0, subsamples, step):
        picks = draw(keys[start : start + step], queries, n)
        chosen = np.zeros((len(picks), queries))
        np.put_along_axis(chosen, picks, 1.0, axis=1)
        means = (chosen @ units / n).reshape(len(picks), systems, measures).transpose(0, 2, 1)
        tau = tau_b(means, whole, tolerance=2.0)
        total += np.where(np.isnan(tau), 0.0, tau).sum(axis=0)
    constant = np.ptp(whole, axis=1) <= 2.0
    return np.where(constant, np.nan, total / subsamples)
