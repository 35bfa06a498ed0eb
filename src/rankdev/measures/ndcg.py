"""Normalised discounted cumulative gain, on native grades or on grades made from ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankdev.measures.base import Measure, parameter
from rankdev.measures.match import Floats, Match, total


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
        gain = self._item_gains(match)
        got = match.dense(gain[match.place], self.cutoff, 0.0)
        sizes = match.ideals.sizes
        depth = int(sizes.max()) if self.cutoff is None else min(self.cutoff, int(sizes.max()))
        best = np.where(np.arange(depth) < sizes[:, None], match.ideals.spread(gain, depth), 0.0)
        with np.errstate(over="ignore", invalid="ignore"):
            return total(got / _discount(got.shape[1])) / total(best / _discount(depth))

    def _item_gains(self, match: Match) -> Floats:
        ideals = match.ideals
        if self.gains == "native":
            grade = match.native_grades
        elif self.gains == "binary":
            grade = np.ones(len(ideals.ranks))
        elif self.gains == "inverse":
            grade = 1.0 / ideals.ranks
        else:
            grade = (np.repeat(ideals.tiers, ideals.sizes) - ideals.ranks + 1).astype(np.float64)
        return np.exp2(grade) - 1 if self.dcg == "exp-log2" else grade


def _discount(depth: int) -> Floats:
    return np.asarray(np.log2(np.arange(2, depth + 2)))
