"""Outer limits of RDQ over all completions, where these are too many to try.

Completions are cut into groups. Within a group the ideal rank of each position, the rank of each tier and the number of
relevant items are known, or known up to an interval, and every item takes the credit that is best (or worst) for it
alone. Both lists of a pair are in the same group, and an item that both return has one rank, so that the limits of a
difference are much closer than those of the two scores. With grades and a cutoff, groups are all ways in which the
levels can fill the first k places of the ideal list: there only the number of relevant items is an interval.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rankdev._common.arrays import Bools, Floats, Ints
from rankdev.evaluation._completions import FAR, Case
from rankdev.measures.rdq import RDQ

GROUPS = 2000  # ways to fill the first places
FINER = 1.25  # ratio of the limits of an interval of numbers of relevant items, or of ranks
AT_ONCE = 4_000_000  # numbers held at a time
TABLE = 2_000_000  # (tier, position, position) for which shared items are looked at one by one


@dataclass(frozen=True, eq=False)
class _Groups:
    """Credit × weight by ``[group, kind, position]``: kinds are the tiers (or levels), and last the unjudged items.

    ``shared[group, kind, i, j]`` is the most that an item adds to the difference of a list that returns it at i and one
    that returns it at j, for the last kinds.
    """

    high: Floats
    low: Floats
    shared: Floats
    least: Floats  # divisors, ``[group]``
    most: Floats


def rdq_extremes(measure: RDQ, case: Case) -> tuple[Floats, Floats]:
    """Return outer limits of each score and of each pair's difference."""
    depth = max(int(case.lengths.max(initial=0)), 1)
    depth = depth if measure.cutoff is None else min(depth, measure.cutoff)
    kind = _kinds(case)
    limits = np.array([np.full(len(case.lengths), np.inf), np.full(len(case.lengths), -np.inf)])
    apart = np.array([np.full(len(case.first), np.inf), np.full(len(case.first), -np.inf)])
    tables: Iterator[_Groups] = _by_interval(measure, case, depth)
    if case.levels is not None and measure.cutoff is not None:
        ways = _ways(case, measure.cutoff)
        if ways is not None:
            tables = _by_levels(measure, case, depth, ways)
    shared: _Shared | None = None
    for groups in tables:
        if shared is None:
            shared = _Shared.of(case, kind, groups)
        for part in shared.scored(groups):
            _widen(limits, part[:2])
            _widen(apart, part[2:])
    limits, apart = np.clip(limits, 0.0, 1.0), np.clip(apart, -1.0, 1.0)
    return limits, apart


def _widen(limits: Floats, found: tuple[Floats, Floats]) -> None:
    np.minimum(limits[0], found[0], out=limits[0])
    np.maximum(limits[1], found[1], out=limits[1])


def _kinds(case: Case) -> Ints:
    """Return the level of each reference item, or its tier, from 0."""
    if case.levels is None or case.grades is None:
        return case.ranks - 1
    return np.searchsorted(-case.levels, -case.grades)


@dataclass(frozen=True, eq=False)
class _Shared:
    """Where lists hold items of each kind, and the items that both lists of a pair hold."""

    case: Case
    held: Floats  # [list, kind × position]
    starts: Ints  # of each pair's items among the shared ones
    pairs: Ints  # that have any
    kind: Ints  # counted among those with a table of shared items
    i: Ints
    j: Ints

    @classmethod
    def of(cls, case: Case, kind: Ints, groups: _Groups) -> _Shared:
        _, kinds, depth = groups.high.shape
        held = np.zeros((len(case.lengths), kinds, depth))
        for positions, kind_of in ((case.known, kind), (case.unjudged, np.full(case.unjudged.shape[1], kinds - 1))):
            listed, item = np.nonzero(positions < FAR)
            held[listed, kind_of[item], positions[listed, item]] = 1.0
        first = kinds - groups.shared.shape[1]
        positions = np.concatenate([case.known, case.unjudged], axis=1)
        kind_of = np.concatenate([kind, np.full(case.unjudged.shape[1], kinds - 1)])
        positions, kind_of = positions[:, kind_of >= first], kind_of[kind_of >= first]
        seen = positions < FAR
        pair, item = np.nonzero(seen[case.first] & seen[case.second])
        pairs, starts = np.unique(pair, return_index=True)
        i, j = positions[case.first[pair], item], positions[case.second[pair], item]
        return cls(case, held.reshape(len(held), -1), starts, pairs, kind_of[item] - first, i, j)

    def scored(self, groups: _Groups) -> Iterator[tuple[Floats, Floats, Floats, Floats]]:
        """Yield the limits of lists and pairs over some groups at a time."""
        count = len(groups.least)
        step = max(1, AT_ONCE // max(1, len(self.i), len(self.case.first)))
        for begin in range(0, count, step):
            part = slice(begin, begin + step)
            high, low, shared = groups.high[part], groups.low[part], groups.shared[part]
            least, most = groups.least[part, None], groups.most[part, None]
            highest, lowest = (table.reshape(len(table), -1) @ self.held.T for table in (high, low))
            a, b = self.case.first, self.case.second
            above = highest[:, a] - lowest[:, b]
            below = highest[:, b] - lowest[:, a]
            if len(self.pairs):
                kind, first = self.kind, high.shape[1] - shared.shape[1]
                for apart, i, j in ((above, self.i, self.j), (below, self.j, self.i)):
                    change = shared[:, kind, i, j] - high[:, kind + first, i] + low[:, kind + first, j]
                    apart[:, self.pairs] += np.add.reduceat(change, self.starts, axis=1)
            yield (
                (lowest / most).min(axis=0),
                (highest / least).max(axis=0),
                -_quotient(below, least, most).max(axis=0, initial=-1.0),
                _quotient(above, least, most).max(axis=0, initial=-1.0),
            )


def _quotient(value: Floats, least: Floats, most: Floats) -> Floats:
    """Return the highest quotient of a value and a divisor between two."""
    return value / np.where(value > 0, least, most)


@dataclass(frozen=True, eq=False)
class _Ways:
    """Ways to fill the first places of the ideal list: items of each level there, and which levels have any at all."""

    ideal: Ints  # [way, position]: rank
    ranks: Ints  # [way, level]
    open: Bools  # [way, level]: whether unjudged items may be of it
    least: Ints  # fewest relevant items
    most: Ints


def _ways(case: Case, cutoff: int) -> _Ways | None:
    """List all ways; None where they are too many."""
    assert case.levels is not None
    counts = np.bincount(_kinds(case), minlength=len(case.levels)).tolist()
    found: list[tuple[int, ...]] = [()]  # new items of each level, as few as the way needs
    for level, known in enumerate(counts):
        longer = []
        for way in found:
            before = sum(counts[:level]) + sum(way)
            room, left = max(0, cutoff - before - known), case.added - sum(way)
            # past the cutoff it only matters whether there are items of a level
            longer += [(*way, new) for new in range(min(room, left) + 1)]
            if not room and not known and left:
                longer.append((*way, 1))
        found = longer
        if len(found) > GROUPS:
            return None
    new = np.array(found, np.int64).reshape(len(found), len(counts))
    each = new + counts
    upto = np.cumsum(each, axis=1)
    full = upto >= cutoff
    ranks = np.cumsum(each > 0, axis=1)
    size = upto[:, -1]
    position = np.arange(cutoff)
    level_at = np.minimum((upto[:, None, :] <= position[:, None]).sum(axis=2), len(counts) - 1)
    beyond = ranks[:, -1:] + position + 1 - size[:, None]
    ideal = np.where(position < size[:, None], np.take_along_axis(ranks, level_at, axis=1), beyond)
    # once the first places are full, more items make no difference to them, in any level that is there
    free = full & (each > 0)
    most = np.where(full[:, -1], case.size + case.added, size)
    return _Ways(ideal, ranks, (new > 0) | (free & (most > size)[:, None]), size, most)


def _by_levels(measure: RDQ, case: Case, depth: int, ways: _Ways) -> Iterator[_Groups]:
    weights = measure.position_weights.relative(measure.cutoff or 1)
    whole = np.concatenate([[1.0], np.cumsum(weights)])
    row, least, most = _intervals(ways.least, ways.most)
    step = max(1, TABLE // (depth * depth * (ways.ranks.shape[1] + 1)))
    for begin in range(0, len(row), step):
        part = slice(begin, begin + step)
        way, fewest, largest = row[part], least[part, None, None], most[part, None, None]
        ideal, ranks = ways.ideal[way, None, :depth], ways.ranks[way, :, None]
        sizes = (np.maximum(size, 1) for size in (largest, fewest))
        high, low = (weights[:depth] * measure.credit(ideal, ranks, size) for size in sizes)
        free = ways.open[way, :, None]
        best = np.where(free, high, 0.0).max(axis=1, initial=0.0)[:, None]
        apart = np.where(free[..., None], high[:, :, :, None] - low[:, :, None, :], 0.0)
        shared = apart.max(axis=1, initial=0.0)[:, None]
        divisor = whole[np.minimum(fewest[:, 0, 0], len(weights))]
        zero = np.zeros_like(best)
        yield _Groups(
            np.concatenate([high, best], axis=1), np.concatenate([low, zero], axis=1), shared, divisor, divisor
        )


def _intervals(least: Ints, most: Ints) -> tuple[Ints, Ints, Ints]:
    """Cut ranges of whole numbers into intervals, short ones at the beginning: the range, first and last of each."""
    found = []
    for row, (first, end) in enumerate(zip(least.tolist(), most.tolist(), strict=True)):
        begin = first
        while begin <= end:
            last = min(end, max(begin, int(begin * FINER)))
            found.append((row, begin, last))
            begin = last + 1
    rows = np.array(found, np.int64).reshape(-1, 3)
    return rows[:, 0], rows[:, 1], rows[:, 2]


def _by_interval(measure: RDQ, case: Case, depth: int) -> Iterator[_Groups]:
    """Yield a group for each interval of the number of relevant items; ranks are intervals too."""
    size, tiers, added = case.size, case.tiers, case.added
    kinds = _kinds(case)
    if case.levels is None:
        tier_of, more = np.arange(1, tiers + 1), np.full(tiers, added)
        every = added
    else:  # no more tiers than there are levels
        levels = np.arange(len(case.levels))
        present = np.isin(levels, kinds)
        tier_of, more = np.maximum(np.cumsum(present), 1), np.cumsum(~present)
        every = int((~present).sum())
    weights = measure.position_weights.relative(max(depth, size + added if measure.cutoff is None else measure.cutoff))
    whole = np.concatenate([[0.0], np.cumsum(weights)])
    position = np.arange(1, depth + 1)
    ranks = np.concatenate([[0], case.ranks, tiers + np.arange(1, depth + 1)])
    _, least, most = _intervals(np.array([size]), np.array([size + added]))
    together = (len(tier_of) + 1) * depth * depth <= TABLE
    for fewest, largest in zip(least.tolist(), most.tolist(), strict=True):
        if not largest:  # nothing is relevant, and every score is 0
            nothing = np.zeros((1, len(tier_of) + 1, depth))
            shared = np.zeros((1, len(tier_of) + 1 if together else 1, depth, depth))
            yield _Groups(nothing, nothing, shared, np.ones(1), np.ones(1))
            continue
        new = largest - size
        begin = np.maximum(1, ranks[np.maximum(position - new, 0)])
        end = begin
        for x in range(min(new, depth) + 1):  # new items before, each a tier of its own as far as there can be so many
            end = np.maximum(end, np.where(x <= position, ranks[np.maximum(position - x, 0)] + min(x, every), 1))
        counted = [n if measure.cutoff is None else min(n, measure.cutoff) for n in (max(fewest, 1), largest)]
        boxes = _Boxes(measure, weights[:depth], begin, end, fewest, largest)
        first, last = np.append(tier_of, 1), np.append(tier_of + np.minimum(more, new), tiers + min(every, new))
        high, low = boxes.of(first, last)
        if not new:
            high[-1], last[-1] = 0.0, 0
        low[-1] = 0.0  # an unjudged item may be nonrelevant
        shared = boxes.shared(first, last) if together else boxes.shared(first[-1:], last[-1:])
        divisors = (np.array([whole[n]]) for n in counted)
        yield _Groups(high[None], low[None], shared[None], *divisors)


@dataclass(frozen=True, eq=False)
class _Boxes:
    """Credits × weights where ideal rank, rank and number of relevant items are intervals.

    The credit grows towards the point where the rank is the ideal one, from either side, and with the number of items.
    """

    measure: RDQ
    weights: Floats
    begin: Ints  # of the ideal rank at each position
    end: Ints
    fewest: int
    largest: int

    def of(self, low: Ints, high: Ints) -> tuple[Floats, Floats]:
        """Return the highest and the lowest for intervals of ranks: ``[interval, position]``."""
        first, last = low[:, None], high[:, None]
        best, worst = (
            [
                self.measure.credit(ideal, rank, np.array(size))
                for ideal in (self.begin, self.end)
                for rank in (first, last)
            ]
            for size in (self.largest, max(self.fewest, 1))
        )
        meet = (first <= self.end) & (self.begin <= last)
        return self.weights * np.where(meet, 1.0, np.max(best, axis=0)), self.weights * np.min(worst, axis=0)

    def shared(self, low: Ints, high: Ints) -> Floats:
        """Return the most that an item whose rank is in an interval adds to a difference, the last one's at least 0."""
        row, first, last = _intervals(low, high)
        best, worst = self.of(first, last)
        found = np.full((len(low), len(self.weights), len(self.weights)), -np.inf)
        for at, ranked, unranked in zip(row.tolist(), best, worst, strict=True):
            np.maximum(found[at], ranked[:, None] - unranked, out=found[at])
        found[-1] = np.maximum(found[-1], 0.0)
        return found
