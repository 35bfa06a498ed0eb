"""Orders of systems on subsamples of queries, and how far they agree: τ for many subsamples at once."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from rankdev.arrays import Floats
from rankdev.meta.common_queries import Panel
from rankdev.meta.flips.exact_sums import largest_of, scale_for
from rankdev.meta.flips.random_bits import draw, stream_keys
from rankdev.meta.kendall import tau_ap, tau_b

ROOM = 1 << 23  # numbers held at a time
SHUFFLES = 10  # ways to cut a pool into halves that share nothing
PER_POOL = 40  # subsamples of each resampled pool
TIED = 2.0  # units that two equal means may lie apart


class Orders:
    """The systems of a panel, ordered by their means over subsets of its queries."""

    def __init__(self, panel: Panel) -> None:
        self.queries, self.systems, self.measures = panel.values.shape
        # in whole units sums are exact, so that equal means are equal
        scale = scale_for(largest_of(panel.values), self.queries)
        self.units: Floats = np.rint(panel.values * scale).reshape(self.queries, -1)

    @cached_property
    def _whole(self) -> Floats:
        """Means over all queries: ``[measure, system]``."""
        return self.units.mean(axis=0).reshape(self.systems, self.measures).T

    @property
    def _step(self) -> int:
        return max(1, ROOM // max(self.queries, self.systems * self.systems * self.measures))

    def means(self, picks: npt.NDArray[np.int64], units: Floats | None = None) -> Floats:
        """Give the means over each row of queries: ``[row, measure, system]``."""
        chosen = np.zeros((len(picks), self.queries))
        np.put_along_axis(chosen, picks, 1.0, axis=1)
        found = chosen @ (self.units if units is None else units) / picks.shape[1]
        return found.reshape(len(picks), self.systems, self.measures).transpose(0, 2, 1)

    def with_all(self, n: int, subsamples: int, seed: int) -> tuple[Floats, Floats]:
        """Give the mean τ-b and τ_ap of n queries with all, for each measure; NaN where all systems tie."""
        keys = stream_keys(seed, n, subsamples)[:, 0]
        total = np.zeros((2, self.measures))
        for start in range(0, subsamples, self._step):
            means = self.means(draw(keys[start : start + self._step], self.queries, n))
            for i, correlate in enumerate((tau_b, tau_ap)):
                total[i] += _known(correlate(means, self._whole, TIED)).sum(axis=0)
        constant = np.ptp(self._whole, axis=1) <= TIED
        tau, ap = np.where(constant, np.nan, total / subsamples)
        return tau, ap

    def halves(self, n: int, subsamples: int, seed: int) -> tuple[Floats, Floats, Floats]:
        """Give the mean τ-b of two sets of n queries that share none, and the ends of its 95% interval.

        The interval comes from cutting the pool into as many such pairs of sets as it has, which are independent; it
        is unknown where there is only one.
        """
        keys = stream_keys(seed, 2 * n, subsamples)
        total = np.zeros(self.measures)
        for start in range(0, subsamples, self._step):
            part = keys[start : start + self._step]
            both, first = draw(part[:, 0], self.queries, 2 * n), draw(part[:, 1], 2 * n, n)
            total += self._between(both, first).sum(axis=0)
        mean, half = total / subsamples, self._half_width(n, seed)
        constant = np.ptp(self._whole, axis=1) <= TIED
        ends = (mean, np.maximum(mean - half, -1.0), np.minimum(mean + half, 1.0))
        tau, low, high = (np.where(constant, np.nan, x) for x in ends)
        return tau, low, high

    def _between(self, both: npt.NDArray[np.int64], first: npt.NDArray[np.int64]) -> Floats:
        """Compare the queries of each row at the places ``first`` with those at the others."""
        inside = np.zeros(both.shape, bool)
        np.put_along_axis(inside, first, True, axis=1)
        one, other = (both[part].reshape(len(both), -1) for part in (inside, ~inside))
        return _known(tau_b(self.means(one), self.means(other), TIED))

    def _half_width(self, n: int, seed: int) -> Floats:
        from scipy import special

        blocks = self.queries // (2 * n)
        if blocks < 2:
            return np.full(self.measures, np.nan)
        generator = np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, n, self.queries])))
        variance = np.zeros(self.measures)
        for _ in range(SHUFFLES):
            cut = generator.permutation(self.queries)[: blocks * 2 * n].reshape(blocks, 2 * n)
            variance += self._between(cut, np.tile(np.arange(n), (blocks, 1))).var(axis=0, ddof=1) / blocks
        half: Floats = special.stdtrit(blocks - 1, 0.975) * np.sqrt(variance / SHUFFLES)
        return half

    def over_pools(self, n: int, tau: Floats, subsamples: int, replicates: int, seed: int) -> tuple[Floats, Floats]:
        """Give the ends of a 95% interval of the mean τ-b with all queries, over the choice of pool and subsamples."""
        generator = np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, n, replicates])))
        picks = draw(stream_keys(seed, n, PER_POOL)[:, 0], self.queries, n)
        means, within = np.empty((replicates, self.measures)), np.zeros(self.measures)
        for r in range(replicates):
            units = self.units[generator.integers(0, self.queries, self.queries)]
            whole = units.mean(axis=0).reshape(self.systems, self.measures).T
            found = _known(tau_b(self.means(picks, units), whole, TIED))
            means[r] = found.mean(axis=0)
            within += found.var(axis=0, ddof=1) / replicates
        # what the few subsamples of each resampled pool add is no part of it; what those of the estimate add is
        pools = np.maximum(means.var(axis=0, ddof=1) - within / PER_POOL, 0.0)
        reach = 1.96 * np.sqrt(pools + within / subsamples)
        return np.maximum(tau - reach, -1.0), np.minimum(tau + reach, 1.0)


def _known(tau: Floats) -> Floats:
    """Count subsamples in which all systems tie as no agreement."""
    known: Any = np.where(np.isnan(tau), 0.0, tau)
    return np.asarray(known, np.float64)
