"""Array types, and what is asked of small arrays again and again."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]  # places of items, workers and pairs, of which there may be many
Keys = npt.NDArray[np.float32] | Floats  # scores as they are compared
Bools = npt.NDArray[np.bool_]
Unsigned = npt.NDArray[np.uint64]


def largest(values: Ints) -> int:
    """Return the largest of some numbers, 0 where there are none; of few of them sooner than ``max`` does."""
    return int(values[values.argmax()]) if len(values) else 0
