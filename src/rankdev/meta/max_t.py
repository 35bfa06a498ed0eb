"""Simultaneous inference for many pairs: the largest studentised mean under sign flips of centred differences.

The flips of a query are the same for all systems and measures, so the maximum knows how the comparisons depend on
each other. Nothing is assumed about systems being exchangeable, which randomised Tukey needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from rankdev.arrays import Floats
from rankdev.meta.families import Family, symmetric
from rankdev.meta.flips.random_bits import flip_words, stream_keys
from rankdev.meta.randomization import most_extremes, p_from_counts

FLIPS = (9_999, 1_999, 2 * 10**8)  # most and fewest flips, and the flips × pairs in between
PAIRS = 64  # pairs at a time: their flips stay in the cache


@dataclass(frozen=True, eq=False)
class Simultaneous:
    """The largest correlation of flips with centred differences, over all pairs of some families: one per flip."""

    largest: Floats = field(repr=False)  # descending
    comparisons: int

    def p(self, family: Family) -> Floats:
        """Give p-values that hold for all pairs of all the families together."""
        queries = len(family.values)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.where(family.mean == 0, 0.0, np.abs(family.mean) / family.error)
            observed = t / np.sqrt(queries - 1 + t**2)
        counts = len(self.largest) - np.searchsorted(self.largest[::-1], observed, side="left")
        p = p_from_counts(counts.astype(np.float64), len(self.largest), "plus-one")
        p[family.constant] = min(1.0, self.comparisons * 2.0 ** (1 - queries))
        return p

    def interval(self, family: Family, alpha: float) -> tuple[Floats, Floats]:
        """Give intervals that hold the differences of all pairs together with confidence 1 − ``alpha``."""
        queries = len(family.values)
        most = most_extremes(len(self.largest), alpha, "plus-one")
        r = 1.0 if most < 0 or queries < 2 else float(self.largest[most])
        critical = np.sqrt(queries - 1) * r / np.sqrt(1 - r**2) if r < 1 - 1e-9 else np.inf
        return symmetric(family, critical, alpha / self.comparisons)


def simultaneous(families: Sequence[Family], seed: int) -> Simultaneous:
    """Flip the centred differences of all families together."""
    comparisons = sum(family.pairs for family in families)
    most, fewest, room = FLIPS
    flips = int(np.clip(room // comparisons, fewest, most))
    queries = 1 + max(int(family.queries[-1]) for family in families)
    words = flip_words(stream_keys(seed, queries, 3)[2, 1], queries, 0, flips)  # the first keys serve the test
    bits = np.unpackbits(words.astype("<u8").view(np.uint8), axis=1, count=queries, bitorder="little")
    largest = np.zeros(flips)
    for family in families:
        np.maximum(largest, _largest(family, 1 - 2 * bits[:, family.queries].astype(np.float64)), out=largest)
    return Simultaneous(np.sort(largest)[::-1], comparisons)


def _largest(family: Family, signs: Floats) -> Floats:
    """Give the largest |Σ S (d − mean)| in units of √(n Σ (d − mean)²) over the pairs, for each flip."""
    queries = len(family.values)
    # whole numbers until here: the product is exact in whatever order it is summed
    sums = (signs @ family.units).T - np.outer(family.units.sum(axis=0) / queries, signs.sum(axis=1))
    squares = family.statistics["deviation"] / family.unit * np.sqrt(max(queries - 1, 1) * queries)
    moved = np.flatnonzero(squares > 0)
    largest = np.zeros(len(signs))
    for start in range(0, len(moved), PAIRS):
        pairs = moved[start : start + PAIRS]
        apart = sums[family.first[pairs]]
        apart -= sums[family.second[pairs]]
        np.abs(apart, out=apart)
        apart /= squares[pairs, None]
        np.maximum(largest, apart.max(axis=0), out=largest)
    return largest
