"""Runs joined with the references: the returned items that references know, in blocks of queries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rankdev._common.arrays import Bools, Ints
from rankdev.evaluation.coverage import Coverage
from rankdev.measures.base import Measure
from rankdev.measures.match import Ideals, Match
from rankdev.measures.ties import MixedTies, TiedMatch, TieGroups

BLOCK_CELLS = 100_000  # dense tables of a block stay in the cache


@dataclass(frozen=True, eq=False)
class Hits:
    """Returned items that the references know, sorted by query and position; ``place`` is where they are there."""

    query: Ints
    position: Ints
    place: Ints
    tied: TieGroups | None = None  # where ties are not broken

    def take(self, rows: Bools) -> Hits:
        """Keep some of the hits, without their ties."""
        return Hits(self.query[rows], self.position[rows], self.place[rows])

    def between(self, begin: int, end: int) -> Hits:
        """Return those of some queries, counted from the first."""
        rows = slice(*np.searchsorted(self.query, [begin, end]))
        tied = None if self.tied is None else self.tied.between(rows, begin)
        return Hits(self.query[rows] - begin, self.position[rows], self.place[rows], tied)


@dataclass(frozen=True, eq=False)
class MatchedRuns:
    """A run joined with the references, one entry per retrieved reference item, sorted by query and position.

    Items judged nonrelevant are listed apart. ``width`` is what each query takes in a dense table. Several runs
    are one in which all queries appear again and again.
    """

    ideals: Ideals
    hits: Hits
    nonrelevant: Hits
    lengths: Ints
    width: Ints

    @classmethod
    def of(cls, ideals: Ideals, hits: Hits, nonrelevant: Hits, lengths: Ints, depth: int | None) -> MatchedRuns:
        """Take one run, of which the first ``depth`` positions were looked at."""
        could_fill = np.minimum(ideals.sizes, depth or np.inf)
        return cls(ideals, hits, nonrelevant, lengths, np.maximum(lengths, could_fill).astype(np.int64))

    @classmethod
    def together(cls, runs: Sequence[MatchedRuns]) -> MatchedRuns:
        """Concatenate runs whose ties are broken: small ones are scored much faster so."""
        first = runs[0]
        if len(runs) == 1:
            return first
        queries, places = len(first.lengths), (len(first.ideals.ranks), first.ideals.nonrelevant_count)
        return cls(
            first.ideals.repeated(len(runs)),
            _after_each_other([run.hits for run in runs], queries, places[0]),
            _after_each_other([run.nonrelevant for run in runs], queries, places[1]),
            np.concatenate([run.lengths for run in runs]),
            np.concatenate([run.width for run in runs]),
        )

    @property
    def ties_are_open(self) -> bool:
        """Whether all orders of ties are to be averaged."""
        return self.hits.tied is not None

    def blocks(self) -> list[slice]:
        """Cut the queries into blocks whose dense tables stay small."""
        return list(_blocks(self.width))

    def block(self, rows: slice) -> Match:
        """Return what measures see of some queries."""
        begin, end = rows.start, rows.stop
        hits, nonrelevant = (entries.between(begin, end) for entries in (self.hits, self.nonrelevant))
        grades = self.ideals.nonrelevant_grades
        columns = (
            self.ideals.between(begin, end),
            hits.query,
            hits.position,
            hits.place - self.ideals.offsets[begin],
            self.lengths[rows],
            nonrelevant.query,
            nonrelevant.position,
            np.zeros(0) if grades is None else grades[nonrelevant.place],
        )
        if hits.tied is None or nonrelevant.tied is None:
            return Match(*columns)
        return TiedMatch(*columns, tied=hits.tied, nonrelevant_tied=nonrelevant.tied)


def with_ties(coverage: Coverage, ties: MixedTies, matched: MatchedRuns, measures: Sequence[object]) -> Coverage:
    """Add in how many queries ties can change each of the measures, and any of them."""
    wanted = [measure for measure in measures if isinstance(measure, Measure)]
    if not len(ties.query):
        return replace(coverage, tied_by={str(measure): 0 for measure in wanted})
    match = matched.block(slice(0, len(matched.lengths)))
    decided = {str(measure): measure.decided_by(ties, match) for measure in wanted}
    any_of_them = np.any(list(decided.values()), axis=0) if decided else ties.ranks_differ
    counts = {name: len(np.unique(ties.query[part])) for name, part in decided.items()}
    return replace(coverage, tied=len(np.unique(ties.query[any_of_them])), tied_by=counts)


def _after_each_other(runs: Sequence[Hits], queries: int, places: int) -> Hits:
    run = np.repeat(np.arange(len(runs)), [len(hits.query) for hits in runs])
    return Hits(
        np.concatenate([hits.query for hits in runs]) + run * queries,
        np.concatenate([hits.position for hits in runs]),
        np.concatenate([hits.place for hits in runs]) + run * places,
    )


def _blocks(width: Ints) -> Iterator[slice]:
    """Cut a sequence of rows so that no block is larger than BLOCK_CELLS, number of rows times the widest of them."""
    begin, total = 0, len(width)
    while begin < total:
        window, end = 64, begin
        while end == begin or (end - begin == window // 2 and end < total):  # look further while all of it fits
            widest = np.maximum.accumulate(width[begin : begin + window])
            cells = np.maximum(widest, 1) * np.arange(1, len(widest) + 1)
            end = begin + max(1, int(np.searchsorted(cells, BLOCK_CELLS, side="right")))
            window *= 2
        yield slice(begin, end)
        begin = end
