"""One ranking scored and explained."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import polars as pl

from rankdev._common.arrays import Floats, Ints
from rankdev._common.checks import is_list
from rankdev._common.result import Result
from rankdev._common.tables import as_id
from rankdev.core.single import Reference
from rankdev.errors import DataError, UsageError, shown, suggestion
from rankdev.measures import Measure, parse
from rankdev.measures.match import Ideals, Match
from rankdev.measures.rdq import RDQ


def score(reference: Any, ranking: Iterable[Any], measure: str | Measure = "RDQ@10") -> float:
    """Score one ranking.

    Parameters
    ----------
    reference : Reference, list of str or list of lists of str
        Relevant items or tiers, best first.
    ranking : iterable of str, or dict of str to float
        Items, best first, or the score of each item.
    measure : str or Measure, default "RDQ@10"
        Such as ``"nDCG(gains=binary)@5"``.

    Returns
    -------
    float
        NaN where the measure is not available.

    Examples
    --------
    >>> score(["d1", "d2"], ["d2", "d1"], "AP@5"), round(score(["d1", "d2"], ["d2", "d1"]), 4)
    (1.0, 0.5255)
    """
    return float(parse(measure).score(match_one(Reference.of(reference), items_of(ranking)))[0])


def match_one(reference: Reference, ranking: Sequence[str]) -> Match:
    """Match one ranking with its reference: first occurrences of reference items."""
    place = {item: i for i, item in enumerate(reference)}
    first = {item: position for position, item in reversed(list(enumerate(ranking)))}
    hits = sorted((position, place[item]) for item, position in first.items() if item in place)
    nonrelevant = reference.nonrelevant or {}
    judged = sorted((position, nonrelevant[item]) for item, position in first.items() if item in nonrelevant)
    known = reference.nonrelevant is not None
    ideals = Ideals(
        np.array([0, len(reference)]),
        np.array(list(reference.values()), np.int64),
        None if reference.grades is None else np.array([reference.grades[item] for item in reference]),
        np.array([0, len(nonrelevant)]) if known else None,
        np.array(list(nonrelevant.values()), np.float64) if known else None,
    )
    return Match(
        ideals,
        np.zeros(len(hits), np.int64),
        np.array([position for position, _ in hits], np.int64),
        np.array([index for _, index in hits], np.int64),
        np.array([len(ranking)]),
        np.zeros(len(judged), np.int64),
        np.array([position for position, _ in judged], np.int64),
        np.array([grade for _, grade in judged], np.float64),
    )


def items_of(ranking: Iterable[Any]) -> list[str]:
    """Return the ids of a ranking, best first."""
    if isinstance(ranking, Mapping):  # item → score, as in a run
        from rankdev.core.runs import Run

        return Run.from_scores({"ranking": ranking}).get("ranking", [])
    if isinstance(ranking, Set) or not is_list(ranking):
        raise DataError(f"a ranking is a list of items, best first, or a mapping item → score; got {shown(ranking)}")
    return [as_id(item) for item in ranking]


def rdq_with(k: int | None, parameters: dict[str, Any]) -> RDQ:
    """Make RDQ@k; refuse parameters that it does not have."""
    known = [entry.name for entry in RDQ.parameters()]
    for name in parameters:
        if name not in known:
            raise UsageError(f"unknown parameter {name!r}; RDQ has {', '.join(known)}{suggestion(name, known)}")
    return RDQ(cutoff=k, **parameters)


NOT_IN_REFERENCE = "not in the reference"
DISPLACED = "displaced"
MISSING = "missing"
REPEATED = "repeated"
NOT_CUMULATIVE = "is not built up position by position; explain RDQ, nDCG, AP, RBP, P or RR"
ROUNDING = 1e-12  # a loss below this is none


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

    The loss splits in two: ``retrieval_loss`` remains even in the ``best_score`` that the returned items could get in
    another order (repeats count as items outside the reference), ``ordering_loss`` is what that order would gain. An
    item that gains more than an ideal ranking gains there regains what was lost above: its ``lost`` is negative.

    Attributes
    ----------
    measure : str
        The measure.
    score : float
        Score of the ranking.
    best_score : float
        The best score that the returned items could get in another order.
    best_order : tuple of str
        That order.
    not_returned : tuple of (str, int)
        Reference items that the ranking lacks, with their ranks.
    positions : tuple of Position
        One entry per position, with the columns of :meth:`to_polars`.
    ideal_score : float
        Score of an ideal ranking: 1, but for measures such as RBP that are not normalised.
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
    not_returned: tuple[tuple[str, int], ...]
    positions: tuple[Position, ...] = field(repr=False)
    ideal_score: float = 1.0
    remarks: tuple[str, ...] = ()

    made_with = ("measure",)

    @property
    def retrieval_loss(self) -> float:
        """Loss due to reference items that were not returned."""
        return self.ideal_score - self.best_score

    @property
    def ordering_loss(self) -> float:
        """Loss due to the order of the returned items."""
        return self.best_score - self.score

    def summary(self) -> pl.DataFrame:
        """Return the score and its losses; they add up to the ideal score.

        Returns
        -------
        polars.DataFrame
            One row: measure, score, lost_by_retrieval, lost_by_order.

        Examples
        --------
        >>> explain(["d1", "d2"], ["d1"], measure="AP@2").summary().row(0)
        ('AP@2', 0.5, 0.5, 0.0)
        """
        losses = {"lost_by_retrieval": [self.retrieval_loss], "lost_by_order": [self.ordering_loss]}
        return pl.DataFrame({"measure": [self.measure], "score": [self.score], **losses})

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
        Items, best first, or the score of each item.
    k : int, optional
        Cutoff of RDQ. Default: none.
    measure : str or Measure, optional
        A measure that is built up along the ranking, such as nDCG, AP, RBP, P or RR. Default: RDQ with ``k`` and
        ``parameters``.
    **parameters : Any
        Parameters of RDQ, such as ``alpha``.

    Returns
    -------
    Explanation
        One entry per position, and the loss by retrieval and by order.

    Examples
    --------
    >>> explanation = explain(["d1", "d2"], ["x", "d1"], k=2)
    >>> [(entry.item, entry.why) for entry in explanation.positions]
    [('x', 'not in the reference'), ('d1', 'displaced')]
    """
    if measure is not None and (k is not None or parameters):
        raise UsageError("give either a measure or k and RDQ's parameters, not both")
    chosen = rdq_with(k, parameters) if measure is None else parse(measure)
    if not chosen.cumulative:
        raise UsageError(f"{chosen} {NOT_CUMULATIVE}")
    if getattr(chosen, "judged_only", False):
        raise UsageError(f"{chosen} scores other positions than those shown; explain it without judged_only")
    known = Reference.of(reference)
    if not known:
        raise DataError("this query has no reference item, so every list scores 0; there is nothing to explain")
    returned = items_of(ranking)[: chosen.reach]
    return _explain_rdq(known, returned, chosen) if isinstance(chosen, RDQ) else _explain_sum(known, returned, chosen)


def _explain_rdq(reference: Reference, returned: list[str], measure: RDQ) -> Explanation:
    match = match_one(reference, returned)
    counted = min(len(reference), measure.cutoff or len(reference))
    depth = max(counted, len(returned))
    ideal = match.ideals.ideal_ranks(depth)[0]
    weights = measure.position_weights.first(depth)
    tiers = np.arange(1, int(match.ideals.tiers[0]) + 1)
    credits = measure.credit(ideal[:, None], tiers, match.ideals.sizes[:, None])
    relative = measure.position_weights.relative(depth)
    normalised = relative / np.cumsum(relative)[counted - 1]
    credit = np.zeros(depth)
    for i, item in _first_hits(reference, returned):
        credit[i] = credits[i, reference[item] - 1]
    could = np.where(np.arange(depth) < counted, normalised, 0.0)
    score = float(measure.score(match)[0])
    best_score, best_order = _best_order(reference, returned, normalised[:, None] * credits)
    best_score = max(score, best_score)  # the same sum in another order can be a rounding error less
    positions = _positions(reference, returned, ideal, weights, credit, normalised * credit, could)
    return Explanation(
        measure=str(measure),
        score=score,
        best_score=best_score,
        best_order=best_order,
        not_returned=_not_returned(reference, returned),
        positions=positions,
    )


def _explain_sum(reference: Reference, returned: list[str], measure: Measure) -> Explanation:
    """Decompose a score that is built up along the ranking; its best order is by rank."""
    ideal_list = list(reference)[: measure.reach]
    best = sorted(dict.fromkeys(returned), key=lambda item: reference.get(item, len(reference) + 1))
    earned, could = _added(reference, returned, measure), _added(reference, ideal_list, measure)
    depth = max(len(returned), len(ideal_list), 1)
    earned, could = (np.pad(values, (0, depth - len(values))) for values in (earned, could))
    ideal = match_one(reference, returned).ideals.ideal_ranks(depth)[0]
    credit = np.divide(earned, could, out=np.zeros(depth), where=could > 0)
    score, ideal_score = float(earned.sum()), float(could.sum())
    best_score = max(score, float(_added(reference, best, measure).sum()))
    positions = _positions(reference, returned, ideal, could, credit, earned, could)
    missing = _not_returned(reference, returned)
    return Explanation(
        measure=str(measure),
        score=score,
        best_score=best_score,
        best_order=tuple(best),
        not_returned=missing,
        positions=positions,
        ideal_score=max(ideal_score, best_score),
    )


def _added(reference: Reference, ranking: Sequence[str], measure: Measure) -> Floats:
    """Return what each position adds to the score of those above it."""
    totals = np.array(
        [float(measure.score(match_one(reference, ranking[:length]))[0]) for length in range(len(ranking) + 1)]
    )
    if not np.isfinite(totals).all() or totals[0]:
        raise UsageError(f"{measure} {NOT_CUMULATIVE}")
    return np.diff(totals)


def _positions(
    reference: Reference,
    returned: list[str],
    ideal: Ints,
    weights: Floats,
    credit: Floats,
    earned: Floats,
    could: Floats,
) -> tuple[Position, ...]:
    fresh = {i for i, _ in _first_hits(reference, returned)}
    positions = []
    for i in range(len(ideal)):
        item = returned[i] if i < len(returned) else None
        rank = None if item is None else reference.get(item)
        gain = float(earned[i])
        lost = float(could[i]) - gain
        why = _why(item, rank, i in fresh) if abs(lost) > ROUNDING else ""
        weight, part = float(weights[i]), float(credit[i])
        positions.append(Position(i + 1, item, rank, int(ideal[i]), weight, part, gain, lost, why))
    return tuple(positions)


def _first_hits(reference: Reference, returned: list[str]) -> list[tuple[int, str]]:
    """Return the positions of reference items, each at its first occurrence."""
    first = {item: position for position, item in reversed(list(enumerate(returned)))}
    return sorted((position, item) for item, position in first.items() if item in reference)


def _not_returned(reference: Reference, returned: list[str]) -> tuple[tuple[str, int], ...]:
    seen = set(returned)
    return tuple((item, rank) for item, rank in reference.items() if item not in seen)


def _why(item: str | None, rank: int | None, fresh: bool) -> str:
    if item is None:
        return MISSING
    if rank is None:
        return NOT_IN_REFERENCE
    return DISPLACED if fresh else REPEATED


def _best_order(reference: Reference, returned: list[str], earned: Floats) -> tuple[float, tuple[str, ...]]:
    """Find the order of the returned items that gains most: an assignment of items to positions, not a sort."""
    from scipy.optimize import linear_sum_assignment

    relevant = [item for item in dict.fromkeys(returned) if item in reference]
    gains = earned[: len(returned), [reference[item] - 1 for item in relevant]]
    positions, columns = linear_sum_assignment(gains, maximize=True)
    placed = dict(zip(positions.tolist(), (relevant[column] for column in columns), strict=True))
    rest = iter(_without(returned, relevant))
    order = tuple(placed[i] if i in placed else next(rest) for i in range(len(returned)))
    return min(1.0, float(gains[positions, columns].sum())), order


def _without(returned: list[str], relevant: list[str]) -> list[str]:
    """Return the list without the first occurrence of each relevant item."""
    left = list(returned)
    for item in relevant:
        left.remove(item)
    return left
