"""Compatibility: the best rank-biased overlap of a run with an ideal order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankdev.arrays import Floats
from rankdev.errors import MeasureError
from rankdev.measures.base import COUNT, SHARE, Measure, parameter
from rankdev.measures.match import Match, total

SUMMED = 1_000_000  # depths that are summed one by one


@dataclass(frozen=True, kw_only=True)
class Compat(Measure):
    """Compat(p) = RBO(run, I) ÷ RBO(I, I), I the ideal order that agrees best with the run.

    RBO goes down to ``depth``, which is the cutoff unless given; a list past its end stops growing.
    """

    name: ClassVar[str] = "Compat"
    summary: ClassVar[str] = "compatibility with the best ideal order"
    source: ClassVar[str] = "Clarke, Vtyurina and Smucker 2020"

    p: float = parameter(0.95, "persistence", number=SHARE, written=True)
    depth: int | None = parameter(None, "how deep to compare", number=COUNT)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cutoff is None and self.depth is None:
            raise MeasureError(
                "Compat needs a cutoff or a depth, such as Compat(p=0.95)@10 or Compat(p=0.95,depth=1000)"
            )

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
