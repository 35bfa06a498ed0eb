"""Weights that never increase: weighted isotonic regression."""

from __future__ import annotations

import numpy as np

from rankdev.arrays import Floats


def never_increasing(values: Floats, weights: Floats) -> Floats:
    """Give the never-increasing values nearest to ``values`` in weighted squares, by pooling neighbours.

    >>> never_increasing(np.array([1.0, 0.4, 0.6, 0.1]), np.ones(4)).tolist()
    [1.0, 0.5, 0.5, 0.1]
    """
    blocks: list[tuple[float, float, int]] = []
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        mean, mass, size = value, weight, 1
        while blocks and blocks[-1][0] <= mean:
            upper, above, count = blocks.pop()
            mean = (upper * above + mean * mass) / (above + mass) if above + mass else (upper + mean) / 2
            mass, size = above + mass, count + size
        blocks.append((mean, mass, size))
    return np.repeat([mean for mean, _, _ in blocks], [size for _, _, size in blocks])
