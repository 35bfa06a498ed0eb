"""Array types."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]  # places of items, workers and pairs, of which there may be many
Keys = npt.NDArray[np.float32] | Floats  # scores as they are compared
Bools = npt.NDArray[np.bool_]
Unsigned = npt.NDArray[np.uint64]
