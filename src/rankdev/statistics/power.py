"""Power by subsampling: the fraction of subsamples of n queries in which a pair differs significantly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rankdev._common.arrays import Bools, Floats, Ints
from rankdev._common.checks import check_flag, check_number, check_seed, check_whole
from rankdev._common.work import Progress
from rankdev.errors import Note, warn
from rankdev.evaluation.scores import ScoresLike
from rankdev.statistics.design import COUNTED, Design, Panel
from rankdev.statistics.flips import (
    Engine,
    PValue,
    Sampling,
    count_extremes,
    lag_order,
    most_extremes,
    open_engine,
    stream_keys,
)
from rankdev.statistics.paired import fewest_p
from rankdev.statistics.pairs import Family
from rankdev.statistics.power_result import Power
from rankdev.statistics.student import at_most, cannot_reject, effect_limits, fitting, power_of

SHARE = 0.25  # of the queries, above which subsamples overlap too much
UNKNOWN = 0.05  # smallest p of a sign test above which a pool does not tell the effect of a pair
COLUMNS = 512  # systems × measures simulated together: their sums should stay in the cache


def power(
    scores: ScoresLike,
    *,
    sizes: Sequence[int] | None = None,
    measures: Sequence[str] | None = None,
    subsamples: int = 300,
    permutations: int = 1000,
    alpha: float = 0.05,
    p_value: PValue = "plus-one",
    replacement: bool = False,
    clusters: Mapping[str, Any] | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Power:
    """Estimate the power of the randomization test for every measure, pair of systems and number of queries.

    For each size n, subsamples of n queries are drawn and each pair is tested; power is the fraction of subsamples that
    reject at ``alpha``, uncorrected. At sizes above a quarter of the queries, subsamples overlap so much that they tell
    little about new queries: power with replacement is simulated there, too. Interrupting (Ctrl-C) returns the sizes
    that are done, marked as not complete.

    Parameters
    ----------
    scores : Scores, table or path
        Scores of the systems.
    sizes : sequence of int, optional
        Numbers of queries. Default: 25 to 2000, or from 5. The RDQ paper has the former; from 5 on is for fewer than
        100 queries.
    measures : sequence of str, optional
        Measures to compare. Default: all.
    subsamples : int, default 300
        Subsamples of each size.
    permutations : int, default 1000
        Sign flips per test. All flips where there are no more than that.
    alpha : float, default 0.05
        Level of the tests.
    p_value : {"plus-one", "paper"}
        How p is computed from b extreme flips among B: (b + 1)/(B + 1), or b/B as in the RDQ paper.
    replacement : bool, default False
        Draw queries with replacement. That is as new queries would be.
    clusters : dict of str to str, optional
        The cluster of each query, as in :func:`significance`. Whole clusters are then drawn and flipped, and
        sizes are numbers of clusters.
    seed : int, default 0
        Seed of subsamples and flips.
    progress : callable, optional
        ``progress(done, total, note)``, in additions.

    Returns
    -------
    Power
        Power by measure, pair and size.

    Examples
    --------
    >>> import rankdev as rd
    >>> values = np.random.default_rng(1).random((2, 80, 1)) + [[[0.0]], [[0.5]]]
    >>> scores = rd.Scores(("a", "b"), tuple(map(str, range(80))), ("P@1",), values)
    >>> rd.power(scores, sizes=[5, 10, 20], subsamples=50).to_polars()["power"].to_list()
    [0.0, 0.84, 1.0]
    """
    subsamples, permutations = check_whole("subsamples", subsamples, 1), check_whole("permutations", permutations, 1)
    alpha, seed = check_number("alpha", alpha, 0, 1), check_seed(seed)
    replacement = check_flag("replacement", replacement)
    most_extremes(permutations, alpha, p_value)  # refuses an unknown p_value
    design = Design.of(scores, measures, clusters=clusters)
    scores, groups, pool, unit = design.scores, design.drawn, design.pool, design.unit
    remarks: list[Note] = []
    plan = fitting(sizes, groups, unit, remarks, replaced=replacement)
    small = [n for n in plan if cannot_reject(n, alpha)]
    large = tuple(n for n in plan if n > SHARE * pool and not replacement)
    for remark in remarks:
        warn(remark)
    remarks += [Note("cannot-reject", size=small[-1], alpha=alpha, unit=unit)] if small else []
    remarks += [Note("large-share", size=large[0], count=pool, unit=unit)] if large else []
    run = Simulation(
        systems=len(scores.systems),
        measures=len(scores.measures),
        subsamples=subsamples,
        permutations=permutations,
        alpha=alpha,
        p_value=p_value,
        seed=seed,
        progress=progress,
    )
    run.announce(groups, plan + large)
    work = run.chunks(groups)
    rejected = run.rejected(work)
    curves, done = run.curves(work, plan, replacement)
    replaced = np.full(curves.shape, np.nan)
    if not run.interrupted and large:
        again, finished = run.curves(work, large, replace=True)
        replaced[:, :, [done.index(n) for n in finished]] = again
    if run.interrupted:
        remarks.append(Note("interrupted"))
    simulated = Power(
        systems=scores.systems,
        measures=scores.measures,
        sizes=done,
        power=curves,
        rejected=rejected,
        queries=queries_of(groups, len(scores.measures)),
        subsamples=subsamples,
        permutations=permutations,
        alpha=alpha,
        p_value=p_value,
        seed=seed,
        complete=not run.interrupted,
        remarks=(*remarks, *design.on_clusters(COUNTED), *design.notes),
        replacement=replacement,
        limits=run.limits(groups, done),
        replaced=replaced,
        clusters=None if clusters is None else pool,
    )
    first = dict(zip(scores.measures, simulated.n80().tolist(), strict=True)) if done else {}
    beyond = [measure for measure, size in first.items() if size == np.inf]
    more = [Note("beyond-sizes", measures=beyond, size=done[-1], unit=unit)] if beyond else []
    return replace(simulated, remarks=(*simulated.remarks, *at_most("n80", done, first, pool), *more))


@dataclass(kw_only=True)
class Simulation:
    """One simulation: its settings, and its progress."""

    systems: int
    measures: int
    subsamples: int
    permutations: int
    alpha: float
    p_value: PValue
    seed: int
    progress: Progress | None
    something: bool = False  # whether any size is finished
    interrupted: bool = False
    done: float = 0.0
    total: float = 0.0

    @property
    def pairs(self) -> int:
        """Number of pairs of systems."""
        return self.systems * (self.systems - 1) // 2

    def announce(self, groups: list[Panel], sizes: tuple[int, ...]) -> None:
        """Report the cost before the work starts: the number of additions, and of tests as text."""
        columns = sum(len(panel.measures) * size for panel in groups for size in sizes)
        tests = sum(len(panel.measures) * len(sizes) for panel in groups)
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
                cut.append((chunk, open_engine(values, work)))
        return cut

    def rejected(self, work: list[tuple[Panel, Engine]]) -> Bools:
        """Return which pairs differ significantly on all queries: ``[measure, pair]``."""
        rejected = np.zeros((self.measures, self.pairs), bool)
        for chunk, engine in work:
            rejected[list(chunk.places)] = self._rejections(engine, len(chunk.queries), 1, replace=False) > 0
        return rejected

    def curves(
        self,
        work: list[tuple[Panel, Engine]],
        sizes: tuple[int, ...],
        replace: bool = False,
    ) -> tuple[Floats, tuple[int, ...]]:
        """Return power ``[measure, pair, size]`` and the sizes that were finished, smallest first."""
        found: dict[int, Floats] = {}
        for n in sizes:
            try:
                values = np.full((self.measures, self.pairs), np.nan)
                for chunk, engine in work:
                    if replace or n <= len(chunk.queries):
                        values[list(chunk.places)] = (
                            self._rejections(engine, n, self.subsamples, replace) / self.subsamples
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

    def limits(self, groups: list[Panel], sizes: tuple[int, ...]) -> Floats:
        """Return 95% limits of each pair's power, given the pool: ``[limit, measure, pair, size]``.

        From 0 to 1 where too few queries differ for any sign test to reject.
        """
        found = np.full((2, self.measures, self.pairs, len(sizes)), np.nan)
        first, second = np.triu_indices(self.systems, 1)
        for panel in groups:
            for m, place in enumerate(panel.places):
                family = Family(np.ascontiguousarray(panel.values[:, :, m]), panel.queries, first, second)
                effects, pool = family.statistics["effect"], len(panel.queries)
                unknown = (fewest_p(family) > UNKNOWN) | ~np.isfinite(effects)
                ends = np.stack(effect_limits(np.where(unknown, 0.0, effects), pool))
                for i, n in enumerate(sizes):
                    found[:, place, :, i] = np.where(unknown, [[0.0], [1.0]], power_of(n, self.alpha)(ends))
        return found

    def _rejections(self, engine: Engine, n: int, subsamples: int, replace: bool) -> Ints:
        """Count the subsamples that reject: ``[measure, pair]``."""
        keys = stream_keys(self.seed, n, subsamples)
        # enumerating the flips of a few queries takes no more work than drawing, and is exact
        exact = 2 ** (n - 1) <= self.permutations
        flips = 2 ** (n - 1) if exact else self.permutations
        most = most_extremes(flips, self.alpha, "paper" if exact else self.p_value)
        counts = count_extremes(engine, Sampling(n, replace, exact), keys, flips)
        rejected: Ints = (counts <= most).sum(axis=0)
        return rejected[lag_order(self.systems)].T

    def _report(self, cost: float, note: str) -> None:
        self.done += cost
        if self.progress is not None:
            self.progress(self.done, self.total, note)


def queries_of(groups: list[Panel], measures: int) -> tuple[int, ...]:
    """Count the queries of each measure."""
    queries = {place: len(panel.queries) for panel in groups for place in panel.places}
    return tuple(queries.get(place, 0) for place in range(measures))
