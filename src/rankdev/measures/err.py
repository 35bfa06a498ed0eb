"""Expected reciprocal rank: a reader goes down the list and stops where satisfied."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankdev.arrays import Floats
from rankdev.errors import MeasureError
from rankdev.measures.base import POSITIVE, Measure, parameter
from rankdev.measures.gains import MINUTE, exponential, exponential_shares
from rankdev.measures.match import Match, total
from rankdev.measures.relevance import ratio

MAX_GRADE = "the highest grade there can be (4 in gdeval)"


@dataclass(frozen=True, kw_only=True)
class ERR(Measure):
    """ERR@k = Σ 1/i · P(stop at i), with P(satisfied by grade g) = (2^g − 1) ÷ 2^max_grade."""

    name: ClassVar[str] = "ERR"
    summary: ClassVar[str] = "expected reciprocal rank"
    source: ClassVar[str] = "Chapelle, Metzler, Zhang and Grinspan 2009"

    max_grade: float = parameter(4.0, MAX_GRADE, number=POSITIVE)

    def score(self, match: Match) -> Floats:
        """Score every query."""
        _check_grades(match, self)
        return _expected(exponential(match.grades(self.cutoff), self.max_grade))


@dataclass(frozen=True, kw_only=True)
class NERR(Measure):
    """nERR@k = ERR@k ÷ the ERR@k of the best k reference items, best first."""

    name: ClassVar[str] = "nERR"
    summary: ClassVar[str] = "expected reciprocal rank ÷ that of the ideal list"
    source: ClassVar[str] = "Chapelle, Metzler, Zhang and Grinspan 2009"

    max_grade: float = parameter(4.0, MAX_GRADE, number=POSITIVE)

    def score(self, match: Match) -> Floats:
        """Score every query."""
        _check_grades(match, self)
        ideals = match.ideals
        longest = max(1, int(ideals.sizes.max(initial=0)))
        depth = longest if self.cutoff is None else min(self.cutoff, longest)
        best = np.where(np.arange(depth) < ideals.sizes[:, None], ideals.spread(match.native_grades, depth), 0.0)
        highest = best[:, :1]
        # what satisfies hardly anybody satisfies in proportion: no factor below 2^−61 makes a difference, or vanishes
        factor = np.where(highest < MINUTE, 0.0, np.exp2(np.floor(highest) - self.max_grade))
        got, best = (
            _expected(exponential_shares(grades, highest) * np.maximum(factor, MINUTE / 2))
            for grades in (match.grades(self.cutoff), best)
        )
        return ratio(got, best)


def _check_grades(match: Match, measure: ERR | NERR) -> None:
    highest = float(match.native_grades.max(initial=0.0))
    if highest > measure.max_grade:
        name = measure.name
        raise MeasureError(
            f"{name}: grade {highest:g} is above max_grade={measure.max_grade:g}; say {name}(max_grade={highest:g})"
        )


def _expected(satisfied: Floats) -> Floats:
    """Sum 1/i · P(stop at i) over the positions, from the probability that each satisfies."""
    unsatisfied_before = np.ones_like(satisfied)
    unsatisfied_before[:, 1:] = np.cumprod(1 - satisfied, axis=1)[:, :-1]
    return total(satisfied * unsatisfied_before / np.arange(1, satisfied.shape[1] + 1))
