"""The order in which engines report pairs: by lag, so that a whole lag is one difference of two slices."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def lag_order(systems: int) -> npt.NDArray[np.int64]:
    """Give for each pair (a < b, in dictionary order) its place among the pairs ordered by b − a, then a.

    >>> lag_order(3).tolist()  # (0, 1), (0, 2), (1, 2) stand at these places of (0, 1), (1, 2), (0, 2)
    [0, 2, 1]
    """
    a, b = np.triu_indices(systems, 1)
    lag = b - a
    before = (lag - 1) * systems - lag * (lag - 1) // 2  # pairs of smaller lags
    places: npt.NDArray[np.int64] = (before + a).astype(np.int64)
    return places
