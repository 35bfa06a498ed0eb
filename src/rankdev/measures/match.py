"""The input of measures: for each query and position, the rank of the item that is there. No item ids."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

from rankdev._common.arrays import Bools, Floats, Ints
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
    def sizes(self) -> Ints:
        """Number of reference items (m)."""
        return np.diff(self.offsets)

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

    @property
    def nonrelevant_count(self) -> int:
        """Number of all items judged nonrelevant, as far as they are known."""
        return 0 if self.nonrelevant_grades is None else len(self.nonrelevant_grades)

    def between(self, begin: int, end: int) -> Ideals:
        """Return those of some queries."""
        offsets, rows = _part(self.offsets, begin, end)
        grades = None if self.grades is None else self.grades[rows]
        if self.nonrelevant_offsets is None or self.nonrelevant_grades is None:
            return Ideals(offsets, self.ranks[rows], grades, highest_grade=self.highest_grade)
        nonrelevant_offsets, nonrelevant = _part(self.nonrelevant_offsets, begin, end)
        nonrelevant_grades = self.nonrelevant_grades[nonrelevant]
        return Ideals(offsets, self.ranks[rows], grades, nonrelevant_offsets, nonrelevant_grades, self.highest_grade)

    def repeated(self, times: int) -> Ideals:
        """Return all of them, repeated ``times`` times."""
        return Ideals(
            _repeated(self.offsets, times),
            np.tile(self.ranks, times),
            None if self.grades is None else np.tile(self.grades, times),
            None if self.nonrelevant_offsets is None else _repeated(self.nonrelevant_offsets, times),
            None if self.nonrelevant_grades is None else np.tile(self.nonrelevant_grades, times),
            self.highest_grade,
        )

    def check_judged(self) -> None:
        """Refuse references that do not state which items were judged nonrelevant."""
        if self.nonrelevant_offsets is None:
            raise MeasureError("no-nonrelevant")

    def spread(self, values: npt.NDArray[Scalar], depth: int) -> npt.NDArray[Scalar]:
        """Lay per-item values out as [query, position]; positions past the reference hold anything."""
        if not len(values):
            return np.zeros((len(self.sizes), depth), values.dtype)
        rows = self.offsets[:-1, None] + np.minimum(np.arange(depth), self.sizes[:, None] - 1)
        return values[np.maximum(rows, 0)]

    def ideal_ranks(self, depth: int) -> Ints:
        """Return the ideal rank γ* at each position; past the reference it grows by one per position."""
        position = np.arange(depth)
        beyond = self.tiers[:, None] + (position + 1 - self.sizes[:, None])
        return np.where(position < self.sizes[:, None], self.spread(self.ranks, depth), beyond)


def _part(offsets: Ints, begin: int, end: int) -> tuple[Ints, slice]:
    """Return the offsets of some queries, from 0, and the rows they own."""
    return offsets[begin : end + 1] - offsets[begin], slice(int(offsets[begin]), int(offsets[end]))


def _repeated(offsets: Ints, times: int) -> Ints:
    """Return the offsets of queries that are repeated ``times`` times."""
    begins = offsets[-1] * np.arange(times)[:, None] + offsets[:-1]
    return np.append(begins, offsets[-1] * times)


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

    @property
    def queries(self) -> int:
        """Number of queries."""
        return len(self.lengths)

    def depth(self, cutoff: int | None) -> int:
        """Return the number of positions that a measure with this cutoff looks at."""
        longest = int(self.lengths.max(initial=0))
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
        return self.dense(values, cutoff, 0.0)

    def judged(self, cutoff: int | None) -> Bools | Floats:
        """Return, for [query, position], whether a judged item is there; where ties are not broken, the probability."""
        return np.asarray(self.hits(cutoff) | self.nonrelevant(cutoff))

    def nonrelevant(self, cutoff: int | None) -> Bools:
        """Return, for [query, position], whether an item judged nonrelevant (whatever its grade) is there."""
        table = np.zeros((self.queries, self.depth(cutoff)), bool)
        if self.ideals.nonrelevant_sizes.any():
            within = self.nonrelevant_position < table.shape[1]
            table[self.nonrelevant_query[within], self.nonrelevant_position[within]] = True
        return table

    @cached_property
    def judged_only(self) -> Match:
        """The same without unjudged items, pooled or not: those below move up."""
        return self._without_unjudged()

    def _without_unjudged(self) -> Self:
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
        depth = self.depth(cutoff)
        if depth not in self.shared:
            self.shared[depth] = self.dense(self.ideals.ranks[self.place], cutoff, 0)
        ranks: Ints = self.shared[depth]
        return ranks

    @cached_property
    def shared(self) -> dict[object, Any]:
        """What many measures share: tables of ranks by depth, best scores by measure and depth."""
        return {}

    def grades(self, cutoff: int | None) -> Floats:
        """Return the native grades at [query, position]; 0 where there is none."""
        return self.dense(self.native_grades[self.place], cutoff, 0.0)

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
        ids = (
            np.cumsum(
                self.tier_starts
                == np.arange(len(self.ideals.ranks)) - np.repeat(self.ideals.offsets[:-1], self.ideals.sizes)
            )
            - 1
        )
        return np.bincount(ids)[ids]

    def dense(self, values: npt.NDArray[Scalar], cutoff: int | None, empty: float) -> npt.NDArray[Scalar]:
        """Lay values of the hits out as [query, position up to the cutoff]."""
        depth = self.depth(cutoff)
        table = np.full((self.queries, depth), empty, dtype=values.dtype)
        within = self.position < depth
        table[self.query[within], self.position[within]] = values[within]
        return table


def total(table: npt.NDArray[np.generic]) -> Floats:
    """Sum each row from left to right, in the order in which an ideal list is summed, so that 1 is exactly 1."""
    if table.shape[0] < table.shape[1]:
        return np.cumsum(table, axis=1, dtype=np.float64)[:, -1]
    sums = table[:, 0].astype(np.float64)
    for column in table.T[1:]:  # five times faster on a thousand rows of ten
        sums += column
    return sums


def scaled(values: Floats, largest: Floats | float) -> Floats:
    """Divide by the power of two nearest below ``largest``: exact, and no sum of such values overflows."""
    return np.asarray(np.ldexp(values, 1 - np.frexp(largest)[1]))
