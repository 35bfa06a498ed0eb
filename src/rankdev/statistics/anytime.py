"""Tests and intervals that hold at any time: one may look after every query, and stop when one likes.

Bets against a mean difference θ: a capital of 1 is multiplied by 1 ± λ(d − θ) at each query. If θ is the mean, no bet
gains on average, and the capital ever exceeds 1/α with probability α at most (Ville), whatever the distribution and
however often one looks. λ is limited by the measure's range, so that the capital stays positive; bets of several sizes
share it (Waudby-Smith and Ramdas 2024).
"""

from __future__ import annotations

import numpy as np

from rankdev._common.arrays import Floats
from rankdev.errors import DataError, UsageError
from rankdev.evaluation.scores import Scores
from rankdev.statistics.contrasts import Family
from rankdev.statistics.paired import Tested

BETS = np.array([0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95])  # of the largest possible
STEPS = 40  # halvings
TINY = 1e-12
AT_ONCE = 1 << 21  # bets × queries held at a time
ORDER = (
    "p and interval hold however often one looks while queries arrive; their order in the scores is taken for that of"
    " their arrival"
)


def betting(family: Family) -> Tested:
    """Test by betting, from the first query to the last; p is the smallest so far."""
    apart = np.concatenate([rows for _, rows in family.differences()]) * (family.unit / family.span)
    up, down = (_capital(sign * apart, np.zeros(len(apart))) for sign in (1.0, -1.0))
    p = np.minimum(1.0, 2 * np.exp(-np.maximum(up, down)))

    def interval(level: float) -> tuple[Floats, Floats]:
        low, high = (sign * _limit(sign * apart, np.log(2 / level)) for sign in (1.0, -1.0))
        return low * family.span, high * family.span

    return Tested(p, interval, note=ORDER, single=False)


def _limit(apart: Floats, needed: float) -> Floats:
    """Return the largest mean in [−1, 1] that bets on a higher one exclude; the capital falls as it rises."""
    low, high = np.full(len(apart), -1.0), np.ones(len(apart))
    for _ in range(STEPS):
        middle = (low + high) / 2
        excluded = _capital(apart, middle) >= needed
        low, high = np.where(excluded, middle, low), np.where(excluded, high, middle)
    return low


def _capital(apart: Floats, mean: Floats) -> Floats:
    """Return the log of the largest capital so far of bets on more than ``mean``, for each row of differences.

    >>> _capital(np.ones((1, 2)), np.zeros(1)).round(3)  # the mean over bets of (1 + λ)²
    array([0.788])
    """
    found = np.empty(len(apart))
    step = max(1, AT_ONCE // (len(BETS) * apart.shape[1]))
    for start in range(0, len(apart), step):
        rows = slice(start, start + step)
        gain = (apart[rows] - mean[rows, None]) / (1 + mean[rows, None] + TINY)
        capital = np.log1p(BETS[:, None, None] * gain).cumsum(axis=2)
        found[rows] = (np.logaddexp.reduce(capital, axis=0) - np.log(len(BETS))).max(axis=1)
    return np.maximum(found, 0.0)  # before the first query


def check_ranges(scores: Scores, what: str = "anytime") -> None:
    """Refuse measures whose values have no known bounds, and values beyond them."""
    for m, kind in enumerate(scores.kinds):
        low, high = kind.range
        if not np.isfinite(high - low):
            raise UsageError(f"{what} needs the range of a measure, and {kind.label} has none; leave the measure out")
        values = scores.values[:, :, m]
        if (values < low).any() or (values > high).any():
            raise DataError(f"{kind.label} has values beyond its range, {low:g} to {high:g}; they are no such scores")
