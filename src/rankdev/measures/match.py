"""The input of measures: for each query and position, the rank of the item that is there. No item ids.

Where ties are not broken, a :class:`TiedMatch` has what measures need for their expected value over all orders of ties.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

from rankdev._common.arrays import Bools, Floats, Ints, largest
from rankdev.data.rows import last_of_each
from rankdev.errors import MeasureError

Scalar = TypeVar("Scalar", bound=np.generic)


@dataclass(frozen=True, eq=False)
class Ideals:
    """The references of a block of queries: query ``i`` owns ``ranks[offsets[i]:offsets[i + 1]]``, sorted.

    It may own none: all that was judged there is nonrelevant. Query ``i`` also owns ``nonrelevant_grades`` (0 or
    less) by ``nonrelevant_offsets``, one for each item judged nonrelevant; both are None where these are unknown.
    ``highest_grade`` is that of all references, of which these may be a part.
    """

    offsets: Ints
    ranks: Ints
    grades: Floats | None = None
    nonrelevant_offsets: Ints | None = None
    nonrelevant_grades: Floats | None = None
    highest_grade: float = 0.0

    @cached_property
    def shared(self) -> dict[object, Any]:
        """What measures compute of these references once, for all runs."""
        return {}

    @cached_property
    def sizes(self) -> Ints:
        """Number of reference items (m)."""
        return self.offsets[1:] - self.offsets[:-1]

    @cached_property
    def tiers(self) -> Ints:
        """Number of tiers (T)."""
        return last_of_each(self.offsets, self.ranks)

    @cached_property
    def nonrelevant_sizes(self) -> Ints:
        """Number of items judged nonrelevant."""
        self.check_judged()
        assert self.nonrelevant_offsets is not None
        return np.diff(self.nonrelevant_offsets)

    def between(self, begin: int, end: int) -> Ideals:
        """Return those of some queries."""
        offsets, rows = _part(self.offsets, begin, end)
        grades = None if self.grades is None else self.grades[rows]
        if self.nonrelevant_offsets is None or self.nonrelevant_grades is None:
            return Ideals(offsets, self.ranks[rows], grades, highest_grade=self.highest_grade)
        nonrelevant_offsets, nonrelevant = _part(self.nonrelevant_offsets, begin, end)
        nonrelevant_grades = self.nonrelevant_grades[nonrelevant]
        return Ideals(offsets, self.ranks[rows], grades, nonrelevant_offsets, nonrelevant_grades, self.highest_grade)

    def check_judged(self) -> None:
        """Refuse references that do not state which items were judged nonrelevant."""
        if self.nonrelevant_offsets is None:
            raise MeasureError("no-nonrelevant")

    def spread(self, values: npt.NDArray[Scalar], depth: int, beyond: Any = 0) -> npt.NDArray[Scalar]:
        """Lay per-item values out as [query, position], with ``beyond`` past the reference."""
        rows = self.offsets[:-1, None] + np.arange(depth)
        inside = rows < self.offsets[1:, None]
        return np.where(inside, values[rows * inside] if len(values) else 0, beyond).astype(values.dtype, copy=False)

    def first(self, values: Floats, cutoff: int | None) -> Floats:
        """Lay per-item values out as [query, position] down to the cutoff or the end of the longest reference."""
        longest = max(1, largest(self.sizes))
        return self.spread(values, longest if cutoff is None else min(cutoff, longest))

    def ideal_ranks(self, depth: int) -> Ints:
        """Return the ideal rank γ* at each position; past the reference it grows by one per position."""
        return self.spread(self.ranks, depth, (self.tiers - self.sizes)[:, None] + np.arange(1, depth + 1))


def _part(offsets: Ints, begin: int, end: int) -> tuple[Ints, slice]:
    """Return the offsets of some queries, from 0, and the rows they own."""
    return offsets[begin : end + 1] - offsets[begin], slice(int(offsets[begin]), int(offsets[end]))


@dataclass(frozen=True, eq=False)
class Match:
    """A run matched with its references: one entry per retrieved reference item, sorted by query and position.

    ``query`` counts within the block, ``position`` from 0; ``place`` indexes the item in the references' columns.
    ``lengths`` counts the items returned for each query. Returned items judged nonrelevant are listed apart, in
    the same way, with their grades (0 or less).
    """

    ideals: Ideals
    query: Ints
    position: Ints
    place: Ints
    lengths: Ints
    nonrelevant_query: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    nonrelevant_position: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    nonrelevant_grade: Floats = field(default_factory=lambda: np.zeros(0))

    def between(self, begin: int, end: int) -> Self:
        """Return the part of some queries, which are counted from the first of them."""
        if (begin, end) == (0, self.queries):
            return self
        hits = slice(*np.searchsorted(self.query, [begin, end]))
        poor = slice(*np.searchsorted(self.nonrelevant_query, [begin, end]))
        part = self._columns(hits, poor)
        part["query"] = part["query"] - begin
        part["nonrelevant_query"] = part["nonrelevant_query"] - begin
        part["place"] = part["place"] - self.ideals.offsets[begin]
        return replace(self, ideals=self.ideals.between(begin, end), lengths=self.lengths[begin:end], **part)

    def _columns(self, hits: Any, poor: Any) -> dict[str, Any]:
        """Return some rows of every column: of the hits, and of the items judged nonrelevant."""
        return {
            entry.name: getattr(self, entry.name)[poor if entry.name.startswith("nonrelevant") else hits]
            for entry in fields(self)
            if entry.name not in ("ideals", "lengths")
        }

    @property
    def queries(self) -> int:
        """Number of queries."""
        return len(self.lengths)

    def depth(self, cutoff: int | None) -> int:
        """Return the number of positions that a measure with this cutoff looks at."""
        longest = largest(self.lengths)
        return max(1, longest if cutoff is None else min(cutoff, longest))

    def hits(self, cutoff: int | None, at_least: float | None = None) -> Bools:
        """Return, for [query, position], whether a reference item (of a grade of at least …) is there."""
        hits = self.ranks(cutoff) > 0
        if at_least is None:
            return hits
        return np.asarray(hits & (self.grades(cutoff) >= at_least))

    def presence(self, cutoff: int | None, at_least: float | None = None) -> Bools | Floats:
        """Return what :meth:`hits` does; where ties are not broken, its probability."""
        return self.hits(cutoff, at_least)

    def mean(self, values: Floats, cutoff: int | None) -> Floats:
        """Lay values of the hits out as [query, position]; where ties are not broken, means over what is tied there."""
        return self.dense(values, cutoff)

    def judged(self, cutoff: int | None) -> Bools | Floats:
        """Return, for [query, position], whether a judged item is there; where ties are not broken, the probability."""
        return np.asarray(self.hits(cutoff) | self.nonrelevant(cutoff))

    def nonrelevant(self, cutoff: int | None, which: Bools | None = None) -> Bools:
        """Return, for [query, position], whether an item judged nonrelevant (one of these, or any) is there."""
        self.ideals.check_judged()
        table, rows = np.zeros((self.queries, self.depth(None)), bool), slice(None) if which is None else which
        table[self.nonrelevant_query[rows], self.nonrelevant_position[rows]] = True
        return table[:, :cutoff]

    def above(self, depth: int) -> Match:
        """Return the match of the first ``depth`` positions, in one order."""
        kept = self._columns(self.position < depth, self.nonrelevant_position < depth)
        columns = {entry.name: kept[entry.name] for entry in fields(Match) if entry.name in kept}
        return Match(self.ideals, lengths=np.minimum(self.lengths, depth), **columns)

    @cached_property
    def judged_only(self) -> Match:
        """The same without unjudged items, pooled or not: those below move up."""
        self.ideals.check_judged()
        kept = self.nonrelevant_grade >= 0
        query = np.concatenate([self.query, self.nonrelevant_query[kept]])
        order = np.lexsort((np.concatenate([self.position, self.nonrelevant_position[kept]]), query))
        lengths = np.bincount(query, minlength=self.queries)
        position = np.empty_like(query)
        position[order] = np.arange(len(query)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        hits = len(self.query)
        return replace(
            self,
            position=position[:hits],
            lengths=lengths,
            nonrelevant_query=query[hits:],
            nonrelevant_position=position[hits:],
            nonrelevant_grade=self.nonrelevant_grade[kept],
        )

    def ranks(self, cutoff: int | None) -> Ints:
        """Return the ranks γ at [query, position]; 0 where nothing gains credit."""
        return self._ranks[:, :cutoff]

    @cached_property
    def _ranks(self) -> Ints:
        return self.dense(self.ideals.ranks[self.place], None)

    @cached_property
    def shared(self) -> dict[object, Any]:
        """What measures share: best scores by measure and depth."""
        return {}

    def grades(self, cutoff: int | None) -> Floats:
        """Return the native grades at [query, position]; 0 where there is none."""
        return self.dense(self.native_grades[self.place], cutoff)

    @property
    def highest_grade(self) -> float:
        """The highest grade of all references, not just of these."""
        return max(self.ideals.highest_grade, float(self.native_grades.max(initial=0.0)))

    @property
    def native_grades(self) -> Floats:
        """Grades of the reference items; raises an error with a remedy where there are none."""
        if self.ideals.grades is None:
            raise MeasureError("no-grades")
        return self.ideals.grades

    def relevant(self, at_least: float | None) -> Ints:
        """Count the reference items of each query (of a grade of at least …)."""
        if at_least is None:
            return self.ideals.sizes
        owner = np.repeat(np.arange(self.queries), self.ideals.sizes)
        return np.bincount(owner, self.native_grades >= at_least, self.queries).astype(np.int64)

    @cached_property
    def ideal_places(self) -> Ints:
        """Position (from 0) of each hit in the ideal list that agrees best with the run.

        That list is sorted by rank, items of one tier in the order in which the run returns them.
        """
        starts = self.tier_starts[self.place]
        tier = self.ideals.offsets[self.query] + starts  # its first item among those of all queries
        order = np.argsort(tier, kind="stable")
        begins = np.flatnonzero(np.diff(tier[order], prepend=-1))
        nth = np.arange(len(order)) - np.repeat(begins, np.diff(begins, append=len(order)))
        places = np.empty(len(order), np.int64)
        places[order] = nth
        return starts + places

    @cached_property
    def tier_starts(self) -> Ints:
        """For each reference item, how many items of its query are in better tiers."""
        ideals = self.ideals
        owner = np.repeat(np.arange(self.queries), ideals.sizes)
        first = (np.diff(owner, prepend=-1) != 0) | (np.diff(ideals.ranks, prepend=0) != 0)
        begins = np.maximum.accumulate(np.where(first, np.arange(len(owner)), 0))
        return begins - ideals.offsets[owner]

    @cached_property
    def tier_sizes(self) -> Ints:
        """For each reference item, how many items share its rank."""
        begins = np.repeat(self.ideals.offsets[:-1], self.ideals.sizes) + self.tier_starts
        return np.bincount(begins)[begins]

    def dense(self, values: npt.NDArray[Scalar], cutoff: int | None) -> npt.NDArray[Scalar]:
        """Lay values of the hits out as [query, position up to the cutoff]; other items have 0."""
        table = np.zeros((len(self.lengths), max(1, largest(self.lengths))), values.dtype)
        table[self.query, self.position] = values
        return table[:, :cutoff]


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

    ``tie_begin`` and ``tie_size`` are the first position and the size of each hit's tie, and the same of nonrelevant
    items. Those below the deepest cutoff are listed as well where their tie begins above it.
    """

    tie_begin: Ints
    tie_size: Ints
    nonrelevant_tie_begin: Ints
    nonrelevant_tie_size: Ints

    @cached_property
    def tied(self) -> TieGroups:
        """The ties of the hits."""
        return TieGroups(self.query, self.tie_begin, self.tie_size)

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
        nonrelevant = TieGroups(self.nonrelevant_query, self.nonrelevant_tie_begin, self.nonrelevant_tie_size)
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
            hit, position = _positions(self.tie_begin[rows], self.tie_size[rows], depth)
            yield hit + start, position

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
        return ties.lay_out(found, shape), ties.lay_out(size, shape, empty=1.0), nth, ties.lay_out(above, shape)


def _positions(begin: Ints, size: Ints, depth: int) -> tuple[Ints, Ints]:
    """Number the entries and list the positions of each that are above the depth, as parallel arrays."""
    counts = np.clip(depth - begin, 0, size)
    entry = np.repeat(np.arange(len(begin)), counts)
    nth = np.arange(len(entry)) - np.repeat(np.cumsum(counts) - counts, counts)
    return entry, begin[entry] + nth


def total(table: npt.NDArray[np.generic]) -> Floats:
    """Sum each row from left to right, in the order in which an ideal list is summed, so that 1 is exactly 1."""
    if table.shape[0] < table.shape[1]:
        return np.add.accumulate(table, 1, np.float64)[:, -1]
    sums = table[:, 0].astype(np.float64)
    for column in table.T[1:]:  # five times faster on a thousand rows of ten
        sums += column
    return sums


def scaled(values: Floats, largest: Floats | float) -> Floats:
    """Divide by the power of two nearest below ``largest``: exact, and no sum of such values overflows."""
    return np.asarray(np.ldexp(values, 1 - np.frexp(largest)[1]))


def ratio(part: Floats | Ints, whole: Floats | Ints) -> Floats:
    """Divide; 0 where there is nothing to divide by."""
    return np.divide(part, whole, out=np.zeros(np.broadcast(part, whole).shape), where=whole > 0)
