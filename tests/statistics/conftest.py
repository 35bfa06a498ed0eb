from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from rankdev.evaluation.scores import Scores


def scored(values: object, systems: Sequence[str] = (), measures: Sequence[str] = (), **more: Any) -> Scores:
    """Return scores of ``values[system, query, measure]``; their names are s0…, q0… and m0… where none are given."""
    array = np.asarray(values, float)
    array = array[:, :, None] if array.ndim == 2 else array
    names = [[f"{letter}{i}" for i in range(size)] for letter, size in zip("sqm", array.shape, strict=True)]
    return Scores(tuple(systems or names[0]), tuple(names[1]), tuple(measures or names[2]), array, **more)


@pytest.fixture
def make_scores() -> Callable[..., Scores]:
    return scored


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(5)
