"""A match in which ties are not broken: what measures need for their expected value over all orders of ties."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from rankdev._common.arrays import Bools, Floats, Ints
from rankdev.measures.match import Match

JUDGED, UNJUDGED = 2**62, 2**62 + 1  # what items outside the reference have for a rank


@dataclass(frozen=True, eq=False)
class MixedTies:
    """Ties of a run that hold items of different rank: positions from ``begin`` to before ``end``, and extreme ranks.

    The rank of an item outside the reference is ``JUDGED`` where it was judged nonrelevant, else ``UNJUDGED``.
    """

    query: Ints
    begin: Ints
    end: Ints
    best: Ints
    worst: Ints

    @property
    def ranks_differ(self) -> Bools:
        """Whether a reference item is tied with one of another rank, or with one that has none."""
        return np.asarray((self.best < self.worst) & (self.best < JUDGED))

    @classmethod
    def among(cls, query: Ints, position: Ints, rank: Ints, tie: Ints, longest: int) -> MixedTies:
        """Find those of rows that are sorted by query and position; rows of one ``tie`` have the same number.

        Of a tie of ``longest`` rows not all may be there: anything may be in it.
        """
        begins = np.flatnonzero(np.diff(tie, prepend=-1))
        ends = np.append(begins[1:], len(tie))
        best, worst = (part.reduceat(rank, begins) if len(begins) else rank[:0] for part in (np.minimum, np.maximum))
        long = ends - begins >= longest
        best, worst = np.where(long, 1, best), np.where(long, UNJUDGED, worst)
        mixed = np.flatnonzero(best < worst)
        first, last = begins[mixed], ends[mixed] - 1
        return cls(query[first], position[first], position[last] + 1, best[mixed], worst[mixed])


CELLS = 1_000_000  # pairs of a hit and a position that are looked at together


@dataclass(frozen=True, eq=False)
class TieGroups:
    """Returned items, sorted by query, each with the first position (from 0) and the size of its tie."""

    query: Ints
    begin: Ints
    size: Ints

    def between(self, rows: slice, first: int) -> TieGroups:
        """Return those in some rows, with queries counted from the first."""
        return TieGroups(self.query[rows] - first, self.begin[rows], self.size[rows])

    @cached_property
    def firsts(self) -> Ints:
        """Row of the first item of each tie."""
        return np.flatnonzero((np.diff(self.query, prepend=-1) != 0) | (np.diff(self.begin, prepend=-1) != 0))

    def sums(self, values: Floats | Bools) -> Floats:
        """Add values up over the items of each tie."""
        return np.add.reduceat(values, self.firsts, dtype=np.float64) if len(values) else np.zeros(0)

    def lay_out(self, of_ties: Floats | Ints, shape: tuple[int, int], empty: float = 0.0) -> Floats:
        """Put the value of each tie at all of its [query, position]."""
        query, begin, size = (column[self.firsts] for column in (self.query, self.begin, self.size))
        tie, position = _positions(begin, size, shape[1])
        table = np.full(shape, empty)
        table[query[tie], position] = of_ties[tie]
        return table


@dataclass(frozen=True, eq=False, kw_only=True)
class TiedMatch(Match):
    """A match in which the items of a tie are equally likely at all of its positions.

    ``tied`` and ``nonrelevant_tied`` are the ties of the hits and of the nonrelevant items. Those below the deepest
    cutoff are listed as well where their tie begins above it.
    """

    tied: TieGroups
    nonrelevant_tied: TieGroups

    def mean(self, values: Floats | Bools, cutoff: int | None) -> Floats:
        """Return values of the hits at [query, position], averaged over all that is tied there; other items are 0."""
        ties = self.tied.size[self.tied.firsts]
        return self.tied.lay_out(self.tied.sums(values) / ties, self._shape(cutoff))

    def presence(self, cutoff: int | None, at_least: float | None = None) -> Floats:
        """Return the probability, for [query, position], that a reference item (of a grade of at least …) is there."""
        return self.mean(self._relevant(at_least), cutoff)

    def judged(self, cutoff: int | None) -> Floats:
        """Return the probability, for [query, position], that a judged item is there."""
        self.ideals.check_judged()
        nonrelevant = self.nonrelevant_tied
        fractions = nonrelevant.sums(np.ones(len(nonrelevant.query))) / nonrelevant.size[nonrelevant.firsts]
        return self.presence(cutoff) + nonrelevant.lay_out(fractions, self._shape(cutoff))

    def first_hit(self, cutoff: int | None, at_least: float | None) -> Floats:
        """Return the probability, for [query, position], that the first relevant item is there."""
        found, size, nth, _ = self._ties_at(cutoff, at_least)
        here = np.minimum(1.0, found / np.maximum(size - nth, 1))  # where no relevant item was above
        none_above = np.ones_like(here)
        none_above[:, 1:] = np.cumprod(1 - here, axis=1)[:, :-1]
        return here * none_above

    def precision_at_hits(self, cutoff: int | None, at_least: float | None) -> Floats:
        """Return the expectation, for [query, position], of the precision there if a relevant item is there, else 0."""
        found, size, nth, above = self._ties_at(cutoff, at_least)
        in_tie = nth * (found - 1) / np.maximum(size - 1, 1)  # relevant items of the tie above one of them
        return found / size * (above + in_tie + 1) / np.arange(1, found.shape[1] + 1)

    def placings(self, cutoff: int | None) -> Iterator[tuple[Ints, Ints]]:
        """Yield all hits and the positions that each may take, as parallel arrays."""
        depth = self.depth(cutoff)
        step = max(1, CELLS // depth)
        for start in range(0, len(self.query), step):
            rows = slice(start, start + step)
            hit, position = _positions(self.tied.begin[rows], self.tied.size[rows], depth)
            yield hit + start, position

    def _without_unjudged(self) -> TiedMatch:
        """Leave out unjudged items: ties shrink to the judged ones."""
        kept = self.nonrelevant_grade >= 0
        query, begin = (
            np.concatenate([hits, nonrelevant[kept]])
            for hits, nonrelevant in (
                (self.tied.query, self.nonrelevant_tied.query),
                (self.tied.begin, self.nonrelevant_tied.begin),
            )
        )
        order = np.lexsort((begin, query))
        query, begin = query[order], begin[order]
        firsts = TieGroups(query, begin, begin).firsts
        sizes = np.diff(np.append(firsts, len(query)))
        starts = firsts - np.searchsorted(query, query[firsts])
        new_begin, new_size = (np.empty_like(query) for _ in range(2))
        new_begin[order], new_size[order] = np.repeat(starts, sizes), np.repeat(sizes, sizes)
        count = len(self.query)
        return replace(
            super()._without_unjudged(),
            tied=TieGroups(self.query, new_begin[:count], new_size[:count]),
            nonrelevant_tied=TieGroups(self.nonrelevant_query[kept], new_begin[count:], new_size[count:]),
        )

    def _relevant(self, at_least: float | None) -> Bools:
        if at_least is None:
            return np.ones(len(self.query), bool)
        return np.asarray(self.native_grades[self.place] >= at_least)

    def _shape(self, cutoff: int | None) -> tuple[int, int]:
        return self.queries, self.depth(cutoff)

    def _ties_at(self, cutoff: int | None, at_least: float | None) -> tuple[Floats, Floats, Floats, Floats]:
        """Return, for [query, position], of the tie there: relevant items, size, items above, relevant above it."""
        ties, shape = self.tied, self._shape(cutoff)
        found = ties.sums(self._relevant(at_least))
        size, begin = ties.size[ties.firsts], ties.begin[ties.firsts]
        nth = np.arange(shape[1]) - ties.lay_out(begin, shape)
        query = ties.query[ties.firsts]
        before = np.cumsum(found) - found
        above = before - before[np.searchsorted(query, query)]
        return (
            ties.lay_out(found, shape),
            ties.lay_out(size, shape, empty=1.0),
            nth,
            ties.lay_out(above, shape),
        )


def _positions(begin: Ints, size: Ints, depth: int) -> tuple[Ints, Ints]:
    """Number the entries and list the positions of each that are above the depth, as parallel arrays."""
    counts = np.clip(depth - begin, 0, size)
    entry = np.repeat(np.arange(len(begin)), counts)
    nth = np.arange(len(entry)) - np.repeat(np.cumsum(counts) - counts, counts)
    return entry, begin[entry] + nth
