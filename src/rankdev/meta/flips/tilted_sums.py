"""The sums of tilted flips, compiled; whole numbers, so that they are those of the plain twin in any order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def sums_compiled(size: Any, chance: Any, uniform: Any) -> Any:
    """Sum sizes with a plus where the uniform number is below the chance, and a minus elsewhere."""
    pairs, tilts, queries = chance.shape
    part = uniform.shape[1] // tilts
    sums = np.empty((pairs, uniform.shape[1]))
    for pair in range(pairs):
        for j in range(tilts):
            row = sums[pair, j * part : (j + 1) * part]
            row[:] = -size[pair].sum()
            for q in range(queries):
                twice, limit = 2 * size[pair, q], chance[pair, j, q]
                line = uniform[q, j * part : (j + 1) * part]
                for k in range(part):
                    row[k] += twice if line[k] < limit else 0.0
    return sums
