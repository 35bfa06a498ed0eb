"""Compatibility: the best rank-biased overlap of a run with an ideal order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankdev.arrays import Floats
from rankdev.errors import MeasureError
from rankdev.measures.base import COUNT, SHARE, Measure, parameter
from rankdev.measures.match import Match, total


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
        weights = self.p ** np.arange(depth) / np.arange(1, depth + 1)
        agreed = np.maximum(match.position, match.ideal_places)  # both lists hold the item from here on
        seen = (agreed < depth) & (match.position < (self.cutoff or depth))
        # an item that both lists hold from depth a adds 1 to the overlap at a, a + 1, …: weigh it by the sum from a on
        from_here = np.cumsum(weights[::-1])[::-1]
        width = int(agreed[seen].max(initial=0)) + 1
        cells = np.bincount(match.query[seen] * width + agreed[seen], minlength=match.queries * width)
        overlap = cells.reshape(match.queries, width)
        ideal = np.cumsum(from_here)[np.minimum(match.ideals.sizes, depth) - 1]
        return np.minimum(1.0, total(overlap * from_here[:width]) / ideal)
