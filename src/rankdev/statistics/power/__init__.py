"""Power by subsampling: the fraction of subsamples of n queries in which a pair differs significantly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from rankdev._common.checks import check_flag, check_number, check_seed, check_whole, is_list
from rankdev._common.work import Progress
from rankdev.errors import DataError, Note, UsageError, warn
from rankdev.evaluation.scores import Scores, ScoresLike
from rankdev.statistics.flips import PValue, most_extremes
from rankdev.statistics.panels import Panel, about_clusters, as_scores, carried, panels, pool_of
from rankdev.statistics.power._simulation import Simulation, queries_of
from rankdev.statistics.power.result import Bucket, Power
from rankdev.statistics.power.student import at_most, cannot_reject, fitting, usual

SHARE = 0.25  # of the queries, above which subsamples overlap too much
PAPER_EDGES = (3, 10, 20)


def power(
    scores: ScoresLike,
    *,
    sizes: Sequence[int] | None = None,
    measures: Sequence[str] | None = None,
    subsamples: int = 300,
    permutations: int = 1000,
    alpha: float = 0.05,
    p_value: PValue = "plus-one",
    buckets: bool | Sequence[int] | None = None,
    bucket_sizes: Sequence[int] | None = None,
    replacement: bool = False,
    clusters: Mapping[str, Any] | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Power:
    """Estimate the power of the randomization test for every measure, pair of systems and number of queries.

    For each size n, subsamples of n queries are drawn and each pair is tested; power is the fraction of subsamples that
    reject at ``alpha``, uncorrected. At sizes above a quarter of the queries, subsamples overlap so much that they tell
    little about new queries: power with replacement is simulated there, too. Interrupting (Ctrl-C) returns the sizes
    and buckets that are done, marked as not complete.

    Parameters
    ----------
    scores : Scores, table or path
        Scores of the systems.
    sizes : sequence of int, optional
        Numbers of queries n. Default: those of the RDQ paper, 25 to 2000; from 5 on where there are fewer than 100.
    measures : sequence of str, optional
        Measures to compare. Default: all.
    subsamples : int, default 300
        Subsamples of each size.
    permutations : int, default 1000
        Sign flips per test; all flips where there are no more than that.
    alpha : float, default 0.05
        Level of the tests.
    p_value : {"plus-one", "paper"}
        How p is computed from b extreme flips among B: (b + 1)/(B + 1), or b/B as in the RDQ paper.
    buckets : bool or sequence of int, optional
        Repeat this for queries grouped by reference size: True for the RDQ paper's upper edges (3, 10, 20), or other
        edges.
    bucket_sizes : sequence of int, optional
        Numbers of queries within buckets. Default: 100, or the largest size below.
    replacement : bool, default False
        Draw queries with replacement, as new queries would be.
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
    scores = as_scores(scores, measures)
    most_extremes(permutations, alpha, p_value)  # refuses an unknown p_value
    groups = panels(scores, clusters=clusters)
    remarks: list[Note] = []
    plan = fitting(sizes, groups, remarks, replaced=replacement)
    edges = _edges(buckets, scores)
    if edges is not None and clusters is not None:
        raise UsageError("not-together", name="buckets", other="clusters")
    parts = [] if edges is None else _buckets(scores, groups, edges)
    wanted = [usual(plan)] if bucket_sizes is None else bucket_sizes
    inside = {label: fitting(wanted, part, remarks, label, replaced=replacement) for label, part in parts}
    pool = pool_of(scores, clusters)
    small = [n for n in plan if cannot_reject(n, alpha)]
    large = tuple(n for n in plan if n > SHARE * pool and not replacement)
    unit = groups[0].unit
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
    run.announce([(groups, plan + large), *((part, inside[label]) for label, part in parts)])
    work = run.chunks(groups)
    rejected = run.rejected(work)
    curves, done = run.curves(work, plan, replacement)
    found = []
    for label, part in parts:
        if run.interrupted:
            break
        values, finished = run.curves(run.chunks(part), inside[label], replace=replacement)
        if finished or not run.interrupted:
            found.append(Bucket(label, queries_of(part, len(scores.measures)), finished, values))
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
        buckets=tuple(found),
        subsamples=subsamples,
        permutations=permutations,
        alpha=alpha,
        p_value=p_value,
        seed=seed,
        complete=not run.interrupted,
        remarks=(*remarks, *about_clusters(scores, clusters), *carried(scores)),
        replacement=replacement,
        limits=run.limits(groups, done),
        replaced=replaced,
        clusters=None if clusters is None else pool,
    )
    first = dict(zip(scores.measures, simulated.n80().tolist(), strict=True)) if done else {}
    beyond = [measure for measure, size in first.items() if size == np.inf]
    more = [Note("beyond-sizes", measures=beyond, size=done[-1], unit=unit)] if beyond else []
    return replace(simulated, remarks=(*simulated.remarks, *at_most("n80", done, first, pool), *more))


def _edges(buckets: bool | Sequence[int] | None, scores: Scores) -> tuple[int, ...] | None:
    if buckets is None or buckets is False:
        return None
    if scores.reference_sizes is None:
        raise DataError("needed", name="the reference size of each query, as evaluate() gives it,", use="buckets")
    given: Any = PAPER_EDGES if buckets is True else buckets if is_list(buckets) else ()
    edges = tuple(check_whole("an edge of buckets", edge, 0) for edge in given)
    if not edges or list(edges) != sorted(set(edges)):
        raise UsageError("bad-value", name="buckets", value=buckets, expected="rising upper edges, such as [3, 10, 20]")
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
