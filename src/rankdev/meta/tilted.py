"""Small p-values of the sign-flip test from few flips: importance sampling that keeps the test valid.

Flips are drawn not at random but tilted towards large sums, by exponential tilts of several strengths, and weighted
by how much likelier they were made. With the observed flip counted among them, as (b + 1)/(B + 1) counts it among
plain ones, the p-value is valid for any tilt that does not look at the observed signs (Harrison 2012, Biometrika 99).
A thousand such flips tell p = 1e-9 from 2e-9, where plain ones would have to be billions.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from rankdev.arrays import Floats
from rankdev.meta.flips.random_bits import hashed

TILTS = np.array([2.5, 4.0, 5.5, 7.5])  # about the standard scores around which each quarter of the flips lies
DRAWS = 1200  # flips per pair; a multiple of the number of tilts


def tilted_p(apart: Floats, tolerance: float, key: np.uint64, compiled: bool = True) -> Floats:
    """Give the two-sided p-value of each row of differences, in whole units; rows must not be all zero.

    >>> flat = np.ones((1, 40))  # 2 of the 2^40 flips are as extreme: 1.8e-12
    >>> bool(1e-12 < tilted_p(flat, 0.5, np.uint64(1))[0] < 3e-12)
    True
    """
    queries = apart.shape[1]
    size = np.abs(apart)
    observed = np.abs(apart.sum(axis=1))
    length = np.sqrt((size**2).sum(axis=1))
    tilt = TILTS[None, :, None] * (size / length[:, None])[:, None, :]  # [pair, tilt, query]
    chance = (1 / (1 + np.exp(-2 * tilt))).astype(np.float32)
    scale = np.logaddexp(tilt, -tilt).sum(axis=2) - queries * np.log(2.0)  # log of the mean of exp(tilt · sum)
    words = hashed(np.asarray(key), np.arange(queries * DRAWS, dtype=np.uint64))
    uniform = ((words >> np.uint64(40)).astype(np.float32) / np.float32(1 << 24)).reshape(queries, DRAWS)
    sums = _kernel(compiled)(size, chance, uniform)
    pair, draw = np.nonzero(sums >= (observed - tolerance)[:, None])
    total = _weight(observed / length, scale) + np.bincount(
        pair, _weight(sums[pair, draw] / length[pair], scale[pair]), minlength=len(apart)
    )
    p: Floats = np.minimum(1.0, 2 * total / (DRAWS + 1))
    return p


def _weight(score: Floats, scale: Floats) -> Floats:
    """Give the weight of a flip with that standard score: how likely it is at random, over how likely by the tilts."""
    weight: Floats = len(TILTS) / np.exp(score[:, None] * TILTS - scale).sum(axis=1)
    return weight


def sums_plain(size: Floats, chance: Any, uniform: Any) -> Floats:
    """Sum sizes with a plus where the uniform number is below the chance, and a minus elsewhere."""
    sums = np.empty((len(size), uniform.shape[1]))
    tilts = chance.shape[1]
    part = uniform.shape[1] // tilts
    for j in range(tilts):
        block = slice(j * part, (j + 1) * part)
        for pair in range(len(size)):
            plus = (uniform[:, block] < chance[pair, j][:, None]).astype(np.float64)
            sums[pair, block] = size[pair] @ (2 * plus - 1)
    return sums


def _kernel(compiled: bool) -> Callable[[Floats, Any, Any], Floats]:
    if not (compiled and find_spec("numba")):
        return sums_plain
    from rankdev.meta.flips.tilted_sums import sums_compiled

    return sums_compiled
