"""Effect sizes of paired differences, with intervals."""

from __future__ import annotations

import numpy as np
from scipy import special

from rankdev._common.arrays import Floats
from rankdev.statistics.bounded_values import SPARSE, most_common
from rankdev.statistics.contrasts import Family
from rankdev.statistics.panels import summed

FEWEST = 5  # queries from which on an effect size has an interval


def small_sample(queries: Floats | int) -> Floats:
    """Return Hedges' J: the factor that corrects the effect in a sample of this many pairs, which is too large.

    >>> small_sample(10).round(4)
    np.float64(0.9143)
    """
    return 1 - 3 / (4 * np.asarray(queries, np.float64) - 5)


def effect_limits(family: Family, alpha: float) -> tuple[Floats, Floats]:
    """Return limits of each pair's corrected effect; NaN where almost all differences are the same, or queries few.

    The standard error allows for skewness and kurtosis of the differences, and for clusters.
    """
    queries, drawn = len(family.values), len(family.flipped.values)
    low, high = np.full((2, family.pairs), np.nan)
    if drawn < FEWEST:
        return low, high
    reach = float(special.stdtrit(drawn - 1, 1 - alpha / 2)) / np.sqrt(queries)
    for pairs, apart in family.differences():
        spread = apart.std(axis=1, ddof=1)
        share = most_common(apart)[1]
        known = (share < SPARSE[1]) & (spread > 0)
        score = (apart[known] - apart[known].mean(axis=1, keepdims=True)) / spread[known, None]
        effect = apart[known].mean(axis=1) / spread[known]
        squares = score * score
        if family.clusters is None:
            skew, kurtosis = (squares * score).mean(axis=1), (squares * squares).mean(axis=1)
            inflation = 1 - skew * effect + effect**2 * (kurtosis - 1) / 4
        else:  # how far each query moves the effect, summed over clusters
            moved = score - effect[:, None] * (squares - 1) / 2
            sums, sizes = summed(moved.T, family.clusters)
            inflation = (sums**2).sum(axis=0) * sizes.mean() ** 2 / queries * drawn / (drawn - 1)
        # few of many equal differences show too little of the shape: no less than for normal ones
        least = np.where(share[known] > SPARSE[0], 1 + effect**2 / 2, 0.1)
        half = reach * np.sqrt(np.maximum(inflation, least))
        low[pairs[known]], high[pairs[known]] = (small_sample(queries) * effect + sign * half for sign in (-1, 1))
    return low, high


def fraction_won(family: Family, alpha: float) -> tuple[Floats, Floats]:
    """Return limits of the fraction that each pair's first system wins of the queries that one of the two wins.

    With clusters for as many queries as would be as informative, were they independent (Korn and Graubard 1998).
    """
    won, lost = family.statistics["wins"], family.statistics["losses"]
    if family.clusters is None:
        return won_limits(won, lost, alpha)
    drawn = len(family.flipped.values)
    enough = np.empty(family.pairs)
    for pairs, apart in family.differences():
        share = np.divide(
            won[pairs], won[pairs] + lost[pairs], out=np.zeros(len(pairs)), where=(apart != 0).any(axis=1)
        )
        signs = np.where(apart == 0, 0.0, (apart > 0) - share[:, None])
        sums, sizes = summed(signs.T, family.clusters)
        touched = (summed((apart != 0).astype(float).T, family.clusters)[0] > 0).sum(axis=0)
        moved = (won + lost)[pairs]
        variance = (sums**2).sum(axis=0) * sizes.mean() ** 2 / np.maximum(moved, 1) ** 2 * drawn / (drawn - 1)
        one, many = (special.stdtrit(np.maximum(n - 1, 1), 1 - alpha / 2) for n in (moved, float(drawn)))
        with np.errstate(divide="ignore", invalid="ignore"):
            worth = share * (1 - share) / variance * (one / many) ** 2
        enough[pairs] = np.where(variance > 0, np.minimum(worth, moved), touched) / np.maximum(moved, 1)
    return won_limits(won * enough, lost * enough, alpha)


def won_limits(won: Floats, lost: Floats, alpha: float) -> tuple[Floats, Floats]:
    """Return limits of the fraction of queries that are won, among those that are won or lost (Clopper–Pearson).

    >>> tuple(float(limit.round(3)[0]) for limit in won_limits(np.array([6.0]), np.array([0.0]), 0.05))
    (0.541, 1.0)
    """
    with np.errstate(invalid="ignore"):
        low = np.where(won > 0, special.betaincinv(won, lost + 1, alpha / 2), 0.0)
        high = np.where(lost > 0, special.betaincinv(won + 1, lost, 1 - alpha / 2), 1.0)
    return low, high
