"""One ranking scored and explained."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import polars as pl

from rankdev._common.arrays import Floats, Ints
from rankdev._common.result import Result
from rankdev.data.reference import Reference
from rankdev.errors import DataError, UsageError
from rankdev.evaluation.measuring import items_of, match_one, rdq_with
from rankdev.evaluation.placings import (
    ROUNDING,
    BestPlacing,
    IdealScore,
    assigned,
    best_first,
    check_cumulative,
    ideal_match,
)
from rankdev.measures import Measure, parse
from rankdev.measures.rdq import RDQ

NOT_IN_REFERENCE = "not in the reference"
NONRELEVANT = "nonrelevant"
UNJUDGED = "unjudged"
DISPLACED = "displaced"
MISSING = "missing"
REPEATED = "repeated"
EMPTY = "(empty)"


@dataclass(frozen=True)
class Position:
    """One position of a ranking: the item there, its gain, and what is lost and why."""

    position: int
    item: str | None
    rank: int | None
    ideal_rank: int
    weight: float
    credit: float
    earned: float
    lost: float
    why: str


@dataclass(frozen=True, kw_only=True)
class Explanation(Result):
    """A score decomposed by position: ``lost`` over the positions adds up to ``ideal_score`` − ``score``.

    The same splits by cause, as in :func:`rankdev.losses`: ``retrieval_loss`` remains even in the best placing of all
    returned items, ``cutoff_loss`` is what items below the cutoff would add, ``ordering_loss`` what another order of
    the items above it would gain. An item that gains more than an ideal ranking gains there regains what was lost
    above: its ``lost`` is negative.

    Attributes
    ----------
    measure : str
        The measure.
    score : float
        Score of the ranking.
    best_score : float
        The best score that the items above the cutoff could get in another order.
    best_order : tuple of str
        That order. An item counts once, so where only repeats are left that would count too early, a position stays
        ``"(empty)"``.
    best_of_all : float
        The best score that all returned items could get, also those below the cutoff.
    not_returned : tuple of (str, int)
        Reference items that the ranking lacks, with their ranks.
    below_cutoff : tuple of (str, int, int)
        Reference items that it has below the cutoff only, with their ranks and positions.
    positions : tuple of Position
        One entry per position, with the columns of :meth:`to_polars`.
    ideal_score : float
        Score of an ideal ranking: 1, except for measures such as RBP that are not normalised.
    remarks : tuple of str
        Notes on the result.

    See Also
    --------
    rankdev.explain : Returns it.
    """

    display: ClassVar = "rankdev.display.scores"

    measure: str
    score: float
    best_score: float
    best_order: tuple[str, ...]
    best_of_all: float
    not_returned: tuple[tuple[str, int], ...]
    below_cutoff: tuple[tuple[str, int, int], ...] = ()
    positions: tuple[Position, ...] = field(repr=False)
    ideal_score: float = 1.0
    remarks: tuple[str, ...] = ()

    made_with = ("measure",)

    @property
    def retrieval_loss(self) -> float:
        """Loss due to reference items that were not returned."""
        return self.ideal_score - self.best_of_all

    @property
    def cutoff_loss(self) -> float:
        """Loss due to reference items that were returned below the cutoff."""
        return self.best_of_all - self.best_score

    @property
    def ordering_loss(self) -> float:
        """Loss due to the order of the items above the cutoff."""
        return self.best_score - self.score

    def summary(self) -> pl.DataFrame:
        """Return the score and its losses; they add up to the ideal score.

        Returns
        -------
        polars.DataFrame
            One row: measure, score, lost_by_retrieval, lost_by_cutoff, lost_by_order, ideal_score.

        Examples
        --------
        >>> explain(["d1", "d2"], ["d1"], measure="AP@2").summary().row(0)
        ('AP@2', 0.5, 0.5, 0.0, 0.0, 1.0)
        """
        columns = {
            "score": self.score,
            "lost_by_retrieval": self.retrieval_loss,
            "lost_by_cutoff": self.cutoff_loss,
            "lost_by_order": self.ordering_loss,
            "ideal_score": self.ideal_score,
        }
        return pl.DataFrame({"measure": [self.measure], **columns})

    def to_polars(self) -> pl.DataFrame:
        """Return one row per position.

        Returns
        -------
        polars.DataFrame
            Columns position, item, rank, ideal_rank, weight, credit, ``earned``, lost and why.

        Examples
        --------
        >>> explain(["d1", "d2"], ["d1"], measure="AP@2").to_polars()["lost"].to_list()
        [0.0, 0.5]
        """
        return pl.DataFrame([vars(entry) for entry in self.positions], infer_schema_length=None)


def explain(
    reference: Any,
    ranking: Iterable[Any],
    k: int | None = None,
    *,
    measure: str | Measure | None = None,
    **parameters: Any,
) -> Explanation:
    """Decompose the score of one ranking by position.

    The gain of a position is what it adds to the score of the positions above it. For RDQ, ``weight`` is the
    position's weight and ``credit`` the item's; for other measures ``weight`` is the gain of an ideal ranking there,
    and ``credit`` the fraction of it that was gained.

    Parameters
    ----------
    reference : Reference, list of str or list of lists of str
        Relevant items or tiers, best first.
    ranking : iterable of str, or dict of str to float
        Items, best first, or the score of each item; also those below the cutoff.
    k : int, optional
        Cutoff of RDQ. Default: none.
    measure : str or Measure, optional
        A measure that is a sum over positions, such as nDCG, AP, RBP, P or RR. Default: RDQ with ``k`` and
        ``parameters``.
    **parameters : Any
        Parameters of RDQ, such as ``alpha``.

    Returns
    -------
    Explanation
        One entry per position, and the loss by retrieval, by the cutoff and by order.

    Examples
    --------
    >>> explanation = explain(["d1", "d2"], ["x", "d1"], k=2)
    >>> [(entry.item, entry.why) for entry in explanation.positions]
    [('x', 'not in the reference'), ('d1', 'displaced')]
    """
    if measure is not None and (k is not None or parameters):
        raise UsageError("not-together", name="measure", other=next(iter(parameters), "k"))
    chosen = rdq_with(k, parameters) if measure is None else parse(measure)
    check_cumulative(chosen)
    known = Reference.of(reference)
    if not known:
        raise DataError("nothing-to-explain")
    return _Explained(known, items_of(ranking), chosen).found()


class _Explained:
    """A list next to its reference, and what a measure makes of it."""

    def __init__(self, reference: Reference, ranking: list[str], measure: Measure) -> None:
        self.reference, self.ranking, self.measure = reference, ranking, measure
        self.match = match_one(reference, ranking)
        self.returned = ranking[: measure.reach]

    def found(self) -> Explanation:
        """Put everything together."""
        positions = self._by_credit(self.measure) if isinstance(self.measure, RDQ) else self._by_gain()
        place = {item: i + 1 for i, item in reversed(list(enumerate(self.ranking)))}
        cut = len(self.returned)
        return Explanation(
            measure=str(self.measure),
            score=self._value(self.measure),
            best_score=self._value(BestPlacing(self.measure, cut=True)),
            best_order=self._best_order(),
            best_of_all=self._value(BestPlacing(self.measure, cut=False)),
            not_returned=tuple((item, rank) for item, rank in self.reference.items() if item not in place),
            below_cutoff=tuple(
                (item, rank, place[item]) for item, rank in self.reference.items() if place.get(item, 0) > cut
            ),
            positions=positions,
            ideal_score=self._value(IdealScore(self.measure)),
        )

    def _value(self, scorer: Measure | BestPlacing | IdealScore) -> float:
        return float(scorer.score(self.match)[0])

    def _by_credit(self, measure: RDQ) -> tuple[Position, ...]:
        ideals = self.match.ideals
        counted = min(len(self.reference), measure.cutoff or len(self.reference))
        depth = max(counted, len(self.returned))
        ideal = ideals.ideal_ranks(depth)[0]
        relative = measure.position_weights.relative(depth)
        normalised = relative / np.cumsum(relative)[counted - 1]
        credit = np.zeros(depth)
        inside = self.match.position < len(self.returned)
        at, ranks = self.match.position[inside], ideals.ranks[self.match.place[inside]]
        credit[at] = measure.credit(ideal[at], ranks, ideals.sizes)
        could = np.where(np.arange(depth) < counted, normalised, 0.0)
        return self._positions(ideal, measure.position_weights.first(depth), credit, normalised * credit, could)

    def _by_gain(self) -> tuple[Position, ...]:
        """Decompose a score that is a sum over positions into what each position adds."""
        best = ideal_match(self.match, self.measure)
        items = list(self.reference)
        ideal_list = [items[place] for place in best.place][: self.measure.reach]
        earned, could = (self._added(ranking) for ranking in (self.returned, ideal_list))
        depth = max(len(earned), len(could), 1)
        earned, could = (np.pad(values, (0, depth - len(values))) for values in (earned, could))
        ideal = self.match.ideals.ideal_ranks(depth)[0]
        credit = np.divide(earned, could, out=np.zeros(depth), where=could > 0)
        return self._positions(ideal, could, credit, earned, could)

    def _added(self, ranking: Sequence[str]) -> Floats:
        """Return what each position adds to the score of those above it."""
        totals = np.array(
            [float(self.measure.score(match_one(self.reference, ranking[:end]))[0]) for end in range(len(ranking) + 1)]
        )
        if not np.isfinite(totals).all() or totals[0]:
            raise UsageError("not-a-sum", measure=str(self.measure))
        return np.diff(totals)

    def _positions(
        self, ideal: Ints, weights: Floats, credit: Floats, earned: Floats, could: Floats
    ) -> tuple[Position, ...]:
        seen: set[str] = set()
        positions = []
        for i in range(len(ideal)):
            item = self.returned[i] if i < len(self.returned) else None
            gain = float(earned[i])
            lost = float(could[i]) - gain
            why = self._why(item, repeated=item in seen) if abs(lost) > ROUNDING else ""
            rank = None if item is None else self.reference.get(item)
            weight, part = float(weights[i]), float(credit[i])
            positions.append(Position(i + 1, item, rank, int(ideal[i]), weight, part, gain, lost, why))
            if item is not None:
                seen.add(item)
        return tuple(positions)

    def _why(self, item: str | None, *, repeated: bool) -> str:
        if item is None:
            return MISSING
        if item in self.reference:
            return REPEATED if repeated else DISPLACED
        if self.reference.nonrelevant is None:
            return NOT_IN_REFERENCE
        return NONRELEVANT if item in self.reference.nonrelevant else UNJUDGED

    def _best_order(self) -> tuple[str, ...]:
        """Place the items above the cutoff as well as can be, and all that gains nothing on the other positions."""
        items, cut = list(self.reference), len(self.returned)
        if isinstance(self.measure, RDQ):
            everything, nothing = np.ones(1, bool), np.full(1, -1.0)
            found = assigned(self.match, self.measure, cut, everything, nothing)
            hits = next((placing for _, _, placing in found), {})
            placed = {position: items[self.match.place[hit]] for position, hit in hits.items()}
        else:
            best = best_first(self.match, self.measure, cut)
            placed = dict(enumerate(items[place] for place in best.place))
            poor = self.reference.nonrelevant or {}
            judged = dict.fromkeys(item for item in self.returned if item in poor)
            placed |= dict(enumerate(judged, len(placed)))
        return _filled(self.returned, placed)


def _filled(returned: Sequence[str], placed: Mapping[int, str]) -> tuple[str, ...]:
    """Complete an order in which some items have their positions; repeats come after them, or not at all."""
    place = {item: position for position, item in placed.items()}
    left = list(returned)
    for item in place:
        left.remove(item)
    repeats = sorted((item for item in left if item in place), key=place.__getitem__)
    others = [item for item in left if item not in place]
    order = dict(placed)
    free = [position for position in range(len(returned)) if position not in placed]
    for position in reversed(free):  # any position below its item will do for a repeat, any at all for other items
        while repeats and place[repeats[-1]] > position:
            repeats.pop()
        if repeats:
            order[position] = repeats.pop()
    rest = iter(others)
    return tuple(order[i] if i in order else next(rest, EMPTY) for i in range(len(returned)))
