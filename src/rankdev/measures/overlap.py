"""Rank-biased overlap and alignment of a run with a reference whose items may be tied."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankdev.arrays import Floats, Ints
from rankdev.measures.base import SHARE, Measure, parameter
from rankdev.measures.match import Match, total


@dataclass(frozen=True, kw_only=True)
class RBO(Measure):
    """RBO(p) = (1 − p) Σ_d p^(d − 1) · agreement(d) of the run's first k items with the whole reference, extrapolated.

    Tied reference items are there together from the first position of their tier on (``w``), or each in part as the
    tier goes by: the mean over all orders of the tied items (``a``), or that corrected for what ties hide (``b``).
    """

    name: ClassVar[str] = "RBO"
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
        """Overlap at [query, depth], its largest value, and how much of itself an item that the run lacks is there."""
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
