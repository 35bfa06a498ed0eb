"""Normalised discounted cumulative gain, on native grades or on grades made from ranks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankdev.arrays import Floats
from rankdev.measures.base import Measure, parameter
from rankdev.measures.gains import GainMap, exponential_shares
from rankdev.measures.match import Match, scaled, total
from rankdev.measures.relevance import JUDGED_ONLY, considered


@dataclass(frozen=True, kw_only=True)
class NDCG(Measure):
    """nDCG@k = Σ gain(i) / log2(i + 1) ÷ the same of the best k reference items."""

    name: ClassVar[str] = "nDCG"
    summary: ClassVar[str] = "normalised discounted cumulative gain"
    source: ClassVar[str] = "Järvelin and Kekäläinen 2002"
    averages_ties: ClassVar[bool] = True

    gains: str | Mapping[float, float] = parameter(
        "native",
        "grades: native, made from ranks, or a map {grade:gain,…}",
        choices=("native", "binary", "inverse", "linear"),
        convert=lambda value: GainMap(value) if isinstance(value, Mapping) else None,
    )
    dcg: str = parameter("log2", "gain: the grade g (log2) or 2^g − 1 (exp-log2)", choices=("log2", "exp-log2"))
    judged_only: bool = parameter(False, JUDGED_ONLY)

    @property
    def reach(self) -> int | None:
        """Positions of the run that can matter."""
        return None if self.judged_only else self.cutoff

    def score(self, match: Match) -> Floats:
        """Score every query."""
        match = considered(match, self.judged_only)
        grades = self._item_grades(match)
        sizes = match.ideals.sizes
        longest = max(1, int(sizes.max(initial=0)))
        depth = longest if self.cutoff is None else min(self.cutoff, longest)
        ideal_list = match.ideals.spread(self._best_first(grades, match), depth)
        best = np.where(np.arange(depth) < sizes[:, None], ideal_list, 0.0)
        gain = exponential_shares if self.dcg == "exp-log2" else scaled
        got = match.mean(gain(grades[match.place], best[match.query, 0]), self.cutoff)
        best = gain(best, best[:, :1])
        ideal = total(best / _discount(depth))
        return np.where(ideal > 0, total(got / _discount(got.shape[1])) / np.where(ideal > 0, ideal, 1.0), 0.0)

    def _item_grades(self, match: Match) -> Floats:
        ideals = match.ideals
        if isinstance(self.gains, GainMap):
            return self.gains.of(match.native_grades)
        if self.gains == "native":
            return match.native_grades
        if self.gains == "binary":
            return np.ones(len(ideals.ranks))
        if self.gains == "inverse":
            return 1.0 / ideals.ranks
        return (np.repeat(ideals.tiers, ideals.sizes) - ideals.ranks + 1).astype(np.float64)

    def _best_first(self, grades: Floats, match: Match) -> Floats:
        """Sort each query's grades; only a map can give a better item less."""
        if not isinstance(self.gains, GainMap):
            return grades
        owner = np.repeat(np.arange(match.queries), match.ideals.sizes)
        return grades[np.lexsort((-grades, owner))]


def _discount(depth: int) -> Floats:
    return np.asarray(np.log2(np.arange(2, depth + 2)))
