"""Lowest and highest score over all completions of the judgments.

Limits of each list are ``[limit, list]``, those of differences ``[limit, pair]``. They are exact, or outer limits that
no completion leaves: where there are few completions, all are scored. P, R, RBP and nDCG on grades have a closed form;
AP has one for single lists. RDQ's outer limits are in :mod:`._rdq_limits`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from rankdev._common.arrays import Bools, Floats, Ints
from rankdev.errors import MeasureError
from rankdev.evaluation._completions import FAR, Case, all_completions, extremes_of, one_more
from rankdev.evaluation._rdq_limits import rdq_extremes
from rankdev.measures import Measure
from rankdev.measures.graded import NDCG, RBP
from rankdev.measures.overlap import Compat
from rankdev.measures.precision import AP, P, R
from rankdev.measures.rdq import RDQ


def check_bounded(measure: Measure) -> None:
    """Refuse measures whose bounds are not known."""
    if not isinstance(measure, AP | NDCG | RBP | RDQ | P | R | Compat):
        raise MeasureError(f"{measure} has no bounds here; RDQ, nDCG, RBP, AP, Compat, P and R do")
    settings: dict[str, Any] = {"judged_only": False, "rel": None, "depth": None}
    if isinstance(measure, RBP):
        settings["gains"] = "binary"
    for name, usual in settings.items():
        if getattr(measure, name, usual) != usual:
            raise MeasureError(f"{measure} has no bounds here; leave {name} out")
    if isinstance(measure, NDCG) and not isinstance(measure.gains, str):
        raise MeasureError(f"{measure} has no bounds here; leave the map of gains out")


@dataclass(frozen=True, eq=False)
class Extremes:
    """Limits of scores and of differences, and which of them are exact."""

    lists: Floats
    pairs: Floats
    exact: bool
    exact_pairs: bool | Bools

    @classmethod
    def of(cls, measure: Measure, case: Case) -> Extremes:
        """Return the limits over every completion."""
        weighing = _weighing(measure, case)
        if weighing is not None:
            return cls(*weighing.extremes(case), True, True)
        tried = all_completions(case, _is_binary(measure))
        if tried is not None:
            return cls(*extremes_of(tried.scores(measure, case), case), True, True)
        if isinstance(measure, AP):
            lists, pairs = _of_ap(case)
            return cls(lists, pairs, True, _try_subsets(case, pairs))
        if isinstance(measure, RDQ):
            return cls(*rdq_extremes(measure, case), False, False)
        if isinstance(measure, Compat):
            return cls(*_of_compat(measure, case), False, False)
        return cls(*_unknown(case), False, False)


def moves_alone(measure: Measure, case: Case, wanted: Bools) -> Floats:
    """Return how wide each unjudged item alone makes the differences of the wanted pairs, in sum.

    An item that neither list of a pair returns that far changes only what is ideal: as every such item does.
    """
    seen = case.within(measure.reach)
    reached = case.unjudged < (FAR if measure.reach is None else measure.reach)
    tried = one_more(seen, _is_binary(measure))
    hidden = tried.scores(measure, replace(seen, unjudged=np.full((len(case.lengths), 1), FAR)))  # [place, list]
    a, b = case.first[wanted], case.second[wanted]
    usual = np.ptp(hidden[:, a] - hidden[:, b], axis=0)
    moved = np.full(case.unjudged.shape[1], usual.sum())
    for item in np.flatnonzero(reached.any(axis=0)):
        holders = np.flatnonzero(reached[:, item])
        scores = hidden.copy()
        scores[:, holders] = tried.scores(
            measure, replace(seen, unjudged=case.unjudged[:, item, None]), holders.tolist()
        )
        other = np.flatnonzero(reached[a, item] | reached[b, item])
        moved[item] += (np.ptp(scores[:, a[other]] - scores[:, b[other]], axis=0) - usual[other]).sum()
    return moved


def _is_binary(measure: Measure) -> bool:
    return not isinstance(measure, NDCG | RDQ | Compat) or (isinstance(measure, NDCG) and measure.gains == "binary")


def _unknown(case: Case) -> tuple[Floats, Floats]:
    """Return the limits of any measure between 0 and 1."""
    ends = np.array([0.0, 1.0])
    return np.repeat(ends[:, None], len(case.lengths), 1), np.repeat([[-1.0], [1.0]], len(case.first), 1)


@dataclass(frozen=True, eq=False)
class _Weighing:
    """A measure that is a sum over items, gain × weight of the position, divided by what the relevant items allow.

    ``steps`` is what an item of each level gains more than one of the next; ``positions`` are weights; ``whole[n]``
    is what n items of one level add to the divisor for each unit of its step. ``counts`` and ``tops`` are how many
    reference items are of each level or a better one, and which these are.
    """

    steps: Floats
    positions: Floats
    whole: Floats
    counts: Ints
    tops: Bools

    def extremes(self, case: Case) -> tuple[Floats, Floats]:
        known, new = (self._weights(positions) for positions in (case.known, case.unjudged))
        gained = known @ self.tops.T
        a, b = case.first, case.second
        lists, pairs = ((gained, new), (gained[a] - gained[b], new[a] - new[b]))
        return self._limits(*lists, case), self._limits(*pairs, case)

    def _weights(self, positions: Ints) -> Floats:
        seen = positions < FAR
        return np.where(seen, self.positions[np.where(seen, positions, 0)], 0.0)

    def _limits(self, gained: Floats, new: Floats, case: Case) -> Floats:
        if not len(gained):
            return np.zeros((2, 0))
        return np.stack([-self._most(-gained, -new, case), self._most(gained, new, case)])

    def _most(self, gained: Floats, new: Floats, case: Case) -> Floats:
        """Return the highest quotient: ``gained[row, level]`` by reference items, ``new`` what others could add.

        If X items are to be of a level or a better one, they are those with the largest weights. Between the last
        positive weight and the first negative one items make no difference but to the divisor, which never falls: of
        these numbers X only the two ends can be best. Dinkelbach's method leads to the highest quotient: for a
        quotient θ, maximise what is gained − θ × the divisor, and continue with the quotient of that.
        """
        rows = np.arange(len(new))[:, None]
        order = -np.sort(-new, axis=1)
        sums = np.concatenate([np.zeros((len(new), 1)), np.cumsum(order, axis=1)], axis=1)
        up, down = (new > 0).sum(axis=1)[:, None], (new < 0).sum(axis=1)[:, None]
        left = np.minimum(np.arange(int(up.max()) + 1), up)
        right = np.minimum(np.arange(int(down.max()) + 1), down)
        one = np.minimum(np.maximum(up, 1), case.added - down)  # the least, where there is no reference item
        counts = np.concatenate([left, one, case.added - down + right], axis=1)
        sums = np.concatenate([sums[rows, left], sums[rows, up], sums[rows, new.shape[1] - down + right]], axis=1)
        divisors = self.whole[self.counts[:, None, None] + counts]  # [level, row, candidate]
        quotient = np.full(len(new), -np.inf)
        found = np.zeros(len(new))
        if not case.size and self.whole[0] == 0:  # nothing is relevant where X is 0, and the score is 0
            empty = counts == 0
            if not case.added:
                return found
        else:
            empty = np.zeros(counts.shape, bool)
            found[:] = -np.inf
        theta = np.zeros(len(new))
        for _ in range(100):
            value = top = bottom = np.zeros(counts.shape)
            for level, step in enumerate(self.steps):
                share = step * (gained[:, level, None] + sums)
                weight = step * divisors[level]
                value = value + share - theta[:, None] * weight
                top, bottom = top + share, bottom + weight
                if level == len(self.steps) - 1:
                    value = np.where(empty, -np.inf, value)
                best = _running_best(value)  # no more items are of a level than of it or the next
                value, top, bottom = (np.take_along_axis(part, best, axis=1) for part in (value, top, bottom))
            theta = top[:, -1] / bottom[:, -1]
            if not (theta > quotient + 1e-15).any():
                break
            quotient = np.maximum(quotient, theta)
        return np.maximum(found, quotient)


def _running_best(value: Floats) -> Ints:
    """Return for each candidate the best one up to it."""
    best = np.maximum.accumulate(value, axis=1)
    fresh = np.concatenate([np.ones((len(value), 1), bool), best[:, 1:] > best[:, :-1]], axis=1)
    return np.maximum.accumulate(np.where(fresh, np.arange(value.shape[1]), 0), axis=1)


def _weighing(measure: Measure, case: Case) -> _Weighing | None:
    """Write P, R, RBP and nDCG in that form; None for other measures."""
    depth = max(int(case.lengths.max(initial=0)), 1)
    most = case.size + case.added
    positions: Floats = np.ones(depth)
    whole: Floats = np.ones(most + 1)
    if isinstance(measure, P):
        whole *= measure.cutoff or 1
    elif isinstance(measure, R):
        whole = np.arange(most + 1.0)
    elif isinstance(measure, RBP):
        positions = np.asarray((1 - measure.p) * measure.p ** np.arange(depth), np.float64)
    elif isinstance(measure, NDCG) and measure.gains in ("binary", "native"):
        positions = 1 / np.log2(np.arange(2, depth + 2))
        counted = np.minimum(np.arange(most + 1), most if measure.cutoff is None else measure.cutoff)
        whole = np.concatenate([[0.0], np.cumsum(1 / np.log2(np.arange(2, most + 2)))])[counted]
        if measure.gains == "native" and case.grades is not None and case.levels is not None and len(case.levels):
            gains = case.levels
            if measure.dcg == "exp-log2":
                gains = np.expm1(gains * np.log(2)) if gains[0] < 1000 else np.exp2(gains - gains[0])  # up to a factor
            tops = case.grades >= case.levels[:, None]
            return _Weighing(gains - np.append(gains[1:], 0.0), positions, whole, tops.sum(axis=1), tops)
    else:
        return None
    return _Weighing(np.ones(1), positions, whole, np.array([case.size]), np.ones((1, case.size), bool))


def _of_ap(case: Case) -> tuple[Floats, Floats]:
    """Return AP's limits: with j more relevant items, the first of a list are best and the last are worst.

    Those that the list does not return come last of all. Both lists of a pair have the same j, which is all that
    their outer limits use.
    """
    lists = [_precisions(known, new, case) for known, new in zip(case.known, case.unjudged, strict=True)]
    seen = np.array([len(first) - 1 for first, _ in lists])
    most = int(seen.max(initial=0))
    first, last = (
        np.stack([np.pad(entry[i], (0, most + 1 - len(entry[i])), "edge") for entry in lists]) for i in (0, 1)
    )
    # in between, only the divisor grows
    added = np.unique(np.clip(np.concatenate([np.arange(most + 2), case.added - np.arange(most + 2)]), 0, case.added))
    best = first[:, np.minimum(added, most)]
    worst = np.take_along_axis(last, np.maximum(added - (case.added - seen[:, None]), 0), axis=1)
    whole = np.maximum(case.size + added, 1)
    a, b = case.first, case.second
    limits = np.stack([(worst / whole).min(axis=1), (best / whole).max(axis=1)])
    apart = [((worst[a] - best[b]) / whole).min(axis=1), ((best[a] - worst[b]) / whole).max(axis=1)]
    return limits, np.stack(apart)


SUBSETS = 10  # unjudged items of two lists of which all subsets are tried


def _try_subsets(case: Case, limits: Floats) -> Bools:
    """Replace the outer limits of pairs that see few unjudged items by exact ones, and return for which.

    The sum of precisions is quadratic in what is relevant: item i adds (1 + the relevant items before it) ÷ its
    position, and 1 ÷ its position to each item behind.
    """
    known, new = (np.where(positions < FAR, positions + 1.0, np.inf) for positions in (case.known, case.unjudged))
    fixed, single = np.empty(len(known)), np.empty(new.shape)
    for row, hits in enumerate(np.sort(known, axis=1)):
        before = np.searchsorted(hits, new[row])
        behind = np.append(np.cumsum(1 / hits[::-1])[::-1], 0.0)[before]
        fixed[row] = (np.arange(1, len(hits) + 1) / hits).sum()
        single[row] = (1 + before) / new[row] + behind  # nothing is behind an item that is not returned
    seen = np.isfinite(new[case.first]) | np.isfinite(new[case.second])
    count = seen.sum(axis=1)
    for some in np.unique(count[count <= SUBSETS]).tolist():
        pairs = np.flatnonzero(count == some)
        a, b = case.first[pairs], case.second[pairs]
        items = np.nonzero(seen[pairs])[1].reshape(len(pairs), some)
        chosen = np.array(list(product((0.0, 1.0), repeat=some))).reshape(2**some, some)
        i, j = np.triu_indices(some, 1)
        linear = np.take_along_axis(single[a] - single[b], items, axis=1)
        place_a, place_b = (np.take_along_axis(new[side], items, axis=1) for side in (a, b))
        both = 1 / np.maximum(place_a[:, i], place_a[:, j]) - 1 / np.maximum(place_b[:, i], place_b[:, j])
        sums = (fixed[a] - fixed[b])[:, None] + linear @ chosen.T + both @ (chosen[:, i] * chosen[:, j]).T
        whole = case.size + chosen.sum(axis=1)
        values = [sums / np.maximum(whole + more, 1) for more in (0, case.added - some)]  # others only divide
        limits[:, pairs] = np.min(values, axis=(0, 2)), np.max(values, axis=(0, 2))
    return np.asarray(count <= SUBSETS)


def _precisions(known: Ints, new: Ints, case: Case) -> tuple[Floats, Floats]:
    """Return the sum of precisions with the first and with the last x of a list's unjudged items, x from 0 on."""
    hits, more = np.sort(known[known < FAR]), np.sort(new[new < FAR])
    sums = []
    for parts in ([more[:x] for x in range(len(more) + 1)], [more[len(more) - x :] for x in range(len(more) + 1)]):
        positions = [np.sort(np.concatenate([hits, part])) for part in parts]
        sums.append(np.array([(np.arange(1, len(found) + 1) / (found + 1)).sum() for found in positions]))
    return sums[0], sums[1]


def _of_compat(measure: Compat, case: Case) -> tuple[Floats, Floats]:
    """Return outer limits of Compat: each item for itself, with the same number j of new items for all.

    An item counts from max(its position, its place in the ideal list) on, and j new items can take no more than j
    places before it.
    """
    depth = measure.cutoff or 1
    weights = np.append(np.cumsum((measure.p ** np.arange(depth) / np.arange(1, depth + 1))[::-1])[::-1], 0.0)
    whole = np.cumsum(weights)
    known, new = (np.minimum(positions, depth) for positions in (case.known, case.unjudged))
    place = np.empty_like(known)
    order = np.lexsort((known, np.broadcast_to(case.ranks, known.shape)), axis=1)
    np.put_along_axis(place, order, np.broadcast_to(np.arange(case.size), known.shape), axis=1)
    seen = np.sort(weights[new], axis=1)[:, ::-1]
    limits = []
    for j in range(min(case.added, depth) + 1):
        divisor = whole[min(case.size + j, depth) - 1] if case.size + j else 1.0
        low = weights[np.minimum(np.maximum(known, place + j), depth)].sum(axis=1)
        high = weights[np.maximum(known, np.minimum(place, depth))].sum(axis=1) + seen[:, :j].sum(axis=1)
        limits.append(np.stack([low, np.minimum(high, divisor)]) / divisor)
    low, high = np.moveaxis(np.array(limits), 1, 0)  # [j, list]
    a, b = case.first, case.second
    apart = [(low[:, a] - high[:, b]).min(axis=0), (high[:, a] - low[:, b]).max(axis=0)]
    return np.stack([low.min(axis=0), high.max(axis=0)]), np.stack(apart)
