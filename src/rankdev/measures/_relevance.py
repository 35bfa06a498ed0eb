"""Relevance thresholds and gains."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankdev._common.arrays import Bools, Floats, Ints
from rankdev._common.checks import is_number
from rankdev.errors import MeasureError
from rankdev.measures.base import POSITIVE, Measure, parameter
from rankdev.measures.match import Match, scaled
from rankdev.measures.ties import MixedTies

MINUTE = 2.0**-60


class GainMap(Mapping[float, float]):
    """Gains by grade, as in ``{1:1,2:10}``; a grade that is not in the map gains itself.

    >>> str(GainMap({2: 10, 0: 0, 1: 1})), GainMap({2: 10}) == GainMap({1: 1, 2: 10.0})
    ('{2:10}', True)
    """

    def __init__(self, gains: Mapping[Any, Any]) -> None:
        pairs = []
        for grade, gain in gains.items():
            numbers = is_number(grade) and is_number(gain)
            if not (numbers and math.isfinite(grade) and 0 <= gain < math.inf) or grade <= 0 < gain:
                raise MeasureError("bad-gain", grade=grade, gain=gain)
            pairs.append((float(grade), float(gain)))
        self._pairs = tuple(sorted((grade, gain) for grade, gain in pairs if grade > 0 and grade != gain))
        self._gains = dict(self._pairs)

    def __getitem__(self, grade: float) -> float:
        return self._gains[grade]

    def __iter__(self) -> Iterator[float]:
        return iter(self._gains)

    def __len__(self) -> int:
        return len(self._pairs)

    def __hash__(self) -> int:
        return hash(self._pairs)

    def __repr__(self) -> str:
        return f"{{{','.join(f'{_shortest(grade)}:{_shortest(gain)}' for grade, gain in self._pairs)}}}"

    def of(self, grades: Floats) -> Floats:
        """Return the gain of each grade; one that is not in the map gains itself."""
        gains = grades.copy()
        for grade, gain in self._pairs:
            gains[grades == grade] = gain
        return gains


def exponential(grades: Floats, unit: Floats | float) -> Floats:
    """Return (2^g − 1) ÷ 2^unit: of high grades without overflow, of low ones without loss."""
    low = np.expm1(np.minimum(grades, 1) * np.log(2)) * np.exp2(np.negative(unit))
    return np.where(grades < 1, low, np.exp2(np.maximum(grades, 1) - unit) - np.exp2(np.negative(unit)))


def exponential_gains(grades: Floats, highest: Floats) -> Floats:
    """Return 2^g − 1 up to a factor that is common to a query's gains and brings that of the highest grade near 1."""
    # the gain of a minute grade is g · ln 2, to the last bit
    return np.where(highest < MINUTE, scaled(grades, highest), exponential(grades, np.floor(highest)))


def _shortest(number: float) -> str:
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)


REL = "lowest relevant grade; without it, any above 0"
JUDGED_ONLY = "remove unjudged items from the ranking"


@dataclass(frozen=True, kw_only=True)
class Relevance(Measure, abstract=True):
    """A measure that asks only whether an item is relevant."""

    rel: float | None = parameter(None, REL, number=POSITIVE)

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

    def none_above(self, ties: MixedTies, match: Match) -> Bools:
        """Tell which ties have no relevant item above them."""
        relevant = match.ideals.ranks[match.place] <= self._last_rank(match)[match.query]
        first = np.full(match.queries, np.iinfo(np.int64).max)
        np.minimum.at(first, match.query[relevant], match.position[relevant])
        return np.asarray(ties.begin <= first[ties.query])

    def _last_rank(self, match: Match) -> Ints:
        """Return the rank of each query's last relevant item; 0 where there is none."""
        ideals = match.ideals
        count = ideals.sizes if ideals.grades is None else match.relevant(self.rel)
        return np.where(count > 0, np.append(ideals.ranks, 0)[ideals.offsets[:-1] + count - 1], 0)

    def needs_cutoff(self) -> None:
        """Refuse to be without a cutoff."""
        if self.cutoff is None:
            raise MeasureError("needs-cutoff", measure=self.name, what="cutoff", example=f"{self.name}@10")


@dataclass(frozen=True, kw_only=True)
class JudgedRelevance(Relevance, abstract=True):
    """A measure of relevance that can leave out unjudged items."""

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
        """Score every query of a match that holds only the items that count."""


def considered(match: Match, judged_only: bool) -> Match:
    """Leave out unjudged items where that was asked for."""
    return match.judged_only if judged_only else match


def ratio(part: Floats | Ints, whole: Floats | Ints) -> Floats:
    """Divide; 0 where there is nothing to divide by."""
    return np.where(whole > 0, part / np.where(whole > 0, whole, 1), 0.0)
