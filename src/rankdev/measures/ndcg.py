"""Normalised discounted cumulative gain, on native grades or on grades made from ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankdev.arrays import Floats
from rankdev.measures.base import Measure, parameter
from rankdev.measures.match import Match, total


@dataclass(frozen=True, kw_only=True)
class NDCG(Measure):
    """nDCG@k = Σ gain(i) / log2(i + 1) ÷ the same of the best k reference items."""

    name: ClassVar[str] = "nDCG"
    summary: ClassVar[str] = "normalised discounted cumulative gain"
    source: ClassVar[str] = "Järvelin and Kekäläinen 2002"

    gains: str = parameter(
        "native", "grades: native, or made from ranks", choices=("native", "binary", "inverse", "linear")
    )
    dcg: str = parameter("log2", "gain: the grade g (log2) or 2^g − 1 (exp-log2)", choices=("log2", "exp-log2"))

    def score(self, match: Match) -> Floats:
        """Score every query."""
        grades = self._item_grades(match)
        sizes = match.ideals.sizes
        longest = max(1, int(sizes.max(initial=0)))
        depth = longest if self.cutoff is None else min(self.cutoff, longest)
        best = np.where(np.arange(depth) < sizes[:, None], match.ideals.spread(grades, depth), 0.0)
        got = match.dense(grades[match.place], self.cutoff, 0.0)
        if self.dcg == "exp-log2":
            # 2^g − 1 of a high grade is past the largest float; a common factor of a query's gains cancels out
            highest = np.floor(best[:, :1])
            got, best = (np.exp2(table - highest) - np.exp2(-highest) for table in (got, best))
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            scores = total(got / _discount(got.shape[1])) / total(best / _discount(depth))
        return np.where(sizes > 0, scores, 0.0)

    def _item_grades(self, match: Match) -> Floats:
        ideals = match.ideals
        if self.gains == "native":
            return match.native_grades
        if self.gains == "binary":
            return np.ones(len(ideals.ranks))
        if self.gains == "inverse":
            return 1.0 / ideals.ranks
        return (np.repeat(ideals.tiers, ideals.sizes) - ideals.ranks + 1).astype(np.float64)


def _discount(depth: int) -> Floats:
    return np.asarray(np.log2(np.arange(2, depth + 2)))
