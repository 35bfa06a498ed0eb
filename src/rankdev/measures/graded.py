"""nDCG, DCG, ERR, nERR and RBP; BPM and INST, whose users stop when they have gained enough."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from rankdev._common.arrays import Bools, Floats
from rankdev._common.checks import is_number
from rankdev.errors import MeasureError
from rankdev.measures.base import (
    NON_NEGATIVE,
    POSITIVE,
    SHARE,
    UNIT_RANGE,
    JudgedOnly,
    Measure,
    Number,
    bad_parameter,
    parameter,
)
from rankdev.measures.match import JUDGED, Match, MixedTies, ratio, scaled, total
from rankdev.measures.precision import JudgedRelevance


def gain_map(gains: object) -> tuple[tuple[float, float], ...] | str | None:
    """Return gains by grade as pairs, as in ``{1:1,2:10}``; a grade that is not in the map gains itself.

    >>> gain_map({2: 10, 0: 0, 1: 1}), gain_map({1: 1, 2: 2})
    (((2.0, 10.0),), 'native')
    """
    if not isinstance(gains, Mapping) and not (isinstance(gains, tuple) and {*map(type, gains)} == {tuple}):
        return None
    pairs = []
    for grade, gain in dict(gains).items():
        numbers = is_number(grade) and is_number(gain)
        if not (numbers and math.isfinite(grade) and 0 <= gain < math.inf) or grade <= 0 < gain:
            raise MeasureError("bad-gain", grade=grade, gain=gain)
        if grade > 0 and grade != gain:
            pairs.append((float(grade), float(gain)))
    return tuple(sorted(pairs)) or "native"


def exponential(grades: Floats, unit: Floats | float) -> Floats:
    """Return (2^g − 1) ÷ 2^unit: of high grades without overflow, of low ones without loss."""
    low = np.expm1(np.minimum(grades, 1) * np.log(2)) * np.exp2(np.negative(unit))
    return np.where(grades < 1, low, np.exp2(np.maximum(grades, 1) - unit) - np.exp2(np.negative(unit)))


def exponential_gains(grades: Floats, highest: Floats) -> Floats:
    """Return 2^g − 1 up to a factor that is common to a query's gains and brings that of the highest grade near 1."""
    return exponential(grades, np.floor(highest))


@dataclass(frozen=True, kw_only=True)
class NDCG(JudgedOnly):
    """Normalised discounted cumulative gain.

    nDCG@k = Σ gain(i) / log2(i + 1) ÷ the same of the best k reference items.
    """

    name: ClassVar[str] = "nDCG"
    range: ClassVar[tuple[float, float]] = UNIT_RANGE
    source: ClassVar[str] = "Järvelin and Kekäläinen 2002"
    averages_ties: ClassVar[bool] = True

    gains: str | tuple[tuple[float, float], ...] = parameter(
        "native",
        "grades: native, made from ranks, or a map {grade:gain,…}",
        choices=("native", "binary", "inverse", "linear"),
        convert=gain_map,
    )
    dcg: str = parameter("log2", "gain: the grade g (log2) or 2^g − 1 (exp-log2)", choices=("log2", "exp-log2"))

    def score_considered(self, match: Match) -> Floats:
        """Score every query."""
        shared = match.ideals.shared
        if self.text not in shared:
            shared[self.text] = self._gains(match)
        gains, ideal = shared[self.text]
        return _discounted(match.mean(gains[match.place], self.cutoff)) / ideal

    def _gains(self, match: Match) -> tuple[Floats, Floats]:
        """Return the gain of each reference item, up to a factor of its query, and the ideal score to divide by."""
        grades, ideals = self._item_grades(match), match.ideals
        best = ideals.first(self._best_first(grades, match), self.cutoff)
        gain = exponential_gains if self.dcg == "exp-log2" else scaled
        ideal = _discounted(gain(best, best[:, :1]))
        return gain(grades, np.repeat(best[:, 0], ideals.sizes)), np.where(ideal > 0, ideal, np.inf)

    def differ(self, ties: MixedTies, match: Match) -> Bools:
        """Tell which ties hold items of different gain; binary gains are the same for all of the reference."""
        return super().differ(ties, match) & ((self.gains != "binary") | (ties.worst >= JUDGED))

    @property
    def ordinal(self) -> bool:
        """Whether gains are made from ranks."""
        return self.gains in ("inverse", "linear")

    def merits(self, match: Match) -> Floats:
        """Return the gain of each reference item; only a map can give a better item less."""
        return super().merits(match) if isinstance(self.gains, str) else self._item_grades(match)

    def _item_grades(self, match: Match) -> Floats:
        ideals = match.ideals
        if not isinstance(self.gains, str):
            gains = match.native_grades.copy()
            for grade, gain in self.gains:
                gains[match.native_grades == grade] = gain
            return gains
        if self.gains == "native":
            one_tier = ideals.grades is None and (ideals.tiers <= 1).all()  # which has one gain, whatever it is
            return np.ones(len(ideals.ranks)) if one_tier else match.native_grades
        if self.gains == "binary":
            return np.ones(len(ideals.ranks))
        if self.gains == "inverse":
            return 1.0 / ideals.ranks
        return (np.repeat(ideals.tiers, ideals.sizes) - ideals.ranks + 1).astype(np.float64)

    def _best_first(self, grades: Floats, match: Match) -> Floats:
        """Sort each query's grades; only a map can give a better item less."""
        if isinstance(self.gains, str):
            return grades
        owner = np.repeat(np.arange(match.queries), match.ideals.sizes)
        return grades[np.lexsort((-grades, owner))]


@dataclass(frozen=True, kw_only=True)
class DCG(NDCG):
    """Discounted cumulative gain, not normalised.

    DCG@k = Σ gain(i) / log2(i + 1), not normalised.
    """

    name: ClassVar[str] = "DCG"
    range: ClassVar[tuple[float, float]] = (0.0, math.inf)

    def score_considered(self, match: Match) -> Floats:
        """Score every query."""
        gains = self._item_grades(match)[match.place]
        if self.dcg == "exp-log2":
            _check_grades(match.ideals.highest_grade, GRADE.high, self.name)
            gains = exponential(gains, 0.0)
        return _discounted(match.mean(gains, self.cutoff))


def _discounted(gains: Floats) -> Floats:
    return total(gains / _discounts(gains.shape[1]))


@lru_cache
def _discounts(depth: int) -> Floats:
    return np.log2(np.arange(2, depth + 2))


MAX_GRADE = "highest possible grade (4 in gdeval)"
LINEAR = -60  # ERR is proportional to grades below 2 to this power
GRADE = Number("a number above 0 and below 1000", 0, 1000, open=True)  # 2 to this power is still a number


@dataclass(frozen=True, kw_only=True)
class ERR(Measure):
    """Expected reciprocal rank.

    ERR@k = Σ 1/i · P(stop at i), with P(satisfied by grade g) = (2^g − 1) ÷ 2^max_grade.
    """

    name: ClassVar[str] = "ERR"
    range: ClassVar[tuple[float, float]] = UNIT_RANGE
    source: ClassVar[str] = "Chapelle, Metzler, Zhang and Grinspan 2009"

    max_grade: float = parameter(4.0, MAX_GRADE, number=GRADE)

    def score(self, match: Match) -> Floats:
        """Score every query."""
        _check_grades(float(match.native_grades.max(initial=0.0)), self.max_grade, self.name)
        return _expected(exponential(match.grades(self.cutoff), self.max_grade))


class NERR(ERR):
    """Expected reciprocal rank ÷ that of the ideal list.

    nERR@k = ERR@k ÷ the ERR@k of the best k reference items, best first.
    """

    name: ClassVar[str] = "nERR"

    def score(self, match: Match) -> Floats:
        """Score every query."""
        _check_grades(float(match.native_grades.max(initial=0.0)), self.max_grade, self.name)
        got, best = match.grades(self.cutoff), match.ideals.first(match.native_grades, self.cutoff)
        lift = np.maximum(0, LINEAR - np.frexp(best[:, :1])[1])  # lest the probabilities of tiny grades become 0
        return ratio(*(_expected(exponential(np.ldexp(grades, lift), self.max_grade)) for grades in (got, best)))


def _check_grades(highest: float, max_grade: float, measure: str) -> None:
    if highest > max_grade:
        raise MeasureError("high-grade", measure=measure, grade=highest, max_grade=max_grade)


def _expected(satisfied: Floats) -> Floats:
    """Sum 1/i · P(stop at i) over the positions, from the probability that each satisfies."""
    unsatisfied_before = np.ones_like(satisfied)
    unsatisfied_before[:, 1:] = np.cumprod(1 - satisfied, axis=1)[:, :-1]
    return total(satisfied * unsatisfied_before / np.arange(1, satisfied.shape[1] + 1))


@dataclass(frozen=True, kw_only=True)
class RBP(JudgedRelevance):
    """Rank-biased precision.

    RBP(p)@k = (1 − p) Σ p^(i − 1) · gain(i), not normalised; a relevant item gains 1, or by its grade.
    """

    name: ClassVar[str] = "RBP"
    source: ClassVar[str] = "Moffat and Zobel 2008"
    averages_ties: ClassVar[bool] = True

    p: float = parameter(0.8, "persistence", number=SHARE, written=True)
    gains: str = parameter(
        "binary",
        "1 for every relevant item, grade ÷ max_grade, or grade ÷ the query's highest grade",
        choices=("binary", "graded", "relative"),
    )
    max_grade: float | None = parameter(None, "highest possible grade; without it, of all references", number=POSITIVE)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.gains != "graded" and self.max_grade is not None:
            raise MeasureError("not-needed", measure=self.name, name="max_grade", use="gains=graded")

    def differ(self, ties: MixedTies, match: Match) -> Bools:
        """Tell which ties hold items of different gain."""
        return super().differ(ties, match) if self.gains == "binary" else Measure.differ(self, ties, match)

    def score_considered(self, match: Match) -> Floats:
        """Score every query."""
        gains = self.presence(match) if self.gains == "binary" else self._graded_gains(match)
        return (1 - self.p) * total(self.p ** np.arange(gains.shape[1]) * gains)

    def _graded_gains(self, match: Match) -> Floats:
        highest = match.highest_grade
        if self.max_grade is not None:
            _check_grades(highest, self.max_grade, self.name)
        grades = match.native_grades[match.place]
        unit = match.native_grades[match.ideals.offsets[match.query]] if self.gains == "relative" else highest or 1.0
        gains = np.where(grades >= (self.rel or 0.0), grades, 0.0) / (self.max_grade or unit)
        return match.mean(gains, self.cutoff)


DEEPEST = 1000  # as in cwl-eval
WANTED = Number("a number above 0 and below 1e100", 0, 1e100, open=True)  # whose square is a number


@dataclass(frozen=True, kw_only=True)
class WantedGain(Measure, abstract=True):
    """A measure of users who want some gain: Σ examined(i) · gain(i) ÷ Σ examined(i), a list followed by nothing."""

    range: ClassVar[tuple[float, float]] = UNIT_RANGE
    cumulative: ClassVar[bool] = False

    T: float = parameter(1.0, "the gain that users want", number=WANTED)
    min_rel: float = parameter(0.0, "the grade without gain", number=NON_NEGATIVE)
    max_rel: float | None = parameter(None, "the grade of full gain", number=POSITIVE)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_rel is None or self.max_rel <= self.min_rel:
            raise bad_parameter("max_rel", self.max_rel, "a grade above min_rel", measure=self.name)

    def gains(self, match: Match) -> Floats:
        """Return gains from 0 to 1 by [query, position]."""
        least, most = self.min_rel, self.max_rel or math.inf
        grades = match.dense(match.native_grades[match.place], min(self.cutoff or DEEPEST, DEEPEST))
        return np.asarray((np.clip(grades, least, most) - least) / (most - least))


@dataclass(frozen=True, kw_only=True)
class BPM(WantedGain):
    """Bejeweled player model: mean gain until it is enough.

    BPM(T)@k = the mean gain of the items down to where they gain T, or of k items.
    """

    name: ClassVar[str] = "BPM"
    bounded: ClassVar[str] = "BPM(max_rel=3)@10"
    source: ClassVar[str] = "Zhang, Liu, Li, Zhang, Xu and Ma 2017"

    def score(self, match: Match) -> Floats:
        """Score every query."""
        gains = self.gains(match)
        gained = np.cumsum(gains, axis=1)
        wanting = np.concatenate([np.ones((len(gains), 1), bool), gained[:, :-1] < self.T], axis=1)
        last = min(self.cutoff or DEEPEST, DEEPEST)
        examined = np.where(gained[:, -1] < self.T, last, wanting.sum(axis=1))
        return total(np.where(wanting, gains, 0.0)) / examined


@dataclass(frozen=True, kw_only=True)
class INST(WantedGain):
    """Mean gain of users who go on as long as they want more.

    INST(T): users go on from position i with probability ((i + a − 1) ÷ (i + a))², a = 2T − the gain so far.
    """

    name: ClassVar[str] = "INST"
    at: ClassVar[str | None] = None
    source: ClassVar[str] = "Bailey, Moffat, Scholer and Thomas 2015"

    def score(self, match: Match) -> Floats:
        """Score every query."""
        from scipy.special import polygamma

        gains = self.gains(match)
        position = np.arange(1, gains.shape[1] + 1) + 2 * self.T - np.cumsum(gains, axis=1)
        reached = np.cumprod(((position - 1) / position) ** 2, axis=1)
        examined = np.concatenate([np.ones((len(gains), 1)), reached[:, :-1]], axis=1)
        # positions after the last gain are a sum of 1 ÷ n², however wide the table of all queries is
        numbers = np.arange(1, gains.shape[1] + 1)
        end = np.maximum(1, (numbers * (gains > 0)).max(axis=1))
        row = np.arange(len(gains))
        last = position[row, end - 1]
        below = reached[row, end - 1] * last**2 * (polygamma(1, last) - polygamma(1, last + DEEPEST - end))
        return total(examined * gains) / (total(np.where(numbers <= end[:, None], examined, 0.0)) + below)
