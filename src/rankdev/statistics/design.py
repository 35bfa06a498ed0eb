"""The design of a comparison, built once from scores: which queries belong together, which runs are of one system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from rankdev._common.arrays import Bools
from rankdev.errors import DataError, Note, UsageError
from rankdev.evaluation.problems import problems
from rankdev.evaluation.scores import Scores, ScoresLike
from rankdev.statistics.contrasts import BetweenRuns, Family, against_constants, families_of, wanted_pairs
from rankdev.statistics.panels import Indices, as_scores, carried, is_several
from rankdev.statistics.replicates import Replicated, replicated
from rankdev.statistics.segments import named_segments, places


@dataclass(frozen=True, eq=False)
class Design:
    """Scores of systems, clusters of queries, runs of systems and segments of queries.

    ``scores`` are those of systems, means over their runs where there are several; ``single`` those of runs.
    """

    scores: Scores
    single: Scores
    clusters: Mapping[str, Any] | None = None
    runs: Replicated | None = None
    segments: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        scores: ScoresLike,
        measures: Sequence[str] | None = None,
        *,
        clusters: Mapping[str, Any] | None = None,
        replicates: Mapping[str, Sequence[str]] | None = None,
        segments: Mapping[str, Any] | None = None,
    ) -> Design:
        """Check what was given, and average runs."""
        if is_several(scores):
            raise UsageError("several-collections")
        if clusters is not None and replicates is not None:
            raise UsageError("not-together", name="clusters", other="replicates")
        single = as_scores(scores, measures)
        runs = None if replicates is None else replicated(single, replicates)
        averaged = single if runs is None else runs.averaged
        return cls(averaged, single, clusters, runs, {} if segments is None else named_segments(segments))

    @cached_property
    def problems(self) -> tuple[Note, ...]:
        """What is wrong with the data, so that nothing is decided."""
        return problems(self.single)

    def families(self, baselines: str | Sequence[str] | None = None) -> list[Family]:
        """Return the wanted pairs under each measure: all pairs, later − earlier, or all others − baselines."""
        first, second = wanted_pairs(self.scores, baselines)
        found = families_of(self.scores, first, second, self.clusters)
        if self.runs is None:
            return found
        return [replace(one, runs=self._between(one.queries, m)) for m, one in enumerate(found)]

    def each(self) -> list[Family]:
        """Return each system by itself under each measure, as a family of systems against constants."""
        found = families_of(self.scores, np.arange(0), np.arange(0), self.clusters, at_least=1)
        return [
            against_constants(one if self.runs is None else replace(one, runs=self._between(one.queries, m).twice))
            for m, one in enumerate(found)
        ]

    def _between(self, queries: Indices, m: int) -> BetweenRuns:
        """Return each system's variance between the means of its runs; a single run is taken as deterministic."""
        assert self.runs is not None
        means = self.single.values[:, queries, m].mean(axis=1)
        own = [means[members] for members in self.runs.members.values()]
        variance = [float(each.var(ddof=1)) / len(each) if len(each) > 1 else 0.0 for each in own]
        return BetweenRuns(np.array(variance), np.array([max(len(each) - 1.0, 1.0) for each in own]))

    def within(self, families: Sequence[Family]) -> tuple[dict[str, list[Family]], tuple[Note, ...]]:
        """Return the families of each segment that can be tested, and notes on those that cannot."""
        located, notes = places(self.scores.queries, self.segments)
        found: dict[str, list[Family]] = {}
        for name, queries in located.items():
            own = [one.only(_among(one.queries, queries)) for one in families]
            few = min(len(one.rows.values) if len(one.values) else 0 for one in own)
            if few < 2:
                notes.append(Note("small-segment", segment=name, count=few, unit=self.unit))
            else:
                found[name] = [self._of_segment(one, m) for m, one in enumerate(own)]
        if not found:
            raise DataError("untestable-segments", notes=[str(note) for note in notes])
        return found, tuple(notes)

    def _of_segment(self, family: Family, m: int) -> Family:
        return family if self.runs is None else replace(family, runs=self._between(family.queries, m))

    @property
    def unit(self) -> str:
        """What is independent: a query, or a cluster of queries."""
        return "query" if self.clusters is None else "cluster"

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on runs and scores."""
        return (*(() if self.runs is None else self.runs.remarks), *carried(self.single))


def _among(queries: Indices, kept: Indices) -> Bools:
    return np.isin(queries, kept)
