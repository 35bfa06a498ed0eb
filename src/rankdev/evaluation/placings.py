"""The best score that returned items could have: of all lists that place them on the positions that were filled."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from rankdev._common.arrays import Bools, Floats, Ints
from rankdev.errors import MeasureError, UsageError
from rankdev.measures.base import Measure
from rankdev.measures.match import Match
from rankdev.measures.rdq import RDQ

ROUNDING = 1e-12  # a loss below this counts as 0
CELLS = 1_000_000  # gains of items at positions that are held at once


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
        best = measure.score(best_first(match, measure, reach))
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
    return best_first(whole, measure, None)


def best_first(match: Match, measure: Measure, depth: int | None) -> Match:
    """Move the items of the first ``depth`` positions up: the best first, then those judged nonrelevant."""
    inside, poor = (
        np.arange(len(position)) if depth is None else np.flatnonzero(position < depth)
        for position in (match.position, match.nonrelevant_position)
    )
    query, place, below = match.query[inside], match.place[inside], match.nonrelevant_query[poor]
    order = np.lexsort((place, -measure.merits(match)[place], query))
    counts = np.bincount(query, minlength=match.queries)
    return replace(
        match,
        query=query[order],
        position=_nth(query),
        place=place[order],
        nonrelevant_query=below,
        nonrelevant_position=counts[below] + _nth(below),
        nonrelevant_grade=match.nonrelevant_grade[poor],
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

    inside = np.flatnonzero(wanted[match.query] & (match.position < (depth or np.inf)))
    filled = np.minimum(match.lengths, measure.cutoff or np.inf).astype(np.int64)
    for rows in _parts(match.query[inside], int(filled.max(initial=0))):
        hits = inside[rows]
        gains = gains_at(match, measure, hits, filled)
        begins = np.flatnonzero(np.diff(match.query[hits], prepend=-1))
        most = np.maximum.reduceat(gains, begins, axis=0).sum(axis=1)
        for begin, end, bound in zip(begins, np.append(begins[1:], len(hits)), most, strict=True):
            query = int(match.query[hits[begin]])
            if bound <= enough[query]:
                continue
            items, positions = linear_sum_assignment(gains[begin:end, : filled[query]], maximize=True)
            total = min(1.0, float(gains[begin + items, positions].sum()))
            yield query, total, dict(zip(positions.tolist(), hits[begin + items].tolist(), strict=True))


def gains_at(match: Match, measure: RDQ, hits: Ints, filled: Ints) -> Floats:
    """Return what hits would gain at [hit, position]; nothing where the list does not reach."""
    query = match.query[hits]
    sizes = match.ideals.sizes
    counted = np.minimum(sizes, measure.cutoff or np.inf).astype(np.int64)
    depth = max(1, int(filled[query].max(initial=0)))
    weights = measure.position_weights.relative(max(depth, int(counted[query].max(initial=1))))
    share = weights[:depth] / np.cumsum(weights)[counted[query] - 1][:, None]
    first, last = int(query[0]), int(query[-1]) + 1
    ideal = match.ideals.between(first, last).ideal_ranks(depth)[query - first]
    credit = measure.credit(ideal, match.ideals.ranks[match.place[hits]][:, None], sizes[query][:, None])
    return np.where(np.arange(depth) < filled[query][:, None], share * credit, 0.0)


def _parts(query: Ints, depth: int) -> Iterator[slice]:
    """Cut hits into parts of whole queries whose tables stay small."""
    ends = np.append(np.flatnonzero(np.diff(query)) + 1, len(query)) if len(query) else np.zeros(0, np.int64)
    begin = 0
    while begin < len(query):
        fitting = int(np.searchsorted(ends, begin + CELLS // max(1, depth), side="right")) - 1
        end = int(ends[max(fitting, int(np.searchsorted(ends, begin, side="right")))])
        yield slice(begin, end)
        begin = end
