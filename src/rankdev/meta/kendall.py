"""Kendall's τ-b for many orderings at once."""

from __future__ import annotations

import numpy as np

from rankdev.evaluation.scores import Floats


def tau_b(left: Floats, right: Floats, tolerance: float = 0.0) -> Floats:
    """Give Kendall's τ-b along the last axis, NaN where either side is constant; the sides broadcast.

    Values that differ by no more than the tolerance are tied.

    >>> tau_b(np.array([1.0, 2, 3]), np.array([[1.0, 2, 3], [3, 2, 1], [1, 1, 2]])).round(4).tolist()
    [1.0, -1.0, 0.8165]
    """
    a, b = np.triu_indices(left.shape[-1], 1)
    x, y = (_signs(side[..., a] - side[..., b], tolerance) for side in (left, right))
    pairs = np.sqrt((x != 0).sum(axis=-1) * (y != 0).sum(axis=-1).astype(np.float64))
    with np.errstate(invalid="ignore"):
        tau: Floats = (x * y).sum(axis=-1) / pairs
    return tau


def _signs(apart: Floats, tolerance: float) -> Floats:
    return np.where(np.abs(apart) <= tolerance, 0.0, np.sign(apart))
