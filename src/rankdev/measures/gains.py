"""What an item of a grade gains."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from rankdev.arrays import Floats
from rankdev.errors import MeasureError
from rankdev.measures.match import scaled

MINUTE = 2.0**-60


class GainMap(Mapping[float, float]):
    """A gain for each grade that does not gain just itself, as in ``{1:1,2:10}``.

    >>> str(GainMap({2: 10, 0: 0, 1: 1})), GainMap({2: 10}) == GainMap({1: 1, 2: 10.0})
    ('{2:10}', True)
    """

    def __init__(self, gains: Mapping[Any, Any]) -> None:
        pairs = []
        for grade, gain in gains.items():
            if any(isinstance(value, bool) or not isinstance(value, int | float) for value in (grade, gain)):
                raise MeasureError(f"a gain map has numbers; got {grade!r}: {gain!r}")
            if not (math.isfinite(grade) and 0 <= gain < math.inf):
                raise MeasureError(f"the gain of grade {grade:g} is {gain:g}; gains are finite and at least 0")
            if grade <= 0 < gain:
                raise MeasureError(f"grade {grade:g} gains {gain:g}; items of grade 0 or below are worthless here")
            pairs.append((float(grade), float(gain)))
        self._pairs = tuple(sorted((grade, gain) for grade, gain in pairs if grade > 0 and grade != gain))
        self._gains = dict(self._pairs)

    def __getitem__(self, grade: float) -> float:
        return self._gains[grade]

    def __iter__(self) -> Iterator[float]:
        return iter(self._gains)

    def __len__(self) -> int:
        return len(self._pairs)

    def __hash__(self) -> int:
        return hash(self._pairs)

    def __repr__(self) -> str:
        return f"{{{','.join(f'{_plain(grade)}:{_plain(gain)}' for grade, gain in self._pairs)}}}"

    def of(self, grades: Floats) -> Floats:
        """Give the gain of each grade; one that is not in the map gains itself."""
        gains = grades.copy()
        for grade, gain in self._pairs:
            gains[grades == grade] = gain
        return gains


def exponential(grades: Floats, unit: Floats | float) -> Floats:
    """(2^g − 1) ÷ 2^unit: of high grades without overflow, of low ones without loss."""
    low = np.expm1(np.minimum(grades, 1) * np.log(2)) * np.exp2(np.negative(unit))
    return np.where(grades < 1, low, np.exp2(np.maximum(grades, 1) - unit) - np.exp2(np.negative(unit)))


def exponential_shares(grades: Floats, highest: Floats) -> Floats:
    """2^g − 1 but for a factor that a query's gains have in common, which brings that of the highest grade near 1."""
    # the gain of a minute grade is g · ln 2, to the last bit
    return np.where(highest < MINUTE, scaled(grades, highest), exponential(grades, np.floor(highest)))


def _plain(number: float) -> str:
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)
