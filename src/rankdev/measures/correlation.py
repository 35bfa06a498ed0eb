"""Rank correlations, available only where a run and its reference hold the same items."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from rankdev._common.arrays import Bools, Floats, Ints
from rankdev.measures.base import Measure, parameter
from rankdev.measures.match import Match

SHALLOW = 64  # lists no longer than this are compared position by position, longer ones by merging


@dataclass(frozen=True, kw_only=True)
class Tau(Measure):
    """Kendall's τ-b between positions and reference ranks."""

    name: ClassVar[str] = "Tau"
    range: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    summary: ClassVar[str] = "Kendall's τ where run and reference hold the same items"
    source: ClassVar[str] = "Kendall 1938"
    cumulative: ClassVar[bool] = False

    def score(self, match: Match) -> Floats:
        """Score every query."""
        pairs = _Pairs(match, _comparable(match, self.cutoff))
        size = match.ideals.sizes[pairs.available]
        every = size * (size - 1) / 2
        # a tie group of n items holds n(n − 1)/2 tied pairs; each of its items accounts for (n − 1)/2 of them
        tied = pairs.total((match.tier_sizes[pairs.place] - 1) / 2)
        agree = pairs.total(pairs.better_above)
        return pairs.scores((2 * agree - (every - tied)) / np.sqrt(every * (every - tied)))


@dataclass(frozen=True, kw_only=True)
class TauAP(Measure):
    """τ_ap = 2/(n − 1) · Σ_{i > 1} (items above i that belong above it) ÷ (i − 1) − 1; top positions weigh most.

    With ``ties=b`` τ_ap,b: the mean of the sums down the run and down the tiers, each item compared with those above
    its tier; without, a reference with ties has no value.
    """

    name: ClassVar[str] = "TauAP"
    range: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    summary: ClassVar[str] = "AP correlation: Kendall's τ with more weight on the top"
    source: ClassVar[str] = "Yilmaz, Aslam and Robertson 2008; ties: Urbano and Marrero 2017"
    cumulative: ClassVar[bool] = False

    ties: str = parameter("none", "references without ties only, or τ_ap,b", choices=("none", "b"))

    def score(self, match: Match) -> Floats:
        """Score every query."""
        available = _comparable(match, self.cutoff)
        if self.ties == "none":
            available &= match.ideals.tiers == match.ideals.sizes
        pairs = _Pairs(match, available)
        by_run = pairs.mean_fraction(pairs.position)
        if self.ties == "none":
            return pairs.scores(by_run)
        return pairs.scores((by_run + pairs.mean_fraction(match.tier_starts[pairs.place])) / 2)


@dataclass(frozen=True, kw_only=True)
class Rho(Measure):
    """Spearman's ρ between positions and reference ranks, tied items sharing their mean rank."""

    name: ClassVar[str] = "Rho"
    range: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    summary: ClassVar[str] = "Spearman's ρ where run and reference hold the same items"
    source: ClassVar[str] = "Spearman 1904"
    cumulative: ClassVar[bool] = False

    def score(self, match: Match) -> Floats:
        """Score every query."""
        pairs = _Pairs(match, _comparable(match, self.cutoff))
        centre = (match.ideals.sizes[pairs.query] - 1) / 2
        position = pairs.position - centre
        rank = match.tier_starts[pairs.place] + (match.tier_sizes[pairs.place] - 1) / 2 - centre
        together, positions, ranks = (pairs.total(product) for product in (position * rank, position**2, rank**2))
        return pairs.scores(together / np.sqrt(positions * ranks))


class _Pairs:
    """The items of the queries that can be compared, and what is summed over them."""

    def __init__(self, match: Match, available: Bools) -> None:
        inside = available[match.query]
        self.available = available
        self.query, self.position, self.place = match.query[inside], match.position[inside], match.place[inside]
        self._ranks = match.ideals.ranks[self.place]

    @cached_property
    def better_above(self) -> Ints:
        """For each item, how many above it in the run have a better rank."""
        return count_better_above(self.query, self.position, self._ranks)

    def total(self, values: Floats | Ints) -> Floats:
        """Sum over the items of each available query."""
        return np.bincount(self.query, values, len(self.available))[self.available].astype(np.float64)

    def mean_fraction(self, above: Ints) -> Floats:
        """Return the mean fraction, from −1 to 1, of the ``above`` items of each item that are rightly above it."""
        counted = above > 0
        fractions = np.where(counted, self.better_above / np.maximum(above, 1), 0.0)
        return 2 * self.total(fractions) / self.total(counted.astype(np.float64)) - 1

    def scores(self, values: Floats) -> Floats:
        """Return one value per query: NaN where the measure is not available."""
        scores = np.full(len(self.available), np.nan)
        scores[self.available] = np.clip(values, -1.0, 1.0)
        return scores


def count_better_above(query: Ints, position: Ints, rank: Ints) -> Ints:
    """Count, for each item, those of its query at smaller positions whose rank is smaller.

    Long lists are merged as in a merge sort, a level for all queries at once: n log² n steps instead of n².
    """
    depth = int(position.max(initial=0)) + 1
    counts = np.zeros(len(query), np.int64)
    if depth <= SHALLOW:
        table = np.full((int(query.max(initial=-1)) + 1, depth), np.iinfo(np.int64).max)
        table[query, position] = rank
        for lag in range(1, depth):
            later = np.flatnonzero(position >= lag)
            counts[later] += table[query[later], position[later] - lag] < rank[later]
        return counts
    ranks = int(rank.max()) + 1
    half = 1
    while half < depth:
        part = (query * depth + position // (2 * half)) * ranks  # the two halves that are merged share a number
        in_lower = (position // half) % 2 == 1
        upper = np.sort((part + rank)[~in_lower])
        lower = part[in_lower]
        counts[in_lower] += np.searchsorted(upper, lower + rank[in_lower]) - np.searchsorted(upper, lower)
        half *= 2
    return counts


def _comparable(match: Match, cutoff: int | None) -> Bools:
    """Mark queries whose first ``cutoff`` positions hold exactly the reference items, with ranks that differ."""
    reach = match.depth(cutoff)
    found = np.bincount(match.query[match.position < reach], minlength=match.queries)
    returned = np.minimum(match.lengths, reach)
    sizes = match.ideals.sizes
    return np.asarray((found == sizes) & (returned == sizes) & (match.ideals.tiers > 1))
