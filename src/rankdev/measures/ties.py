"""A match in which equal scores are left open: what measures need for their expected value over all orders of ties."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from rankdev._common.arrays import Bools, Floats, Ints
from rankdev.measures.match import Match

CELLS = 1_000_000  # pairs of a hit and a position that are looked at together


@dataclass(frozen=True, eq=False)
class Shared:
    """Returned items, sorted by query, each with the first position (from 0) and the size of its tie."""

    query: Ints
    begin: Ints
    size: Ints

    def between(self, rows: slice, first: int) -> Shared:
        """Those in some rows, with queries counted from the first."""
        return Shared(self.query[rows] - first, self.begin[rows], self.size[rows])

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
    """A match in which the items of a tie take all of its positions in equal shares.

    ``tied`` and ``nonrelevant_tied`` are the ties of the hits and of the nonrelevant items. Those below the deepest
    cutoff are listed as well where their tie begins above it.
    """

    tied: Shared
    nonrelevant_tied: Shared

    def mean(self, values: Floats | Bools, cutoff: int | None) -> Floats:
        """Values of the hits at [query, position], averaged over all that is tied there; other items count 0."""
        ties = self.tied.size[self.tied.firsts]
        return self.tied.lay_out(self.tied.sums(values) / ties, self._shape(cutoff))

    def presence(self, cutoff: int | None, at_least: float | None = None) -> Floats:
        """Chance, for [query, position], that a reference item (of a grade of at least …) is there."""
        return self.mean(self._relevant(at_least), cutoff)

    def judged(self, cutoff: int | None) -> Floats:
        """Chance, for [query, position], that an item is there that was judged."""
        self.ideals.check_judged()
        poor = self.nonrelevant_tied
        shares = poor.sums(np.ones(len(poor.query))) / poor.size[poor.firsts]
        return self.presence(cutoff) + poor.lay_out(shares, self._shape(cutoff))

    def first_hit(self, cutoff: int | None, at_least: float | None) -> Floats:
        """Chance, for [query, position], that the first relevant item is there."""
        found, size, nth, _ = self._ties_at(cutoff, at_least)
        here = np.minimum(1.0, found / np.maximum(size - nth, 1))  # where no relevant item was above
        none_above = np.ones_like(here)
        none_above[:, 1:] = np.cumprod(1 - here, axis=1)[:, :-1]
        return here * none_above

    def precision_at_hits(self, cutoff: int | None, at_least: float | None) -> Floats:
        """Expectation, for [query, position], of the precision there if a relevant item is there, else 0."""
        found, size, nth, above = self._ties_at(cutoff, at_least)
        beside = nth * (found - 1) / np.maximum(size - 1, 1)  # relevant items of the tie above one of them
        return found / size * (above + beside + 1) / np.arange(1, found.shape[1] + 1)

    def placings(self, cutoff: int | None) -> Iterator[tuple[Ints, Ints]]:
        """Go through all hits and the positions that each may take, as parallel arrays."""
        depth = self.depth(cutoff)
        step = max(1, CELLS // depth)
        for start in range(0, len(self.query), step):
            rows = slice(start, start + step)
            hit, position = _positions(self.tied.begin[rows], self.tied.size[rows], depth)
            yield hit + start, position

    def _without_unjudged(self) -> TiedMatch:
        """Leave out the items that nobody judged: ties shrink to those that somebody did."""
        kept = self.nonrelevant_grade >= 0
        query, begin = (
            np.concatenate([mine, poor[kept]])
            for mine, poor in (
                (self.tied.query, self.nonrelevant_tied.query),
                (self.tied.begin, self.nonrelevant_tied.begin),
            )
        )
        order = np.lexsort((begin, query))
        query, begin = query[order], begin[order]
        firsts = Shared(query, begin, begin).firsts
        sizes = np.diff(np.append(firsts, len(query)))
        starts = firsts - np.searchsorted(query, query[firsts])
        new_begin, new_size = (np.empty_like(query) for _ in range(2))
        new_begin[order], new_size[order] = np.repeat(starts, sizes), np.repeat(sizes, sizes)
        hits = len(self.query)
        return replace(
            super()._without_unjudged(),
            tied=Shared(self.query, new_begin[:hits], new_size[:hits]),
            nonrelevant_tied=Shared(self.nonrelevant_query[kept], new_begin[hits:], new_size[hits:]),
        )

    def _relevant(self, at_least: float | None) -> Bools:
        if at_least is None:
            return np.ones(len(self.query), bool)
        return np.asarray(self.native_grades[self.place] >= at_least)

    def _shape(self, cutoff: int | None) -> tuple[int, int]:
        return self.queries, self.depth(cutoff)

    def _ties_at(self, cutoff: int | None, at_least: float | None) -> tuple[Floats, Floats, Floats, Floats]:
        """Tell, for [query, position], of the tie there: relevant items, size, items above, relevant items above it."""
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
