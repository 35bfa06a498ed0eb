"""RBO, RBA and Compat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankdev._common.arrays import Floats, Ints
from rankdev.errors import MeasureError
from rankdev.measures.base import COUNT, SHARE, UNIT_RANGE, Measure, parameter
from rankdev.measures.match import Match, total


@dataclass(frozen=True, kw_only=True)
class RBO(Measure):
    """RBO(p) = (1 − p) Σ_d p^(d − 1) · agreement(d) of the run's first k items with the whole reference, extrapolated.

    Tied reference items are there together from the first position of their tier on (``w``), or each in part as the
    tier goes by: the mean over all orders of the tied items (``a``), or that corrected for what ties hide (``b``).
    """

    name: ClassVar[str] = "RBO"
    range: ClassVar[tuple[float, float]] = UNIT_RANGE
    summary: ClassVar[str] = "rank-biased overlap, aware of ties in the reference"
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
    """RBA(p)@k = Σ √(weight in the run · weight in the reference), over the items that both hold; not normalised.

    The weight of position i is (1 − p) p^(i − 1); the items of a tier share the mean of theirs.
    """

    name: ClassVar[str] = "RBA"
    range: ClassVar[tuple[float, float]] = UNIT_RANGE
    summary: ClassVar[str] = "rank-biased alignment with the reference"
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


SUMMED = 1_000_000  # depths that are summed one by one


@dataclass(frozen=True, kw_only=True)
class Compat(Measure):
    """Compat(p) = RBO(run, I) ÷ RBO(I, I), I the ideal order that agrees best with the run.

    RBO goes down to ``depth``, which is the cutoff unless given; a list past its end stops growing.
    """

    name: ClassVar[str] = "Compat"
    range: ClassVar[tuple[float, float]] = UNIT_RANGE
    summary: ClassVar[str] = "compatibility with the best ideal order"
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
        agreed = np.maximum(match.position, match.ideal_places)  # both lists hold the item from here on
        seen = (agreed < depth) & (match.position < (self.cutoff or depth))
        width = int(agreed[seen].max(initial=0)) + 1
        reached = np.minimum(match.ideals.sizes, depth)
        # an item that both lists hold from depth a adds 1 to the overlap at a, a + 1, …: weigh it by the sum from a on
        from_here = _weights_from(self.p, depth, max(width, int(reached.max(initial=0))))
        cells = np.bincount(match.query[seen] * width + agreed[seen], minlength=match.queries * width)
        overlap = cells.reshape(match.queries, width)
        ideal = np.cumsum(from_here)[reached - 1]
        return np.where(reached > 0, np.minimum(1.0, total(overlap * from_here[:width]) / ideal), 0.0)


def _weights_from(p: float, depth: int, count: int) -> Floats:
    """Sum p^d / (d + 1) from d on to the depth, for the first ``count`` depths d.

    Only the head is summed term by term: the rest of a very deep sum is an integral, by Euler and Maclaurin.
    """
    head = min(depth, max(count, SUMMED))
    weights = p ** np.arange(head) / np.arange(1, head + 1)
    weights[-1] += _sum_between(p, head, depth)
    return np.cumsum(weights[::-1])[::-1]


def _sum_between(p: float, begin: int, end: int) -> float:
    """Σ p^d / (d + 1) for begin ≤ d < end, with begin large: ∫ + first and last terms ÷ 2 + slopes ÷ 12."""
    if begin >= end:
        return 0.0
    from scipy.special import exp1

    decay = -np.log(p)
    last = end - 1
    first_term, last_term = (p**d / (d + 1) for d in (begin, last))
    first_slope, last_slope = (-term * (decay + 1 / (d + 1)) for term, d in ((first_term, begin), (last_term, last)))
    integral = (exp1(decay * (begin + 1)) - exp1(decay * (last + 1))) / p
    return float(integral + (first_term + last_term) / 2 + (last_slope - first_slope) / 12)
