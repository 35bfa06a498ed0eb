"""Intervals of means that allow for skewness."""

from __future__ import annotations

import numpy as np
from scipy import special

from rankdev._common.arrays import Floats
from rankdev.statistics.contrasts import Family

MORE_SKEW = 8.0  # few queries show too little of the skewness; this much ÷ n is added, by simulation


def skewed_interval(family: Family, level: float, more: float = MORE_SKEW) -> tuple[Floats, Floats]:
    """Return intervals each of whose limits is wrong with probability ``level`` ÷ 2, also for skewed differences.

    Each limit is the outer one of Student's and of Hall's (1992), which corrects t for skewness by a cubic; the
    skewness seen is taken 1 + ``more`` ÷ n times. Where all differences are equal, the limits are those of the
    sign-flip test.
    """
    queries = len(family.values)
    if queries < 2:
        return np.full(family.pairs, -np.inf), np.full(family.pairs, np.inf)
    t = float(special.stdtrit(queries - 1, 1 - level / 2))
    skew = (1 + more / queries) * skewness(family)
    below, above = (np.maximum(t, _skewed(sign * t, skew, queries) * sign) for sign in (1, -1))
    varies = family.statistics["deviation"] > 0
    known = 0.0 if 2.0 ** (1 - queries) <= level else np.inf
    low = family.mean - np.where(varies, below * family.error, known)
    return low, family.mean + np.where(varies, above * family.error, known)


def skewed_p(family: Family) -> Floats:
    """Return two-sided p-values of no mean difference, the larger of Student's and Hall's, which allows for skewness.

    NaN where all differences are equal, or there is one query.
    """
    queries = len(family.values)
    root = np.sqrt(queries)
    skew = (1 + MORE_SKEW / queries) * skewness(family)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = root * family.mean / np.where(family.statistics["deviation"] > 0, family.statistics["deviation"], np.nan)
        hall = t + skew * t**2 / (3 * root) + skew**2 * t**3 / (27 * queries) + skew / (6 * root)
    hall = np.where(np.sign(hall) == np.sign(t), np.abs(hall), 0.0)
    found: Floats = 2 * special.stdtr(queries - 1, -np.minimum(np.abs(t), hall))
    return found


def _skewed(t: float, skew: Floats, queries: int) -> Floats:
    """Return the t of skewed differences whose corrected value is ``t``: the cubic, solved."""
    root = np.sqrt(queries)
    none = np.abs(skew) < 1e-6
    g = np.where(none, 1.0, skew)
    return np.where(none, t, root * 3 / g * (np.cbrt(1 + g * (t / root - g / (6 * queries))) - 1))


def skewness(family: Family) -> Floats:
    """Return the skewness of the differences of each pair."""
    found = np.zeros(family.pairs)
    for pairs, apart in family.differences():
        centred = apart - apart.mean(axis=1, keepdims=True)
        spread = centred.std(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            found[pairs] = np.where(spread > 0, (centred**3).mean(axis=1) / spread**3, 0.0)
    return found
