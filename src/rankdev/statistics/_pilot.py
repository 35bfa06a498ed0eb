"""What the differences of a pilot tell: intervals for the effect, and power by resampling them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from rankdev._common.arrays import Floats
from rankdev.errors import DataError, Note
from rankdev.statistics.bounded_values import CAUTIOUS, SPARSE, Unseen, most_common, upper
from rankdev.statistics.contrasts import Family
from rankdev.statistics.power.student import LIMIT, smallest, t_power

RESAMPLED_LIMIT = 10_000  # queries up to which resampling is tried
RESAMPLES = 2000
SMALLEST = 10  # queries of a pilot from which its interval holds in simulations
HEAVY = 8.0  # kurtosis above which its coverage is below the nominal level in simulations
ROUNDING = 1e-12  # spread up to which differences are equal
TELLING = 5  # queries with another difference than most from which on a pilot can tell


def remarks_on_pilot(apart: Floats, a: str, b: str, clustered: bool) -> tuple[Note, ...]:
    """Note where a pilot cannot tell, and where its interval may be too narrow."""
    unit = "cluster" if clustered else "query"
    if cannot_tell(apart):
        others = len(apart) - round(float(most_common(apart[None])[1][0]) * len(apart))
        return (Note("equal-pilot", a=a, b=b, count=others, unit=unit, all=len(apart), least=TELLING),)
    kurtosis = heaviness(apart) if np.ptp(apart) > ROUNDING else 0.0
    return (Note("heavy-tails", kurtosis=kurtosis),) if kurtosis > HEAVY else ()


def pilot_differences(rows: Family) -> Floats:
    """Return the differences of a pilot's queries, or of its clusters."""
    if len(rows.values) < SMALLEST:
        unit = "query" if rows.sizes is None else "cluster"
        raise DataError("too-few", what="a pilot", least=SMALLEST, unit=unit, count=len(rows.values))
    apart: Floats = rows.values[:, 0] - rows.values[:, 1]
    return apart


def cannot_tell(apart: Floats) -> bool:
    """Check whether almost all differences are the same, so that their spread is unknown."""
    share = float(most_common(apart[None])[1][0])
    return share > SPARSE[0] and len(apart) * (1 - share) < TELLING - 0.5


def bounded_effect(
    apart: Floats, difference: float | None, alpha: float = 0.05, reach: float | None = None
) -> tuple[float, float]:
    """Return an interval of the standardised effect at that level; its lower limit is 0 where the sign is uncertain.

    For a stated difference by Bonett's interval for the deviation, with a floor under the kurtosis because few
    queries underestimate it; for the observed one by the effect's standard error, skewness and kurtosis included.
    ``reach`` is the largest possible difference: with it, sparse differences may hide larger ones.
    """
    usual = (np.inf, np.inf) if apart.std(ddof=1) <= ROUNDING else _usual_effect(apart, difference, alpha)
    if reach is None or most_common(apart[None])[1][0] <= SPARSE[0]:
        return usual
    low, high = _sparse_effect(apart, difference, alpha, reach)
    return (0.0, high) if cannot_tell(apart) else (min(low, usual[0]), max(high, usual[1]))


def _sparse_effect(apart: Floats, difference: float | None, alpha: float, reach: float) -> tuple[float, float]:
    """Bound the effect by the mean square that unseen differences allow, and by how few queries may differ."""
    n, common = len(apart), float(most_common(apart[None])[0][0])
    moved = int((apart != common).sum())
    often = float(special.betaincinv(moved + 1, n - moved, 1 - alpha / 2)) if moved < n else 1.0
    # a mean that comes from so few queries is at most so large in deviations: all of them equal
    largest = np.sqrt(often / (1 - often)) if common == 0 and often < 1 else np.inf
    unseen = Unseen.of(apart[None], -reach, reach)
    if difference is None:
        low, high = (float(limit[0]) for limit in unseen.limits(apart[None], alpha, CAUTIOUS))
        nearest = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
    else:
        nearest = difference
    squares = (apart[None] - common) ** 2
    furthest = np.maximum(np.abs(unseen.above - common), np.abs(unseen.below - common)) ** 2
    most, least = (
        sign * upper(sign * np.append(squares, end, 1), np.append(np.ones((1, n)), weight, 1), alpha / 2)[0]
        for sign, end, weight in (
            (1.0, furthest[:, None], CAUTIOUS * unseen.weight[:, None]),
            (-1.0, np.zeros((1, 1)), np.ones((1, 1))),
        )
    )
    if difference is not None and least > difference**2:
        largest = min(largest, difference / np.sqrt(least - difference**2))
    return nearest / np.sqrt(most), largest


def _usual_effect(apart: Floats, difference: float | None, alpha: float) -> tuple[float, float]:
    n, spread = len(apart), float(apart.std(ddof=1))
    if difference is not None:
        low, high = _deviation(apart, alpha)
        return difference / high, difference / low
    score = (apart - apart.mean()) / spread
    effect = abs(float(apart.mean())) / spread
    skew = float((score**3).mean()) * (1 if apart.mean() > 0 else -1)
    inflation = max(1 - skew * effect + effect**2 * (float((score**4).mean()) - 1) / 4, 0.1)
    reach = special.stdtrit(n - 1, 1 - alpha / 2) * np.sqrt(inflation / n)
    centre = (1 - 3 / (4 * n - 5)) * effect
    return max(centre - reach, 0.0), centre + reach


def _deviation(apart: Floats, alpha: float) -> tuple[float, float]:
    n, z = len(apart), special.ndtri(1 - alpha / 2)
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
        from scipy import stats

        generator = np.random.Generator(np.random.Philox(np.random.SeedSequence([self.seed, 1, n])))
        critical = stats.t.ppf(1 - self.alpha / 2, n - 1)
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
