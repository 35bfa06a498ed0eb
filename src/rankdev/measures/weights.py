"""Position weights μ: how much each displayed position matters."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np

from rankdev.arrays import Floats
from rankdev.errors import MeasureError, shown, suggestion
from rankdev.measures.match import scaled


@dataclass(frozen=True)
class PositionWeights:
    """Weights of the first positions, then ``tail`` for ever; positive and never increasing.

    >>> PRESETS["carousel"].first(5).tolist()
    [1.0, 1.0, 1.0, 0.1, 0.1]
    """

    head: tuple[float, ...]
    tail: float | None = None

    def __post_init__(self) -> None:
        values = [*self.head, *([] if self.tail is None else [self.tail])]
        if not self.head:
            raise MeasureError("weights are empty; give at least one weight")
        for i, value in enumerate(values):
            where = f"weight {i + 1}" if i < len(self.head) else "the tail"
            if isinstance(value, bool) or not isinstance(value, Real) or not 0 < value < math.inf:
                raise MeasureError(f"{where} is {shown(value)}; weights are positive numbers")
            if i and value > values[i - 1]:
                raise MeasureError(
                    f"{where} is {value:g}, more than {values[i - 1]:g} before it; weights never increase"
                )
        object.__setattr__(self, "head", tuple(float(value) for value in self.head))

    def check_reach(self, count: int) -> None:
        """Refuse weights that end before position ``count``."""
        if count > len(self.head) and self.tail is None:
            raise MeasureError(
                f"{len(self.head)} weights do not reach position {count}; give more, or a tail for the rest"
                f" (tail={self.head[-1]:g})"
            )

    def first(self, count: int) -> Floats:
        """Give the weights of the first ``count`` positions."""
        self.check_reach(count)
        tail = np.full(max(0, count - len(self.head)), self.tail, dtype=np.float64)
        return np.concatenate([np.array(self.head[:count], dtype=np.float64), tail])

    def relative(self, count: int) -> Floats:
        """Give the first ``count`` weights in a unit of their own, a power of two, so that no sum of them overflows."""
        return scaled(self.first(count), self.head[0])


PRESETS = {
    "vertical": PositionWeights((1, 0.9, 0.8, 0.8, 0.7, 0.6, 0.5, 0.5, 0.4, 0.4, 0.4, 0.3, 0.3, 0.2, 0.2, 0.2), 0.1),
    "stepped": PositionWeights((1, 0.8, 0.8, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5), 0.1),
    "carousel": PositionWeights((1, 1, 1), 0.1),
    "uniform": PositionWeights((1,), 1),
}


def position_weights(weights: str | Sequence[float], tail: float | None) -> PositionWeights:
    """Find a preset by name, or make weights of a list."""
    if not isinstance(weights, str | Iterable):
        raise MeasureError(f"weights is {shown(weights)}; expected the name of a preset or a list of numbers")
    if not isinstance(weights, str):
        return PositionWeights(tuple(weights), tail)
    if weights not in PRESETS:
        raise MeasureError(
            f"unknown weights {shown(weights)}; choose from {', '.join(PRESETS)}, or give a list"
            f"{suggestion(weights, PRESETS)}"
        )
    if tail is not None:
        raise MeasureError(f"weights={weights} has its own tail; tail belongs to a list of weights")
    return PRESETS[weights]
