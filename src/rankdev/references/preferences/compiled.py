"""Compiled twins of the sums in pairs.py; imported only where numba is and only for many pairs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit


@njit(cache=True)
def group(low: Any, high: Any, items: int) -> Any:
    """Number the distinct pairs, ordered by their first item, and say which one each judgment is of."""
    ends = np.zeros(items + 1, np.int64)
    for k in range(low.size):
        ends[low[k] + 1] += 1
    ends = np.cumsum(ends)
    place = ends[:-1].copy()
    order = np.empty(low.size, np.int32)
    for k in range(low.size):
        order[place[low[k]]] = k
        place[low[k]] += 1
    first = np.empty(low.size, np.int32)
    second = np.empty(low.size, np.int32)
    of = np.empty(low.size, np.int32)
    seen = np.full(items, -1, np.int32)  # the pair last opened with this second item
    pairs = 0
    for i in range(items):
        begin = pairs
        for place_of in range(ends[i], ends[i + 1]):
            k = order[place_of]
            j = high[k]
            if seen[j] < begin:
                first[pairs], second[pairs], seen[j] = i, j, pairs
                pairs += 1
            of[k] = seen[j]
    return first[:pairs].copy(), second[:pairs].copy(), of


@njit(cache=True)
def linearise(first: Any, second: Any, count: Any, score: Any, strength: Any, tie_rate: float) -> Any:
    """Gradient, curvature of each pair, and the curvatures' sum by item."""
    gradient = np.zeros(strength.size)
    diagonal = np.zeros(strength.size)
    curvature = np.empty(first.size)
    for k in range(first.size):
        i, j = first[k], second[k]
        d = strength[i] - strength[j]
        small = math.exp(-abs(d))
        tie = tie_rate * math.sqrt(small)
        total = 1.0 + small + tie
        win = 1.0 if d >= 0 else small
        mean = (win + 0.5 * tie) / total
        h = count[k] * max((win + 0.25 * tie) / total - mean * mean, 0.0)
        g = score[k] - count[k] * mean
        gradient[i] += g
        gradient[j] -= g
        diagonal[i] += h
        diagonal[j] += h
        curvature[k] = h
    return gradient, curvature, diagonal


@njit(cache=True)
def spread(first: Any, second: Any, curvature: Any, x: Any) -> Any:
    """Sum curvature × x of the opponents of each item; x may have several columns."""
    result = np.zeros_like(x)
    for k in range(first.size):
        i, j, h = first[k], second[k], curvature[k]
        result[i] += h * x[j]
        result[j] += h * x[i]
    return result
