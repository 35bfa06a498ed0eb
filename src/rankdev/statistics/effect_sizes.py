"""Effect sizes of paired differences, with intervals."""

from __future__ import annotations

import numpy as np
from scipy import special

from rankdev._common.arrays import Floats
from rankdev.statistics.bounded_mean import SPARSE, most_common
from rankdev.statistics.panels import Family

FEWEST = 5  # queries from which on an effect size has an interval


def small_sample(queries: Floats | int) -> Floats:
    """Return Hedges' J, by which the effect in a sample of so many pairs is too large.

    >>> small_sample(10).round(4)
    np.float64(0.9143)
    """
    return 1 - 3 / (4 * np.asarray(queries, np.float64) - 5)


def effect_limits(family: Family, alpha: float) -> tuple[Floats, Floats]:
    """Return limits of each pair's corrected effect; NaN where almost all differences are the same, or queries few.

    The standard error allows for skewness and kurtosis of the differences.
    """
    queries = len(family.values)
    low, high = np.full((2, family.pairs), np.nan)
    if queries < FEWEST:
        return low, high
    reach = float(special.stdtrit(queries - 1, 1 - alpha / 2)) / np.sqrt(queries)
    for pairs, apart in family.differences():
        spread = apart.std(axis=1, ddof=1)
        known = (most_common(apart)[1] < SPARSE[1]) & (spread > 0)
        score = (apart[known] - apart[known].mean(axis=1, keepdims=True)) / spread[known, None]
        effect = apart[known].mean(axis=1) / spread[known]
        squares = score * score
        skew, kurtosis = (squares * score).mean(axis=1), (squares * squares).mean(axis=1)
        half = reach * np.sqrt(np.maximum(1 - skew * effect + effect**2 * (kurtosis - 1) / 4, 0.1))
        low[pairs[known]], high[pairs[known]] = (small_sample(queries) * effect + sign * half for sign in (-1, 1))
    return low, high


def won_limits(won: Floats, lost: Floats, alpha: float) -> tuple[Floats, Floats]:
    """Return limits of the fraction of queries that are won, among those that are won or lost (Clopper–Pearson).

    >>> tuple(float(limit.round(3)[0]) for limit in won_limits(np.array([6.0]), np.array([0.0]), 0.05))
    (0.541, 1.0)
    """
    with np.errstate(invalid="ignore"):
        low = np.where(won > 0, special.betaincinv(won, lost + 1, alpha / 2), 0.0)
        high = np.where(lost > 0, special.betaincinv(won + 1, lost, 1 - alpha / 2), 1.0)
    return low, high
