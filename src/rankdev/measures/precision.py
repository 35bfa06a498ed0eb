"""Precision and recall of relevant items down a list: P, R, R_cap, F1, Rprec, IPrec, Success, RR, AP and GMAP."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankdev._common.arrays import Bools, Floats, Ints
from rankdev.errors import MeasureError
from rankdev.measures.base import POSITIVE, UNIT, UNIT_RANGE, Aggregate, JudgedOnly, Measure, parameter
from rankdev.measures.match import Match, MixedTies, TiedMatch, ratio, total


@dataclass(frozen=True, kw_only=True)
class Relevance(Measure, abstract=True):
    """A measure that asks only whether an item is relevant."""

    range: ClassVar[tuple[float, float]] = UNIT_RANGE

    rel: float | None = parameter(None, "lowest relevant grade; without it, any above 0", number=POSITIVE)

    def hits(self, match: Match) -> Bools:
        """Return, for [query, position up to the cutoff], whether a relevant item is there."""
        return match.hits(self.cutoff, self.rel)

    def presence(self, match: Match) -> Bools | Floats:
        """Return the same, or its probability where ties are not broken."""
        return match.presence(self.cutoff, self.rel)

    def fraction_of_relevant(self, part: Floats | Ints, match: Match) -> Floats:
        """Divide by the number of relevant items; 0 for a query that has none, as in trec_eval."""
        return ratio(part, match.relevant(self.rel))

    def differ(self, ties: MixedTies, match: Match) -> Bools:
        """Tell which ties hold relevant items and others."""
        last = self._last_rank(match)[ties.query]
        return np.asarray((ties.best <= last) & (last < ties.worst))

    def _last_rank(self, match: Match) -> Ints:
        """Return the rank of each query's last relevant item; 0 where there is none."""
        ideals = match.ideals
        count = ideals.sizes if ideals.grades is None else match.relevant(self.rel)
        return np.where(count > 0, np.append(ideals.ranks, 0)[ideals.offsets[:-1] + count - 1], 0)


@dataclass(frozen=True, kw_only=True)
class JudgedRelevance(JudgedOnly, Relevance, abstract=True):
    """A measure of relevance that can leave out unjudged items."""


class Retrieved(JudgedRelevance, abstract=True):
    """A measure that divides the number of relevant items in the first k."""

    unordered: ClassVar[bool] = True
    averages_ties: ClassVar[bool] = True

    @abstractmethod
    def whole(self, relevant: Ints) -> Floats | Ints:
        """Return what is divided by, where a query has this many relevant items."""

    def score_considered(self, match: Match) -> Floats:
        """Score every query."""
        return ratio(self.presence(match).sum(axis=1), self.whole(match.relevant(self.rel)))


class P(Retrieved):
    """Precision: fraction of the first k that is relevant.

    P@k = relevant items in the first k ÷ k.
    """

    name: ClassVar[str] = "P"
    bounded: ClassVar[str] = "P@10"

    def whole(self, relevant: Ints) -> Floats | Ints:
        """Return the cutoff."""
        return np.full(len(relevant), self.cutoff)


class R(Retrieved):
    """Recall: fraction of the relevant items in the first k.

    R@k = relevant items in the first k ÷ all relevant items.
    """

    name: ClassVar[str] = "R"

    def whole(self, relevant: Ints) -> Floats | Ints:
        """Return the number of relevant items."""
        return relevant


class RCap(Retrieved):
    """Recall, of what the first k can hold.

    R_cap@k = relevant items in the first k ÷ min(k, all relevant items).
    """

    name: ClassVar[str] = "R_cap"
    source: ClassVar[str] = "as in BEIR"
    bounded: ClassVar[str] = "R_cap@10"

    def whole(self, relevant: Ints) -> Floats | Ints:
        """Return how many relevant items the first k can hold."""
        return np.minimum(relevant, self.cutoff or 0)


class F1(Retrieved):
    """Harmonic mean of P@k and R@k.

    F1@k = 2 · relevant items in the first k ÷ (k + all relevant items), the harmonic mean of P@k and R@k.
    """

    name: ClassVar[str] = "F1"
    bounded: ClassVar[str] = "F1@10"

    def whole(self, relevant: Ints) -> Floats | Ints:
        """Return the mean of the cutoff and the number of relevant items."""
        return ((self.cutoff or 0) + relevant) / 2


class Rprec(JudgedRelevance):
    """Precision at the number of relevant items.

    Rprec = relevant items in the first R ÷ R, R the number of relevant items.
    """

    name: ClassVar[str] = "Rprec"
    source: ClassVar[str] = "Buckley and Voorhees 2005"
    at: ClassVar[str | None] = None
    averages_ties: ClassVar[bool] = True

    def decided_by(self, ties: MixedTies, match: Match) -> Bools:
        """Tell which ties can change the score: across the number of relevant items."""
        last = match.relevant(self.rel)[ties.query]
        across = (ties.begin < last) & (last < ties.end)
        return self.differ(ties, match) & (across | self.judged_only)

    def score_considered(self, match: Match) -> Floats:
        """Score every query."""
        presence = self.presence(match)
        within = np.arange(presence.shape[1]) < match.relevant(self.rel)[:, None]
        return self.fraction_of_relevant((presence * within).sum(axis=1), match)


ROUNDING = "relevant items that recall asks for: up, as trec_eval 9 rounds, or to the nearest, as 10 does"
RECALLS = tuple(tenths / 10 for tenths in range(11))


@dataclass(frozen=True, kw_only=True)
class InterpolatedPrecision(JudgedRelevance, abstract=True):
    """What measures of interpolated precision have in common."""

    source: ClassVar[str] = "Salton and McGill 1983; as trec_eval rounds r"
    cumulative: ClassVar[bool] = False

    rounding: str = parameter("up", ROUNDING, choices=("up", "nearest"))

    def at_recall(self, recall: float, match: Match) -> Floats:
        """Return the highest precision from which on the recall is at least this, of every query."""
        found = np.cumsum(self.hits(match), axis=1)
        needed = recall * match.relevant(self.rel)
        if self.rounding == "up":
            needed = np.floor(needed + 0.9)  # as in trec_eval 9, so that 10% of an item asks for one more
        else:
            needed = np.floor(needed) + (needed - np.floor(needed) >= 0.5)
        position = np.arange(1, found.shape[1] + 1)
        counts = (found >= needed[:, None]) & (position <= match.lengths[:, None])  # no further than the list goes
        return np.asarray(np.where(counts, found / position, 0.0).max(axis=1))


@dataclass(frozen=True, kw_only=True)
class IPrec(InterpolatedPrecision):
    """Interpolated precision at recall r: IPrec@0.1.

    IPrec@r = the highest precision at any position from which on the recall is at least r.
    """

    name: ClassVar[str] = "IPrec"
    at: ClassVar[str | None] = "recall"

    recall: float | None = parameter(None, "recall from which on precision counts", number=UNIT)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.recall is None:
            raise MeasureError("needs-cutoff", measure=self.name, what="recall", example="IPrec@0.1")

    def score_considered(self, match: Match) -> Floats:
        """Score every query."""
        return self.at_recall(self.recall or 0.0, match)


class IPrec11(InterpolatedPrecision):
    """11-point average of interpolated precision.

    IPrec11 = the mean of IPrec@0, IPrec@0.1, … IPrec@1.
    """

    name: ClassVar[str] = "IPrec11"
    at: ClassVar[str | None] = None

    def score_considered(self, match: Match) -> Floats:
        """Score every query."""
        return total(np.stack([self.at_recall(recall, match) for recall in RECALLS], axis=1)) / len(RECALLS)


class FirstHit(JudgedRelevance, abstract=True):
    """A measure of the first relevant item."""

    averages_ties: ClassVar[bool] = True

    def decided_by(self, ties: MixedTies, match: Match) -> Bools:
        """Tell which ties can change the score: those without a relevant item above them."""
        relevant = match.ideals.ranks[match.place] <= self._last_rank(match)[match.query]
        first = np.full(match.queries, np.iinfo(np.int64).max)
        np.minimum.at(first, match.query[relevant], match.position[relevant])
        return super().decided_by(ties, match) & (ties.begin <= first[ties.query])


class Success(FirstHit):
    """Whether a relevant item is in the first k.

    Success@k = 1 where a relevant item is in the first k, else 0.
    """

    name: ClassVar[str] = "Success"
    bounded: ClassVar[str] = "Success@10"
    unordered: ClassVar[bool] = True

    def score_considered(self, match: Match) -> Floats:
        """Score every query."""
        if isinstance(match, TiedMatch):
            return np.minimum(1.0, total(match.first_hit(self.cutoff, self.rel)))
        return np.asarray(self.hits(match).any(axis=1), np.float64)


class RR(FirstHit):
    """Reciprocal rank of the first relevant item.

    RR@k = 1 ÷ the position of the first relevant item in the first k.
    """

    name: ClassVar[str] = "RR"
    source: ClassVar[str] = "Kantor and Voorhees 2000"

    def score_considered(self, match: Match) -> Floats:
        """Score every query."""
        if isinstance(match, TiedMatch):
            first = match.first_hit(self.cutoff, self.rel)
            return total(first / np.arange(1, first.shape[1] + 1))
        hits = self.hits(match)
        return np.where(hits.any(axis=1), 1.0 / (hits.argmax(axis=1) + 1), 0.0)


class AP(JudgedRelevance):
    """Average precision.

    AP@k = Σ precision at each relevant item in the first k ÷ all relevant items.
    """

    name: ClassVar[str] = "AP"
    source: ClassVar[str] = "Buckley and Voorhees 2000"
    averages_ties: ClassVar[bool] = True

    def score_considered(self, match: Match) -> Floats:
        """Score every query."""
        if isinstance(match, TiedMatch):
            return self.fraction_of_relevant(total(match.precision_at_hits(self.cutoff, self.rel)), match)
        hits = self.hits(match)
        precision = np.cumsum(hits, axis=1) / np.arange(1, hits.shape[1] + 1)
        return self.fraction_of_relevant(total(np.where(hits, precision, 0.0)), match)


class GMAP(AP):
    """Average precision; geometric mean over queries.

    GMAP = the geometric mean of AP over queries, in which a query counts at least 0.00001.
    """

    name: ClassVar[str] = "GMAP"
    source: ClassVar[str] = "Robertson 2006"
    at: ClassVar[str | None] = None
    aggregate: ClassVar[Aggregate] = "geometric"
    averages_ties: ClassVar[bool] = False
