"""One ranking scored and explained by position, or the first positions of all lists at once, as arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from rankdev._common.arrays import Bools, Floats, Ints
from rankdev._common.checks import check_choice
from rankdev._common.lazy import pl
from rankdev._common.result import Result
from rankdev.data import ids
from rankdev.data.references import Reference, References
from rankdev.data.run import Run
from rankdev.errors import DataError, UsageError
from rankdev.evaluation.evaluate import ONE, matched, ranked
from rankdev.evaluation.join import Known, join
from rankdev.evaluation.losses import (
    ROUNDING,
    BestPlacing,
    IdealScore,
    assigned,
    best_first,
    check_cumulative,
    ideal_match,
)
from rankdev.measures import Match, Measure, parse
from rankdev.measures.rdq import RDQ

NOT_IN_REFERENCE = "not in the reference"
NONRELEVANT = "nonrelevant"
UNJUDGED = "unjudged"
DISPLACED = "displaced"
MISSING = "missing"
REPEATED = "repeated"
EMPTY = "(empty)"
IN_PLACE = "in its place"
KINDS = (IN_PLACE, DISPLACED, NONRELEVANT, UNJUDGED, NOT_IN_REFERENCE, REPEATED, MISSING)


@dataclass(frozen=True)
class Position:
    """One position of a ranking: the item there, its gain, and what is lost and why."""

    position: int
    item: str | None
    rank: int | None
    grade: float | None
    ideal_rank: int
    weight: float
    credit: float
    gained: float
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
            Columns position, item, rank, ideal_rank, weight, credit, gained, lost and why; where there are
            grades, grade too.

        Examples
        --------
        >>> explain(["d1", "d2"], ["d1"], measure="AP@2").to_polars()["lost"].to_list()
        [0.0, 0.5]
        """
        frame = pl.DataFrame([vars(entry) for entry in self.positions], infer_schema_length=None)
        return frame.drop("grade") if frame["grade"].is_null().all() else frame


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
    if measure is None:
        known_parameters = [entry.name for entry in RDQ.parameters()]
        for name in parameters:
            check_choice("parameter", name, known_parameters)
    chosen = RDQ(cutoff=k, **parameters) if measure is None else parse(measure)
    check_cumulative(chosen)
    known, run = Reference.of(reference), ranked(ranking)
    if not known:
        raise DataError("nothing-to-explain")
    items, match = run[ONE], matched(known, run)
    returned = items[: chosen.reach]
    depth = max(len(returned), min(len(known), chosen.reach or len(known)))
    lists = first_positions(References.of({ONE: known}), {ONE: run}, chosen, depth)
    place = {item: i + 1 for i, item in reversed(list(enumerate(items)))}

    def value(scorer: Measure | BestPlacing | IdealScore) -> float:
        return float(scorer.score(match)[0])

    return Explanation(
        measure=str(chosen),
        score=value(chosen),
        best_score=value(BestPlacing(chosen, cut=True)),
        best_order=_best_order(known, match, chosen, returned),
        best_of_all=value(BestPlacing(chosen, cut=False)),
        not_returned=tuple((item, rank) for item, rank in known.items() if item not in place),
        below_cutoff=tuple(
            (item, rank, place[item]) for item, rank in known.items() if place.get(item, 0) > len(returned)
        ),
        positions=tuple(_position(known, lists, i) for i in range(depth)),
        ideal_score=value(IdealScore(chosen)),
    )


def _position(reference: Reference, lists: Lists, i: int) -> Position:
    """Say what is at a position of the only list, what it gains and why it loses."""
    at = (0, 0, i)
    item = None if lists.items[at] < 0 else lists.names[int(lists.items[at])]
    graded = {**(reference.grades or {}), **(reference.nonrelevant or {})} if reference.grades is not None else {}
    why = KINDS[int(lists.kinds[at])] if abs(lists.lost[at]) > ROUNDING else ""
    return Position(
        i + 1,
        item,
        None if item is None else reference.get(item),
        None if item is None else graded.get(item),
        int(lists.ideal_ranks[0, i]),
        float(lists.weights[0, i]),
        float(lists.credit[at]),
        float(lists.gained[at]),
        float(lists.lost[at]),
        why,
    )


def _best_order(reference: Reference, match: Match, measure: Measure, returned: list[str]) -> tuple[str, ...]:
    """Place the items above the cutoff as well as can be, and all that gains nothing on the other positions."""
    items, cut = list(reference), len(returned)
    if isinstance(measure, RDQ):
        found = assigned(match, measure, cut, np.ones(1, bool), np.full(1, -1.0))
        hits = next((placing for _, _, placing in found), {})
        placed = {position: items[match.place[hit]] for position, hit in hits.items()}
    else:
        placed = dict(enumerate(items[place] for place in best_first(match.above(cut), measure).place))
        poor = reference.nonrelevant or {}
        judged = dict.fromkeys(item for item in returned if item in poor)
        placed |= dict(enumerate(judged, len(placed)))
    return _filled(returned, placed)


def _filled(returned: Sequence[str], placed: Mapping[int, str]) -> tuple[str, ...]:
    """Complete an order in which some items have their positions; repeats are left out, as they gain nothing."""
    rest = iter(dict.fromkeys(item for item in returned if item not in placed.values()))
    return tuple(placed[i] if i in placed else next(rest, EMPTY) for i in range(len(returned)))


@dataclass(frozen=True, eq=False, kw_only=True)
class Lists:
    """What :func:`rankdev.explain` returns for every list, as arrays over [system, query, position].

    ``items`` index ``names``, -1 where nothing was returned; ``ranks`` are 0 for items outside the reference; ``kinds``
    index ``KINDS``, what is to be said of a position, whether it loses anything or not. ``ideal_ranks`` are those of
    [query, position].
    """

    names: list[str] = field(repr=False)
    items: Ints = field(repr=False)
    ranks: Ints = field(repr=False)
    credit: Floats = field(repr=False)
    gained: Floats = field(repr=False)
    lost: Floats = field(repr=False)
    kinds: Ints = field(repr=False)
    ideal_ranks: Ints = field(repr=False)
    weights: Floats = field(repr=False)


def first_positions(references: References, runs: Mapping[str, Run], measure: Measure, depth: int) -> Lists:
    """Explain the first ``depth`` positions of each run, for all queries of the references."""
    shape = (len(runs), len(references), depth)
    known = Known.of(references)
    first = [ids.listed(ids.take(run.item_ids, np.flatnonzero(run.positions < depth))) for run in runs.values()]
    names = {name: place for place, name in enumerate(dict.fromkeys(chain(ids.listed(references.item_ids), *first)))}
    items, found, repeats = np.full(shape, -1), np.full(shape, -1), np.zeros(shape, bool)
    for s, run in enumerate(runs.values()):
        items[s], found[s], repeats[s] = _returned(references, run, names, depth)
    rank_of = np.append(references.ranks, 0)  # the last is that of all others
    ranks, poor = rank_of[np.where(found < 0, -1, np.minimum(found, len(rank_of) - 1))], found >= len(references.ranks)
    scored = (ranks > 0) & ~repeats
    sizes, ideal = references.sizes, known.ideals.ideal_ranks(depth)
    if isinstance(measure, RDQ):
        weights = np.broadcast_to(measure.position_weights.first(depth), shape[1:])
        shares, counted = measure.shares(sizes, depth), np.minimum(sizes, measure.cutoff or depth)
        credit = np.where(scored, measure.credit(ideal, ranks, np.maximum(sizes, 1)[:, None]), 0.0)
        gained, could = shares * credit, np.where(np.arange(depth) < counted[:, None], shares, 0.0)
    else:
        nothing = np.zeros(0, np.int64)
        none = Match(known.ideals, nothing, nothing, nothing, np.zeros(len(references), np.int64))
        strange = [references.places.keys().isdisjoint(run.queries) for run in runs.values()]
        matches = (none if odd else join(known, run, ())[0] for odd, run in zip(strange, runs.values(), strict=True))
        gained = np.stack([_added(match, measure, depth) for match in matches])
        weights = could = _added(ideal_match(none, measure), measure, depth)
        credit = np.divide(gained, could, out=np.zeros(shape), where=could > 0)
    lost = could - gained
    outside = UNJUDGED if references.nonrelevant is not None else NOT_IN_REFERENCE
    kinds = np.select(
        [items < 0, poor, ranks == 0, ~scored, np.abs(lost) <= ROUNDING],
        [KINDS.index(text) for text in (MISSING, NONRELEVANT, outside, REPEATED, IN_PLACE)],
        KINDS.index(DISPLACED),
    )
    return Lists(
        names=[*names],
        items=items,
        ranks=ranks,
        credit=credit,
        gained=gained,
        lost=lost,
        kinds=kinds,
        ideal_ranks=ideal,
        weights=weights,
    )


def _added(match: Match, measure: Measure, depth: int) -> Floats:
    """Return what each position adds to the score of those above it: ``[query, position]``."""
    totals = np.stack([measure.score(match.above(end)) for end in range(depth + 1)], axis=1)
    if not np.isfinite(totals).all() or totals[:, 0].any():
        raise UsageError("not-a-sum", measure=str(measure))
    return np.diff(totals, axis=1)


def _returned(references: References, run: Run, names: Mapping[str, int], depth: int) -> tuple[Ints, Ints, Bools]:
    """Find at [query, position] the item, its place among what was judged, and whether it is a repeat; -1 for none."""
    items, places = (np.full((len(references), depth), -1) for _ in range(2))
    repeats = np.zeros(items.shape, bool)
    rows = np.flatnonzero(run.positions < depth)
    query = np.array([references.places.get(name, -1) for name in run.queries], np.int64)[run.codes[rows]]
    rows, query = rows[query >= 0], query[query >= 0]
    at, found = (query, run.positions[rows]), ids.take(run.item_ids, rows)
    items[at] = [names[name] for name in ids.listed(found)]
    places[at] = references.index.places(query, found)
    repeats[at] = False if run.repeats is None else run.repeats[rows]
    return items, places, repeats
