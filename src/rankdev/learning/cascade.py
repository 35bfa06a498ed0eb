"""The cascade of a dynamic Bayesian network (Chapelle and Zhang 2009, with people who never give up unsatisfied).

People look from the top; a click satisfies with a probability that belongs to the item, and then they stop. Whether
the last click of a list satisfied is not known: EM weighs it against having looked on and found nothing.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from rankdev.arrays import Floats, Ints
from rankdev.learning.click_log import sums


class Cascade:
    """The lists of a log in the order in which they were seen: one entry per impression."""

    def __init__(self, frame: pl.DataFrame) -> None:
        """Take the columns list, unit, place, bag and clicked."""
        frame = frame.sort("list", "place")
        self._list: Ints = frame["list"].to_numpy().astype(np.int64)
        self._unit: Ints = frame["unit"].to_numpy().astype(np.int64)
        self._place: Ints = frame["place"].to_numpy().astype(np.int64)
        self._bag: Ints = frame["bag"].to_numpy().astype(np.int64)
        self._clicked = frame["clicked"].to_numpy().astype(np.float64)
        row = np.arange(len(self._list))
        self._first = np.flatnonzero(np.diff(self._list, prepend=-1))
        last = np.full(len(self._first), -1)
        np.maximum.at(last, self._list, np.where(self._clicked > 0, row, -1))
        self._below = row > last[self._list]  # without a click that is the whole list
        self._has_click = last >= 0
        self._last = last[self._has_click]

    def examination(self, weights: Floats | None = None) -> Floats:
        """Mean probability that a position is examined."""
        w = np.ones(len(self._list)) if weights is None else weights[self._bag]
        units = int(self._unit.max()) + 1
        clicks = sums(self._unit, w * self._clicked, units)
        certain = sums(self._unit, w * ~self._below, units)
        attraction, satisfaction = np.full(units, 0.3), np.full(units, 0.5)
        for _ in range(1000):
            satisfied = self._satisfied(attraction, satisfaction)
            looked_on = np.ones(len(self._first))
            looked_on[self._has_click] = 1 - satisfied
            examined = certain + sums(self._unit, w * self._below * looked_on[self._list], units)
            before = attraction, satisfaction
            attraction = clicks / np.maximum(examined, 1e-9)
            satisfaction = sums(self._unit[self._last], w[self._last] * satisfied, units) / np.maximum(clicks, 1e-9)
            if max(np.abs(attraction - before[0]).max(), np.abs(satisfaction - before[1]).max()) < 1e-6:
                break
        reached = np.exp(self._sums_above(np.log(np.maximum(1 - attraction * satisfaction, 1e-12))[self._unit]))
        size = int(self._place.max()) + 1
        return sums(self._place, w * reached, size) / np.maximum(sums(self._place, w, size), 1e-9)

    def _satisfied(self, attraction: Floats, satisfaction: Floats) -> Floats:
        """Probability that the last click of each list satisfied, given that nothing was clicked below it."""
        passes = np.log(np.maximum(1 - attraction, 1e-12))[self._unit]
        nothing = np.exp(np.add.reduceat(np.where(self._below, passes, 0.0), self._first))[self._has_click]
        chance = satisfaction[self._unit[self._last]]
        return chance / np.maximum(chance + (1 - chance) * nothing, 1e-12)

    def _sums_above(self, values: Floats) -> Floats:
        """Sum of the values above each entry in its list."""
        above = np.cumsum(values) - values
        return above - above[self._first][self._list]
