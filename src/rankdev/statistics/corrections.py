"""Corrections for many comparisons: adjusted p-values, and the level of each pair's interval that agrees with them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rankdev._common.arrays import Floats

CORRECTIONS = ("holm", "bh", "none")


def adjust(p: Floats, correction: str, alpha: float) -> tuple[Floats, Floats]:
    """Return adjusted p-values, and the level at which each pair is tested.

    Holm rejects the i-th smallest of m p-values at α/(m − i + 1); all that it does not reject are above α/(m − R) for R
    rejected ones. Benjamini and Hochberg reject at α·R/m, the level of intervals with the same false coverage rate.

    >>> adjusted, level = adjust(np.array([0.04, 0.001, 0.3]), "holm", 0.05)
    >>> adjusted.round(3).tolist(), level.round(4).tolist()
    ([0.08, 0.003, 0.3], [0.025, 0.0167, 0.025])
    """
    count = len(p)
    if correction == "none":
        return p.copy(), np.full(count, alpha)
    if correction == "bh":
        adjusted = benjamini_hochberg(p)
        return adjusted, np.full(count, alpha * max(1, int((adjusted <= alpha).sum())) / count)
    adjusted = holm(p)
    rejected = int((adjusted <= alpha).sum())
    steps = alpha / np.maximum(count - np.minimum(np.arange(count), rejected), 1)
    level = np.empty(count)
    level[np.argsort(p, kind="stable")] = steps
    return adjusted, level


def holm(p: Floats) -> Floats:
    """Adjust by Holm's step-down method.

    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()  # 3 × .01, 2 × .03, and no less than the one before
    [0.03, 0.06, 0.06]
    """
    order, ranked = _ranked(p)
    factors = np.arange(p.shape[-1], 0, -1)
    return _unranked(np.minimum(np.maximum.accumulate(ranked * factors, axis=-1), 1.0), order)


def benjamini_hochberg(p: Floats) -> Floats:
    """Adjust by Benjamini and Hochberg's step-up method.

    >>> benjamini_hochberg(np.array([0.01, 0.04, 0.03])).tolist()  # 3/1 × .01, 3/3 × .04, at most the next
    [0.03, 0.04, 0.04]
    """
    order, ranked = _ranked(p)
    scaled = ranked * p.shape[-1] / np.arange(1, p.shape[-1] + 1)
    smallest = np.minimum.accumulate(scaled[..., ::-1], axis=-1)[..., ::-1]
    return _unranked(np.minimum(smallest, 1.0), order)


def _ranked(p: Floats) -> tuple[npt.NDArray[np.int64], Floats]:
    order = np.argsort(p, axis=-1, kind="stable")
    return order, np.take_along_axis(p, order, axis=-1)


def _unranked(ranked: Floats, order: npt.NDArray[np.int64]) -> Floats:
    adjusted = np.empty_like(ranked)
    np.put_along_axis(adjusted, order, ranked, axis=-1)
    return adjusted
