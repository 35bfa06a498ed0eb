"""Sums over pairs compiled by numba; their reference implementation is in ``_pairs``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit


@njit(cache=True)
def group(low: Any, high: Any, items: int) -> Any:
    """Number the distinct pairs, ordered by their first item, and find the pair of each judgment."""
    bounds = np.zeros(items + 1, np.int64)
    for k in range(low.size):
        bounds[low[k] + 1] += 1
    bounds = np.cumsum(bounds)
    place = bounds[:-1].copy()
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
        for place_of in range(bounds[i], bounds[i + 1]):
            k = order[place_of]
            j = high[k]
            if seen[j] < begin:
                first[pairs], second[pairs], seen[j] = i, j, pairs
                pairs += 1
            of[k] = seen[j]
    return first[:pairs].copy(), second[:pairs].copy(), of


@njit(cache=True)
def components(first: Any, second: Any, items: int) -> Any:
    """Label each item with the smallest item that a chain of pairs connects it with."""
    root = np.arange(items)
    for k in range(first.size):
        i, j = first[k], second[k]
        while root[i] != i:
            root[i] = root[root[i]]
            i = root[i]
        while root[j] != j:
            root[j] = root[root[j]]
            j = root[j]
        root[max(i, j)] = min(i, j)
    for i in range(items):
        root[i] = root[root[i]]
    return root


@njit(cache=True)
def linearise(first: Any, second: Any, count: Any, score: Any, strength: Any, tie_rate: float) -> Any:
    """Gradient, curvature of each pair, and the curvatures' sum by item."""
    gradient = np.zeros(strength.size)
    diagonal = np.zeros(strength.size)
    curvature = np.empty(first.size)
    row, row_gradient, row_diagonal = 0, 0.0, 0.0  # pairs come by their first item: its sums stay in registers
    for k in range(first.size):
        i, j, n = first[k], second[k], count[k]
        if i != row:
            gradient[row] += row_gradient
            diagonal[row] += row_diagonal
            row, row_gradient, row_diagonal = i, 0.0, 0.0
        d = strength[i] - strength[j]
        if tie_rate == 0.0:
            mean = 1.0 / (1.0 + math.exp(-d))
            h = n * mean * (1.0 - mean)
        else:
            small = math.exp(-abs(d))
            win = 1.0 if d >= 0 else small
            tie = tie_rate * math.sqrt(small)
            scale = 1.0 / (1.0 + small + tie)
            mean = (win + 0.5 * tie) * scale
            h = n * max((win + 0.25 * tie) * scale - mean * mean, 0.0)
        g = score[k] - n * mean
        row_gradient += g
        row_diagonal += h
        gradient[j] -= g
        diagonal[j] += h
        curvature[k] = h
    gradient[row] += row_gradient
    diagonal[row] += row_diagonal
    return gradient, curvature, diagonal


@njit(cache=True)
def _spread_one(first: Any, second: Any, curvature: Any, x: Any) -> Any:
    result = np.zeros_like(x)
    row, total = 0, 0.0
    for k in range(first.size):
        i, j, h = first[k], second[k], curvature[k]
        if i != row:
            result[row] += total
            row, total = i, 0.0
        total += h * x[j]
        result[j] += h * x[i]
    result[row] += total
    return result


@njit(cache=True)
def _spread_many(first: Any, second: Any, curvature: Any, x: Any) -> Any:
    result = np.zeros_like(x)
    for k in range(first.size):
        i, j, h = first[k], second[k], curvature[k]
        for column in range(x.shape[1]):
            result[i, column] += h * x[j, column]
            result[j, column] += h * x[i, column]
    return result


def spread(first: Any, second: Any, curvature: Any, x: Any) -> Any:
    """Sum curvature × x of the opponents of each item; x may have several columns."""
    return (_spread_one if x.ndim == 1 else _spread_many)(first, second, curvature, x)
