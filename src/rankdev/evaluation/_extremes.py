"""Lowest and highest score over all completions of the judgments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations_with_replacement, islice, product
from typing import Any

import numpy as np

from rankdev._common.arrays import Floats, Ints
from rankdev.core.single import Reference
from rankdev.errors import MeasureError
from rankdev.measures import Measure
from rankdev.measures.graded import NDCG, RBP
from rankdev.measures.overlap import Compat
from rankdev.measures.precision import AP, P, R
from rankdev.measures.rdq import RDQ

MOST = 3000  # completions of one query that are looked at
Place = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Completion:
    """A reference with some places more, which unjudged items may take in any way.

    ``ranks`` and ``grades`` are those of all its items, best first; ``rank_of[tier]`` is the rank that an old rank
    becomes; ``slots`` and ``slot_grades`` are those of the new places. Without grades, these are 1 each.
    """

    ranks: Ints
    grades: Floats
    rank_of: Ints
    slots: Ints
    slot_grades: Floats

    @property
    def size(self) -> int:
        """Number of items (m)."""
        return len(self.ranks)

    def ideal_ranks(self, position: Ints) -> Ints:
        """Return the ideal rank at positions, from 0; past the reference it grows by one a position."""
        last = int(self.ranks[-1]) if self.size else 0
        inside = self.ranks[np.minimum(position, self.size - 1)] if self.size else position
        return np.asarray(np.where(position < self.size, inside, last + position + 1 - self.size))


def completions(reference: Reference, unjudged: int, levels: Sequence[float] | None) -> list[Completion] | None:
    """List the completions by so many items: the grades of the collection where there are ``levels``, else any place.

    None where there are more than can be looked at. A place is the rank of a tier, or one of its own between two
    tiers, above or below all; two unjudged items may share one. Any number of them may be nonrelevant.
    """
    ways = _by_rank(reference, unjudged) if levels is None else _by_grade(reference, unjudged, levels)
    found = list(islice(ways, MOST + 1))
    return None if len(found) > MOST else found


def _by_grade(reference: Reference, unjudged: int, levels: Sequence[float]) -> Iterator[Completion]:
    known = np.array(sorted((reference.grades or {}).values(), reverse=True), float)
    old = np.unique(known)[::-1]
    for count in range(unjudged + 1):
        for slots in combinations_with_replacement(sorted(levels, reverse=True), count):
            grades = np.sort(np.concatenate([known, slots]))[::-1]
            tiers = np.unique(grades)[::-1]
            ranks, rank_of, new = (_rank_among(tiers, values) for values in (grades, old, np.array(slots, float)))
            yield Completion(ranks, grades, np.concatenate([[0], rank_of]), new, np.array(slots, float))


def _rank_among(tiers: Floats, grades: Floats) -> Ints:
    return np.asarray(np.searchsorted(-tiers, -grades) + 1, np.int64)


def _by_rank(reference: Reference, unjudged: int) -> Iterator[Completion]:
    sizes = [len(tier) for tier in reference.tiers]
    old = [(2 * tier + 1, 0) for tier in range(len(sizes))]  # gaps have even numbers
    for count in range(unjudged + 1):
        for slots in _placements(count, 2 * len(sizes) + 1, None):
            rank = {place: i + 1 for i, place in enumerate(sorted({*old, *slots}))}
            all_ranks = [rank[place] for place, size in zip(old, sizes, strict=True) for _ in range(size)]
            new = [rank[place] for place in slots]
            ranks = np.sort(np.array([*all_ranks, *new], np.int64))
            rank_of = np.array([0, *(rank[place] for place in old)], np.int64)
            yield Completion(ranks, np.ones(len(ranks)), rank_of, np.array(new, np.int64), np.ones(count))


def _placements(count: int, places: int, last: Place | None) -> Iterator[tuple[Place, ...]]:
    """Yield every way to put alike items at tiers and into gaps, best place first; gaps hold new tiers."""
    if not count:
        yield ()
        return
    options: list[Place] = [] if last is None else [last]
    if last is not None and last[0] % 2 == 0:
        options.append((last[0], last[1] + 1))
    options += [(place, 0) for place in range(0 if last is None else last[0] + 1, places)]
    for option in options:
        for rest in _placements(count - 1, places, option):
            yield (option, *rest)


NONRELEVANT = 0  # the rank of an item that has none
Limits = tuple[float, float, bool]  # lowest, highest, and whether they are exact


class SeenByCompat:
    """A list as Compat sees it: where reference items and unjudged items are, ``depth`` for what it does not return."""

    def __init__(self, measure: Compat, old: Ints, unjudged: Ints, old_ranks: Ints, sign: int) -> None:
        """Take positions from 0, of old items and of unjudged ones, and the ranks that old ones have now."""
        self.weights = _compat_weights(measure)
        self.old, self.unjudged, self.old_ranks, self.sign = old, unjudged, old_ranks, sign

    def value(self, way: Completion, given: Ints) -> float:
        """Return ± Compat where the unjudged items are given these ranks."""
        relevant = given != NONRELEVANT
        rank = np.concatenate([way.rank_of[self.old_ranks], given[relevant]])
        position = np.concatenate([self.old, self.unjudged[relevant]])
        ideal = np.empty(len(rank), np.int64)
        ideal[np.lexsort((position, rank))] = np.arange(len(rank))
        most = self.weights[: min(way.size, len(self.weights) - 1)].sum()
        held = np.minimum(np.maximum(position, ideal), len(self.weights) - 1)  # past the depth nothing counts
        return self.sign * float(self.weights[held].sum() / most) if most else 0.0


@cache
def _compat_weights(measure: Compat) -> Floats:
    """Return what an item adds that both lists hold from each depth on; the last is 0."""
    depth = measure.cutoff or measure.depth or 1
    each = measure.p ** np.arange(depth) / np.arange(1, depth + 1)
    return np.append(np.cumsum(each[::-1])[::-1], 0.0)


def compat_extremes(ways: Sequence[Completion] | None, lists: Sequence[SeenByCompat], unjudged: int) -> Limits:
    """Return the limits of Σ ± Compat over all completions.

    What both lists hold from depth max(i, s) on weighs less the larger that is, so that of two unjudged items the
    earlier one in the list does best with the better rank, and worst with the worse. For one list two ways to give the
    places out are therefore enough; for two lists all are tried, or each list's own limits are taken where that is
    too many.
    """
    if ways is None:
        least, most = (sum(entry.sign for entry in lists if entry.sign == sign) for sign in (-1, 1))
        return float(least), float(most), False
    if len(lists) == 1:
        low, high = _of_one(ways, lists[0], unjudged)
        return low, high, True
    tried = list(islice(_assignments(ways, unjudged), MOST + 1))
    if len(tried) > MOST:
        limits = [_of_one(ways, entry, unjudged) for entry in lists]
        return sum(low for low, _ in limits), sum(high for _, high in limits), False
    values = [sum(entry.value(way, given) for entry in lists) for way, given in tried]
    return min(values), max(values), True


def _of_one(ways: Sequence[Completion], entry: SeenByCompat, unjudged: int) -> tuple[float, float]:
    order = np.argsort(entry.unjudged, kind="stable")
    values = []
    for way in ways:
        best_first = np.concatenate([np.sort(way.slots), np.full(unjudged - len(way.slots), NONRELEVANT)])
        for ranks in (best_first, best_first[::-1]):
            given = np.empty(unjudged, np.int64)
            given[order] = ranks
            values.append(entry.value(way, given))
    return min(values), max(values)


def _assignments(ways: Sequence[Completion], unjudged: int) -> Iterator[tuple[Completion, Ints]]:
    """Yield every way to assign the places of each completion to the unjudged items."""
    for way in ways:
        left = Counter([*way.slots.tolist(), *[NONRELEVANT] * (unjudged - len(way.slots))])
        for given in _orders(left, unjudged):
            yield way, np.array(given, np.int64)


def _orders(left: Counter[int], count: int) -> Iterator[tuple[int, ...]]:
    """Yield all different orders of some values, each once."""
    if not count:
        yield ()
        return
    for value in [value for value, times in left.items() if times]:
        left[value] -= 1
        for rest in _orders(left, count - 1):
            yield (value, *rest)
        left[value] += 1


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
    """A list as a measure sees it: positions of reference items and unjudged items, from 0, and the score's sign."""

    places: dict[str, int]
    sign: int = 1


def extremes(
    measure: Measure, reference: Reference, lists: Sequence[Listed], unjudged: Sequence[str], levels: Any
) -> Limits:
    """Return the limits of Σ sign × score over every completion by the unjudged items."""
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
    limits = np.array([_assigned(measure, way, seen, len(unjudged)) for way in ways])
    return float(limits[:, 0].min()), float(limits[:, 1].max()), True


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
    """Return the limits for one completion: which item takes which place is an assignment, because positions add up."""
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
    """Return the gain of items of a rank and grade at positions."""
    if not way.size:
        return np.zeros(np.broadcast_shapes(position.shape, rank.shape))
    if isinstance(measure, RDQ):
        counted = way.size if measure.cutoff is None else min(way.size, measure.cutoff)
        weights = _rdq_weights(measure, max(counted, int(position.max(initial=0)) + 1))
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
def _rdq_weights(measure: RDQ, depth: int) -> Floats:
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


def _of_ap(reference: Reference, lists: Sequence[Listed], unjudged: Sequence[str]) -> Limits:
    """Return AP's limits: precisions depend on each other, so subsets are tried, or the first and last of one list."""
    if len(lists) == 1:
        by_place = sorted(unjudged, key=lists[0].places.__getitem__)
        counts = range(len(unjudged) + 1)
        sets = [part for j in counts for part in (by_place[:j], by_place[len(by_place) - j :])]
    elif 2 ** len(unjudged) <= MOST:
        chosen = product((False, True), repeat=len(unjudged))
        sets = [[item for item, relevant in zip(unjudged, row, strict=True) if relevant] for row in chosen]
    else:
        return -1.0, 1.0, False
    values = [sum(entry.sign * _ap(reference, entry, part) for entry in lists) for part in sets]
    return min(values), max(values), True


def _ap(reference: Reference, entry: Listed, added: Sequence[str]) -> float:
    relevant = len(reference) + len(added)
    hits = sorted(entry.places[item] for item in (*reference, *added) if item in entry.places)
    return sum((i + 1) / (place + 1) for i, place in enumerate(hits)) / relevant if relevant else 0.0
