"""Array types."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Keys = npt.NDArray[np.float32] | Floats  # scores as they are compared
Bools = npt.NDArray[np.bool_]
Words = npt.NDArray[np.uint64]
