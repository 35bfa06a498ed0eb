"""Paired differences between systems: families of pairs under one measure, and what tests need to know of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from rankdev._common.arrays import Bools, Floats, Ints
from rankdev.statistics.flips import largest_of, scale_for, slack

AT_ONCE = 1 << 22  # differences held at a time
LEAST_FREEDOM = 0.05  # degrees of freedom, where one row has nearly all weight and nothing can be told


@dataclass(frozen=True, eq=False)
class BetweenRuns:
    """Of each system with several runs, the variance of its mean that is due to runs, and its degrees of freedom."""

    variance: Floats
    freedom: Floats

    @property
    def twice(self) -> BetweenRuns:
        """The same for each system against a constant, which has no runs."""
        none = np.zeros_like(self.variance)
        return BetweenRuns(np.append(self.variance, none), np.append(self.freedom, none + 1))


@dataclass(frozen=True, eq=False)
class Family:
    """Some pairs of systems under one measure: ``values[query, system]``, pairs ``first`` − ``second``.

    ``queries`` are indices into all queries of the scores, so that families over other queries can share flips.
    Differences are in whole units (:mod:`rankdev.statistics.flips`), in which equal sums are equal. ``span`` is
    the width of the measure's range, where it is known. ``clusters`` number the cluster of each query, ``weights`` are
    those of queries. Where rows are clusters, or weighted, ``sizes`` are their weights, and sum to the queries.
    """

    values: Floats = field(repr=False)
    queries: Ints = field(repr=False)
    first: Ints = field(repr=False)
    second: Ints = field(repr=False)
    span: float = np.inf
    clusters: Ints | None = field(default=None, repr=False)
    weights: Floats | None = field(default=None, repr=False)
    sizes: Floats | None = field(default=None, repr=False)
    runs: BetweenRuns | None = field(default=None, repr=False)

    @cached_property
    def rows(self) -> Family:
        """What is independent: queries, or clusters of them; weighted sums over the mean weight, so that means stay."""
        if self.clusters is None and self.weights is None:
            return self
        members = np.arange(len(self.values)) if self.clusters is None else self.clusters
        rows, sizes = summed(self.values, members, self.weights)
        span = self.span * sizes.max() / sizes.mean()
        return Family(rows, np.arange(len(sizes)), self.first, self.second, span, sizes=sizes)

    @cached_property
    def means(self) -> Floats:
        """Mean of each system, weighted where queries are."""
        found: Floats = np.average(self.values, axis=0, weights=self.weights)
        return found

    @property
    def effective(self) -> float:
        """Count the rows, or those of equal weight that would tell as much."""
        sizes = self.rows.sizes
        return len(self.values) if sizes is None else float(sizes.sum() ** 2 / (sizes**2).sum())

    def only(self, kept: Bools) -> Family:
        """Keep these queries, and the clusters they are in."""
        clusters = None if self.clusters is None else np.unique(self.clusters[kept], return_inverse=True)[1]
        weights = None if self.weights is None else self.weights[kept]
        return replace(self, values=self.values[kept], queries=self.queries[kept], clusters=clusters, weights=weights)

    @property
    def pairs(self) -> int:
        """Count the pairs."""
        return len(self.first)

    @cached_property
    def unit(self) -> float:
        """Score of one whole unit."""
        return float(1 / scale_for(largest_of(self.values[:, :, None]), len(self.values))[0])

    @cached_property
    def reach(self) -> float:
        """Largest difference that a query can show; where the measure has no finite range, that of the scores seen."""
        return self.span if np.isfinite(self.span) else float(np.ptp(self.values))

    @cached_property
    def units(self) -> Floats:
        """The values in whole units: ``[query, system]``."""
        return np.rint(self.values / self.unit)

    def differences(self, wanted: npt.NDArray[Any] | None = None) -> Iterator[tuple[Ints, Floats]]:
        """Yield the differences of (wanted) pairs in whole units, a few pairs at a time: pairs, ``[pair, query]``.

        A difference of a single unit can come from rounding alone and counts as 0.
        """
        columns = np.ascontiguousarray(self.units.T)
        places = np.arange(self.pairs) if wanted is None else np.arange(self.pairs)[wanted]
        step = max(1, AT_ONCE // len(self.values))
        for start in range(0, len(places), step):
            pairs = places[start : start + step]
            apart = columns[self.first[pairs]] - columns[self.second[pairs]]
            apart[np.abs(apart) <= 1] = 0.0
            yield pairs, apart

    @cached_property
    def statistics(self) -> dict[str, Floats]:
        """Describe each pair: difference, deviation, effect, wins, ties, losses, and how many are not zero.

        The effect is the mean in standard deviations (Cohen's d for pairs): 0 without a difference, infinite
        where all differences are equal, NaN with a single query.
        """
        queries = len(self.values)
        names = ("difference", "deviation", "wins", "losses", "moved")
        found: dict[str, Floats] = {name: np.empty(self.pairs) for name in names}
        for pairs, apart in self.differences():
            mean = np.average(apart, axis=1, weights=self.weights)
            mean[np.abs(mean) <= slack(1)] = 0.0  # what rounding alone can make
            variance = np.average((apart - mean[:, None]) ** 2, axis=1, weights=self.weights)
            deviation = np.sqrt(variance * (queries / max(queries - 1, 1))) * self.unit
            deviation[np.ptp(apart, axis=1) <= 2] = 0.0  # equal up to rounding
            found["difference"][pairs], found["deviation"][pairs] = mean * self.unit, deviation
            found["wins"][pairs], found["losses"][pairs] = (apart > 0).sum(axis=1), (apart < 0).sum(axis=1)
        found["moved"] = found["wins"] + found["losses"]
        found["ties"] = queries - found["moved"]
        with np.errstate(divide="ignore", invalid="ignore"):
            effect = np.where(found["difference"] == 0, 0.0, found["difference"] / found["deviation"])
        found["effect"] = effect if queries > 1 else effect * np.nan
        return found

    @property
    def mean(self) -> Floats:
        """Mean difference of each pair."""
        return self.statistics["difference"]

    @cached_property
    def moved(self) -> Floats:
        """Count the queries, or clusters, on which the systems of each pair differ."""
        return self.rows.statistics["moved"]

    @cached_property
    def student(self) -> tuple[Floats, Floats]:
        """Standard error of each mean difference and its degrees of freedom, as Student's test takes them.

        With clusters or weights, residuals over √(1 − w) for rows of the fraction w of all weight, and as many degrees
        as rows of equal weight would leave that tell as much: 1/Σw² − 1. With several runs of systems, the variance
        between the runs of each system is added, with Satterthwaite's degrees.
        """
        variance, freedom = self._of_queries
        if self.runs is not None:
            parts = [variance, *(self.runs.variance[side] for side in (self.first, self.second))]
            degrees = [freedom, *(self.runs.freedom[side] for side in (self.first, self.second))]
            variance = np.sum(parts, axis=0)
            with np.errstate(divide="ignore", invalid="ignore"):
                weight = np.sum([part**2 / free for part, free in zip(parts, degrees, strict=True)], axis=0)
                freedom = np.where(weight > 0, variance**2 / weight, freedom)
        return np.sqrt(variance), freedom

    @property
    def deviation(self) -> Floats:
        """Standard deviation of which n rows leave this error in the mean."""
        return np.sqrt(self._of_queries[0] * len(self.rows.values))

    @cached_property
    def _of_queries(self) -> tuple[Floats, Floats]:
        queries = len(self.values)
        rows = self.rows
        if rows.sizes is None:
            return self.statistics["deviation"] ** 2 / queries, np.full(self.pairs, max(queries - 1.0, 1.0))
        weight = rows.sizes / rows.sizes.sum()
        found = np.empty(self.pairs)
        for pairs, apart in rows.differences():
            left = apart * (rows.unit / len(weight)) - self.mean[pairs, None] * weight
            found[pairs] = (left**2 / np.maximum(1 - weight, np.finfo(float).tiny)).sum(
                axis=1
            )  # one row leaves nothing
        found[self.statistics["deviation"] == 0] = 0.0  # equal up to rounding
        return found, np.full(self.pairs, max(self.effective - 1, LEAST_FREEDOM))


def summed(values: Floats, members: Ints, weights: Floats | None = None) -> tuple[Floats, Floats]:
    """Sum the (weighted) rows of each cluster and divide by the mean size, so that means stay; return the sizes too.

    >>> rows, sizes = summed(np.array([1.0, 0.0, 0.5]), np.array([0, 0, 1]))
    >>> rows.tolist(), sizes.tolist()
    ([0.6666666666666666, 0.3333333333333333], [2.0, 1.0])
    """
    sizes = np.bincount(members, weights).astype(np.float64)
    values = values if weights is None else (values.T * weights).T
    columns = values.reshape(len(values), -1).T
    sums = np.zeros((len(sizes), len(columns)))
    for i, column in enumerate(columns):
        sums[:, i] = np.bincount(members, column)
    return sums.reshape(len(sizes), *values.shape[1:]) / sizes.mean(), sizes


def gains(family: Family, lower_is_better: bool = False) -> Floats:
    """Return what the first system of the only pair gains on each query; what rounding alone can make is 0."""
    _, rows = next(family.differences())
    return np.asarray(rows[0] * (-family.unit if lower_is_better else family.unit)) + 0.0


def skewness(family: Family, wanted: Bools) -> Floats:
    """Return the skewness of the differences of each wanted pair, and 0 for the others."""
    found = np.zeros(family.pairs)
    for pairs, apart in family.rows.differences(wanted):
        centred = apart - apart.mean(axis=1, keepdims=True)
        squares = centred * centred
        spread = np.sqrt(squares.mean(axis=1))
        with np.errstate(divide="ignore", invalid="ignore"):
            found[pairs] = np.where(spread > 0, (squares * centred).mean(axis=1) / spread**3, 0.0)
    return found


def against_constants(family: Family) -> Family:
    """Return each system against a system that scores its most common value everywhere."""
    systems = family.values.shape[1]
    usual = np.array([most_common(column) for column in family.values.T])
    values = np.column_stack([family.values, np.broadcast_to(usual, family.values.shape)])
    each = np.arange(systems)
    runs = None if family.runs is None else family.runs.twice
    return replace(family, values=values, first=each, second=each + systems, runs=runs)


def most_common(column: Floats) -> float:
    """Return the most common value.

    >>> most_common(np.array([0.5, 1.0, 1.0]))
    1.0
    """
    values, counts = np.unique(column, return_counts=True)
    return float(values[np.argmax(counts)])
