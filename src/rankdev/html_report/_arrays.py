"""The numbers of a comparison as the page's scripts read them, rounded to what it shows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rankdev._common.arrays import Ints
from rankdev.data import ids
from rankdev.data.references import References
from rankdev.html_report._findings import Comparison
from rankdev.statistics.decision import VERDICTS
from rankdev.statistics.inputs import complete
from rankdev.statistics.significance import Significance

Arrays = dict[str, npt.NDArray[Any] | list[Any]]
SHOWN = 4  # decimals that a page shows
SIGNIFICANT = 4  # digits of the scores with which items were retrieved
SCORES = 8  # decimals of single scores, so that they and their differences are rounded only once, where they are shown


REFERENCE_ITEMS = 20  # of each query, that are shown where a list does not have them
MOST_PLACES = 1_000_000  # systems × queries × items up to which a page knows where each list has each item
MOST_OF_SEGMENTS = 50_000  # tests of segments on one page; where there are more, the notes have what they show


def arrays_of(found: Comparison, places: Ints, found_at: Ints) -> Arrays:
    """Return all arrays of a page: ``places`` are the lists of :func:`pools_of`, ``found_at`` is :func:`positions`."""
    return (
        _score_arrays(found)
        | _pair_arrays(found)
        | _reference_arrays(found.references)
        | _list_arrays(found, places, found_at)
        | _retrieved(found)
    )


def pools_of(found: Comparison) -> tuple[list[list[str]], Ints]:
    """Return the ids of each query's items, those of the reference first, and the lists as places among them."""
    lists, references = found.lists, found.references
    local = np.full(lists.items.shape, -1)
    pools = []
    for q, query in enumerate(references.queries):
        rows = references.rows(query)
        first = ids.listed(references.item_ids[rows][:REFERENCE_ITEMS])
        codes, inverse = np.unique(lists.items[:, q], return_inverse=True)
        names = [lists.names[int(code)] if code >= 0 else None for code in codes]
        place = {item: i for i, item in enumerate(first)}
        places = [-1 if item is None else place.setdefault(item, len(place)) for item in names]
        local[:, q] = np.array(places)[inverse.reshape(lists.items[:, q].shape)]
        pools.append(list(place))
    return pools, local


def positions(found: Comparison, pools: Sequence[Sequence[str]]) -> tuple[bool, Ints]:
    """Return the position, from 1, at which each list has each item of its query's pool, 0 where it does not.

    Where that would be too much for a page, it knows those of the first items of each reference, and is not whole.
    """
    whole = len(found.runs) * len(pools) * max(map(len, pools), default=0) <= MOST_PLACES
    sizes = np.minimum(found.references.sizes, REFERENCE_ITEMS).tolist()
    wanted = pools if whole else [pool[:size] for pool, size in zip(pools, sizes, strict=True)]
    at = np.zeros((len(found.runs), len(pools), max(map(len, wanted), default=0)), np.int64)
    for s, run in enumerate(found.runs.values()):
        for q, (query, pool) in enumerate(zip(found.references.queries, wanted, strict=True)):
            ranking = run.get(query, [])
            place = dict(zip(reversed(ranking), range(len(ranking), 0, -1), strict=True))  # the first of repeated items
            at[s, q, : len(pool)] = [place.get(item, 0) for item in pool]
    return whole, at


def _retrieved(found: Comparison) -> Arrays:
    """Return the scores of retrieval in units of each system: the first of a list, and how far each next one is off."""
    systems, queries, depth = found.lists.items.shape
    scores, units = np.full((systems, queries, depth), np.nan), np.ones(systems)
    for s, run in enumerate(found.runs.values()):
        for q, query in enumerate(found.references.queries):
            if run.scores is not None and query in run.places:
                own = run.scores[run.rows(query)][:depth]
                scores[s, q, : len(own)] = np.where(np.isfinite(own), own, np.nan)
        decimals = SIGNIFICANT - 1 - math.floor(math.log10(np.nanmax(np.abs(scores[s]), initial=1e-9)))
        units[s] = 10.0**decimals
    steps = np.diff(np.round(scores * units[:, None, None]), axis=2, prepend=0)
    return {"retrieved": steps, "retrieved_units": units} if np.isfinite(scores).any() else {}


def _score_arrays(found: Comparison) -> Arrays:
    arrays: Arrays = {
        "scores": found.scores.values[:, found.shown].transpose(2, 0, 1).round(SCORES),
        "means": found.means.round(SHOWN),
        "query_losses": found.losses.by_query[:, found.shown, 1:].round(SHOWN),
    }
    if found.segments:
        parts = [complete(found.scores.select(queries=queries)).averages for queries in found.segments.values()]
        arrays["segment_means"] = np.stack(parts).round(SHOWN)
    return arrays


def tested_segments(found: Comparison) -> list[str]:
    """Name the segments whose tests are on the page."""
    parts = {} if found.significance is None else found.significance.segments
    count = sum(part.frame.height for part in parts.values())
    return list(parts) if count <= MOST_OF_SEGMENTS else []


def _pair_arrays(found: Comparison) -> Arrays:
    """Return the decisions of [measure, pair], and of [segment, …]; pairs in the order (1, 0), (2, 0) … (2, 1) …"""
    tested, segments = found.significance, tested_segments(found)
    if tested is None:
        return {}
    shape = (len(found.scores.measures), -1)
    arrays = _decided("pair", [tested], shape)
    wins, ties, losses = (tested.frame[name].to_numpy().reshape(shape) for name in ("wins", "ties", "losses"))
    arrays |= {"pair_wins": wins, "pair_ties": ties, "pair_queries": wins + ties + losses}
    if segments:
        arrays |= _decided("segment", [tested.segments[name] for name in segments], (len(segments), *shape))
    return arrays


def _decided(name: str, parts: Sequence[Significance], shape: tuple[int, ...]) -> Arrays:
    """Return differences, limits, p-values (0 denotes less than can be shown) and verdicts, those of b − a last.

    Limits take least space so: how far the lower one is below the difference, and how much further above the upper is.
    """

    def column(name: str) -> npt.NDArray[Any]:
        return np.stack([part.frame[name].to_numpy() for part in parts]).reshape(shape)

    p = column("p_adjusted")
    decisions = [one for part in parts for one in part.decisions]
    verdicts = [
        [VERDICTS.index(one.verdict) for one in both] for both in (decisions, [one.turned for one in decisions])
    ]
    difference, low, high = (column(each).round(SHOWN) for each in ("difference", "low", "high"))
    further = np.where(np.isinf(low), 0, (high - difference) - (difference - low))
    return {
        f"{name}_difference": difference,
        f"{name}_low": (difference - low).round(SHOWN),
        f"{name}_high": further.round(SHOWN),
        f"{name}_p": np.where(p < 10**-SHOWN, 0.0, p).round(SHOWN),
        f"{name}_verdict": np.stack([np.reshape(each, shape) for each in verdicts]),
    }


def _reference_arrays(references: References) -> Arrays:
    """Return how many items each reference has, and the ranks of the first."""
    ranks = [references.ranks[references.rows(query)][:REFERENCE_ITEMS].tolist() for query in references.queries]
    return {"reference_sizes": references.sizes, "reference_ranks": ranks}


def _list_arrays(found: Comparison, places: Ints, found_at: Ints) -> Arrays:
    """Return the item at each position, its rank and kind, and its credit above the cutoff."""
    lists, credit = found.lists, found.lists.credit[:, :, : found.explained.cutoff].round(2)
    # where items are among the positions that are shown is in the lists: here it would only take space
    elsewhere = np.where(found_at > lists.items.shape[2], found_at, found_at > 0)
    return {"items": places, "ranks": lists.ranks, "kinds": lists.kinds, "credit": credit, "found_at": elsewhere}
