"""Measures for incomplete judgments, which use the items judged nonrelevant: Judged, Unjudged, Bpref and infAP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankdev._common.arrays import Bools, Floats, Ints
from rankdev.measures.base import UNIT_RANGE, Measure
from rankdev.measures.match import UNJUDGED, Match, MixedTies, ratio, total
from rankdev.measures.precision import Relevance

EPSILON = 1e-5  # trec_eval's, for a precision of which nothing is known


class Judged(Measure):
    """Fraction of the first k items that were judged.

    Judged@k = judged items in the first k ÷ items in the first k.
    """

    name: ClassVar[str] = "Judged"
    range: ClassVar[tuple[float, float]] = UNIT_RANGE
    higher_is_better: ClassVar[bool | None] = None
    averages_ties: ClassVar[bool] = True
    unordered: ClassVar[bool] = True

    def differ(self, ties: MixedTies, match: Match) -> Bools:
        """Tell which ties hold judged items and others."""
        return np.asarray((ties.best < UNJUDGED) & (ties.worst == UNJUDGED))

    def score(self, match: Match) -> Floats:
        """Score every query."""
        judged = match.judged(self.cutoff)
        return ratio(judged.sum(axis=1), np.minimum(match.lengths, judged.shape[1]))


class _RejectsToo(Measure, abstract=True):
    """A measure to which items judged nonrelevant differ from unjudged ones."""

    def differ(self, ties: MixedTies, match: Match) -> Bools:
        """Tell which ties hold items that differ in any way."""
        return np.asarray(ties.best < ties.worst)


class Unjudged(_RejectsToo):
    """Unjudged items in the first k ÷ k.

    Unjudged@k = unjudged items in the first k ÷ k, as in trec_eval 10: a negative grade is not a judgment.
    """

    name: ClassVar[str] = "Unjudged"
    range: ClassVar[tuple[float, float]] = UNIT_RANGE
    higher_is_better: ClassVar[bool | None] = None
    bounded: ClassVar[str] = "Unjudged@10"
    cumulative: ClassVar[bool] = False
    unordered: ClassVar[bool] = True

    def score(self, match: Match) -> Floats:
        """Score every query."""
        assert self.cutoff is not None
        judged = match.hits(self.cutoff) | match.nonrelevant(self.cutoff, match.nonrelevant_grade >= 0)
        return (np.minimum(match.lengths, judged.shape[1]) - judged.sum(axis=1)) / self.cutoff


@dataclass(frozen=True, kw_only=True)
class Bpref(_RejectsToo, Relevance):
    """Relevant items above those judged nonrelevant.

    Bpref = mean over relevant items of 1 − (nonrelevant items above it, at most R) ÷ min(R, nonrelevant items).

    Items that were not judged, or pooled and not judged (a negative grade), do not count.
    """

    name: ClassVar[str] = "Bpref"
    source: ClassVar[str] = "Buckley and Voorhees 2004"
    at: ClassVar[str | None] = None
    cumulative: ClassVar[bool] = False

    def score(self, match: Match) -> Floats:
        """Score every query."""
        hits = self.hits(match)
        above = np.cumsum(_rejected(match, self.rel), axis=1)
        relevant, nonrelevant = match.relevant(self.rel), _rejections(match, self.rel)
        lost = ratio(np.minimum(above, relevant[:, None]), np.minimum(relevant, nonrelevant)[:, None])
        return self.fraction_of_relevant(total(np.where(hits, 1 - lost, 0.0)), match)


@dataclass(frozen=True, kw_only=True)
class InfAP(_RejectsToo, Relevance):
    """Average precision inferred from a sample of judgments.

    infAP: AP in which the precision above a relevant item is estimated from the judged ones among the pooled ones.

    A negative grade marks an item that was pooled and not judged.
    """

    name: ClassVar[str] = "infAP"
    source: ClassVar[str] = "Yilmaz and Aslam 2006"
    at: ClassVar[str | None] = None
    cumulative: ClassVar[bool] = False

    def score(self, match: Match) -> Floats:
        """Score every query."""
        hits = self.hits(match)
        above = np.arange(hits.shape[1])
        relevant: Ints = np.cumsum(hits, axis=1) - hits
        judged = relevant + np.cumsum(_rejected(match, self.rel), axis=1)
        pooled = judged + np.cumsum(match.nonrelevant(None, match.nonrelevant_grade < 0), axis=1)
        expected = pooled * (relevant + EPSILON) / (judged + 2 * EPSILON)  # relevant items among those above
        return self.fraction_of_relevant(total(np.where(hits, (1 + expected) / (above + 1), 0.0)), match)


def _rejected(match: Match, rel: float | None) -> Bools:
    """Return, for [query, position], whether an item is there that was judged and is not relevant."""
    below = match.hits(None) & ~match.hits(None, rel)
    return np.asarray(below | match.nonrelevant(None, match.nonrelevant_grade >= 0))


def _rejections(match: Match, rel: float | None) -> Ints:
    """Count the items of each query that were judged and are not relevant."""
    ideals = match.ideals
    owner = np.repeat(np.arange(match.queries), ideals.nonrelevant_sizes)
    assert ideals.nonrelevant_grades is not None
    nonrelevant = np.bincount(owner[ideals.nonrelevant_grades >= 0], minlength=match.queries)
    return np.asarray(ideals.sizes - match.relevant(rel) + nonrelevant)
