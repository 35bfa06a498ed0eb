"""Intervals for the mean of bounded values, most of which are the same.

What a sample does not show can still be there: where all differences are 0, Student's interval is [0, 0], although one
query in ten may lose everything. A measure has a range, so that an unseen value has a largest size: one more
observation of that size, of weight ``a``, joins the sample, and the limit is a quantile of the sample's mean under
Dirichlet weights (Gaffke 2005; a = 1 is his bound). Where values vary, a is 0 and the usual interval stays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from rankdev._common.arrays import Floats
from rankdev.statistics.contrasts import Family, skewed_interval
from rankdev.statistics.panels import Indices

SPARSE = (0.4, 0.8)  # fractions of equal values between which the weight rises from 0
WEIGHT = 0.6  # of the unseen observation in intervals, by simulation
CAUTIOUS = 1.0  # the same where a wrong limit is a wrong claim: equivalence, plans
FRACTION = 0.75  # the same for fractions of hits, which have a lowest and a highest value
SEEN = 10  # values that differ from which on the unseen one need not be the largest possible
STEPS = 36  # halvings
AT_ONCE = 1 << 20  # points held at a time


def upper(points: Floats, weights: Floats, level: float) -> Floats:
    """Return the 1 − ``level`` quantile of Σ D x, D ~ Dirichlet(``weights``), for each row of points x.

    By the saddlepoint approximation (Lugannani and Rice in Barndorff-Nielsen's form) along its own parameter t > max x.

    >>> ones = np.ones((1, 10))  # nine zeros and a 1: the quantile of a Beta distribution
    >>> upper(np.eye(10)[:1], ones, 0.025).round(2).tolist(), float(special.betaincinv(1, 9, 0.975).round(2))
    ([0.34], 0.34)
    """
    z = special.ndtri(1 - level)
    saddle = _Saddle.of(points, weights)
    place = saddle.last(lambda position: saddle.at(position)[1] > z)
    return np.where(saddle.flat, saddle.top, saddle.mean(place))


@dataclass(frozen=True, eq=False)
class _Saddle:
    """The saddlepoint approximation of rows, along the log of t − max x in units of their span."""

    top: Floats
    scale: Floats
    flat: npt.NDArray[np.bool_]
    below: Floats = field(repr=False)
    weights: Floats = field(repr=False)

    @classmethod
    def of(cls, points: Floats, weights: Floats) -> _Saddle:
        counted = weights > 0
        top = np.max(points, axis=1, where=counted, initial=-np.inf)
        bottom = np.min(points, axis=1, where=counted, initial=np.inf)
        span = top - bottom
        flat = span <= 1e-12 * np.maximum(np.abs(top), np.abs(bottom))
        scale = np.where(flat, 1.0, span)
        return cls(top, scale, flat, np.where(counted, (top[:, None] - points) / scale[:, None], 0.0), weights)

    def at(self, position: Floats) -> tuple[Floats, Floats]:
        """Return how far the mean is below the top, in spans, and the normal quantile there."""
        gap = np.exp(position)[:, None] + self.below
        pull = self.weights / gap
        depth = (pull * self.below).sum(axis=1) / pull.sum(axis=1)
        distance = (np.exp(position) + depth)[:, None]
        root = np.sqrt(np.maximum(2 * (self.weights * np.log(gap / distance)).sum(axis=1), 1e-300))
        spread = np.sqrt(np.maximum((self.weights * ((self.below - depth[:, None]) / gap) ** 2).sum(axis=1), 1e-300))
        return depth, np.where(root > 1e-4, root + np.log(spread / root) / np.maximum(root, 1e-4), root)

    def mean(self, position: Floats) -> Floats:
        """Return the mean at a position."""
        return self.top - self.at(position)[0] * self.scale

    def last(self, holds: Callable[[Floats], Any]) -> Floats:
        """Return the last position at which something holds; it holds from the first on."""
        low, high = np.full(len(self.top), -30.0), np.full(len(self.top), 16.0)
        for _ in range(STEPS):
            middle = (low + high) / 2
            here = holds(middle)
            low, high = np.where(here, middle, low), np.where(here, high, middle)
        return (low + high) / 2


@dataclass(frozen=True, eq=False)
class Unseen:
    """What samples of differences, one in each row, leave unseen: an observation of some weight, on either side."""

    common: Floats  # the value that most of a row has
    weight: Floats  # before it is multiplied by WEIGHT or CAUTIOUS: 0 where values vary, 1 where most are the same
    above: Floats = field(repr=False)
    below: Floats = field(repr=False)

    @classmethod
    def of(cls, values: Floats, low: Floats | float, high: Floats | float) -> Unseen:
        """Judge by the most common value how much rows of values between ``low`` and ``high`` leave unseen."""
        common, share = most_common(values)
        queries = values.shape[1]
        apart = np.abs(values - common[:, None]).max(axis=1)
        known = np.minimum(1.0, SEEN / np.maximum(queries * (1 - share), 1e-9))
        above, below = common + apart, common - apart
        return cls(
            common,
            sparseness(share),
            above + np.maximum(high - above, 0) * known,
            below - np.maximum(below - low, 0) * known,
        )

    def points(self, values: Floats) -> tuple[Floats, Floats]:
        """Return the values of each row and their weights; the common one is listed once: they are far fewer."""
        same = values == self.common[:, None]
        others = np.argsort(same, axis=1, kind="stable")[:, : int((~same).sum(axis=1).max(initial=0))]
        weights = 1.0 - np.take_along_axis(same, others, axis=1)
        points = np.take_along_axis(values, others, axis=1)
        return np.column_stack([points, self.common]), np.column_stack([weights, same.sum(axis=1)])

    def limits(self, values: Floats, level: float, most: float = WEIGHT) -> tuple[Floats, Floats]:
        """Return limits of the mean, each wrong with probability ``level`` ÷ 2."""
        points, weights = self.points(values)
        weights = np.column_stack([weights, most * self.weight])
        ends = []
        for sign, unseen in ((-1.0, self.below), (1.0, self.above)):
            joined = sign * np.column_stack([points, unseen])
            ends.append(sign * upper(joined, weights, level / 2))
        return ends[0], ends[1]

    def of_rows(self, rows: Indices) -> Unseen:
        """Return that of some rows."""
        return Unseen(self.common[rows], self.weight[rows], self.above[rows], self.below[rows])


def most_common(values: Floats) -> tuple[Floats, Floats]:
    """Return a value and its fraction of each row: 0, or the median where more are equal to it.

    A value that more than half of a row has is its median.

    >>> most_common(np.array([[0.0, 0, 0, 1, 2], [0, 3, 3, 3, 1]]))
    (array([0., 3.]), array([0.6, 0.6]))
    """
    median = np.median(values, axis=1)
    zeros, equal = (values == 0).mean(axis=1), (values == median[:, None]).mean(axis=1)
    return np.where(equal > zeros, median, 0.0), np.maximum(zeros, equal)


def fraction_limits(hits: Floats, counts: Floats, level: float) -> tuple[Floats, Floats]:
    """Return limits of Σ hits ÷ Σ counts over queries, ``hits[query, measure]``; each wrong with ``level`` ÷ 2.

    One more query, of usual size, joins on either side: without any hit below, and with hits only above.
    """
    usual = float(counts.mean())
    sizes = counts / usual
    shares = (hits / usual).T
    weights = np.append(np.ones(len(counts)), FRACTION) * np.ones((len(shares), 1))

    def beyond(fraction: Floats, sign: float) -> Floats:
        """How far Σ (hits − fraction × counts) may reach; the limit is where that is 0."""
        apart = sign * (shares - fraction[:, None] * sizes)
        unseen = 1 - fraction if sign > 0 else fraction
        return upper(np.append(apart, unseen[:, None], 1), weights, level / 2)

    ends = []
    for sign in (-1.0, 1.0):
        start = np.zeros(len(shares)) if sign > 0 else np.ones(len(shares))
        if np.ptp(sizes) == 0:  # linear in the fraction
            ends.append(start + sign * beyond(start, sign))
            continue
        low, high = np.zeros(len(shares)), np.ones(len(shares))
        for _ in range(30):
            middle = (low + high) / 2
            up = (beyond(middle, sign) > 0) == (sign > 0)
            low, high = np.where(up, middle, low), np.where(up, high, middle)
        ends.append((low + high) / 2)
    found = hits.sum(axis=0) / counts.sum()
    return np.where(found == 0, 0.0, ends[0]), np.where(found == 1, 1.0, ends[1])


def sparseness(share: Floats) -> Floats:
    """Return how sparse values are of which a fraction is the same, from 0 to 1."""
    start, end = SPARSE
    return np.clip((share - start) / (end - start), 0, 1)


def sparse_limits(family: Family, level: float, most: float = WEIGHT) -> tuple[Indices, Floats, Floats]:
    """Return the pairs most of whose differences are the same, and limits of their means."""
    pairs, lows, highs = [], [], []
    reach = family.reach / family.unit
    for places, apart in family.differences():
        equal = np.ptp(apart, axis=1) <= 2  # equal up to rounding
        apart[equal] = apart[equal, :1]
        unseen = Unseen.of(apart, -reach, reach)
        rows = np.flatnonzero(unseen.weight > 0)
        if not np.isfinite(family.span):  # a guess from the scores seen, of no use where one system is always ahead
            rows = rows[(apart[rows] == 0).mean(axis=1) > SPARSE[0]]
        for part in np.array_split(rows, 1 + len(rows) * apart.shape[1] // AT_ONCE):
            low, high = unseen.of_rows(part).limits(apart[part], level, most)
            pairs.append(places[part])
            lows.append(low * family.unit)
            highs.append(high * family.unit)
    return np.concatenate(pairs), np.concatenate(lows), np.concatenate(highs)


def widened(family: Family, level: float, low: Floats, high: Floats, most: float = WEIGHT) -> tuple[Floats, Floats]:
    """Return limits within the range that, for sparse differences, are also outside those that unseen ones allow."""
    pairs, below, above = sparse_limits(family, level, most)
    seen = float(np.ptp(family.values))
    largest = max(family.span, seen)  # infinite where the range is unknown
    low, high = low.copy(), high.copy()
    low[pairs] = np.maximum(np.minimum(low[pairs], below), -largest)
    high[pairs] = np.minimum(np.maximum(high[pairs], above), largest)
    if seen > family.span:  # not the range of these values
        return low, high
    return np.maximum(low, -largest), np.minimum(high, largest)


def mean_limits(values: Floats, within: tuple[float, float], level: float) -> tuple[Floats, Floats]:
    """Return limits of the means of ``values[row, query]``, each wrong with probability ``level`` ÷ 2, within a range.

    They allow for skewness and, where most values of a row are equal, for unseen ones up to the ends of the range;
    equal values of a measure without a range have no limits.

    >>> same = np.full((1, 20), 0.3)
    >>> [[float(end[0].round(2)) for end in mean_limits(same, within, 0.05)] for within in ((0, 1), (0, np.inf))]
    [[0.26, 0.39], [0.0, inf]]
    """
    rows, queries = values.shape
    family = Family(
        np.column_stack([values.T, np.zeros(queries)]), np.arange(queries), np.arange(rows), np.full(rows, rows)
    )
    low, high = skewed_interval(family, level, more=0.0)
    smallest, largest = values.min(initial=np.inf), values.max(initial=-np.inf)
    if not (within[0] <= smallest and largest <= within[1]):  # not the range of these values
        within = (-np.inf, np.inf)
    known = np.where(np.isinf(within), (smallest, largest), within)
    unseen = Unseen.of(values, *known)
    unseen = replace(unseen, above=np.minimum(unseen.above, known[1]), below=np.maximum(unseen.below, known[0]))
    unknown = (family.error == 0) & bool(np.isinf(within).any() or queries < 2)  # what else there may be
    low[unknown], high[unknown] = -np.inf, np.inf
    sparse = np.flatnonzero((unseen.weight > 0) & ~unknown)
    half = special.stdtrit(max(queries - 1, 1), 1 - level / 2) * family.error
    for part in np.array_split(sparse, 1 + len(sparse) * queries // AT_ONCE):
        below, above = unseen.of_rows(part).limits(values[part], level)
        # not Hall's, which exaggerates the skewness of values most of which are equal
        low[part] = np.minimum(family.mean[part] - half[part], below)
        high[part] = np.maximum(family.mean[part] + half[part], above)
    return np.maximum(low, within[0]), np.minimum(high, within[1])
