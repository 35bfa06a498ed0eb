"""Expected reciprocal rank: a reader goes down the list and stops where satisfied."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankdev.arrays import Floats
from rankdev.errors import MeasureError
from rankdev.measures.base import POSITIVE, Measure, parameter
from rankdev.measures.match import Match, total


@dataclass(frozen=True, kw_only=True)
class ERR(Measure):
    """ERR@k = Σ 1/i · P(stop at i), with P(satisfied by grade g) = (2^g − 1) ÷ 2^max_grade."""

    name: ClassVar[str] = "ERR"
    summary: ClassVar[str] = "expected reciprocal rank"
    source: ClassVar[str] = "Chapelle, Metzler, Zhang and Grinspan 2009"

    max_grade: float = parameter(4.0, "the highest grade there can be (4 in gdeval)", number=POSITIVE)

    def score(self, match: Match) -> Floats:
        """Score every query."""
        highest = float(match.native_grades.max(initial=0.0))
        if highest > self.max_grade:
            raise MeasureError(
                f"ERR: grade {highest:g} is above max_grade={self.max_grade:g}; say ERR(max_grade={highest:g})"
            )
        # (2^g − 1) ÷ 2^max_grade, divided first: a high grade is past the largest float
        satisfied = np.exp2(match.grades(self.cutoff) - self.max_grade) - np.exp2(-self.max_grade)
        unsatisfied_before = np.ones_like(satisfied)
        unsatisfied_before[:, 1:] = np.cumprod(1 - satisfied, axis=1)[:, :-1]
        return total(satisfied * unsatisfied_before / np.arange(1, satisfied.shape[1] + 1))
