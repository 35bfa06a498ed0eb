"""The kinds of arrays that the package computes with."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Words = npt.NDArray[np.uint64]


def offsets_of(sizes: Ints) -> Ints:
    """Give where each of some parts begins that follow one another, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(sizes)])
