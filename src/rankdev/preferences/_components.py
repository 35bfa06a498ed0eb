"""Connected components: which items of a query are connected by chains of comparisons, and can be ordered."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from rankdev.errors import DataError, Note

if TYPE_CHECKING:
    from rankdev.preferences.judgments import Preferences


def components_of(preferences: Preferences) -> dict[str, list[list[str]]]:
    """List the components of every query that has more than one, in the order of :func:`_by_size`."""
    found: dict[str, list[list[str]]] = {}
    if not np.any(preferences.group_counts > 1):
        return found
    order = _by_size(preferences)
    for query in np.flatnonzero(preferences.group_counts > 1):
        start, stop = preferences.starts[query], preferences.starts[query + 1]
        named: dict[int, list[str]] = {label: [] for label in preferences.groups[order[start:stop]].tolist()}
        for item, label in zip(preferences.items[start:stop], preferences.groups[start:stop].tolist(), strict=True):
            named[label].append(item)
        found[preferences.queries[query]] = list(named.values())
    return found


def in_largest(preferences: Preferences) -> npt.NDArray[np.bool_]:
    """Mark the first component of every query, in the order of :func:`_by_size`."""
    order = _by_size(preferences)
    leader = preferences.groups[order[preferences.starts[:-1]]][preferences.item_query]
    within: npt.NDArray[np.bool_] = preferences.groups == leader
    return within


def _by_size(preferences: Preferences) -> npt.NDArray[np.int64]:
    """Order the items of each query: largest component first, of equal ones most judgments, then the first name."""
    size = np.bincount(preferences.groups)[preferences.groups]
    judged = np.bincount(preferences.groups[preferences.winner], minlength=len(size))[preferences.groups]
    named = np.empty(len(size), np.int64)
    named[sorted(range(len(size)), key=preferences.items.__getitem__)] = np.arange(len(size))
    return np.lexsort((named, -judged, -size, preferences.item_query))


def split_by_component(preferences: Preferences) -> Preferences:
    """Make every component of a query with several a query of its own: ``query#1``, ``query#2``, …"""
    broken = preferences.disconnected()
    new = (f"{query}#{number}" for query, groups in broken.items() for number in range(1, len(groups) + 1))
    if taken := set(preferences.queries).intersection(new):
        raise DataError("query-taken", query=min(taken))
    names = {
        (query, item): f"{query}#{number}"
        for query, groups in broken.items()
        for number, group in enumerate(groups, 1)
        for item in group
    }
    labels = [
        names.get((preferences.queries[query], item), preferences.queries[query])
        for query, item in zip(preferences.item_query.tolist(), preferences.items, strict=True)
    ]
    queries = tuple(
        name
        for query in preferences.queries
        for name in ([f"{query}#{k}" for k in range(1, len(broken[query]) + 1)] if query in broken else [query])
    )
    number = {name: code for code, name in enumerate(queries)}
    codes = np.array([number[label] for label in labels], np.int32)
    order = np.argsort(codes, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return replace(
        preferences,
        queries=queries,
        items=tuple(preferences.items[i] for i in order),
        item_query=codes[order],
        winner=place[preferences.winner].astype(np.int32),
        loser=place[preferences.loser].astype(np.int32),
    )


def connected(preferences: Preferences, disconnected: str) -> tuple[Preferences, tuple[str, ...]]:
    """Make the items of every query connected, in the way the caller chose; and name what was left out."""
    broken = preferences.disconnected()
    if disconnected == "largest":
        return _largest(preferences, broken)
    if not broken:
        return preferences, ()
    if disconnected == "split":
        return preferences.split_groups(), ()
    query, groups = next(iter(broken.items()))
    raise DataError("unconnected", query=query, groups=len(groups), one=groups[0], other=groups[1])


def _largest(preferences: Preferences, broken: dict[str, list[list[str]]]) -> tuple[Preferences, tuple[str, ...]]:
    """Keep the largest component of each query, and no query without a judgment."""
    judged = np.bincount(preferences.item_query[preferences.winner], minlength=len(preferences.queries))
    empty = [preferences.queries[query] for query in np.flatnonzero(judged == 0)]
    if not broken and not empty:
        return preferences, ()
    kept = preferences.select([query for query in preferences.queries if query not in set(empty)]).largest_groups()
    remarks = []
    if empty:
        remarks.append(Note("unjudged-queries", count=len(empty), names=empty))
    there = dict(zip(kept.queries, np.split(np.array(kept.items, object), kept.starts[1:-1]), strict=True))
    left = {
        query: [item for group in groups for item in group if item not in set(there[query])]
        for query, groups in broken.items()
        if query in there
    }
    if left:
        query, names = next(iter(left.items()))
        remarks.append(Note("unconnected-items", count=sum(map(len, left.values())), query=query, names=names))
    return kept, tuple(remarks)


def unlimited(preferences: Preferences) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Mark items whose strengths the likelihood raises, and those whose strengths it lowers, without limit.

    They belong to a group that won against others and never lost to these, directly or by way of more; or lost and
    never won. A group of more than half of a query's items is what the others differ from: its strengths have limits.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    pairs, n = preferences.pairs, len(preferences.items)
    won, lost = pairs.score > 0, pairs.score < pairs.count
    source = np.concatenate([pairs.first[won], pairs.second[lost]])
    target = np.concatenate([pairs.second[won], pairs.first[lost]])
    edges = coo_array((np.ones(len(source), np.int8), (source, target)), shape=(n, n))
    _, label = connected_components(edges, directed=True, connection="strong")
    across, most = label[source] != label[target], np.diff(preferences.starts)[preferences.item_query] / 2
    some = np.bincount(label)[label] <= most
    return some & np.isin(label, label[source[across]]), some & np.isin(label, label[target[across]])


def check_maximum_exists(preferences: Preferences) -> None:
    """Refuse judgments whose likelihood has no maximum: some items never lost to others."""
    without = np.logical_or(*unlimited(preferences))
    if without.any():
        raise DataError("infinite-strengths", query=preferences.queries[preferences.item_query[np.argmax(without)]])
