"""Would fewer queries have told? The share of subsamples of n queries in which a pair is told apart."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from os import PathLike
from types import MappingProxyType

import numpy as np

from rankdev.arguments import check_choice, check_number, check_seed, check_whole, is_list
from rankdev.arrays import Floats
from rankdev.errors import DataError, RankdevWarning, UsageError, shown
from rankdev.evaluation.scores import Scores, ScoresLike
from rankdev.meta.common_queries import Panel, as_scores, carried, panels
from rankdev.meta.families import Family
from rankdev.meta.flips import Engine, Sampling, count_extremes, lag_order, open_engine
from rankdev.meta.flips.random_bits import stream_keys
from rankdev.meta.power_intervals import (
    Intervals,
    Simulated,
    effects_of,
    intervals_for,
    query_weights,
    unknown_effects,
)
from rankdev.meta.power_result import POOLS, Bucket, Pool, Power
from rankdev.meta.power_resume import fingerprint, finished_sizes
from rankdev.meta.randomization import PValue, most_extremes
from rankdev.meta.sizes import PAPER_SIZES, fitting, usual
from rankdev.progress import Progress

PAPER_EDGES = (3, 10, 20)
NOTHING: Mapping[int, Floats] = MappingProxyType({})
COLUMNS = 512  # systems × measures simulated together: their sums should stay in the cache


def power(
    scores: ScoresLike,
    *,
    sizes: Sequence[int] = PAPER_SIZES,
    measures: Sequence[str] | None = None,
    subsamples: int = 300,
    permutations: int = 1000,
    alpha: float = 0.05,
    p_value: PValue = "plus-one",
    buckets: bool | Sequence[int] | None = None,
    bucket_sizes: Sequence[int] | None = None,
    pool: Pool = "same",
    intervals: int = 0,
    seed: int = 0,
    engine: str = "auto",
    threads: int | None = None,
    progress: Progress | None = None,
    resume: Power | str | PathLike[str] | None = None,
) -> Power:
    """Estimate the power of the randomization test for every measure, pair of systems and number of queries.

    For each size n, ``subsamples`` sets of n queries are drawn without replacement and each pair is tested
    with ``permutations`` sign flips, or with all flips where these are not more; power is the share of
    subsamples that reject at ``alpha``, uncorrected. ``buckets`` repeats this for queries grouped by reference
    size: ``True`` for the paper's edges (3, 10, 20), or other upper edges; at ``bucket_sizes``, or at 100 or the
    largest size below. ``pool="new"`` draws queries with replacement, as new queries would be. ``intervals`` resamples
    the queries that often, for 95% intervals of every power, percentile and N80, and of the differences between
    measures; 200 will do. Interrupting (Ctrl-C) returns the sizes and buckets that are done, marked as not complete.
    ``resume`` is such a result, or its file: the sizes that it holds are taken from it.

    >>> rng = np.random.default_rng(1)
    >>> values = rng.random((2, 80, 1)) + [[[0.0]], [[0.5]]]
    >>> scores = Scores(("a", "b"), tuple(map(str, range(80))), ("P@1",), values)
    >>> power(scores, sizes=[5, 10, 20], subsamples=50).to_polars()["power"].to_list()
    [0.0, 0.84, 1.0]
    """
    subsamples, permutations = check_whole("subsamples", subsamples, 1), check_whole("permutations", permutations, 1)
    alpha, seed = check_number("alpha", alpha, 0, 1), check_seed(seed)
    intervals = check_whole("intervals", intervals, 0)
    check_choice("pool", pool, POOLS)
    threads = None if threads is None else check_whole("threads", threads, 1)
    scores = as_scores(scores, measures)
    most_extremes(permutations, alpha, p_value)  # refuses what is no p_value
    groups = panels(scores)
    remarks: list[str] = []
    new = pool == "new"
    plan = fitting(sizes, groups, remarks, replaced=new)
    edges = _edges(buckets, scores)
    parts = [] if edges is None else _buckets(scores, groups, edges)
    wanted = [usual(plan)] if bucket_sizes is None else bucket_sizes
    inside = {label: fitting(wanted, part, remarks, label, replaced=new) for label, part in parts}
    for remark in remarks:
        warnings.warn(remark, RankdevWarning, stacklevel=2)
    run = _Simulation(
        len(scores.systems),
        len(scores.measures),
        subsamples,
        permutations,
        alpha,
        p_value,
        new,
        seed,
        engine,
        threads,
        progress,
    )
    data, known = fingerprint(scores), NOTHING
    if resume is not None:
        settings = {
            "subsamples": subsamples,
            "permutations": permutations,
            "alpha": alpha,
            "p_value": p_value,
            "pool": pool,
        }
        shape = (len(scores.measures), run.pairs)
        known = finished_sizes(resume, {**settings, "seed": seed, "data": data}, shape)
    run.announce([(groups, plan), *((part, inside[label]) for label, part in parts)])
    work = run.chunks(groups)
    everything = run.verdicts(work)
    curves, done = run.curves(work, plan, known)
    found = []
    for label, part in parts:
        if run.interrupted:
            break
        values, finished = run.curves(run.chunks(part), inside[label])
        if finished or not run.interrupted:
            doubt = run.doubt(scores, part, finished, values, intervals)
            found.append(Bucket(label, _counts(part, len(scores.measures)), finished, values, doubt))
    if run.interrupted:
        remarks.append("interrupted: sizes and buckets that were not finished are left out")
    return Power(
        scores.systems,
        scores.measures,
        done,
        curves,
        everything,
        _counts(groups, len(scores.measures)),
        tuple(found),
        subsamples,
        permutations,
        alpha,
        p_value,
        seed,
        not run.interrupted,
        (*remarks, *carried(scores)),
        data,
        pool,
        intervals,
        run.doubt(scores, groups, done, curves, intervals),
    )


def _edges(buckets: bool | Sequence[int] | None, scores: Scores) -> tuple[int, ...] | None:
    if buckets is None or buckets is False:
        return None
    if scores.reference_sizes is None:
        raise DataError("buckets need the reference size of each query; use the scores that evaluate() returns")
    if buckets is not True and not is_list(buckets):
        raise UsageError(f"buckets must be increasing upper edges, such as [3, 10, 20]; got {shown(buckets)}")
    edges = PAPER_EDGES if buckets is True else tuple(check_whole("an edge of buckets", edge, 0) for edge in buckets)
    if not edges or list(edges) != sorted(set(edges)):
        raise UsageError(f"buckets must be increasing upper edges, such as [3, 10, 20]; got {shown(buckets)}")
    return edges


def _buckets(scores: Scores, groups: list[Panel], edges: tuple[int, ...]) -> list[tuple[str, list[Panel]]]:
    labels = [
        f"≤{edges[0]}",
        *(f"({a},{b}]" for a, b in pairwise(edges)),
        f">{edges[-1]}",
    ]
    assert scores.reference_sizes is not None
    place = np.searchsorted(edges, scores.reference_sizes, side="left")
    return [(label, _inside(groups, place == i)) for i, label in enumerate(labels)]


def _inside(groups: list[Panel], wanted: np.ndarray) -> list[Panel]:
    """Cut panels to the wanted queries; panels without any are left out."""
    cut = []
    for panel in groups:
        keep = wanted[panel.queries]
        if keep.any():
            cut.append(Panel(panel.measures, panel.places, panel.queries[keep], panel.values[keep]))
    return cut


def _counts(groups: list[Panel], measures: int) -> tuple[int, ...]:
    """Count the queries of each measure."""
    queries = {place: len(panel.queries) for panel in groups for place in panel.places}
    return tuple(queries.get(place, 0) for place in range(measures))


@dataclass
class _Simulation:
    """One run of the protocol: what all its parts share, and how far it has come."""

    systems: int
    measures: int
    subsamples: int
    permutations: int
    alpha: float
    p_value: PValue
    new: bool
    seed: int
    engine: str
    threads: int | None
    progress: Progress | None
    something: bool = False  # whether any size is finished
    interrupted: bool = False
    done: float = 0.0
    total: float = 0.0

    @property
    def pairs(self) -> int:
        return self.systems * (self.systems - 1) // 2

    def announce(self, parts: list[tuple[list[Panel], tuple[int, ...]]]) -> None:
        """Report the cost before the work starts: additions in all, and tests in words."""
        columns = sum(len(panel.measures) * size for group, plan in parts for panel in group for size in plan)
        tests = sum(len(panel.measures) * len(plan) for group, plan in parts for panel in group)
        self.total = float(columns) * self.systems * self.subsamples * self.permutations
        self._report(0.0, f"{tests * self.pairs * self.subsamples:,} tests, {self.total:.1e} additions")

    def chunks(self, groups: list[Panel]) -> list[tuple[Panel, Engine]]:
        """Cut panels into few measures at a time, each with its engine."""
        step = max(1, COLUMNS // self.systems)
        cut = []
        for panel in groups:
            work = float(panel.values.size) * self.subsamples * self.permutations
            for start in range(0, len(panel.measures), step):
                stop = start + step
                values = panel.values[:, :, start:stop]
                chunk = Panel(panel.measures[start:stop], panel.places[start:stop], panel.queries, values)
                cut.append((chunk, open_engine(self.engine, values, work)))
        return cut

    def verdicts(self, work: list[tuple[Panel, Engine]]) -> np.ndarray:
        """Tell which pairs reject on all queries: ``[measure, pair]``."""
        rejected = np.zeros((self.measures, self.pairs), bool)
        for chunk, engine in work:
            rejected[list(chunk.places)] = self._rejections(engine, len(chunk.queries), 1, replace=False) > 0
        return rejected

    def curves(
        self, work: list[tuple[Panel, Engine]], sizes: tuple[int, ...], known: Mapping[int, Floats] = NOTHING
    ) -> tuple[Floats, tuple[int, ...]]:
        """Give power ``[measure, pair, size]`` and the sizes that were finished, smallest first."""
        found = {n: known[n] for n in sizes if n in known}
        self.something |= bool(found)
        for n in sizes:
            try:
                values = found.get(n, np.full((self.measures, self.pairs), np.nan))
                for chunk, engine in work:
                    if n not in found and (self.new or n <= len(chunk.queries)):
                        values[list(chunk.places)] = (
                            self._rejections(engine, n, self.subsamples, self.new) / self.subsamples
                        )
                    cost = float(n) * len(chunk.measures) * self.systems
                    self._report(cost * self.subsamples * self.permutations, f"n = {n}")
            except KeyboardInterrupt:
                if not self.something:
                    raise
                self.interrupted = True
                break
            found[n] = values
            self.something = True
        done = tuple(n for n in sizes if n in found)
        none = np.empty((self.measures, self.pairs, 0))
        return np.stack([found[n] for n in done], axis=2) if done else none, done

    def doubt(
        self, scores: Scores, groups: list[Panel], sizes: tuple[int, ...], curves: Floats, replicates: int
    ) -> Intervals | None:
        """Give what the choice of queries leaves open, where that was asked for."""
        if not replicates or not sizes or not groups:
            return None
        weights = query_weights(len(scores.queries), replicates, self.seed)
        first, second = np.triu_indices(self.systems, 1)
        effects = [unknown_effects(self.pairs, replicates)] * self.measures
        for panel in groups:
            for m, place in enumerate(panel.places):
                family = Family(np.ascontiguousarray(panel.values[:, :, m]), panel.queries, first, second)
                effects[place] = effects_of(family, weights)
        pools = _counts(groups, self.measures)
        return intervals_for(effects, Simulated(curves, sizes, pools, self.subsamples, self.alpha, self.new))

    def _rejections(self, engine: Engine, n: int, subsamples: int, replace: bool) -> np.ndarray:
        """Count the subsamples that reject: ``[measure, pair]``."""
        keys = stream_keys(self.seed, n, subsamples)
        # all flips of a few queries take no more work than drawn ones, and nothing is left to chance
        exact = 2 ** (n - 1) <= self.permutations
        flips = 2 ** (n - 1) if exact else self.permutations
        most = most_extremes(flips, self.alpha, "paper" if exact else self.p_value)
        counts = count_extremes(engine, Sampling(n, replace, exact), keys, flips, self.threads)
        rejected: np.ndarray = (counts <= most).sum(axis=0)
        return rejected[lag_order(self.systems)].T

    def _report(self, cost: float, note: str) -> None:
        self.done += cost
        if self.progress is not None:
            self.progress(self.done, self.total, note)
