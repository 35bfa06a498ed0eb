"""Common queries: the panels of measures that are available for the same ones, and clusters of queries."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt

from rankdev._common.arrays import Floats
from rankdev._common.ids import by_id
from rankdev._common.result import Result
from rankdev.errors import DataError, Note, UsageError, warn
from rankdev.evaluation.scores import Scores, ScoresLike

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
        from rankdev.evaluation.files import read_scores

        scores = read_scores(scores)
    found = scores if isinstance(scores, Scores) else Scores.from_table(scores)
    chosen = found if measures is None else found.select(measures=measures)
    if not chosen.measures:
        raise UsageError("empty", name="measures", expected="at least one, or leave it out for all")
    return _averaged(chosen)


def _averaged(scores: Scores) -> Scores:
    """Refuse measures that are not averaged over queries."""
    if scores.geometric:
        raise UsageError("geometric", measure=scores.geometric[0])
    return scores


def check_reach(name: str, size: float, scores: Scores) -> None:
    """Refuse a difference that no two means exceed, such as 5 for 5%: every system would be within it."""
    for kind in scores.kinds:
        low, high = kind.range
        if kind.aggregate == "mean" and size >= high - low:
            expected = f"between 0 and {high - low:g}"
            raise UsageError("not-a-number", measure=kind.label, name=name, expected=expected, value=size)


def panels(scores: Scores, at_least: int = 2, clusters: Mapping[str, Any] | None = None) -> list[Panel]:
    """Group the measures by the queries for which every system has a value.

    Queries that lack a value are left out for that measure, with a warning that counts them. With ``clusters`` a row
    is a cluster: the sums of its queries over the mean size of a cluster, so that means stay.
    """
    if len(scores.systems) < at_least:
        raise UsageError("too-few", what="a comparison", least=at_least, unit="system", count=len(scores.systems))
    if np.isinf(scores.values).any():
        s, q, m = np.argwhere(np.isinf(scores.values))[0]
        where = {"system": scores.systems[s], "query": scores.queries[q], "measure": scores.measures[m]}
        raise DataError("not-finite", **where, name="score", value=scores.values[s, q, m])
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


def about_clusters(scores: Scores, clusters: Mapping[str, Any] | None, how: str = COUNTED) -> tuple[Note, ...]:
    """Note how many clusters the queries have, and that whole ones are drawn."""
    if clusters is None:
        return ()
    clusters = _by_query(clusters)
    known = np.array([i for i, query in enumerate(scores.queries) if query in clusters])
    return described([numbered(scores, known, clusters)], how)


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
        raise DataError("no-rows", what="table of scores")
    gaps = (~known).sum(axis=0)
    for measure, missing in zip(scores.measures, gaps, strict=True):
        if missing == len(scores.queries):
            raise DataError("no-common-query", measure=measure)
    for remark in _gaps(scores):
        warn(remark)


def _gaps(scores: Scores) -> list[Note]:
    gaps = np.isnan(scores.values).any(axis=0).sum(axis=0)
    counts = [(name, int(gap)) for name, gap in zip(scores.measures, gaps, strict=True) if gap]
    return [Note("gaps", gaps=counts, queries=len(scores.queries))] if counts else []


def carried(scores: Scores) -> tuple[Note, ...]:
    """Return the notes that a result inherits: the queries that are left out, and the notes of its scores."""
    return (*_gaps(scores), *scores.remarks)


def pairs_of(systems: Sequence[str]) -> list[tuple[str, str]]:
    """Return all pairs of systems in their order.

    >>> pairs_of(["a", "b", "c"])
    [('a', 'b'), ('a', 'c'), ('b', 'c')]
    """
    first, second = np.triu_indices(len(systems), 1)
    return [(systems[i], systems[j]) for i, j in zip(first.tolist(), second.tolist(), strict=True)]


def numbered(scores: Scores, queries: Indices, clusters: Mapping[str, Any]) -> Indices:
    """Number the cluster of each query."""
    clusters = _by_query(clusters)
    without = [scores.queries[i] for i in queries if scores.queries[i] not in clusters]
    if without:
        raise DataError("no-cluster", count=len(without), queries=len(queries), example=without[0])
    number: dict[Any, int] = {}
    found = np.array([number.setdefault(clusters[scores.queries[i]], len(number)) for i in queries])
    if len(number) < 2:
        raise DataError("too-few", what="a sample", least=2, unit="cluster", count=len(number))
    return found


def _by_query(clusters: Any) -> dict[str, Any]:
    """Return the cluster of each query by its id."""
    if not isinstance(clusters, Mapping) or not all(isinstance(name, Hashable) for name in clusters.values()):
        raise UsageError("bad-value", name="clusters", value=clusters, expected="{query: cluster}")
    return by_id(clusters)


def described(members: Sequence[Indices], how: str) -> tuple[Note, ...]:
    """Note what whole clusters are, how many there are and how large."""
    if not members:
        return ()
    most = max(int(np.bincount(each).max()) for each in members)
    return (Note("whole-clusters", how=how, count=int(members[0].max()) + 1, most=most),)


def is_several(scores: Any) -> TypeGuard[Mapping[str, Any]]:
    """Check whether scores are those of several collections; a dict of columns is a table of one."""
    return isinstance(scores, Mapping) and not {"system", "query", "measure", "value"} <= set(scores)


def alike(collections: Mapping[str, ScoresLike], measures: Sequence[str] | None) -> dict[str, Scores]:
    """Bring collections to the same systems and measures, in the same order; refuse differing ones."""
    parts = {str(name): as_scores(part, measures) for name, part in collections.items()}
    if not parts:
        raise UsageError("none-given", what="collections")
    first = next(iter(parts.values()))
    for name, part in parts.items():
        if set(part.systems) != set(first.systems) or set(part.measures) != set(first.measures):
            raise DataError("unlike-collection", collection=name)
    aligned = {name: part.select(systems=first.systems, measures=first.measures) for name, part in parts.items()}
    for name, part in aligned.items():
        if (part.sums, part.lower_is_better) != (first.sums, first.lower_is_better):
            label = min({*part.sums} ^ {*first.sums} | {*part.lower_is_better} ^ {*first.lower_is_better})
            raise DataError("unlike-measure", collection=name, measure=label)
    return aligned
