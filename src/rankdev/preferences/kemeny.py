"""Kemeny's order: the one that contradicts the fewest preferences, exactly."""

from __future__ import annotations

from math import factorial

import numpy as np

from rankdev.arrays import Floats, Ints
from rankdev.errors import DataError

LONGEST = 14  # items of one circle of majorities, of which all 2^n subsets are looked at


def kemeny_order(ahead: Floats) -> tuple[Ints, bool]:
    """Order items so that Σ ahead[later, earlier] is least; say whether no other order, ties aside, is as good.

    Groups of which one beats the other in every majority never mix, so that only the items inside a circle of
    majorities are searched, by dynamic programming over subsets.
    """
    from scipy.sparse.csgraph import connected_components

    lead = ahead - ahead.T
    _, label = connected_components(lead >= 0, directed=True, connection="strong")
    groups = [np.flatnonzero(label == k) for k in range(label.max() + 1)]
    # one group beats another wholly or not at all, so that counting the items beaten orders them
    groups.sort(key=lambda group: -int((lead[group[0]] > 0).sum()))
    found = [_search(ahead[np.ix_(group, group)]) for group in groups]
    order = np.concatenate([group[best] for group, (best, _) in zip(groups, found, strict=True)])
    return order, all(unique for _, unique in found)


def _search(ahead: Floats) -> tuple[Ints, bool]:
    n = len(ahead)
    if not (ahead - ahead.T).any():
        return np.arange(n), True  # nothing tells them apart
    if n > LONGEST:
        raise DataError(
            f"{n} items form majority cycles, or were never ranked together; Kemeny's order is exact up to"
            f" {LONGEST}: take method='borda' or 'plackett-luce'"
        )
    size = 1 << n
    against = np.zeros((n, size))  # preferences against item i, if it precedes the items of a subset
    for i in range(n):
        for j in range(n):
            against[i, 1 << j : 2 << j] = against[i, : 1 << j] + ahead[j, i]
    cost, ways, last = np.full(size, np.inf), [0] * size, np.zeros(size, np.int64)
    cost[0], ways[0] = 0.0, 1
    for chosen in range(size - 1):
        rest = size - 1 ^ chosen
        for i in range(n):
            if rest >> i & 1:
                new, total = chosen | 1 << i, cost[chosen] + against[i, rest ^ 1 << i]
                if total < cost[new] - 1e-9:
                    cost[new], ways[new], last[new] = total, ways[chosen], i
                elif total <= cost[new] + 1e-9:
                    ways[new] += ways[chosen]
    order: list[int] = []
    chosen = size - 1
    while chosen:
        order.append(int(last[chosen]))
        chosen ^= 1 << order[-1]
    best = np.array(order[::-1])
    return best, ways[size - 1] == _orders_of_ties(best, ahead - ahead.T)


def _orders_of_ties(order: Ints, lead: Floats) -> int:
    """Count the orders that differ only among neighbours that nothing tells apart."""
    orders, begin = 1, 0
    for k in range(1, len(order) + 1):
        if k == len(order) or lead[order[begin:k], order[k]].any():
            orders *= factorial(k - begin)
            begin = k
    return orders
