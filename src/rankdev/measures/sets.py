"""SetP, SetR, SetF, SetAP and counts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankdev._common.arrays import Floats
from rankdev.measures.base import NON_NEGATIVE, Aggregate, Measure, parameter
from rankdev.measures.match import Match, ratio
from rankdev.measures.precision import JudgedRelevance, Relevance


class _OfSet:
    """What measures of the set of all returned items have in common."""

    at: ClassVar[str | None] = None
    cumulative: ClassVar[bool] = False
    averages_ties: ClassVar[bool] = True
    unordered: ClassVar[bool] = True


@dataclass(frozen=True, kw_only=True)
class SetP(_OfSet, JudgedRelevance):
    """Precision of all returned items.

    SetP = relevant items returned ÷ items returned; relative to what was possible, ÷ min(returned, relevant).
    """

    name: ClassVar[str] = "SetP"

    relative: bool = parameter(False, "divide by the highest value for a list of this length")

    def score_considered(self, match: Match) -> Floats:
        """Score every query."""
        most = np.minimum(match.lengths, match.relevant(self.rel)) if self.relative else match.lengths
        return ratio(self.hits(match).sum(axis=1), most)


@dataclass(frozen=True, kw_only=True)
class SetR(_OfSet, Relevance):
    """Recall of all returned items.

    SetR = relevant items returned ÷ relevant items.
    """

    name: ClassVar[str] = "SetR"
    cumulative: ClassVar[bool] = True

    def score(self, match: Match) -> Floats:
        """Score every query."""
        return self.fraction_of_relevant(self.hits(match).sum(axis=1), match)


@dataclass(frozen=True, kw_only=True)
class SetF(_OfSet, JudgedRelevance):
    """Harmonic mean of SetP and SetR.

    SetF = (β + 1) · SetP · SetR ÷ (SetR + β · SetP); trec_eval's β, which is not squared.
    """

    name: ClassVar[str] = "SetF"
    source: ClassVar[str] = "van Rijsbergen 1979; as trec_eval weighs"

    beta: float = parameter(1.0, "weight of recall relative to precision", number=NON_NEGATIVE)

    def score_considered(self, match: Match) -> Floats:
        """Score every query."""
        # (β + 1)·h/n·h/R ÷ (h/R + β·h/n) = h ÷ ((n + β·R) / (β + 1)), a mean of n and R that cannot overflow
        fraction = 1 / (self.beta + 1)
        most = fraction * match.lengths + (1 - fraction) * match.relevant(self.rel)
        return ratio(self.hits(match).sum(axis=1), most)


@dataclass(frozen=True, kw_only=True)
class SetAP(_OfSet, JudgedRelevance):
    """Average precision of all returned items, unordered.

    SetAP = SetP · SetR.
    """

    name: ClassVar[str] = "SetAP"

    def score_considered(self, match: Match) -> Floats:
        """Score every query."""
        found = self.hits(match).sum(axis=1)
        return ratio(found, match.lengths) * self.fraction_of_relevant(found, match)


class _Count(_OfSet):
    """What counts have in common."""

    aggregate: ClassVar[Aggregate] = "sum"
    higher_is_better: ClassVar[bool | None] = None
    range: ClassVar[tuple[float, float]] = (0.0, math.inf)


@dataclass(frozen=True, kw_only=True)
class NumRet(_Count, Relevance):
    """Number of items returned, or of relevant ones.

    NumRet = number of items returned; with ``rel`` of those that are relevant.
    """

    name: ClassVar[str] = "NumRet"

    def score(self, match: Match) -> Floats:
        """Count for every query."""
        counts = match.lengths if self.rel is None else self.hits(match).sum(axis=1)
        return counts.astype(np.float64)


@dataclass(frozen=True, kw_only=True)
class NumRel(_Count, Relevance):
    """Number of relevant items.

    NumRel = number of relevant items, returned or not.
    """

    name: ClassVar[str] = "NumRel"

    def score(self, match: Match) -> Floats:
        """Count for every query."""
        return match.relevant(self.rel).astype(np.float64)


@dataclass(frozen=True, kw_only=True)
class NumQ(_Count, Measure):
    """Number of queries.

    NumQ = 1 for every query.
    """

    name: ClassVar[str] = "NumQ"

    def score(self, match: Match) -> Floats:
        """Count every query."""
        return np.ones(match.queries)
