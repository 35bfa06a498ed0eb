"""Counts per query: NumRet, NumRel and NumQ. A table over queries shows their sum, as trec_eval does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankdev.arrays import Floats
from rankdev.measures.base import Measure
from rankdev.measures.match import Match
from rankdev.measures.relevance import Relevance


@dataclass(frozen=True, kw_only=True)
class NumRet(Relevance):
    """NumRet = number of items returned; with ``rel`` of those that are relevant."""

    name: ClassVar[str] = "NumRet"
    summary: ClassVar[str] = "number of items returned, or of relevant ones"
    at: ClassVar[str | None] = None
    adds_up: ClassVar[bool] = True
    cumulative: ClassVar[bool] = False
    averages_ties: ClassVar[bool] = True

    def score(self, match: Match) -> Floats:
        """Count for every query."""
        counts = match.lengths if self.rel is None else self.hits(match).sum(axis=1)
        return counts.astype(np.float64)


@dataclass(frozen=True, kw_only=True)
class NumRel(Relevance):
    """NumRel = number of relevant items, returned or not."""

    name: ClassVar[str] = "NumRel"
    summary: ClassVar[str] = "number of relevant items"
    at: ClassVar[str | None] = None
    adds_up: ClassVar[bool] = True
    cumulative: ClassVar[bool] = False
    averages_ties: ClassVar[bool] = True

    def score(self, match: Match) -> Floats:
        """Count for every query."""
        return match.relevant(self.rel).astype(np.float64)


@dataclass(frozen=True, kw_only=True)
class NumQ(Measure):
    """NumQ = 1 for every query."""

    name: ClassVar[str] = "NumQ"
    summary: ClassVar[str] = "number of queries"
    at: ClassVar[str | None] = None
    adds_up: ClassVar[bool] = True
    cumulative: ClassVar[bool] = False
    averages_ties: ClassVar[bool] = True

    def score(self, match: Match) -> Floats:
        """Count every query."""
        return np.ones(match.queries)
