"""Whole numbers instead of fractions, so that equal sums are equal.

Whether a flipped sum is at least as extreme as the observed one must not depend on rounding. Scores are
therefore scaled by a power of two and rounded to whole numbers, small enough that every sum met on the way
fits into the 53 bits that a float64 holds exactly. Sums are then exact in any order and on any device,
matrix products included.

Rounding moves a score by at most half a unit, a difference of two by one, a sum of n differences by n. Sums
that are equal before rounding are therefore recognised as equal within ``slack`` units; at n = 2000 and
scores up to 1 these are 4e-12 of the mean.
"""

from __future__ import annotations

import numpy as np

from rankdev.arrays import Floats

BITS = 51  # column sums stay below 2^51, so twice a flipped part minus the whole, for two systems, below 2^53


def largest_of(values: Floats) -> Floats:
    """Give the largest magnitude of each measure (last axis)."""
    largest: Floats = np.abs(values).max(axis=tuple(range(values.ndim - 1)), initial=0.0)
    return largest


def scale_for(largest: Floats, n: int) -> Floats:
    """Give the power of two for each measure that turns scores into whole numbers for sums of n."""
    _, exponent = np.frexp(largest * n)
    scale: Floats = np.ldexp(1.0, np.minimum(BITS - exponent, 1000))
    return scale


def slack(n: int) -> float:
    """Give the units by which two sums over n queries may differ and still count as equal.

    The compared statistics move by 2n at most when scores are rounded to units; as much again is left for the
    rounding that the scores brought with them.
    """
    return 4.0 * n
