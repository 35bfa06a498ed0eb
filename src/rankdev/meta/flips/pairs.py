"""What engines are asked: how to sample queries and flips, and in which order they report pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Sampling:
    """Subsamples of ``n`` queries, and their flips.

    ``replace`` draws queries with replacement. ``exact`` takes the numbers of the permutations themselves as
    bits: the first 2^(n − 1) of them are all flips but for the sign of the whole, which does not matter.
    """

    n: int
    replace: bool = False
    exact: bool = False


def lag_order(systems: int) -> npt.NDArray[np.int64]:
    """Give for each pair (a < b, in dictionary order) its place among the pairs ordered by b − a, then a.

    Engines report pairs in that order, so that a whole lag is one difference of two slices.

    >>> lag_order(3).tolist()  # (0, 1), (0, 2), (1, 2) are at these places of (0, 1), (1, 2), (0, 2)
    [0, 2, 1]
    """
    a, b = np.triu_indices(systems, 1)
    lag = b - a
    before = (lag - 1) * systems - lag * (lag - 1) // 2  # pairs of smaller lags
    places: npt.NDArray[np.int64] = (before + a).astype(np.int64)
    return places
