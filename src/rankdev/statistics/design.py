"""The design of an analysis, built once from scores: clusters and weights of queries, runs of systems, segments."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from rankdev._common.arrays import Bools, Floats, Ints
from rankdev._common.checks import check_number, check_whole, is_list
from rankdev._common.result import Result
from rankdev.data.ids import by_id
from rankdev.data.tables import as_dict
from rankdev.errors import DataError, Note, UsageError, warn
from rankdev.evaluation.coverage import problems
from rankdev.evaluation.scores import Scores, ScoresLike, WeightsLike
from rankdev.statistics.inputs import as_scores, is_several, named_segments, places, wanted_pairs
from rankdev.statistics.pairs import BetweenRuns, Family, against_constants, summed
from rankdev.statistics.tests import student

COUNTED = "drawn, and n counts them"
PAPER_SIZES = (25, 50, 75, *range(100, 501, 50), 750, 1000, 1500, 2000)
SMALL_SIZES = (5, 10, 15, 20, 25, 30, 40, 50, 60, 75)  # for pools below 100, where the paper's grid begins too late
FEWEST = 3  # runs of a system: with two, tests reject too often (.13 for .05)


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
class Panel:
    """Measures that are available for the same queries: ``values[query, system, measure]``; or for clusters of them."""

    places: tuple[int, ...]  # positions of these measures among all requested ones
    queries: Ints = field(repr=False)  # indices into the scores' queries, or numbers of clusters
    values: Floats = field(repr=False)


class OfDrawnQueries(Result):
    """Results for n queries that are drawn, or for n clusters of them."""

    clusters: int | None

    @property
    def unit(self) -> str:
        """What n counts: queries, or clusters of them."""
        return "queries" if self.clusters is None else "clusters"


def reaching(values: Floats, sizes: Sequence[int]) -> Floats:
    """Return the first size at which values, along the last axis, are at least 0.8; infinite where there is none."""
    reached = values >= 0.8
    return np.where(reached.any(axis=-1), np.array(sizes)[reached.argmax(axis=-1)], np.inf)


def smallest_is_enough(what: str, sizes: Sequence[int], first: Mapping[str, float], pool: int) -> list[Note]:
    """State of which measures the smallest size that was simulated is enough already, so that fewer may be."""
    names = [measure for measure, size in first.items() if size == sizes[0]] if sizes[0] < pool else []
    return [Note("smallest-size", name=what, measures=names, size=sizes[0])] if names else []


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
        weighted: bool = False,
        weights: WeightsLike | None = None,
        least: int = 2,
    ) -> Design:
        """Check what was given, and average runs; there are ``least`` systems or more.

        Scores with weights of queries are refused but where these may be ``weighted``; ``weights`` replace theirs.
        """
        if is_several(scores):
            raise UsageError("several-collections")
        if clusters is not None and replicates is not None:
            raise UsageError("not-together", name="clusters", other="replicates")
        single = as_scores(scores, measures, weighted=weighted)
        if weights is not None:
            single = single.weighted(weights)
        runs = None if replicates is None else replicated(single, replicates)
        averaged = single if runs is None else runs.averaged
        if len(averaged.systems) < least:
            raise UsageError("too-few", what="a comparison", least=least, unit="system", count=len(averaged.systems))
        return cls(averaged, single, _by_query(clusters), runs, {} if segments is None else named_segments(segments))

    @property
    def unit(self) -> str:
        """What is independent: a query, or a cluster of queries."""
        return "query" if self.clusters is None else "cluster"

    @cached_property
    def problems(self) -> tuple[Note, ...]:
        """What is wrong with the data, so that nothing is decided."""
        return problems(self.single)

    @property
    def notes(self) -> tuple[Note, ...]:
        """Notes on runs, on queries that are left out, and those of the scores."""
        runs = () if self.runs is None else self.runs.remarks
        return (*runs, *_gaps(self.single), *self.single.remarks)

    def on_clusters(self, how: str) -> tuple[Note, ...]:
        """Note how many clusters the queries have, and how whole ones are treated."""
        if self.clusters is None:
            return ()
        members = self.members(np.array([i for i, query in enumerate(self.scores.queries) if query in self.clusters]))
        return (Note("whole-clusters", how=how, count=members.max() + 1, most=np.bincount(members).max()),)

    def members(self, queries: Ints) -> Ints:
        """Number the cluster of each of these queries, or the queries themselves."""
        if self.clusters is None:
            return np.arange(len(queries))
        names = [self.scores.queries[i] for i in queries]
        without = [name for name in names if name not in self.clusters]
        if without:
            raise DataError("no-cluster", count=len(without), queries=len(queries), example=without[0])
        number, found = np.unique([self.numbers[self.clusters[name]] for name in names], return_inverse=True)
        if len(number) < 2:
            raise DataError("too-few", what="a sample", least=2, unit="cluster", count=len(number))
        return found

    @cached_property
    def panels(self) -> list[Panel]:
        """The measures, grouped by the queries for which every system has a value.

        Queries that lack a value are left out for that measure, with a warning that counts them.
        """
        scores = self.scores
        if not len(scores.queries):
            raise DataError("no-rows", what="table of scores")
        known: Bools = np.logical_not(np.isnan(scores.values).any(axis=0))
        for place, measure in enumerate(scores.measures):
            if not known[:, place].any():
                raise DataError("no-common-query", measure=measure)
        for remark in _gaps(scores):
            warn(remark)
        groups: dict[bytes, list[int]] = {}
        for place in range(len(scores.measures)):
            groups.setdefault(known[:, place].tobytes(), []).append(place)
        values = scores.values.transpose(1, 0, 2)
        rows = [np.flatnonzero(known[:, own[0]]) for own in groups.values()]
        return [Panel(tuple(own), at, values[at][:, :, own]) for own, at in zip(groups.values(), rows, strict=True)]

    @cached_property
    def numbers(self) -> dict[Any, int]:
        """The clusters of all queries that have one, or all queries, numbered in order."""
        queries = self.scores.queries
        if self.clusters is not None:
            queries = tuple(self.clusters[query] for query in queries if query in self.clusters)
        return {name: i for i, name in enumerate(dict.fromkeys(queries))}

    @property
    def pool(self) -> int:
        """Count what can be drawn: queries, or clusters of them."""
        return len(self.numbers)

    @cached_property
    def drawn(self) -> list[Panel]:
        """What can be drawn: panels of queries, or of clusters, which are sums over their mean size: means stay."""
        if self.clusters is None:
            return self.panels
        found = []
        for panel in self.panels:
            values, _ = summed(panel.values, self.members(panel.queries))
            rows = {self.numbers[self.clusters[self.scores.queries[i]]] for i in panel.queries}
            found.append(replace(panel, queries=np.array(sorted(rows)), values=values))
        return found

    def sizes(self, asked: Sequence[int] | None, replaced: bool = False) -> tuple[tuple[int, ...], list[Note]]:
        """Keep the sizes of which so many can be drawn (all with replacement); note, and warn of, those left out.

        Without any, those of the paper, or finer ones below all of a small pool.
        """
        pools = {len(panel.queries) for panel in self.drawn}
        pool = max(pools)
        if asked is None:
            small = pool < 100 and not replaced
            asked = [size for size in SMALL_SIZES if size < pool] or SMALL_SIZES[:1] if small else PAPER_SIZES
        if not is_list(asked) or not len(asked):
            raise UsageError("bad-value", name="sizes", value=asked, expected="whole numbers, such as [25, 50, 100]")
        sizes = tuple(sorted({check_whole("sizes", size, 2) for size in asked}))
        if replaced:
            return sizes, []
        kept = tuple(size for size in sizes if size <= pool)
        if not kept:
            raise DataError("too-few", what="the smallest size", least=sizes[0], unit=self.unit, count=pool)
        dropped = sizes[len(kept) :]
        notes = [Note("sizes-left-out", count=pool, unit=self.unit, sizes=dropped)] if dropped else []
        notes += [Note("size-of-all", count=size, unit=self.unit) for size in sorted(pools & set(kept))]
        for note in notes:
            warn(note)
        return kept, notes

    def families(self, baselines: str | Sequence[str] | None = None) -> list[Family]:
        """Return the wanted pairs under each measure: all pairs, later − earlier, or all others − baselines."""
        return self._families(*wanted_pairs(self.scores, baselines))

    def _families(self, first: Ints, second: Ints) -> list[Family]:
        found: dict[int, Family] = {}
        for panel in self.panels:
            members = None if self.clusters is None else self.members(panel.queries)
            for m, place in enumerate(panel.places):
                low, high = self.scores.kinds[place].range
                values = np.ascontiguousarray(panel.values[:, :, m])
                # values from elsewhere may be outside of the range
                span = high - low if low <= values.min() and values.max() <= high else np.inf
                weights = None if self.scores.weights is None else self.scores.weights[panel.queries]
                found[place] = Family(values, panel.queries, first, second, span, members, weights)
        return self._with_runs([found[place] for place in range(len(self.scores.measures))])

    def _with_runs(self, families: list[Family]) -> list[Family]:
        """Add to the family of each measure the variance of systems between the means of their runs.

        A single run is taken as deterministic.
        """
        if self.runs is None:
            return families
        found = []
        for m, family in enumerate(families):
            means = np.average(self.single.values[:, family.queries, m], axis=1, weights=family.weights)
            own = [means[members] for members in self.runs.members.values()]
            variance = [float(each.var(ddof=1)) / len(each) if len(each) > 1 else 0.0 for each in own]
            freedom = [max(len(each) - 1.0, 1.0) for each in own]
            found.append(replace(family, runs=BetweenRuns(np.array(variance), np.array(freedom))))
        return found

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

    def mean_limits(self, alpha: float = 0.05) -> tuple[Floats, Floats]:
        """Bound the mean of every system and measure, ``[system, measure]``, over queries with a value for all, by t.

        Values are compared with the most common one: where too few differ from it, limits reach as far as what none of
        the queries showed could move the mean.

        >>> values = np.array([[[0.2], [0.4], [0.6]], [[1.0], [1.0], [1.0]]])
        >>> low, high = Design.of(Scores(("s", "t"), ("a", "b", "c"), ("P@5",), values)).mean_limits()
        >>> low.round(4).tolist(), high.round(4).tolist()  # Student's would reach −.0968 and .8968, and [1, 1]
        ([[0.0], [0.2924]], [[1.0], [1.0]])
        """
        alpha = check_number("alpha", alpha, 0, 1)
        limits = np.full((2, len(self.scores.systems), len(self.scores.measures)), np.nan)
        alone = self._families(np.arange(0), np.arange(0))
        for m, (each, kind) in enumerate(zip(alone, self.scores.kinds, strict=True)):
            family = against_constants(each)
            usual = family.values[0, family.second]  # the constants that they are compared with
            low, high = student(family, alpha).interval(family, np.full(family.pairs, alpha))
            within = (each.values >= kind.range[0]).all() and (each.values <= kind.range[1]).all()
            limits[:, :, m] = np.clip([usual + low, usual + high], *(kind.range if within else (-np.inf, np.inf)))
        return limits[0], limits[1]


def crossed(*axes: Mapping[str, Sequence[Any]] | pl.DataFrame) -> pl.DataFrame:
    """Return all combinations of labels, those of the last axis side by side; an axis may have several columns.

    >>> crossed({"measure": ["RR"]}, in_pairs(["s", "t", "u"])).rows()
    [('RR', 's', 't'), ('RR', 's', 'u'), ('RR', 't', 'u')]
    """
    return reduce(lambda rows, axis: rows.join(axis, how="cross"), map(pl.DataFrame, axes))


def in_pairs(names: Sequence[str]) -> pl.DataFrame:
    """Return the names of every two, ``a`` and ``b``, in order."""
    return pl.DataFrame(list(combinations(names, 2)), {"a": pl.String, "b": pl.String}, orient="row")


def _gaps(scores: Scores) -> list[Note]:
    gaps = np.isnan(scores.values).any(axis=0).sum(axis=0)
    counts = [(name, int(gap)) for name, gap in zip(scores.measures, gaps, strict=True) if gap]
    return [Note("gaps", gaps=counts, queries=len(scores.queries))] if counts else []


def _by_query(clusters: Any) -> dict[str, Any] | None:
    """Return the cluster of each query by its id."""
    if clusters is None:
        return None
    clusters = as_dict(clusters)
    if not isinstance(clusters, Mapping) or not all(isinstance(name, Hashable) for name in clusters.values()):
        raise UsageError("bad-value", name="clusters", value=clusters, expected="{query: cluster}")
    return by_id(clusters)
