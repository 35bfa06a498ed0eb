"""Common queries and paired differences."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt

from rankdev._common.arrays import Floats
from rankdev._common.cautions import warn
from rankdev._common.result import Result
from rankdev._common.tables import by_id
from rankdev.errors import DataError, UsageError, counted, shown
from rankdev.evaluation.scores import Scores
from rankdev.statistics.flips.exact import largest_of, scale_for

Indices = npt.NDArray[np.int64]
COUNTED = "drawn, and n counts them"


class OfDrawnQueries(Result):
    """Results for n queries that are drawn, or for n clusters of them."""

    clusters: int | None

    @property
    def unit(self) -> str:
        """What n counts: queries, or clusters of them."""
        return "queries" if self.clusters is None else "clusters"

    @property
    def _unused(self) -> tuple[str, ...]:
        return ("clusters",) if self.clusters is None else ()


@dataclass(frozen=True, eq=False)
class Panel:
    """Measures that are available for the same queries: ``values[query, system, measure]``; or for clusters of them."""

    measures: tuple[str, ...]
    places: tuple[int, ...]  # positions of these measures among all requested ones
    queries: npt.NDArray[np.int64] = field(repr=False)  # indices into the scores' queries, or numbers of clusters
    values: Floats = field(repr=False)
    unit: str = "query"  # what a row is


def as_scores(scores: Any, measures: Sequence[str] | None = None) -> Scores:
    """Accept ``Scores``, a table with the columns system, query, measure, value, or the path of a file of scores."""
    if isinstance(scores, str | PathLike):
        from rankdev.evaluation.score_files import read_scores

        scores = read_scores(scores)
    found = scores if isinstance(scores, Scores) else Scores.from_table(scores)
    chosen = found if measures is None else found.select(measures=measures)
    if not chosen.measures:
        raise UsageError("measures is an empty list; name at least one, or leave it out for all")
    return _averaged(chosen)


def _averaged(scores: Scores) -> Scores:
    """Refuse what is no mean."""
    if scores.geometric:
        name = scores.geometric[0]
        raise UsageError(f"{name} is a geometric mean over queries, and statistics here are of means; leave {name} out")
    return scores


def panels(scores: Scores, at_least: int = 2, clusters: Mapping[str, Any] | None = None) -> list[Panel]:
    """Group the measures by the queries for which every system has a value.

    Queries that lack a value are left out for that measure, with a warning that counts them. With ``clusters`` a row
    is a cluster: the sums of its queries over the mean size of a cluster, so that means stay.
    """
    if len(scores.systems) < at_least:
        raise UsageError(f"a comparison needs at least {at_least} systems; got {', '.join(scores.systems) or 'none'}")
    if np.isinf(scores.values).any():
        system, query, measure = np.argwhere(np.isinf(scores.values))[0]
        raise DataError(
            f"{scores.measures[measure]} of system {scores.systems[system]!r} for query"
            f" {scores.queries[query]!r} is infinite; expected a finite number"
        )
    known: npt.NDArray[np.bool_] = np.logical_not(np.isnan(_averaged(scores).values).any(axis=0))
    _remark_on_gaps(scores, known)
    groups: dict[bytes, list[int]] = {}
    for place in range(len(scores.measures)):
        groups.setdefault(known[:, place].tobytes(), []).append(place)
    found = [_panel(scores, places, np.flatnonzero(known[:, places[0]])) for places in groups.values()]
    if clusters is None:
        return found
    clusters = _by_query(clusters)
    number = _numbers(scores, clusters)
    return [_of_clusters(scores, panel, clusters, number) for panel in found]


def _panel(scores: Scores, places: list[int], queries: npt.NDArray[np.int64]) -> Panel:
    values = scores.values.transpose(1, 0, 2)
    if len(places) < len(scores.measures):
        values = values[:, :, places]
    if len(queries) < len(scores.queries):
        values = values[queries]
    return Panel(tuple(scores.measures[place] for place in places), tuple(places), queries, values)


def _numbers(scores: Scores, clusters: Mapping[str, Any]) -> dict[Any, int]:
    """Number the clusters of all queries that have one, in order."""
    clusters = _by_query(clusters)
    seen = dict.fromkeys(clusters[query] for query in scores.queries if query in clusters)
    return {name: i for i, name in enumerate(seen)}


def pool_of(scores: Scores, clusters: Mapping[str, Any] | None) -> int:
    """Count what is drawn: queries, or clusters of them."""
    return len(scores.queries) if clusters is None else len(_numbers(scores, clusters))


def about_clusters(scores: Scores, clusters: Mapping[str, Any] | None, are: str = COUNTED) -> tuple[str, ...]:
    """Note how many clusters the queries have, and that whole ones are drawn."""
    if clusters is None:
        return ()
    clusters = _by_query(clusters)
    known = np.array([i for i, query in enumerate(scores.queries) if query in clusters])
    return described([numbered(scores, known, clusters)], are)


def _of_clusters(scores: Scores, panel: Panel, clusters: Mapping[str, Any], number: Mapping[Any, int]) -> Panel:
    members = numbered(scores, panel.queries, clusters)
    names = dict.fromkeys(clusters[scores.queries[i]] for i in panel.queries)
    rows = np.array([number[name] for name in names])
    order = np.argsort(rows)
    return replace(panel, queries=rows[order], values=summed(panel.values, members)[0][order], unit="cluster")


def summed(values: Floats, members: Indices) -> tuple[Floats, Indices]:
    """Sum the rows of each cluster and divide by the mean size, so that means stay; return the sizes too.

    >>> rows, sizes = summed(np.array([1.0, 0.0, 0.5]), np.array([0, 0, 1]))
    >>> rows.tolist(), sizes.tolist()
    ([0.6666666666666666, 0.3333333333333333], [2, 1])
    """
    sizes = np.bincount(members)
    columns = values.reshape(len(values), -1).T
    sums = np.zeros((len(sizes), len(columns)))
    for i, column in enumerate(columns):
        sums[:, i] = np.bincount(members, column)
    return sums.reshape(len(sizes), *values.shape[1:]) / sizes.mean(), sizes


def _remark_on_gaps(scores: Scores, known: npt.NDArray[np.bool_]) -> None:
    if not len(scores.queries):
        raise DataError("the scores hold no queries")
    gaps = (~known).sum(axis=0)
    for measure, missing in zip(scores.measures, gaps, strict=True):
        if missing == len(scores.queries):
            raise DataError(f"{measure} has no query with a value for every system; leave the measure or a system out")
    for remark in _gaps(scores):
        warn(remark)


def _gaps(scores: Scores) -> list[str]:
    gaps = np.isnan(scores.values).any(axis=0).sum(axis=0)
    counts = ", ".join(f"{gap} for {name}" for name, gap in zip(scores.measures, gaps, strict=True) if gap)
    left_out = f"queries for which a system has no value are left out: {counts} of {len(scores.queries)}"
    return [left_out] if counts else []


def carried(scores: Scores) -> tuple[str, ...]:
    """Return the notes that a result inherits: the queries that are left out, and the notes of its scores."""
    return (*_gaps(scores), *scores.remarks)


def pairs_of(systems: Sequence[str]) -> list[tuple[str, str]]:
    """Return all pairs of systems in their order.

    >>> pairs_of(["a", "b", "c"])
    [('a', 'b'), ('a', 'c'), ('b', 'c')]
    """
    first, second = np.triu_indices(len(systems), 1)
    return [(systems[i], systems[j]) for i, j in zip(first.tolist(), second.tolist(), strict=True)]


AT_ONCE = 1 << 22  # differences held at a time


@dataclass(frozen=True, eq=False)
class Family:
    """Some pairs of systems under one measure: ``values[query, system]``, pairs ``first`` − ``second``.

    ``queries`` are indices into all queries of the scores, so that families over other queries can share flips.
    Differences are in whole units (:mod:`rankdev.statistics.flips.exact`), in which equal sums are equal. ``span`` is
    the width of the measure's range, where it is known. ``clusters`` number the cluster of each query. Where rows are
    clusters, ``sizes`` count their queries.
    """

    values: Floats = field(repr=False)
    queries: Indices = field(repr=False)
    first: Indices = field(repr=False)
    second: Indices = field(repr=False)
    span: float = np.inf
    clusters: Indices | None = field(default=None, repr=False)
    sizes: Indices | None = field(default=None, repr=False)

    @cached_property
    def flipped(self) -> Family:
        """What is flipped: single queries, or clusters, whose values are sums over the mean size: the means stay."""
        if self.clusters is None:
            return self
        rows, sizes = summed(self.values, self.clusters)
        span = self.span * sizes.max() / sizes.mean()
        return Family(rows, np.arange(len(sizes)), self.first, self.second, span, sizes=sizes)

    def only(self, kept: npt.NDArray[np.bool_]) -> Family:
        """Keep these queries, and the clusters they are in."""
        clusters = None if self.clusters is None else np.unique(self.clusters[kept], return_inverse=True)[1]
        return replace(self, values=self.values[kept], queries=self.queries[kept], clusters=clusters)

    @property
    def pairs(self) -> int:
        """Count the pairs."""
        return len(self.first)

    @cached_property
    def unit(self) -> float:
        """Score of one whole unit."""
        return float(1 / scale_for(largest_of(self.values[:, :, None]), len(self.values))[0])

    @cached_property
    def reach(self) -> float:
        """Largest difference that a query can show; where the measure has no finite range, that of the scores seen."""
        return self.span if np.isfinite(self.span) else float(np.ptp(self.values))

    @cached_property
    def units(self) -> Floats:
        """The values in whole units: ``[query, system]``."""
        return np.rint(self.values / self.unit)

    def differences(self, wanted: npt.NDArray[Any] | None = None) -> Iterator[tuple[Indices, Floats]]:
        """Yield the differences of (wanted) pairs in whole units, a few pairs at a time: pairs, ``[pair, query]``.

        A difference of a single unit can come from rounding alone and counts as 0.
        """
        columns = np.ascontiguousarray(self.units.T)
        places = np.arange(self.pairs) if wanted is None else np.arange(self.pairs)[wanted]
        step = max(1, AT_ONCE // len(self.values))
        for start in range(0, len(places), step):
            pairs = places[start : start + step]
            apart = columns[self.first[pairs]] - columns[self.second[pairs]]
            apart[np.abs(apart) <= 1] = 0.0
            yield pairs, apart

    @cached_property
    def statistics(self) -> dict[str, Floats]:
        """Describe each pair: difference, deviation, effect, wins, ties, losses, and how many are not zero.

        The effect is the mean in standard deviations (Cohen's d for pairs): 0 without a difference, infinite
        where all differences are equal, NaN with a single query.
        """
        queries = len(self.values)
        names = ("difference", "deviation", "wins", "losses", "moved")
        found: dict[str, Floats] = {name: np.empty(self.pairs) for name in names}
        for pairs, apart in self.differences():
            deviation = apart.std(axis=1, ddof=min(1, queries - 1)) * self.unit
            deviation[np.ptp(apart, axis=1) <= 2] = 0.0  # equal but for rounding
            found["difference"][pairs], found["deviation"][pairs] = apart.mean(axis=1) * self.unit, deviation
            found["wins"][pairs], found["losses"][pairs] = (apart > 0).sum(axis=1), (apart < 0).sum(axis=1)
        found["moved"] = found["wins"] + found["losses"]
        found["ties"] = queries - found["moved"]
        with np.errstate(divide="ignore", invalid="ignore"):
            effect = np.where(found["difference"] == 0, 0.0, found["difference"] / found["deviation"])
        found["effect"] = effect if queries > 1 else effect * np.nan
        return found

    @property
    def mean(self) -> Floats:
        """Mean difference of each pair."""
        return self.statistics["difference"]

    @property
    def error(self) -> Floats:
        """Standard error of each mean difference; with clusters that of a ratio of their sums to their sizes."""
        if self.clusters is None:
            return self.statistics["deviation"] / np.sqrt(len(self.values))
        rows = self.flipped
        assert rows.sizes is not None
        count, sizes = len(rows.values), rows.sizes / rows.sizes.mean()
        found = np.empty(self.pairs)
        for pairs, apart in rows.differences():
            left = apart * rows.unit - self.mean[pairs, None] * sizes
            found[pairs] = np.sqrt((left**2).sum(axis=1) / (count * (count - 1)))
        return found

    @property
    def constant(self) -> npt.NDArray[np.bool_]:
        """Which pairs have equal, nonzero differences on all queries: their standard error is not informative."""
        return (self.statistics["deviation"] == 0) & (self.mean != 0)


def symmetric(family: Family, critical: Floats | float, alpha: float) -> tuple[Floats, Floats]:
    """Return the mean ± ``critical`` standard errors; where all differences are equal, the sign-flip interval.

    2 of the 2^n flips of n equal differences are as extreme as they are.
    """
    with np.errstate(invalid="ignore"):
        half = np.where(family.error == 0, 0.0, critical * family.error)
    half[family.constant] = 0.0 if 2.0 ** (1 - len(family.values)) <= alpha else np.inf
    return family.mean - half, family.mean + half


def agreeing(p: Floats, alpha: float, mean: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Let intervals contain 0 exactly where p is above ``alpha``: a limit that disagrees moves to 0, or next to it."""
    kept, tiny = p > alpha, np.nextafter(0.0, 1.0)
    low = np.where(kept, np.minimum(low, 0.0), np.where(mean > 0, np.maximum(low, tiny), low))
    high = np.where(kept, np.maximum(high, 0.0), np.where(mean < 0, np.minimum(high, -tiny), high))
    return low, high


def families_of(
    scores: Scores, first: Indices, second: Indices, clusters: Mapping[str, Any] | None = None
) -> list[Family]:
    """Return a family per measure, in order."""
    found: dict[int, Family] = {}
    for panel in panels(scores):
        members = None if clusters is None else numbered(scores, panel.queries, clusters)
        for m, place in enumerate(panel.places):
            low, high = scores.kinds[place].range
            values = np.ascontiguousarray(panel.values[:, :, m])
            found[place] = Family(values, panel.queries, first, second, high - low, members)
    return [found[place] for place in range(len(scores.measures))]


def numbered(scores: Scores, queries: Indices, clusters: Mapping[str, Any]) -> Indices:
    """Number the cluster of each query."""
    clusters = _by_query(clusters)
    without = [scores.queries[i] for i in queries if scores.queries[i] not in clusters]
    if without:
        some = counted(len(without), "query", "has", of=len(queries))
        raise DataError(f"clusters: {some} no cluster, such as {shown(without[0])}; one on its own is a cluster too")
    number: dict[Any, int] = {}
    found = np.array([number.setdefault(clusters[scores.queries[i]], len(number)) for i in queries])
    if len(number) < 2:
        raise DataError("clusters: all queries are in one cluster; nothing can be said beyond it")
    return found


def _by_query(clusters: Any) -> dict[str, Any]:
    """Return the cluster of each query by its id."""
    if not isinstance(clusters, Mapping) or not all(isinstance(name, Hashable) for name in clusters.values()):
        raise UsageError(f"clusters is {shown(clusters)}; expected the cluster of each query, {{query: cluster}}")
    return by_id(clusters)


def on_clusters(families: Sequence[Family], are: str = "flipped") -> tuple[str, ...]:
    """Note which queries are flipped together."""
    return described([family.clusters for family in families if family.clusters is not None], are)


def described(members: Sequence[Indices], are: str) -> tuple[str, ...]:
    """Note what whole clusters are, how many there are and how large."""
    sizes = [np.bincount(each) for each in members]
    if not sizes:
        return ()
    few, many = min(int(each.min()) for each in sizes), max(int(each.max()) for each in sizes)
    each = f"{few} to {many} queries" if few < many else f"{counted(few, 'query')} each"
    return (f"whole clusters are {are}: {len(sizes[0])} of {each}",)


def wanted_pairs(scores: Scores, baselines: str | Sequence[str] | None) -> tuple[Indices, Indices]:
    """Return the requested pairs (a, b) as indices; a baseline is always b."""
    if baselines is None:
        return np.triu_indices(len(scores.systems), 1)
    names = [baselines] if isinstance(baselines, str) else baselines
    # select refuses unknown names, and takes repeated ones once
    targets = [scores.systems.index(name) for name in scores.select(systems=names).systems]
    if not targets:
        raise UsageError("baselines is an empty list; name at least one, or leave it out to compare all pairs")
    others = [i for i in range(len(scores.systems)) if i not in targets]
    if not others:
        raise UsageError("every system is a baseline; leave at least one to compare with them")
    return np.tile(others, len(targets)), np.repeat(targets, len(others))


def is_several(scores: Any) -> TypeGuard[Mapping[str, Any]]:
    """Check whether scores are those of several collections; a dict of columns is a table of one."""
    return isinstance(scores, Mapping) and not {"system", "query", "measure", "value"} <= set(scores)


def alike(collections: Mapping[str, Scores | Any], measures: Sequence[str] | None) -> dict[str, Scores]:
    """Bring collections to the same systems and measures, in the same order; refuse differing ones."""
    parts = {str(name): as_scores(part, measures) for name, part in collections.items()}
    if not parts:
        raise UsageError("there are no scores; give those of at least one collection")
    first = next(iter(parts.values()))
    for name, part in parts.items():
        if set(part.systems) != set(first.systems) or set(part.measures) != set(first.measures):
            raise DataError(f"collection {name!r} has other systems or measures than the first; keep common ones")
    return {name: part.select(systems=first.systems, measures=first.measures) for name, part in parts.items()}
