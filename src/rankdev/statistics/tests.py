"""Paired tests of mean differences, Student's t and the randomization test, and corrections for many of them.

Each test inverts into its interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from rankdev._common.arrays import Bools, Floats
from rankdev.errors import Note
from rankdev.statistics.flips import all_flips, drawn_flips, slack, stream_keys
from rankdev.statistics.pairs import Family

CORRECTIONS = ("holm", "bh", "none")
ENUMERATED = 20  # differing queries up to which all sign flips are counted
USUAL = 100_000  # flips that are drawn otherwise


@dataclass(frozen=True, eq=False)
class Tested:
    """p of each pair, and a function from the level of each pair to the limits of its interval."""

    p: Floats = field(repr=False)
    limits: Callable[[Floats], tuple[Floats, Floats]]
    drawn: int = 0  # flips that were drawn at random
    notes: tuple[Note, ...] = ()

    def interval(self, family: Family, level: Floats) -> tuple[Floats, Floats]:
        """Return intervals that leave out 0 exactly where p is at most the level.

        Where too few queries differ for any sign test to reject, they reach at least as far as a difference that none
        of the queries showed could move the mean.
        """
        low, high = self.limits(level)
        few = fewest_p(family) > level
        reach = family.reach * unseen(family.effective, level)
        low = np.where(few, np.minimum(np.minimum(low, family.mean - reach), 0.0), low)
        high = np.where(few, np.maximum(np.maximum(high, family.mean + reach), 0.0), high)
        return np.maximum(low, -family.span), np.minimum(high, family.span)


def fewest_p(family: Family) -> Floats:
    """Return the smallest p that a sign test of the queries that differ could reach: 2^(1 − n)."""
    return np.minimum(1.0, 2.0 ** (1 - family.moved))


def fewest_differing(level: float) -> int:
    """Return how many queries must differ before any sign test can reject: 2^(1 − n) is at most the level.

    >>> fewest_differing(0.05)
    6
    """
    return 1 + math.ceil(-math.log2(level))


def unseen(queries: float, level: Floats | float) -> Floats:
    """Return the fraction of all queries that may be of a kind that none of those seen is, at this level.

    >>> round(float(unseen(50, 0.05)), 3)  # about 3.7/n
    0.071
    """
    return np.asarray(1 - (np.asarray(level) / 2) ** (1 / queries))


def student(family: Family, finest: float) -> Tested:
    """Test by Student's t; ``finest`` is the smallest level that the correction may ask for.

    Where no sign test of the queries that differ could reject at that level, p is at least what it could reach.
    """
    from scipy import special

    error, freedom = family.student
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(family.mean == 0, 0.0, np.abs(family.mean) / error)
    p, least = 2 * special.stdtr(freedom, -t), fewest_p(family)
    p = np.where((least > finest) | (error == 0), np.maximum(p, least), p)  # equal differences have no error to go by

    def limits(level: Floats) -> tuple[Floats, Floats]:
        half = special.stdtrit(freedom, 1 - level / 2) * error
        return family.mean - half, family.mean + half

    return Tested(p, limits)


def randomization(family: Family, finest: float, permutations: int, seed: int) -> Tested:
    """Test by flips of the signs of differences: all of them where at most 20 queries differ, else drawn ones.

    A note says where these are too few for the smallest level that the correction may ask for.

    The interval is that of the mean differences δ that the same flips do not reject: a flip S with Σ S d = A and Σ S =
    C is at least as extreme under δ where |A − δC| ≥ |T − δn|, which is between (T − A)/(n − C) and (T + A)/(n + C). A
    cluster counts in n and C as often as it has queries.
    """
    rows = family.rows
    sizes = np.ones(len(rows.values)) if rows.sizes is None else rows.sizes.astype(np.float64)
    key = stream_keys(seed, len(sizes), 1)[0, 1]
    p = np.ones(family.pairs)
    for pair, total, flipped, _, exact in _flips(rows, sizes, permutations, key):
        extreme = int((np.abs(flipped) >= abs(total) - slack(len(sizes))).sum())
        p[pair] = extreme / len(flipped) if exact else (extreme + 1) / (len(flipped) + 1)

    def limits(level: Floats) -> tuple[Floats, Floats]:
        ends = np.empty((2, family.pairs))
        for pair, total, flipped, balance, exact in _flips(rows, sizes, permutations, key):
            extra = 0 if exact else 1  # the observed flip is among all flips, and is added to drawn ones
            most = int(np.floor(level[pair] * (len(flipped) + extra) + 1e-9)) - extra
            ends[:, pair] = _inverted(total, flipped, balance, sizes, most)
        return tuple(ends * (rows.unit * sizes.mean()))

    drawn = permutations if bool((family.moved > ENUMERATED).any()) else 0
    least = 1 / (permutations + 1)
    coarse = drawn and least > finest
    return Tested(p, limits, drawn, (Note("finest-p", permutations=permutations, p=least),) if coarse else ())


def _flips(
    rows: Family, sizes: Floats, permutations: int, key: np.uint64
) -> Iterator[tuple[int, float, Floats, Floats, bool]]:
    """Yield each pair with its sum, the sums and balances of its flips, and whether these are all there are."""
    drawn: Floats | None = None  # sums of each system, and of sizes
    for pairs, apart in rows.differences():
        for pair, row in zip(pairs.tolist(), apart, strict=True):
            moved = row != 0
            if moved.sum() <= ENUMERATED:
                yield pair, float(row.sum()), *_all_flips(row, sizes, moved, key), True
                continue
            if drawn is None:
                drawn = drawn_flips(np.column_stack([rows.units, sizes]), key, permutations)
            yield pair, float(row.sum()), drawn[rows.first[pair]] - drawn[rows.second[pair]], drawn[-1], False


def _all_flips(row: Floats, sizes: Floats, moved: Bools, key: np.uint64) -> tuple[Floats, Floats]:
    """Sum all flips of the queries that differ; those of the others, which only intervals need, are drawn if many."""
    if len(row) <= ENUMERATED:
        moved = np.ones(len(row), bool)
    if not moved.any():
        return np.zeros(1), np.full(1, sizes.sum())
    flipped, balance = all_flips(np.stack([row[moved], sizes[moved]], axis=1))
    if not moved.all():
        balance = balance + drawn_flips(sizes[~moved, None], key, len(balance))[0]
    return flipped, balance


def _inverted(total: float, flipped: Floats, balance: Floats, sizes: Floats, most: int) -> tuple[float, float]:
    """Return the limits outside which at most ``most`` flips are as extreme as the observed one."""
    if most < 0 or most >= len(flipped):
        return -np.inf, np.inf
    whole = sizes.sum()
    parts = np.stack([total - flipped, total + flipped])
    parts[np.abs(parts) <= slack(len(sizes))] = 0.0  # sums that are equal are equal
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = parts / np.stack([whole - balance, whole + balance])
    ends[:, np.abs(balance) == whole] = np.array([[-np.inf], [np.inf]])  # as extreme under every δ
    low = np.partition(ends.min(axis=0), most)[most]
    return float(low), float(np.partition(ends.max(axis=0), -1 - most)[-1 - most])


def adjust(p: Floats, correction: str, alpha: float) -> tuple[Floats, Floats]:
    """Return adjusted p-values, and the level at which each pair is tested.

    Holm rejects the i-th smallest of m p-values at α/(m − i + 1); all that it does not reject are above α/(m − R) for R
    rejected ones. Benjamini and Hochberg reject at α·R/m, the level of intervals with the same false coverage rate.

    >>> adjusted, level = adjust(np.array([0.04, 0.001, 0.3]), "holm", 0.05)
    >>> adjusted.round(3).tolist(), level.round(4).tolist()
    ([0.08, 0.003, 0.3], [0.025, 0.0167, 0.025])
    """
    count = len(p)
    if correction == "none":
        return p.copy(), np.full(count, alpha)
    if correction == "bh":
        adjusted = benjamini_hochberg(p)
        return adjusted, np.full(count, alpha * max(1, int((adjusted <= alpha).sum())) / count)
    adjusted = holm(p)
    rejected = int((adjusted <= alpha).sum())
    steps = alpha / np.maximum(count - np.minimum(np.arange(count), rejected), 1)
    level = np.empty(count)
    level[np.argsort(p, kind="stable")] = steps
    return adjusted, level


def holm(p: Floats) -> Floats:
    """Adjust by Holm's step-down method.

    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()  # 3 × .01, 2 × .03, and no less than the one before
    [0.03, 0.06, 0.06]
    """
    order, adjusted = np.argsort(p, kind="stable"), np.empty_like(p)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)), 1.0)
    return adjusted


def benjamini_hochberg(p: Floats) -> Floats:
    """Adjust by Benjamini and Hochberg's step-up method.

    >>> benjamini_hochberg(np.array([0.01, 0.04, 0.03])).tolist()  # 3/1 × .01, 3/3 × .04, at most the next
    [0.03, 0.04, 0.04]
    """
    order, adjusted = np.argsort(p, kind="stable")[::-1], np.empty_like(p)
    adjusted[order] = np.minimum(np.minimum.accumulate(p[order] * len(p) / np.arange(len(p), 0, -1)), 1.0)
    return adjusted
