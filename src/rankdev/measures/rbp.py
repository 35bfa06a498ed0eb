"""Rank-biased precision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankdev.arrays import Floats
from rankdev.errors import MeasureError
from rankdev.measures.base import POSITIVE, SHARE, parameter
from rankdev.measures.match import Match, total
from rankdev.measures.relevance import JudgedRelevance


@dataclass(frozen=True, kw_only=True)
class RBP(JudgedRelevance):
    """RBP(p)@k = (1 − p) Σ p^(i − 1) · gain(i), not normalised; a relevant item gains 1, or grade ÷ max_grade."""

    name: ClassVar[str] = "RBP"
    summary: ClassVar[str] = "rank-biased precision"
    source: ClassVar[str] = "Moffat and Zobel 2008"
    averages_ties: ClassVar[bool] = True

    p: float = parameter(0.8, "persistence", number=SHARE, written=True)
    gains: str = parameter("binary", "1 for every relevant item, or grade ÷ max_grade", choices=("binary", "graded"))
    max_grade: float | None = parameter(
        None, "highest grade there can be; without it, of all references", number=POSITIVE
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.gains == "binary" and self.max_grade is not None:
            raise MeasureError("RBP: max_grade belongs to gains=graded")

    def score_considered(self, match: Match) -> Floats:
        """Score every query."""
        gains = self._shares(match) if self.gains == "graded" else self.presence(match)
        return (1 - self.p) * total(self.p ** np.arange(gains.shape[1]) * gains)

    def _shares(self, match: Match) -> Floats:
        highest = match.highest_grade
        if self.max_grade is not None and highest > self.max_grade:
            raise MeasureError(f"RBP: grade {highest:g} is above max_grade={self.max_grade:g}")
        grades = match.native_grades[match.place]
        shares = np.where(grades >= (self.rel or 0.0), grades, 0.0) / (self.max_grade or highest or 1.0)
        return match.mean(shares, self.cutoff)
