"""The ends of Compat over completions: its overlap adds up over items, by the depth at which both lists hold them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice

import numpy as np

from rankdev.arrays import Floats, Ints
from rankdev.evaluation.completions import MOST, Completion
from rankdev.measures.compat import Compat

WORTHLESS = 0  # the rank of an item that has none
Ends = tuple[float, float, bool]


class SeenByCompat:
    """A list as Compat sees it: where reference items and unjudged items are, ``depth`` for what it does not return."""

    def __init__(self, measure: Compat, old: Ints, unjudged: Ints, old_ranks: Ints, sign: int) -> None:
        """Take positions from 0, of old items and of unjudged ones, and the ranks that old ones have now."""
        self.weights = _weights(measure)
        self.old, self.unjudged, self.old_ranks, self.sign = old, unjudged, old_ranks, sign

    def value(self, way: Completion, given: Ints) -> float:
        """Give ± Compat where the unjudged items are given these ranks."""
        good = given != WORTHLESS
        rank = np.concatenate([way.rank_of[self.old_ranks], given[good]])
        position = np.concatenate([self.old, self.unjudged[good]])
        ideal = np.empty(len(rank), np.int64)
        ideal[np.lexsort((position, rank))] = np.arange(len(rank))
        most = self.weights[: min(way.size, len(self.weights) - 1)].sum()
        held = np.minimum(np.maximum(position, ideal), len(self.weights) - 1)  # past the depth nothing counts
        return self.sign * float(self.weights[held].sum() / most) if most else 0.0


@cache
def _weights(measure: Compat) -> Floats:
    """Give what an item adds that both lists hold from each depth on; the last is 0."""
    depth = measure.cutoff or measure.depth or 1
    each = measure.p ** np.arange(depth) / np.arange(1, depth + 1)
    return np.append(np.cumsum(each[::-1])[::-1], 0.0)


def compat_extremes(ways: Sequence[Completion] | None, lists: Sequence[SeenByCompat], unjudged: int) -> Ends:
    """Give the ends of Σ ± Compat over all completions.

    What both lists hold from depth max(i, s) on weighs less the larger that is, so that of two unjudged items the
    earlier one in the list does best with the better rank, and worst with the worse. For one list two ways to give the
    places out are therefore enough; for two lists all are tried, or each list's own ends are taken where they are many.
    """
    if ways is None:
        least, most = (sum(entry.sign for entry in lists if entry.sign == sign) for sign in (-1, 1))
        return float(least), float(most), False
    if len(lists) == 1:
        low, high = _of_one(ways, lists[0], unjudged)
        return low, high, True
    tried = list(islice(_assignments(ways, unjudged), MOST + 1))
    if len(tried) > MOST:
        ends = [_of_one(ways, entry, unjudged) for entry in lists]
        return sum(low for low, _ in ends), sum(high for _, high in ends), False
    values = [sum(entry.value(way, given) for entry in lists) for way, given in tried]
    return min(values), max(values), True


def _of_one(ways: Sequence[Completion], entry: SeenByCompat, unjudged: int) -> tuple[float, float]:
    order = np.argsort(entry.unjudged, kind="stable")
    values = []
    for way in ways:
        best_first = np.concatenate([np.sort(way.slots), np.full(unjudged - len(way.slots), WORTHLESS)])
        for ranks in (best_first, best_first[::-1]):
            given = np.empty(unjudged, np.int64)
            given[order] = ranks
            values.append(entry.value(way, given))
    return min(values), max(values)


def _assignments(ways: Sequence[Completion], unjudged: int) -> Iterator[tuple[Completion, Ints]]:
    """Give every way to hand the places of each completion to the unjudged items."""
    for way in ways:
        left = Counter([*way.slots.tolist(), *[WORTHLESS] * (unjudged - len(way.slots))])
        for given in _orders(left, unjudged):
            yield way, np.array(given, np.int64)


def _orders(left: Counter[int], count: int) -> Iterator[tuple[int, ...]]:
    """Give all different orders of some values, each once."""
    if not count:
        yield ()
        return
    for value in [value for value, times in left.items() if times]:
        left[value] -= 1
        for rest in _orders(left, count - 1):
            yield (value, *rest)
        left[value] += 1
