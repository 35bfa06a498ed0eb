"""What the differences of a pilot tell: intervals for the effect, and power by resampling them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from rankdev._common.arrays import Floats
from rankdev.errors import DataError
from rankdev.statistics.contrasts import Family
from rankdev.statistics.power.student import LIMIT, cannot_reject, effect_limits, smallest, t_power

RESAMPLED_LIMIT = 10_000  # queries up to which resampling is tried
RESAMPLES = 2000
SMALLEST = 10  # queries of a pilot from which its interval holds in simulations
HEAVY = 8.0  # kurtosis above which its coverage is below the nominal level in simulations
ROUNDING = 1e-12  # spread up to which differences are equal


def pilot_differences(rows: Family) -> Floats:
    """Return the differences of a pilot's queries, or of its clusters."""
    if len(rows.values) < SMALLEST:
        unit = "query" if rows.sizes is None else "cluster"
        raise DataError("too-few", what="a pilot", least=SMALLEST, unit=unit, count=len(rows.values))
    apart: Floats = rows.values[:, 0] - rows.values[:, 1]
    return apart


def bounded_effect(apart: Floats, difference: float | None, level: float = 0.05) -> tuple[float, float]:
    """Return an interval of the standardised effect; its lower limit is 0 where the sign is uncertain.

    For a stated difference by Bonett's interval for the deviation, with a floor under the kurtosis because few
    queries underestimate it; for the observed one by the noncentral t-distribution.
    """
    spread = float(apart.std(ddof=1))
    if spread <= ROUNDING:
        return np.inf, np.inf
    if difference is not None:
        low, high = _deviation(apart, level)
        return difference / high, difference / low
    ends = effect_limits(np.array([apart.mean() / spread]), len(apart), level)
    return float(ends[0][0]), float(ends[1][0])


def _deviation(apart: Floats, level: float) -> tuple[float, float]:
    n, z = len(apart), special.ndtri(1 - level / 2)
    factor = n / (n - z)
    kurtosis = max(heaviness(apart), 3 + 2 * float(np.clip((n - 10) / 15, 0, 1)))
    middle = np.log(factor * apart.var(ddof=1))
    reach = z * factor * np.sqrt((kurtosis - (n - 3) / n) / (n - 1))
    low, high = np.exp((middle - reach) / 2), np.exp((middle + reach) / 2)
    return float(low), float(high)


def heaviness(apart: Floats) -> float:
    """Return the kurtosis (3 for normal differences) around a mean without the largest and smallest few."""
    n = len(apart)
    cut = int(n / (2 * np.sqrt(n - 4)))
    centre = np.sort(apart)[cut : n - cut].mean()
    return float(n * ((apart - centre) ** 4).sum() / ((apart - apart.mean()) ** 2).sum() ** 2)


@dataclass
class Resampling:
    """Power by resampling the pilot's differences, moved to the difference that matters."""

    shifted: Floats
    alpha: float
    seed: int

    def power(self, n: int) -> float:
        """Return the fraction of resamples of n queries that reject."""
        if cannot_reject(n, self.alpha):
            return 0.0
        generator = np.random.Generator(np.random.Philox(np.random.SeedSequence([self.seed, 1, n])))
        critical = special.stdtrit(n - 1, 1 - self.alpha / 2)
        step = max(1, 2**22 // n)
        constant = np.ptp(self.shifted) <= ROUNDING
        hits = 0
        for start in range(0, RESAMPLES, step):
            picks = generator.integers(0, len(self.shifted), (min(step, RESAMPLES - start), n))
            drawn = self.shifted[picks]
            spread = drawn.std(axis=1, ddof=1)
            # a few equal differences of a pilot that varies are chance, not certainty
            rejected = np.abs(drawn.mean(axis=1)) > critical * spread / np.sqrt(n)
            hits += int((rejected & (constant | (spread > ROUNDING))).sum())
        return hits / RESAMPLES

    def queries_for(self, power: float, analytic: float) -> float | None:
        """Return the smallest number of queries with that power; None where it is too large to try."""
        if analytic > RESAMPLED_LIMIT:
            return None
        return smallest(lambda n: self.power(n) >= power, 2, 4 * RESAMPLED_LIMIT)

    def curve(self, effect: float, queries: float) -> tuple[Floats, Floats, Floats]:
        """Return numbers of queries around the one needed, and their power: of Student's t, and resampled."""
        middle = min(queries, LIMIT)
        sizes = np.unique(np.maximum(2, np.rint(np.array([0.25, 0.5, 0.75, 1, 1.5, 2]) * middle)))
        analytic = np.array([t_power(n, effect, self.alpha) for n in sizes])
        resampled = [self.power(int(n)) if n <= RESAMPLED_LIMIT else np.nan for n in sizes]
        return sizes, analytic, np.array(resampled)
