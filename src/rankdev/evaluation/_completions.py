"""Completions of a query's judgments: what its unjudged items could be, and the scores of all lists under each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement, product
from math import comb

import numpy as np

from rankdev._common.arrays import Floats, Ints
from rankdev.measures import Measure
from rankdev.measures.match import Ideals, Match

FAR = np.iinfo(np.int64).max  # the position of an item that a list does not return, or not as far as a measure looks
MOST = 3000  # completions of one query that are tried
SCORED = 24_000  # completions × lists of one query
UNRANKED = 0  # the rank of a nonrelevant item


@dataclass(frozen=True, eq=False)
class Case:
    """One query: its reference, best first, and all lists, as far as a measure looks at them.

    ``known[list, item]`` and ``unjudged[list, item]`` are positions from 0. Unjudged items that no list returns that
    far are ``hidden``: only their number matters. ``levels`` are the grades of the collection, best first, where it
    has grades.
    """

    ranks: Ints
    grades: Floats | None
    levels: Floats | None
    known: Ints
    unjudged: Ints
    hidden: int
    lengths: Ints

    @property
    def size(self) -> int:
        """Number of reference items (m)."""
        return len(self.ranks)

    @property
    def added(self) -> int:
        """Number of items that may become relevant."""
        return self.unjudged.shape[1] + self.hidden

    @property
    def tiers(self) -> int:
        """Number of tiers (T)."""
        return int(self.ranks[-1]) if self.size else 0

    @cached_property
    def first(self) -> Ints:
        """For each pair of lists the first, in the order of :func:`itertools.combinations`."""
        return np.triu_indices(len(self.lengths), 1)[0]

    @cached_property
    def second(self) -> Ints:
        """For each pair of lists the second."""
        return np.triu_indices(len(self.lengths), 1)[1]

    def within(self, reach: int | None) -> Case:
        """Return what a measure sees that looks so far down the lists."""
        if reach is None:
            return self
        known, unjudged = (np.where(positions < reach, positions, FAR) for positions in (self.known, self.unjudged))
        seen = (unjudged < FAR).any(axis=0)
        hidden = self.hidden + int((~seen).sum())
        return Case(self.ranks, self.grades, self.levels, known, unjudged[:, seen], hidden, self.lengths)


@dataclass(frozen=True, eq=False)
class Completions:
    """Some completions: ranks and grades of all items, ``[completion, item]``; nonrelevant ones have rank 0.

    Items are those of the reference, then the unjudged ones, then the hidden ones.
    """

    ranks: Ints
    grades: Floats | None

    def scores(self, measure: Measure, case: Case, lists: Sequence[int] | None = None) -> Floats:
        """Score the lists (or some of them) against each completion: ``[completion, list]``."""
        count = len(self.ranks)
        chosen = range(len(case.lengths)) if lists is None else lists
        order = np.argsort(np.where(self.ranks == UNRANKED, FAR, self.ranks), axis=1, kind="stable")
        slot = np.argsort(order, axis=1)
        relevant = self.ranks != UNRANKED
        sizes = relevant.sum(axis=1)
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        kept = np.take_along_axis(relevant, order, axis=1)
        ranks = np.take_along_axis(self.ranks, order, axis=1)[kept]
        grades = None if self.grades is None else np.take_along_axis(self.grades, order, axis=1)[kept]
        ideals = Ideals(offsets, ranks, grades, highest_grade=0.0 if grades is None else float(grades.max(initial=0.0)))
        place = slot + offsets[:-1, None]
        rows: list[tuple[Ints, Ints, Ints]] = []
        for row, listed in enumerate(chosen):
            positions = np.concatenate([case.known[listed], case.unjudged[listed]])
            seen = np.argsort(positions, kind="stable")[: int((positions < FAR).sum())]
            completion, nth = np.nonzero(relevant[:, seen])
            item = seen[nth]
            rows.append((completion + row * count, positions[item], place[completion, item] + row * len(ranks)))
        query, position, at = (np.concatenate(columns) for columns in zip(*rows, strict=True))
        lengths = np.repeat(case.lengths[list(chosen)], count)
        match = Match(ideals.repeated(len(rows)), query, position, at, lengths)
        return measure.score(match).reshape(len(rows), count).T


def all_completions(case: Case, binary: bool) -> Completions | None:
    """Return every completion; None where there are too many.

    With ``binary`` only whether an item is relevant matters, else its grade where there are grades, or its place: the
    rank of a tier, or one of its own between two tiers, above or below all. Unjudged items may share a place.
    """
    most = min(MOST, SCORED // max(1, len(case.lengths)))
    if binary:
        return _by_grade(case, np.ones(1), None, most)
    return _by_rank(case, most) if case.levels is None else _by_grade(case, case.levels, case.grades, most)


def one_more(case: Case, binary: bool) -> Completions:
    """Return the completions by one item alone, which is the last column; the others are nonrelevant."""
    seen, hidden = np.empty((len(case.lengths), 1), np.int64), 0
    alone = Case(case.ranks, case.grades, case.levels, case.known, seen, hidden, case.lengths)
    if binary:
        found = _by_grade(alone, np.ones(1), None, FAR)
    else:
        found = _by_rank(alone, FAR) if case.levels is None else _by_grade(alone, case.levels, case.grades, FAR)
    assert found is not None
    return found


def _by_grade(case: Case, levels: Floats, grades: Floats | None, most: int) -> Completions | None:
    """Let every unjudged item have each grade, or none; of hidden items only how many have each counts."""
    seen, hidden = case.unjudged.shape[1], case.hidden
    if seen > 40 or (len(levels) + 1) ** seen * comb(hidden + len(levels), hidden) > most:
        return None
    values = np.append(levels, 0.0)
    first = _table(product(range(len(values)), repeat=seen), seen)
    last = _table(combinations_with_replacement(range(len(values)), hidden), hidden)
    chosen = np.concatenate([np.repeat(first, len(last), axis=0), np.tile(last, (len(first), 1))], axis=1)
    added = values[chosen]
    if grades is None:  # the order of relevant items does not matter
        ranks = np.concatenate([np.tile(case.ranks, (len(added), 1)), (added > 0) * max(1, case.tiers)], axis=1)
        return Completions(ranks, None)
    both = np.concatenate([np.tile(grades, (len(added), 1)), added], axis=1)
    present = (both[:, :, None] == levels).any(axis=1)
    level = np.searchsorted(-levels, -both)
    ranks = np.where(
        both > 0, np.take_along_axis(np.cumsum(present, axis=1), np.minimum(level, len(levels) - 1), axis=1), UNRANKED
    )
    return Completions(ranks, both)


def _table(rows: Iterable[tuple[int, ...]], columns: int) -> Ints:
    listed = list(rows)
    return np.array(listed, np.int64).reshape(len(listed), columns)


Weak = list[list[int]]  # an order of items with ties


def _by_rank(case: Case, most: int) -> Completions | None:
    """Insert the unjudged items one after the other at, between, above or below all tiers; hidden ones in order."""
    seen, hidden = case.unjudged.shape[1], case.hidden
    places = 2 * case.tiers + 2
    if seen > 40 or places**seen * comb(hidden + places - 1, hidden) > most:
        return None
    start: Weak = [[item for item in range(case.size) if case.ranks[item] == tier + 1] for tier in range(case.tiers)]
    orders: list[tuple[Weak, int]] = [(start, -1)]  # each with the tier of the item inserted last
    for item in range(case.size, case.size + seen + hidden):
        in_order = item > case.size + seen  # hidden items are alike: each is no better than the one before
        made: list[tuple[Weak, int]] = []
        for tiers, least in orders:
            made += _inserted(tiers, item, least if in_order else -1)
            if len(made) > most:
                return None
        orders = made
    ranks = np.zeros((len(orders), case.size + seen + hidden), np.int64)
    for row, (tiers, _) in zip(ranks, orders, strict=True):
        for rank, tier in enumerate(tiers, start=1):
            row[tier] = rank
    return Completions(ranks, None)


def _inserted(tiers: Weak, item: int, least: int) -> Iterator[tuple[Weak, int]]:
    """Yield each way to insert an item in tier ``least`` (−1: anywhere) or below, and the tier that it is in."""
    yield tiers, len(tiers) + 1  # nonrelevant, and so is each that is no better
    for i in range(max(least, 0), len(tiers)):
        yield [*tiers[:i], [*tiers[i], item], *tiers[i + 1 :]], i
    for i in range(least + 1, len(tiers) + 1):
        yield [*tiers[:i], [item], *tiers[i:]], i


def extremes_of(scores: Floats, case: Case) -> tuple[Floats, Floats]:
    """Return the limits over all completions of each score and of each pair's difference: ``[limit, …]``."""
    apart = scores[:, case.first] - scores[:, case.second]
    return np.stack([scores.min(axis=0), scores.max(axis=0)]), np.stack([apart.min(axis=0), apart.max(axis=0)])
