"""Rank correlations: Kendall's τ-b and τ_ap."""

from __future__ import annotations

import numpy as np

from rankdev._common.arrays import Floats


def tau_b(left: Floats, right: Floats, tolerance: float = 0.0) -> Floats:
    """Return Kendall's τ-b along the last axis, NaN where either side is constant; the sides broadcast.

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


def tau_between(left: Floats, right: Floats, tolerance: float = 0.0) -> Floats:
    """Return Kendall's τ-b of every row of one side with every row of the other.

    >>> tau_between(np.array([[1.0, 2, 3]]), np.array([[1.0, 2, 3], [3, 2, 1]])).tolist()
    [[1.0, -1.0]]
    """
    a, b = np.triu_indices(left.shape[-1], 1)
    x, y = (_signs(side[:, a] - side[:, b], tolerance) for side in (left, right))
    with np.errstate(invalid="ignore"):
        tau: Floats = x @ y.T / np.sqrt(np.outer((x != 0).sum(axis=1), (y != 0).sum(axis=1)).astype(np.float64))
    return tau


def _signs(apart: Floats, tolerance: float) -> Floats:
    return np.where(np.abs(apart) <= tolerance, 0.0, np.sign(apart))


def tau_ap(estimate: Floats, truth: Floats, tolerance: float = 0.0) -> Floats:
    """Return the AP correlation (Yilmaz, Aslam and Robertson 2008) along the last axis; the sides broadcast.

    For each system that the estimate ranks below others, the fraction of these that are truly above it, averaged; ties
    in the truth count half, and systems that tie for the top in the estimate have none above. NaN where either side
    is constant.

    >>> truth = np.array([4.0, 3, 2, 1])
    >>> tau_ap(np.array([[4.0, 3, 2, 1], [1, 2, 3, 4], [3, 4, 2, 1], [4, 3, 1, 2]]), truth).round(4).tolist()
    [1.0, -1.0, 0.3333, 0.7778]
    """
    above = estimate[..., None, :] - estimate[..., :, None] > tolerance  # [..., system, the others]
    apart = truth[..., None, :] - truth[..., :, None]
    correct = np.where(np.abs(apart) <= tolerance, 0.5, apart > 0)
    counts = above.sum(axis=-1)
    fractions = (above * correct).sum(axis=-1) / np.maximum(counts, 1)
    with np.errstate(invalid="ignore"):
        mean = fractions.sum(axis=-1) / (counts > 0).sum(axis=-1)
    constant = (np.abs(apart) <= tolerance).all(axis=(-1, -2))
    return np.where(constant, np.nan, 2 * mean - 1)
