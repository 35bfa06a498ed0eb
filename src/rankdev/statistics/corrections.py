"""Corrections for multiple comparisons.

A correction takes the families that are corrected together, the test's results for each, and how to draw; it returns
adjusted p-values and intervals for each. Intervals contain 0 exactly where the adjusted p-value is above α; those of
sparse differences are widened afterwards.

Max-T: the flips of a query are the same for all systems and measures, so the maximum reflects how the comparisons
depend on each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from rankdev._common.arrays import Floats
from rankdev.statistics._randomization import most_extremes
from rankdev.statistics.contrasts import Family, agreeing, symmetric
from rankdev.statistics.flips.exact import flip_words, stream_keys
from rankdev.statistics.paired import Drawing, Tested

FLIPS = (9_999, 1_999, 2 * 10**8)  # most and fewest flips, and the flips × pairs in between
PAIRS = 64  # pairs at a time: their flips stay in the cache
SIGNS = 1 << 20  # signs held at a time


@dataclass(frozen=True, eq=False)
class Simultaneous:
    """The largest correlation of flips with centred differences, over all pairs of some families: one per flip."""

    largest: Floats = field(repr=False)  # descending
    comparisons: int

    def interval(self, family: Family, alpha: float) -> tuple[Floats, Floats]:
        """Return intervals that cover the differences of all pairs together with confidence 1 − ``alpha``."""
        return symmetric(family, self.critical(len(family.values), alpha), alpha / self.comparisons)

    def critical(self, queries: int, alpha: float) -> float:
        """Return the t that the largest of all pairs exceeds with probability ``alpha``."""
        most = most_extremes(len(self.largest), alpha, "plus-one")
        r = 1.0 if most < 0 or queries < 2 else float(self.largest[most])
        return float(np.sqrt(queries - 1) * r / np.sqrt(1 - r**2)) if r < 1 - 1e-9 else np.inf


def simultaneous(families: Sequence[Family], seed: int, flips: int | None = None) -> Simultaneous:
    """Flip the centred differences of all families together; fewer times where there are many, unless told."""
    comparisons = sum(family.pairs for family in families)
    most, fewest, products = FLIPS
    flips = flips or int(np.clip(products // comparisons, fewest, most))
    queries = 1 + max(int(family.queries[-1]) for family in families)
    key = stream_keys(seed, queries, 3)[2, 1]  # the first keys serve the test
    largest = np.zeros(flips)
    step = max(1, SIGNS // queries)
    for start in range(0, flips, step):
        words = flip_words(key, queries, start, min(step, flips - start))
        bits = np.unpackbits(words.astype("<u8").view(np.uint8), axis=1, count=queries, bitorder="little")
        part = largest[start : start + step]
        for family in families:
            flipped = bits if len(family.queries) == queries else bits[:, family.queries]
            np.maximum(part, _largest(family, flipped.astype(np.float64)), out=part)
    return Simultaneous(np.sort(largest)[::-1], comparisons)


def _largest(family: Family, flipped: Floats) -> Floats:
    """Return the largest |Σ S (d − mean)| in units of √(n Σ (d − mean)²) over the pairs, for each flip.

    ``flipped[flip, query]`` is 1 where S is −1, else 0.
    """
    queries, totals = len(family.values), family.units.sum(axis=0)
    # whole numbers until here: the product is exact in whatever order it is summed
    sums = (totals - 2.0 * (flipped @ family.units)).T - np.outer(totals / queries, queries - 2.0 * flipped.sum(axis=1))
    squares = family.statistics["deviation"] / family.unit * np.sqrt(max(queries - 1, 1) * queries)
    moved = np.flatnonzero(squares > 0)
    largest = np.zeros(len(flipped))
    for start in range(0, len(moved), PAIRS):
        pairs = moved[start : start + PAIRS]
        apart = sums[family.first[pairs]]
        apart -= sums[family.second[pairs]]
        np.abs(apart, out=apart)
        apart /= squares[pairs, None]
        np.maximum(largest, apart.max(axis=0), out=largest)
    return largest


@dataclass(frozen=True, eq=False)
class Adjusted:
    """Adjusted p-values of a family's pairs, and the limits of their intervals, each of ``level`` by itself."""

    p: Floats = field(repr=False)
    low: Floats = field(repr=False)
    high: Floats = field(repr=False)
    level: float
    permutations: int  # flips that were drawn for the intervals


def by_holm(families: Sequence[Family], tested: Sequence[Tested], drawing: Drawing) -> list[Adjusted]:
    """Control the family-wise error rate; the intervals cover all differences together (max-T; else Bonferroni)."""
    adjusted = _split(holm(_joined(tested)), families)
    comparisons = sum(family.pairs for family in families)
    if comparisons == 1:
        return uncorrected(families, tested, drawing)
    if not all(one.single for one in tested):  # clusters of unequal sizes: max-T covers .5 to .9, this .95
        level = drawing.alpha / comparisons
        return [_by_itself(*row, level, drawing) for row in zip(families, tested, adjusted, strict=True)]
    together = simultaneous(families, drawing.seed)
    return [_simultaneous(family, p, together, drawing.alpha) for family, p in zip(families, adjusted, strict=True)]


def _simultaneous(family: Family, p: Floats, together: Simultaneous, alpha: float) -> Adjusted:
    limits = agreeing(p, alpha, family.mean, *together.interval(family, alpha))
    return Adjusted(p, *limits, alpha / together.comparisons, len(together.largest))


def by_benjamini_hochberg(families: Sequence[Family], tested: Sequence[Tested], drawing: Drawing) -> list[Adjusted]:
    """Control the false discovery rate, and with intervals at α × the fraction rejected, the false coverage rate."""
    raw = _joined(tested)
    adjusted = benjamini_hochberg(raw)
    level = drawing.alpha * max(1, int((adjusted <= drawing.alpha).sum())) / len(raw)
    return [_by_itself(*row, level, drawing) for row in zip(families, tested, _split(adjusted, families), strict=True)]


def _by_itself(family: Family, tested: Tested, p: Floats, level: float, drawing: Drawing) -> Adjusted:
    limits = agreeing(p, drawing.alpha, family.mean, *tested.interval(level))
    return Adjusted(p, *limits, level, tested.interval_permutations)


def uncorrected(families: Sequence[Family], tested: Sequence[Tested], drawing: Drawing) -> list[Adjusted]:
    """Leave p-values as they are; each interval is the test's own."""
    return [
        _by_itself(family, one, one.p.copy(), drawing.alpha, drawing)
        for family, one in zip(families, tested, strict=True)
    ]


CORRECTIONS: dict[str, Callable[[Sequence[Family], Sequence[Tested], Drawing], list[Adjusted]]] = {
    "holm": by_holm,
    "bh": by_benjamini_hochberg,
    "none": uncorrected,
}


def _joined(tested: Sequence[Tested]) -> Floats:
    return np.concatenate([one.p for one in tested])


def _split(p: Floats, families: Sequence[Family]) -> list[Floats]:
    return np.split(p, np.cumsum([family.pairs for family in families])[:-1])


def holm(p: Floats) -> Floats:
    """Adjust by Holm's step-down method.

    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()  # 3 × .01, 2 × .03, and no less than the one before
    [0.03, 0.06, 0.06]
    """
    order, ranked = _ranked(p)
    factors = np.arange(p.shape[-1], 0, -1)
    return _unranked(np.minimum(np.maximum.accumulate(ranked * factors, axis=-1), 1.0), order)


def benjamini_hochberg(p: Floats) -> Floats:
    """Adjust by Benjamini and Hochberg's step-up method.

    >>> benjamini_hochberg(np.array([0.01, 0.04, 0.03])).tolist()  # 3/1 × .01, 3/3 × .04, at most the next
    [0.03, 0.04, 0.04]
    """
    order, ranked = _ranked(p)
    scaled = ranked * p.shape[-1] / np.arange(1, p.shape[-1] + 1)
    smallest = np.minimum.accumulate(scaled[..., ::-1], axis=-1)[..., ::-1]
    return _unranked(np.minimum(smallest, 1.0), order)


def _ranked(p: Floats) -> tuple[npt.NDArray[np.int64], Floats]:
    order = np.argsort(p, axis=-1, kind="stable")
    return order, np.take_along_axis(p, order, axis=-1)


def _unranked(ranked: Floats, order: npt.NDArray[np.int64]) -> Floats:
    adjusted = np.empty_like(ranked)
    np.put_along_axis(adjusted, order, ranked, axis=-1)
    return adjusted
