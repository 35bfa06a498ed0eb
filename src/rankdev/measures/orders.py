"""Comparisons of two orders: RBO, RBA and Compat; rank correlations, where run and reference hold the same items."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from rankdev._common.arrays import Bools, Floats, Ints
from rankdev.errors import MeasureError
from rankdev.measures.base import COUNT, SHARE, UNIT_RANGE, Measure, bad_parameter, parameter
from rankdev.measures.match import Match, total


@dataclass(frozen=True, kw_only=True)
class RBO(Measure):
    """Rank-biased overlap, aware of ties in the reference.

    RBO(p) = (1 − p) Σ_d p^(d − 1) · agreement(d) of the run's first k items with the whole reference, extrapolated.

    Tied reference items are there together from the first position of their tier on (``w``), or each in part as the
    tier goes by: the mean over all orders of the tied items (``a``), or that corrected for what ties hide (``b``).
    """

    name: ClassVar[str] = "RBO"
    range: ClassVar[tuple[float, float]] = UNIT_RANGE
    source: ClassVar[str] = "Webber, Moffat and Zobel 2010; Corsi and Urbano 2024"
    cumulative: ClassVar[bool] = False

    p: float = parameter(0.9, "persistence", number=SHARE, written=True)
    ties: str = parameter("a", "tied reference items, as Corsi and Urbano", choices=("w", "a", "b"))

    def score(self, match: Match) -> Floats:
        """Score every query."""
        sizes = match.ideals.sizes
        returned = match.lengths if self.cutoff is None else np.minimum(match.lengths, self.cutoff)
        shorter, longer = np.minimum(returned, sizes), np.maximum(returned, sizes)
        depth = np.arange(1, max(1, int(longer.max(initial=0))) + 1)
        overlap, norm, rate = self._agreement(match, depth, returned)
        row, end = np.arange(match.queries), np.maximum(longer, 1) - 1
        seen = (overlap / norm)[row, np.maximum(shorter, 1) - 1]
        # past the shorter list, what only the longer one holds is taken to agree as much as was seen until there
        expected = overlap + np.maximum(depth - shorter[:, None], 0) * seen[:, None] * rate
        head = total(np.where(depth <= longer[:, None], expected / norm * self.p ** (depth - 1), 0.0))
        tail = (overlap[row, end] + (longer - shorter) * seen) / (end + 1) * self.p**longer
        return np.where(shorter > 0, np.clip((1 - self.p) * head + tail, 0.0, 1.0), 0.0)

    def _agreement(self, match: Match, depth: Ints, returned: Ints) -> tuple[Floats, Floats, Floats]:
        """Return overlap at [query, depth], its maximum, and how much of an item that the run lacks counts there."""
        ideals = match.ideals
        begin, size = (ideals.spread(values, len(depth)) for values in (match.tier_starts, match.tier_sizes))
        known = depth <= ideals.sizes[:, None]
        part = np.where(known, (depth - begin) / np.maximum(size, 1), 1.0)  # of the tier that goes by
        members = np.where(known, begin + size, depth)  # of it and of those above
        starts, ends = match.tier_starts[match.place], (match.tier_starts + match.tier_sizes)[match.place]
        begun, whole = (self._found(match, deep, returned, len(depth)) for deep in (starts + 1, ends))
        if self.ties == "w":
            return begun, (depth + members) / 2, np.ones_like(part)
        overlap = whole + (begun - whole) * part
        squares = np.where(known, begin + part**2 * size, depth)
        norm = depth + 0.0 * part if self.ties == "a" else np.sqrt(depth * squares)
        missing = np.where(known & (depth > returned[:, None]), members - begun, 0.0)
        return overlap, norm, np.where(missing > 0, (depth - overlap) / np.maximum(missing, 1.0), 1.0)

    @staticmethod
    def _found(match: Match, deep: Ints, returned: Ints, depth: int) -> Floats:
        """Count, at [query, depth], the hits that are in the run and no deeper than ``deep`` in the reference."""
        inside = match.position < returned[match.query]
        from_here = np.maximum(match.position + 1, deep)[inside] - 1
        cells = np.bincount(match.query[inside] * depth + from_here, minlength=match.queries * depth)
        return np.cumsum(cells.reshape(match.queries, depth), axis=1).astype(np.float64)


@dataclass(frozen=True, kw_only=True)
class RBA(Measure):
    """Rank-biased alignment with the reference.

    RBA(p)@k = Σ √(weight in the run · weight in the reference), over the items that both hold; not normalised.

    The weight of position i is (1 − p) p^(i − 1); the items of a tier share the mean of theirs.
    """

    name: ClassVar[str] = "RBA"
    range: ClassVar[tuple[float, float]] = UNIT_RANGE
    source: ClassVar[str] = "Moffat, Mackenzie, Mallia and Petri 2024"

    p: float = parameter(0.9, "persistence", number=SHARE, written=True)

    def score(self, match: Match) -> Floats:
        """Score every query."""
        inside = match.position < match.depth(self.cutoff)
        size = match.tier_sizes[match.place]
        in_run = (1 - self.p) * self.p**match.position
        in_reference = self.p ** match.tier_starts[match.place] * -np.expm1(size * np.log(self.p)) / size
        aligned = np.where(inside, np.sqrt(in_run * in_reference), 0.0)
        return np.bincount(match.query, aligned, match.queries).astype(np.float64)


DEEPEST = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Compat(Measure):
    """Compatibility with the best ideal order.

    Compat(p) = RBO(run, I) ÷ RBO(I, I), I the ideal order that agrees best with the run.

    RBO goes down to ``depth``, which is the cutoff unless given; a list past its end stops growing.
    """

    name: ClassVar[str] = "Compat"
    range: ClassVar[tuple[float, float]] = UNIT_RANGE
    source: ClassVar[str] = "Clarke, Vtyurina and Smucker 2020"

    p: float = parameter(0.95, "persistence", number=SHARE, written=True)
    depth: int | None = parameter(None, "how deep to compare", number=COUNT)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cutoff is None and self.depth is None:
            raise MeasureError("needs-cutoff", measure=self.name, what="cutoff or depth", example="Compat(p=0.95)@10")

    @property
    def reach(self) -> int | None:
        """Positions of the run that can matter."""
        return self.cutoff or self.depth

    def score(self, match: Match) -> Floats:
        """Score every query."""
        # beyond this depth p^d is lost in rounding, whatever the overlap
        depth = min(self.depth or self.cutoff or 1, int(np.ceil(-750 / np.log(self.p))))
        if depth > DEEPEST:
            raise bad_parameter("depth", depth, f"at most {DEEPEST:,} for such a p", measure=self.name)
        agreed = np.maximum(match.position, match.ideal_places)  # both lists hold the item from here on
        seen = (agreed < depth) & (match.position < (self.cutoff or depth))
        width = int(agreed[seen].max(initial=0)) + 1
        reached = np.minimum(match.ideals.sizes, depth)
        # an item that both lists hold from depth a adds 1 to the overlap at a, a + 1, …: weigh it by the sum from a on
        from_here = np.cumsum((self.p ** np.arange(depth) / np.arange(1, depth + 1))[::-1])[::-1]
        cells = np.bincount(match.query[seen] * width + agreed[seen], minlength=match.queries * width)
        overlap = cells.reshape(match.queries, width)
        ideal = np.cumsum(from_here)[reached - 1]
        return np.where(reached > 0, np.minimum(1.0, total(overlap * from_here[:width]) / ideal), 0.0)


class Correlation(Measure, abstract=True):
    """What rank correlations have in common: a value only where run and reference hold the same items."""

    range: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    cumulative: ClassVar[bool] = False


class Tau(Correlation):
    """Kendall's τ where run and reference hold the same items.

    Kendall's τ-b between positions and reference ranks.
    """

    name: ClassVar[str] = "Tau"
    source: ClassVar[str] = "Kendall 1938"

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
class TauAP(Correlation):
    """AP correlation: Kendall's τ with more weight on the top.

    τ_ap = 2/(n − 1) · Σ_{i > 1} (items above i that belong above it) ÷ (i − 1) − 1; top positions weigh most.

    With ``ties=b`` τ_ap,b: the mean of the sums down the run and down the tiers, each item compared with those above
    its tier; without, a reference with ties has no value.
    """

    name: ClassVar[str] = "TauAP"
    source: ClassVar[str] = "Yilmaz, Aslam and Robertson 2008; ties: Urbano and Marrero 2017"

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


class Rho(Correlation):
    """Spearman's ρ where run and reference hold the same items.

    Spearman's ρ between positions and reference ranks, tied items sharing their mean rank.
    """

    name: ClassVar[str] = "Rho"
    source: ClassVar[str] = "Spearman 1904"

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

    Lists are merged as in a merge sort, a level for all queries at once: n log² n steps instead of n².
    """
    depth = int(position.max(initial=0)) + 1
    counts = np.zeros(len(query), np.int64)
    ranks = int(rank.max(initial=0)) + 1
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
