"""The design of a comparison, built once from scores: which queries belong together, which runs are of one system."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np

from rankdev._common.arrays import Ints
from rankdev._common.checks import is_list
from rankdev._common.ids import by_id
from rankdev.errors import DataError, Note, UsageError
from rankdev.evaluation.problems import problems
from rankdev.evaluation.scores import Scores, ScoresLike
from rankdev.statistics.contrasts import BetweenRuns, Family, against_constants, families_of, wanted_pairs
from rankdev.statistics.panels import Indices, as_scores, carried, is_several

ALL = "all"  # the name of all queries
EXPECTED = "{query: segment} or {segment: [query, …]}"
FEWEST = 3  # runs of a system: with two, tests reject too often (.13 for .05)


def named_segments(segments: Any) -> dict[str, frozenset[str]]:
    """Accept the segment of each query, ``{query: segment}``, or the queries of each, ``{segment: [query, …]}``.

    >>> named_segments({"q1": "head", "q2": "tail"}) == named_segments({"head": ["q1"], "tail": ["q2"]})
    True
    """
    if not isinstance(segments, Mapping) or not segments:
        raise UsageError("bad-value", name="segments", value=segments, expected=EXPECTED)
    found: dict[str, frozenset[str]] = {}
    if all(isinstance(value, str | Integral) and not isinstance(value, bool) for value in segments.values()):
        known = {query: str(name) for query, name in by_id(segments).items()}
        for name in dict.fromkeys(known.values()):
            found[name] = frozenset(query for query, its in known.items() if its == name)
    else:
        for name, queries in by_id(segments).items():
            listed = is_list(queries) and all(isinstance(one, str | int) for one in queries)
            if not isinstance(name, str) or not listed:
                raise UsageError("bad-value", segment=name, name="segments", value=queries, expected=EXPECTED)
            found[name] = frozenset(by_id(dict.fromkeys(queries)))
    if ALL in found:
        raise UsageError("bad-value", name="a segment", value=ALL, expected="another name: this means all queries")
    return found


def places(queries: Sequence[str], segments: Mapping[str, Collection[str]]) -> tuple[dict[str, Ints], list[Note]]:
    """Locate the queries of each segment, and note segments without any and queries without one."""
    found = {name: np.array([i for i, query in enumerate(queries) if query in own]) for name, own in segments.items()}
    notes = [Note("unscored-segment", segment=name) for name, own in found.items() if not len(own)]
    outside = len(set(queries).difference(*segments.values()))
    if outside:
        notes.append(Note("no-segment", count=outside, queries=len(queries)))
    return {name: own for name, own in found.items() if len(own)}, notes


@dataclass(frozen=True, eq=False)
class Replicated:
    """Scores of single runs, and which of them each system has."""

    scores: Scores
    members: dict[str, list[int]]

    @property
    def counts(self) -> dict[str, int]:
        """Runs of each system."""
        return {name: len(runs) for name, runs in self.members.items()}

    @property
    def averaged(self) -> Scores:
        """Scores of the systems: means over their runs."""
        values = [self.scores.values[runs].mean(axis=0) for runs in self.members.values()]
        return replace(self.scores, systems=tuple(self.members), values=np.stack(values), coverage=())

    @property
    def remarks(self) -> tuple[Note, ...]:
        """Note how many runs each system has, and that a single run is taken as deterministic."""
        single = [name for name, count in self.counts.items() if count == 1]
        notes = [Note("of-runs", runs=list(self.counts.items()))]
        return tuple(notes + ([Note("single-run", systems=single, count=len(single))] if single else []))


def in_words(counts: Mapping[str, int]) -> str:
    """Return how many runs each system has, as text.

    >>> in_words({"a": 3, "b": 3}), in_words({"a": 3, "b": 1})
    ('3 of each system', 'a 3, b 1')
    """
    if len(set(counts.values())) == 1:
        return f"{next(iter(counts.values()))} of each system"
    return ", ".join(f"{name} {count}" for name, count in counts.items())


def replicated(scores: Scores, replicates: Mapping[str, Sequence[str]]) -> Replicated:
    """Group runs by system; runs that no system names are systems with a single run.

    >>> scores = Scores(("a1", "b", "a2", "a3"), ("q",), ("P@1",), np.array([[[1.0]], [[0.5]], [[0.0]], [[0.5]]]))
    >>> found = replicated(scores, {"a": ["a1", "a2", "a3"]})
    >>> found.counts, found.averaged.averages.tolist()
    ({'a': 3, 'b': 1}, [[0.5], [0.5]])
    """
    if not isinstance(replicates, Mapping) or not all(is_list(runs) and len(runs) for runs in replicates.values()):
        raise UsageError("bad-value", name="replicates", value=replicates, expected="{system: [run, …]}")
    owner: dict[str, str] = {}
    for name, runs in replicates.items():
        for run in scores.select(systems=list(runs)).systems:  # refuses unknown names
            if run in owner:
                raise UsageError("appears-twice", role="replicates", what="run", value=run)
            owner[run] = name
    members: dict[str, list[int]] = {}
    for i, run in enumerate(scores.systems):
        if run not in owner and run in replicates:
            raise UsageError("unlisted-run", role="replicates", run=run)
        members.setdefault(owner.get(run, run), []).append(i)
    found = Replicated(scores, members)
    for name, count in found.counts.items():
        if 1 < count < FEWEST or max(found.counts.values()) == 1:
            raise UsageError(
                "too-few", what=f"the variance between runs of {name}", least=FEWEST, unit="run", count=count
            )
    return found


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
        return self._with_runs(found)

    def _with_runs(self, families: list[Family]) -> list[Family]:
        """Add what is known of runs to the families of each measure."""
        if self.runs is None:
            return families
        return [replace(one, runs=self._between(one.queries, m)) for m, one in enumerate(families)]

    def each(self) -> list[Family]:
        """Return each system by itself under each measure, as a family of systems against constants."""
        found = families_of(self.scores, np.arange(0), np.arange(0), self.clusters, at_least=1)
        return [against_constants(one) for one in self._with_runs(found)]

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
            own = [one.only(np.isin(one.queries, queries)) for one in families]
            few = min(len(one.rows.values) if len(one.values) else 0 for one in own)
            if few < 2:
                notes.append(Note("small-segment", segment=name, count=few, unit=self.unit))
            else:
                found[name] = self._with_runs(own)
        if not found:
            raise DataError("untestable-segments", notes=[str(note) for note in notes])
        return found, tuple(notes)

    @property
    def unit(self) -> str:
        """What is independent: a query, or a cluster of queries."""
        return "query" if self.clusters is None else "cluster"

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on runs and scores."""
        return (*(() if self.runs is None else self.runs.remarks), *carried(self.single))
