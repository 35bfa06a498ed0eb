"""The lowest and the highest value of a measure, or of its difference between two lists, over completions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from rankdev.arrays import Floats, Ints
from rankdev.errors import MeasureError
from rankdev.evaluation.compat_extremes import SeenByCompat, compat_extremes
from rankdev.evaluation.completions import MOST, Completion, completions
from rankdev.measures import Measure
from rankdev.measures.compat import Compat
from rankdev.measures.ndcg import NDCG
from rankdev.measures.precision import AP, P, R
from rankdev.measures.rbp import RBP
from rankdev.measures.rdq import RDQ
from rankdev.references.reference import Reference

Ends = tuple[float, float, bool]  # lowest, highest, and whether they are exact


def check_bounded(measure: Measure) -> None:
    """Refuse measures whose bounds are not known to be exact."""
    if not isinstance(measure, AP | NDCG | RBP | RDQ | P | R | Compat):
        raise MeasureError(f"{measure} has no exact bounds here; RDQ, nDCG, RBP, AP, Compat, P and R do")
    settings: dict[str, Any] = {"judged_only": False, "rel": None, "depth": None}
    if isinstance(measure, RBP):
        settings["gains"] = "binary"
    for name, usual in settings.items():
        if getattr(measure, name, usual) != usual:
            raise MeasureError(f"{measure} has no exact bounds here; leave {name} out")
    if isinstance(measure, NDCG) and not isinstance(measure.gains, str):
        raise MeasureError(f"{measure} has no exact bounds here; leave the map of gains out")


@dataclass(frozen=True)
class Listed:
    """A list as a measure sees it: where reference items and unjudged items stand, from 0, and what it counts for."""

    places: dict[str, int]
    sign: int = 1


def extremes(
    measure: Measure, reference: Reference, lists: Sequence[Listed], unjudged: Sequence[str], levels: Any
) -> Ends:
    """Give the ends of Σ sign × score over every completion by the unjudged items."""
    if isinstance(measure, AP):
        return _of_ap(reference, lists, unjudged)
    ways = _ways(measure, reference, len(unjudged), levels)
    if isinstance(measure, Compat):
        seen_by = [_seen_by_compat(measure, reference, entry, unjudged) for entry in lists]
        return compat_extremes(ways, seen_by, len(unjudged))
    if ways is None:
        least, most = (sum(entry.sign for entry in lists if entry.sign == sign) for sign in (-1, 1))
        return float(least), float(most), False
    grades = reference.grades or {}
    seen = [_Seen.of(entry, reference, grades, unjudged) for entry in lists]
    ends = np.array([_assigned(measure, way, seen, len(unjudged)) for way in ways])
    return float(ends[:, 0].min()), float(ends[:, 1].max()), True


def _ways(measure: Measure, reference: Reference, unjudged: int, levels: Any) -> list[Completion] | None:
    binary = not isinstance(measure, NDCG | RDQ | Compat) or (isinstance(measure, NDCG) and measure.gains == "binary")
    if not binary:
        return completions(reference, unjudged, levels)
    rank_of = np.arange(len(reference.tiers) + 1)
    known = np.array(sorted(reference[item] for item in reference), np.int64)
    counts = range(unjudged + 1)
    last = max(1, len(rank_of) - 1)
    return [
        Completion(
            np.concatenate([known, np.full(j, last)]), np.ones(len(known) + j), rank_of, np.full(j, last), np.ones(j)
        )
        for j in counts
    ]


@dataclass(frozen=True, eq=False)
class _Seen:
    """A list as arrays: position, old rank and grade of its reference items, and where its unjudged items are."""

    sign: int
    position: Ints
    rank: Ints
    grade: Floats
    rows: list[int]
    unjudged: Ints

    @classmethod
    def of(cls, entry: Listed, reference: Reference, grades: Mapping[str, float], unjudged: Sequence[str]) -> _Seen:
        known = [item for item in entry.places if item in reference]
        rows = [row for row, item in enumerate(unjudged) if item in entry.places]
        return cls(
            entry.sign,
            np.array([entry.places[item] for item in known], np.int64),
            np.array([reference[item] for item in known], np.int64),
            np.array([grades.get(item, 1.0) for item in known], float),
            rows,
            np.array([entry.places[unjudged[row]] for row in rows], np.int64)[:, None],
        )


def _assigned(measure: Measure, way: Completion, lists: Sequence[_Seen], unjudged: int) -> tuple[float, float]:
    """Give the ends for one completion: who takes which place is an assignment, because positions add up."""
    from scipy.optimize import linear_sum_assignment

    base, gains = 0.0, np.zeros((unjudged, len(way.slots)))
    for entry in lists:
        ranks = way.rank_of[entry.rank]
        base += entry.sign * float(_values(measure, way, entry.position, ranks, entry.grade).sum())
        values = _values(measure, way, entry.unjudged, way.slots[None], way.slot_grades[None])
        gains[entry.rows] += entry.sign * values
    low, high = (gains[linear_sum_assignment(gains, maximize=most)].sum() for most in (False, True))
    return base + float(low), base + float(high)


def _values(measure: Measure, way: Completion, position: Ints, rank: Ints, grade: Floats) -> Floats:
    """Give what items of a rank and grade earn at positions."""
    if not way.size:
        return np.zeros(np.broadcast_shapes(position.shape, rank.shape))
    if isinstance(measure, RDQ):
        counted = way.size if measure.cutoff is None else min(way.size, measure.cutoff)
        weights = _weights(measure, max(counted, int(position.max(initial=0)) + 1))
        credit = measure.credit(way.ideal_ranks(position), rank, np.array(way.size))
        return np.asarray(weights[position] * credit / weights[:counted].sum())
    if isinstance(measure, NDCG):
        best = _gains(measure, way, way.ranks, way.grades)[: measure.cutoff]
        ideal = (best / np.log2(np.arange(2, len(best) + 2))).sum()
        return np.asarray(_gains(measure, way, rank, grade) / np.log2(position + 2) / ideal)
    if isinstance(measure, RBP):
        return np.broadcast_to((1 - measure.p) * measure.p**position, np.broadcast_shapes(position.shape, rank.shape))
    whole = way.size if isinstance(measure, R) else measure.cutoff
    return np.full(np.broadcast_shapes(position.shape, rank.shape), 1.0 / (whole or 1))


@cache
def _weights(measure: RDQ, depth: int) -> Floats:
    return measure.position_weights.relative(depth)


def _gains(measure: NDCG, way: Completion, rank: Ints, grade: Floats) -> Floats:
    made: dict[Any, Floats] = {
        "native": grade,
        "binary": np.ones(np.shape(rank)),
        "inverse": 1.0 / np.maximum(rank, 1),
        "linear": way.ranks[-1] - rank + 1.0,
    }
    chosen = made[measure.gains]
    return np.exp2(chosen) - 1 if measure.dcg == "exp-log2" else chosen


def _seen_by_compat(measure: Compat, reference: Reference, entry: Listed, unjudged: Sequence[str]) -> SeenByCompat:
    depth = measure.cutoff or 1
    old, new = (
        np.array([entry.places.get(item, depth) for item in items], np.int64) for items in (reference, unjudged)
    )
    ranks = np.array([reference[item] for item in reference], np.int64)
    return SeenByCompat(measure, old, new, ranks, entry.sign)


def _of_ap(reference: Reference, lists: Sequence[Listed], unjudged: Sequence[str]) -> Ends:
    """Give AP's ends: precisions depend on each other, so that subsets are tried, or the first and last of one list."""
    if len(lists) == 1:
        by_place = sorted(unjudged, key=lists[0].places.__getitem__)
        counts = range(len(unjudged) + 1)
        sets = [part for j in counts for part in (by_place[:j], by_place[len(by_place) - j :])]
    elif 2 ** len(unjudged) <= MOST:
        chosen = product((False, True), repeat=len(unjudged))
        sets = [[item for item, good in zip(unjudged, row, strict=True) if good] for row in chosen]
    else:
        return -1.0, 1.0, False
    values = [sum(entry.sign * _ap(reference, entry, part) for entry in lists) for part in sets]
    return min(values), max(values), True


def _ap(reference: Reference, entry: Listed, good: Sequence[str]) -> float:
    relevant = len(reference) + len(good)
    hits = sorted(entry.places[item] for item in (*reference, *good) if item in entry.places)
    return sum((i + 1) / (place + 1) for i, place in enumerate(hits)) / relevant if relevant else 0.0
