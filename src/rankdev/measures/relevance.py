"""What measures of relevance share: which items count as relevant, and which are looked at."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from rankdev.arrays import Bools, Floats, Ints
from rankdev.errors import MeasureError
from rankdev.measures.base import POSITIVE, Measure, parameter
from rankdev.measures.match import Match

REL = "lowest relevant grade; without it, any above 0"
JUDGED_ONLY = "leave out returned items that nobody judged"


@dataclass(frozen=True, kw_only=True)
class Relevance(Measure, abstract=True):
    """A measure that asks only whether an item is relevant."""

    rel: float | None = parameter(None, REL, number=POSITIVE)

    def hits(self, match: Match) -> Bools:
        """Tell, for [query, position up to the cutoff], whether a relevant item is there."""
        return match.hits(self.cutoff, self.rel)

    def presence(self, match: Match) -> Bools | Floats:
        """Tell the same, or the chance of it where ties are left open."""
        return match.presence(self.cutoff, self.rel)

    def share_of_relevant(self, part: Floats | Ints, match: Match) -> Floats:
        """Divide by the number of relevant items; 0 for a query that has none, as in trec_eval."""
        return ratio(part, match.relevant(self.rel))

    def needs_cutoff(self) -> None:
        """Refuse to be without a cutoff."""
        if self.cutoff is None:
            raise MeasureError(f"{self.name} needs a cutoff, such as {self.name}@10")


@dataclass(frozen=True, kw_only=True)
class JudgedRelevance(Relevance, abstract=True):
    """One that can leave out what nobody judged."""

    judged_only: bool = parameter(False, JUDGED_ONLY)

    @property
    def reach(self) -> int | None:
        """Positions of the run that can matter: all where those below move up."""
        return None if self.judged_only else self.cutoff

    def score(self, match: Match) -> Floats:
        """Score every query."""
        return self.score_considered(considered(match, self.judged_only))

    @abstractmethod
    def score_considered(self, match: Match) -> Floats:
        """Score every query of a match in which only what counts is left."""


def considered(match: Match, judged_only: bool) -> Match:
    """Leave out unjudged items where that was asked for."""
    return match.judged_only if judged_only else match


def ratio(part: Floats | Ints, whole: Floats | Ints) -> Floats:
    """Divide; 0 where there is nothing to divide by."""
    return np.where(whole > 0, part / np.where(whole > 0, whole, 1), 0.0)
