"""Corrections for many comparisons: adjusted p-values along the last axis."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rankdev.evaluation.scores import Floats


def holm(p: Floats) -> Floats:
    """Adjust by Holm's step-down method, which bounds the chance of any false rejection.

    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()  # 3 × .01, 2 × .03, and no less than the one before
    [0.03, 0.06, 0.06]
    """
    order, ranked = _ranked(p)
    factors = np.arange(p.shape[-1], 0, -1)
    return _unranked(np.minimum(np.maximum.accumulate(ranked * factors, axis=-1), 1.0), order)


def benjamini_hochberg(p: Floats) -> Floats:
    """Adjust by Benjamini and Hochberg's step-up method, which bounds the share of false rejections.

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
