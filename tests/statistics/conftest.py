from collections.abc import Callable

import numpy as np
import pytest

from rankdev.evaluation.scores import Scores


@pytest.fixture
def make_scores() -> Callable[..., Scores]:
    """Name systems s0…, queries q0… and measures m0… of ``values[system, query, measure]``."""

    def make(values: object, reference_sizes: object = None) -> Scores:
        array = np.asarray(values, float)
        array = array[:, :, None] if array.ndim == 2 else array
        names = [tuple(f"{letter}{i}" for i in range(size)) for letter, size in zip("sqm", array.shape, strict=True)]
        sizes = None if reference_sizes is None else np.asarray(reference_sizes, np.int64)
        return Scores(*names, array, sizes)

    return make
