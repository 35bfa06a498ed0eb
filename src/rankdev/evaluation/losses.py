"""What systems lose: by items they do not return, by items they return too deep, and by the order of the first ones.

That is measured by the best score that returned items could have, over all lists that place them on the positions that
were filled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from rankdev._common.arrays import Bools, Floats, Ints
from rankdev._common.lazy import pl
from rankdev._common.result import Result
from rankdev._common.view import Tab, View
from rankdev._common.work import Progress
from rankdev.data.options import Order, ReadOptions, Ties, check_one_order
from rankdev.data.references import ReferencesLike
from rankdev.data.run import RunLike
from rankdev.errors import MeasureError, Note, UsageError, some_of
from rankdev.evaluation.evaluate import Empty, evaluate_all
from rankdev.evaluation.scores import Scores
from rankdev.measures import Match, Measure, parse
from rankdev.measures.base import MeasureLike
from rankdev.measures.rdq import RDQ

ROUNDING = 1e-12  # a loss below this counts as 0
CAUSES = {
    "lost_by_retrieval": "by retrieval (relevant items not returned; improve the retriever)",
    "lost_by_cutoff": "by the cutoff (relevant items returned below it; pass more items to the reranker)",
    "lost_by_order": "by order (of the items above the cutoff; improve the reranker)",
}


@dataclass(frozen=True, eq=False)
class Losses(Result):
    """Mean scores of systems, and what keeps them from 1: retrieval, the cutoff or the order.

    With k the cutoff, or the length of the list where that is shorter:

    - ``lost_by_retrieval``: what an ideal list (all relevant items, best first) has more than the best placing of all
      returned items on the first k positions; everything, where a query has no relevant item. Relevant items are not
      returned: improve the retriever.
    - ``lost_by_cutoff``: what that placing has more than the best placing of the first k items. Relevant items are
      returned below k: hand a reranker more items.
    - ``lost_by_order``: what that has more than the score. The first k items are in a poor order: improve the reranker.

    A repeated item counts once.

    Attributes
    ----------
    measure : str
        The measure.
    scores : Scores
        For every query, the score, and the best scores of the first k items, of all returned items and of all items.
    remarks : tuple of str
        Notes on the result.

    See Also
    --------
    rankdev.losses : Returns it.
    """

    view: ClassVar = View([Tab("{measure}, mean over {scores.queries:query}, and what was lost")], opening=["{advice}"])

    measure: str
    scores: Scores = field(repr=False)
    remarks: tuple[str, ...] = ()

    made_with = ("measure",)

    @property
    def advice(self) -> str:
        """A line for each cause, with the systems that lost most by it."""
        table = self.to_polars()
        lost = table.select(*CAUSES).fill_nan(0.0).to_numpy()
        lines = []
        for i, words in enumerate(CAUSES.values()):
            largest = (lost.argmax(axis=1) == i) & (lost.max(axis=1) > 5e-5)
            if largest.any():
                lines.append(f"Lost most {words}: {some_of(table.filter(largest)['system'].to_list())}")
        return "\n".join(lines)

    def to_polars(self) -> pl.DataFrame:
        """Return one row per system.

        Returns
        -------
        polars.DataFrame
            Columns system, score, lost_by_retrieval, lost_by_cutoff and lost_by_order; the four numbers add up to 1, or
            to what ideal lists score where that is less (P@10 of queries with 3 relevant items), which a note states.

        Examples
        --------
        >>> losses({"q": ["d1", "d2"]}, {"mine": {"q": ["x", "d1", "d2"]}}, "R@2").to_polars().row(0)
        ('mine', 0.5, 0.0, 0.5, 0.0)
        """
        score, first, returned, ideal = self._means.T
        columns = {
            "score": score,
            "lost_by_retrieval": ideal - returned,
            "lost_by_cutoff": returned - first,
            "lost_by_order": first - score,
        }
        return pl.DataFrame({"system": list(self.scores.systems), **columns})

    @cached_property
    def by_query(self) -> Floats:
        """Score and losses of every list: ``[system, query, (score, retrieval, cutoff, order)]``; NaN where unknown."""
        score, first, returned, ideal = np.moveaxis(self._values, 2, 0)
        return np.stack([score, ideal - returned, returned - first, first - score], axis=2)

    @cached_property
    def _values(self) -> Floats:
        values = self.scores.values.copy()
        if self.scores.kinds[0].range[1] == 1:  # the best score, which no list has where nothing is relevant
            values[:, :, 3] = np.where(values[:, :, 3] > 0, values[:, :, 3], 1.0)
        return values

    @cached_property
    def _means(self) -> Floats:
        """Means over the queries where the measure is available: ``[system, (score, first, returned, ideal)]``."""
        values = self._values
        known: Bools = np.isfinite(values.sum(axis=2))
        share = known * (1.0 if self.scores.weights is None else self.scores.weights)
        total = np.where(known.any(axis=1), share.sum(axis=1), 1.0)
        means = (np.where(known[:, :, None], values, 0.0) * share[:, :, None]).sum(axis=1) / total[:, None]
        means[~known.any(axis=1)] = np.nan
        return means


def losses(
    references: ReferencesLike,
    runs: Mapping[str, RunLike],
    measure: MeasureLike = "RDQ@10",
    *,
    order: Order | None = None,
    ties: Ties | None = None,
    empty: Empty = "zero",
    progress: Progress | None = None,
    **read: Any,
) -> Losses:
    """Split what each system loses into retrieval, cutoff and order.

    Parameters
    ----------
    references : References, path, table or dict
        Ideal order of each query: lists, tiers or grades.
    runs : dict of str to Run, path, table or dict
        Each system's whole ranking, also what is below the cutoff. A query missing from a run scores 0.
    measure : str or Measure, default "RDQ@10"
        A measure that is a sum over positions, such as RDQ, nDCG, AP, RBP, P or RR, without ``judged_only``.
    order : {"score", "rank"}, optional
        What orders a run. Default: score; a Run keeps its own.
    ties : str, optional
        How ties are broken; see docs/files.md#ties.
    empty : {"zero", "skip"}, default "zero"
        Score of queries without relevant items.
    progress : callable, optional
        ``progress(done, total, system)`` after each system.
    **read : Any
        How runs are read, as in :func:`evaluate`: duplicates, columns, ranks, collapse, strict.

    Returns
    -------
    Losses
        Mean score of each system, and what it lost by retrieval, by the cutoff and by order.

    Examples
    --------
    >>> found = losses({"q": ["d1", "d2"]}, {"mine": {"q": ["x", "d2", "d1"]}}, "RDQ@2")
    >>> [round(value, 4) for value in found.to_polars().row(0)[1:]]
    [0.4737, 0.0, 0.5263, 0.0]
    """
    check_one_order(ties, "what was lost by order")
    chosen = parse(measure)
    check_cumulative(chosen)
    wanted = (chosen, BestPlacing(chosen, cut=True), BestPlacing(chosen, cut=False), IdealScore(chosen))
    options = ReadOptions(order, ties, **read)
    scores = evaluate_all(references, runs, wanted, options, empty=empty, progress=progress)
    found = Losses(str(chosen), scores, scores.remarks)
    return replace(found, remarks=(*found.remarks, *_ideals_below_one(found)))


def _ideals_below_one(found: Losses) -> Iterator[Note]:
    ideal = float(np.nanmin(found._means[:, 3], initial=1.0))
    if found.scores.kinds[0].range[1] == 1 and ideal < 1 - ROUNDING:
        yield Note("ideal-below-one", ideal=ideal, measure=found.measure)


def check_cumulative(measure: Measure) -> None:
    """Refuse a measure whose losses cannot be assigned to positions."""
    if not measure.cumulative or measure.higher_is_better is False:
        raise UsageError("not-a-sum", measure=str(measure))
    if getattr(measure, "judged_only", False):
        raise UsageError("moves-items", measure=str(measure))


@dataclass(frozen=True)
class BestPlacing:
    """The best score over all placings of the distinct items that were returned, or only of those above the cutoff.

    They are placed on the first min(cutoff, length) positions, any of which may stay empty.
    """

    measure: Measure
    cut: bool

    @property
    def reach(self) -> int | None:
        """How many positions of a run hold the items; None for all."""
        return self.measure.reach if self.cut else None

    def __str__(self) -> str:
        return f"best {self.measure} of {'the first' if self.cut else 'all'} items"

    def score(self, match: Match) -> Floats:
        """Score every query; never less than what fewer of the items, or the list as it is, score."""
        if self not in match.shared:
            match.shared[self] = self._best(match)
        best: Floats = match.shared[self]
        return best

    def _best(self, match: Match) -> Floats:
        measure, reach = self.measure, self.reach
        known = (measure if self.cut else BestPlacing(measure, cut=True)).score(match)
        if not self.cut and measure.reach is None:
            return known
        best = measure.score(best_first(match if reach is None else match.above(reach), measure))
        if not isinstance(measure, RDQ) and (known > best + ROUNDING).any():
            raise MeasureError("not-best-first", measure=str(measure))
        best = np.maximum(best, known)
        if isinstance(measure, RDQ):
            new = match.position >= (0 if self.cut else measure.reach or 0)
            wanted = np.isin(np.arange(match.queries), match.query[new]) & (best < 1)
            for query, score, _ in assigned(match, measure, reach, wanted, best):
                best[query] = max(best[query], score)  # the same sum in another order can be a rounding error less
        return best


@dataclass(frozen=True)
class IdealScore:
    """The score of all judged items, the best first; never less than what the returned ones could score."""

    measure: Measure

    reach = None

    def __str__(self) -> str:
        return f"ideal {self.measure}"

    def score(self, match: Match) -> Floats:
        """Score every query."""
        ideal = self.measure.score(ideal_match(match, self.measure))
        return np.maximum(ideal, BestPlacing(self.measure, cut=False).score(match))


def ideal_match(match: Match, measure: Measure) -> Match:
    """Return every item of the references, the best first, then those judged nonrelevant."""
    ideals = match.ideals
    query, place = np.repeat(np.arange(match.queries), ideals.sizes), np.arange(len(ideals.ranks))
    poor = np.zeros(match.queries, np.int64) if ideals.nonrelevant_offsets is None else ideals.nonrelevant_sizes
    whole = replace(
        match,
        query=query,
        position=place,
        place=place,
        lengths=ideals.sizes + poor,
        nonrelevant_query=np.repeat(np.arange(match.queries), poor),
        nonrelevant_position=np.arange(poor.sum()),
        nonrelevant_grade=np.zeros(0) if ideals.nonrelevant_grades is None else ideals.nonrelevant_grades,
    )
    return best_first(whole, measure)


def best_first(match: Match, measure: Measure) -> Match:
    """Move the items up: the best first, then those judged nonrelevant."""
    query, place, below = match.query, match.place, match.nonrelevant_query
    order = np.lexsort((place, -measure.merits(match)[place], query))
    counts = np.bincount(query, minlength=match.queries)
    return replace(
        match,
        query=query[order],
        position=_nth(query),
        place=place[order],
        nonrelevant_position=counts[below] + _nth(below),
    )


def _nth(query: Ints) -> Ints:
    """Number the entries of each query, which are next to each other, from 0."""
    return np.arange(len(query)) - np.searchsorted(query, query)


def assigned(
    match: Match, measure: RDQ, depth: int | None, wanted: Bools, enough: Floats
) -> Iterator[tuple[int, float, dict[int, int]]]:
    """Yield the best placing of each query that can score more than enough: query, score, and position → hit.

    RDQ's credit depends on the position, so that its best order is an assignment of items to positions, not a sort.
    """
    from scipy.optimize import linear_sum_assignment

    filled = np.minimum(match.lengths, measure.cutoff or np.inf).astype(np.int64)
    inside = match.position < (depth or np.inf)
    begins = np.searchsorted(match.query, np.arange(match.queries + 1))
    for query in np.flatnonzero(wanted).tolist():
        hits = begins[query] + np.flatnonzero(inside[begins[query] : begins[query + 1]])
        gains = _gains_at(match, measure, query, hits, int(filled[query]))
        if not gains.size or gains.max(axis=1).sum() <= enough[query]:
            continue
        items, positions = linear_sum_assignment(gains, maximize=True)
        total = min(1.0, float(gains[items, positions].sum()))
        yield query, total, dict(zip(positions.tolist(), hits[items].tolist(), strict=True))


def _gains_at(match: Match, measure: RDQ, query: int, hits: Ints, depth: int) -> Floats:
    """Return what hits of a query would gain at [hit, position]."""
    ideals = match.ideals.between(query, query + 1)
    ideal, ranks = ideals.ideal_ranks(depth), match.ideals.ranks[match.place[hits]]
    return measure.shares(ideals.sizes, depth) * measure.credit(ideal, ranks[:, None], ideals.sizes)
