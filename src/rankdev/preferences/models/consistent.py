"""The order that consistent judgments imply: an item that won, directly or through others, is above."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

import numpy as np

from rankdev._common.arrays import Floats, Ints
from rankdev.preferences._fitting import centred, maximise
from rankdev.preferences._pairs import Pairs, sums
from rankdev.preferences._separation import Close
from rankdev.preferences._uncertainty import levelled
from rankdev.preferences.diagnostics import cyclic_groups, losers_of, majorities
from rankdev.preferences.models.base import Fitted, Model, Options

if TYPE_CHECKING:
    from rankdev.preferences.judgments import Preferences
    from rankdev.preferences.strengths import Strengths


APART = 1e-6  # strengths in the implied order differ at least so much


class Consistent(Model):
    """Judges without error: all their majorities are kept, and a cycle of them is one tier.

    The strengths are those of Bradley–Terry, assigned in the implied order.
    """

    name = "consistent"
    about = "the order that judges without error imply; a cycle is one tier"
    rule = "partition"

    def fit(self, preferences: Preferences, pairs: Pairs, options: Options) -> Fitted:
        """Put winners above losers; where nothing is implied, the stronger first."""
        fit = maximise(pairs, options.ridge)
        strength = levelled(centred(fit.strength, pairs.starts), pairs.starts)
        query = np.repeat(np.arange(len(pairs.starts) - 1), np.diff(pairs.starts))
        place = _implied_places(pairs, query, strength)
        order = np.lexsort((-strength, place))
        apart = (np.diff(place[order], prepend=-1) > 0) | (np.diff(strength[order], prepend=np.inf) < 0)
        level = np.cumsum(apart) - 1  # items of one level share their value: nothing implies an order of them
        assigned = sums(level, strength[np.lexsort((-strength, query))], level[-1] + 1) / np.bincount(level)
        values = np.empty_like(strength)
        values[order] = assigned[level] - APART * level
        return Fitted(values, pairs, fit.iterations, fit.converged)

    def separation(self, fit: Strengths, alpha: float, resamples: int, seed: int, refit: str) -> tuple[Close, ...]:
        """Two items differ where a chain of wins leads from one to the other and none leads back."""
        starts = fit.pairs.starts
        winner, loser = majorities(fit.pairs)
        place = np.empty(len(fit.values), np.int64)
        place[fit.order] = np.arange(len(fit.values))
        losers = losers_of(place[winner], place[loser], len(place))
        label = cyclic_groups(winner, loser, len(place))[fit.order]
        return tuple(_implied(losers, label, *starts[q : q + 2].tolist()) for q in range(len(starts) - 1))


def _implied_places(pairs: Pairs, query: Ints, strength: Floats) -> Ints:
    """Place items so that each is above those it beat, a cycle in one place; otherwise by strength, equals together."""
    n = len(strength)
    winner, loser = majorities(pairs)
    label = cyclic_groups(winner, loser, n)
    size = np.bincount(label)
    of_query = np.zeros(len(size), np.int64)
    of_query[label] = query
    mean = levelled(sums(label, strength, len(size)) / np.maximum(size, 1), np.array([0, len(size)]))
    across = label[winner] != label[loser]
    below = losers_of(label[winner[across]], label[loser[across]], len(size))
    above = np.bincount(label[loser[across]], minlength=len(size))
    ready = [(int(of_query[g]), -float(mean[g]), int(g)) for g in np.flatnonzero(above == 0)]
    heapify(ready)
    place, position = np.empty(len(size), np.int64), 0
    while ready:
        first = ready[0][:2]
        groups = []
        while ready and ready[0][:2] == first:
            groups.append(heappop(ready)[2])
        place[groups], position = position, position + 1
        for g in np.concatenate([below[group] for group in groups]).tolist():
            above[g] -= 1
            if above[g] == 0:
                heappush(ready, (int(of_query[g]), -float(mean[g]), g))
    return place[label]


def _implied(losers: list[Ints], label: Ints, start: int, stop: int) -> Close:
    """Mark as not separated (p = 1) the pairs that no chain of wins orders; places count from ``start``."""
    n = stop - start
    below = np.zeros((n, n), bool)
    for k in range(n - 1, -1, -1):
        direct = losers[start + k] - start
        direct = direct[direct > k]
        below[k, direct] = True
        below[k] |= below[direct].any(axis=0)
    same = label[start:stop, None] == label[start:stop]
    # all items of a cycle imply the same
    for group in np.unique(label[start:stop]):
        members = np.flatnonzero(label[start:stop] == group)
        if len(members) > 1:
            below[members] = below[members].any(axis=0)
            below[:, members] = below[:, members].any(axis=1, keepdims=True)
    i, j = np.triu_indices(n, 1)
    return Close(n, i, j, np.where(below[i, j] & ~same[i, j], 0.0, 1.0))
