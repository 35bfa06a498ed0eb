"""Click models: cascade, intervention harvesting, position-based.

Cascade: users examine from the top; a click satisfies with a probability of the item, and then they stop. Whether the
last click of a list satisfied is unknown: EM weighs it against having examined the rest without a click.

Harvesting: where an item was shown ``n`` times at one position and ``m`` times at another, its clicks are scaled to
equal exposure, n·m/(n + m) impressions each. Positions are then compared as in Bradley–Terry's model: of all matched
clicks of two positions the fraction of the first is θ₁/(θ₁ + θ₂), whatever the items' relevance. (Agarwal et al. 2019
maximise another likelihood of the same matched counts.)
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from rankdev._common.arrays import Bools, Floats, Ints
from rankdev.learning._log import ClickLog, sums


class Cascade:
    """The lists of a log in the order of examination: one entry per impression."""

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


class MatchedClicks:
    """All pairs of positions at which the same item was shown."""

    def __init__(self, log: ClickLog) -> None:
        self._log = log
        self._positions = len(log.positions)

    @cached_property
    def _pairs(self) -> tuple[Ints, Ints]:
        """Cells of one unit in pairs, the earlier position first."""
        unit = self._log.cells[0]
        starts = np.flatnonzero(np.diff(unit, prepend=-1))
        sizes = np.diff(np.append(starts, len(unit)))
        first, second = [], []
        for lag in range(1, int(sizes.max(initial=1))):
            place = np.flatnonzero(unit[lag:] == unit[:-lag])
            first.append(place)
            second.append(place + lag)
        nothing = np.zeros(0, np.int64)
        return np.concatenate([nothing, *first]), np.concatenate([nothing, *second])

    def won(self, weights: Floats | None = None) -> Floats:
        """Matched clicks ``[a, b]``: those at position a, against position b."""
        shown, clicked = self._log.counts(weights)
        a, b = self._pairs
        place, size = self._log.cells[1], self._positions
        both = shown[a] + shown[b]
        with np.errstate(invalid="ignore", divide="ignore"):
            of_a = np.where(both > 0, shown[b] * clicked[a] / both, 0.0)
            of_b = np.where(both > 0, shown[a] * clicked[b] / both, 0.0)
        won = sums(place[a] * size + place[b], of_a, size * size)
        won += sums(place[b] * size + place[a], of_b, size * size)
        return won.reshape(size, size)


def groups_of_positions(won: Floats) -> npt.NDArray[np.int32]:
    """Number the groups of positions that matched clicks connect."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    labels: npt.NDArray[np.int32] = connected_components(coo_array(won + won.T), directed=False)[1]
    return labels


def relative_weights(won: Floats, connected: Bools) -> Floats:
    """Fit Bradley–Terry's model to matched clicks by Newton's method; the largest weight is 1.

    Every pair of ``connected`` positions gets half a click each way, so that a position without clicks has a weight,
    and so does a resample that lost what connects positions.
    """
    won = won + 0.5 * connected
    total = won + won.T
    strength = np.zeros(len(won))
    for _ in range(100):
        chance = 1 / (1 + np.exp(strength[None, :] - strength[:, None]))
        slope = (won - total * chance).sum(axis=1)
        links = total * chance * (1 - chance)
        curvature = np.diag(links.sum(axis=1)) - links + links.mean()  # the last term fixes the sum of strengths
        change = np.clip(np.linalg.solve(curvature, slope), -2, 2)
        strength += change
        if np.abs(change).max() < 1e-10:
            break
    return np.exp(strength - strength.max())


FLOOR = 1e-9


def examination_by_em(log: ClickLog, weights: Floats | None = None, start: Floats | None = None) -> Floats:
    """Fit examination probabilities; the scale is free, the largest is 1.

    Every third step is extrapolated (SQUAREM), which saves most of the steps of EM.
    """
    unit, place, _ = log.cells
    shown, clicked = log.counts(weights)
    informative = sums(unit, clicked, log.units)[unit] > 0  # items without a click are not informative
    unit, place = unit[informative], place[informative]
    shown, clicked = shown[informative], clicked[informative]
    exposure = sums(place, shown, len(log.positions))
    attraction = sums(unit, clicked, log.units) / np.maximum(sums(unit, shown, log.units), FLOOR)
    theta = np.linspace(1.0, 0.5, len(log.positions)) if start is None else start

    def step(theta: Floats, gamma: Floats) -> tuple[Floats, Floats]:
        t, g = theta[place], gamma[unit]
        missed = (shown - clicked) / np.maximum(1 - t * g, FLOOR)
        examined = sums(place, clicked + missed * t * (1 - g), len(theta))
        attracted = sums(unit, clicked + missed * g * (1 - t), len(gamma))
        seen = sums(unit, shown, len(gamma))
        new = examined / np.maximum(exposure, FLOOR)
        return new / new.max(), np.minimum(attracted / np.maximum(seen, FLOOR) * new.max(), 1.0)

    gamma = np.clip(attraction, FLOOR, 1.0)
    for _ in range(2000):
        one = step(theta, gamma)
        two = step(*one)
        logs = [np.log(np.maximum(np.concatenate(pair), FLOOR)) for pair in ((theta, gamma), one, two)]
        r, v = logs[1] - logs[0], logs[2] - 2 * logs[1] + logs[0]
        size = np.sqrt((r @ r) / max(v @ v, 1e-300))
        jump = np.exp(np.minimum(logs[0] + 2 * size * r + size**2 * v, 0.0)) if size > 1 else np.exp(logs[2])
        far, near = jump[: len(theta)], jump[len(theta) :]
        new = step(far / far.max(), near)
        if _fit(new, place, unit, shown, clicked) < _fit(two, place, unit, shown, clicked):
            new = two
        moved = np.abs(new[0] - theta).max()
        theta, gamma = new
        if moved < 1e-7:
            break
    return theta


def _fit(pair: tuple[Floats, Floats], place: Ints, unit: Ints, shown: Floats, clicked: Floats) -> float:
    """Log-likelihood."""
    chance = np.clip(pair[0][place] * pair[1][unit], FLOOR, 1 - FLOOR)
    return float(clicked @ np.log(chance) + (shown - clicked) @ np.log1p(-chance))


def examination_by_regression(log: ClickLog, features: Floats, weights: Floats | None = None) -> Floats:
    """Fit the model with attractiveness σ(β·features), common to all items (regression-EM, Wang et al. 2018).

    ``features`` has a row per unit. Each step of EM takes one Newton step for β.
    """
    unit, place, _ = log.cells
    shown, clicked = log.counts(weights)
    exposure = sums(place, shown, len(log.positions))
    seen = sums(unit, shown, log.units)
    spread = features.std(axis=0)
    x = np.column_stack([np.ones(len(features)), (features - features.mean(axis=0)) / np.where(spread > 0, spread, 1)])
    beta = np.zeros(x.shape[1])
    beta[0] = np.log(clicked.sum() / max(shown.sum() - clicked.sum(), 1))
    theta = np.linspace(1.0, 0.5, len(log.positions))
    for _ in range(5000):
        gamma = 1 / (1 + np.exp(-(x @ beta)))
        t, g = theta[place], gamma[unit]
        missed = (shown - clicked) / np.maximum(1 - t * g, FLOOR)
        examined = sums(place, clicked + missed * t * (1 - g), len(theta))
        attracted = sums(unit, clicked + missed * g * (1 - t), log.units)
        new = examined / np.maximum(exposure, FLOOR)
        curvature = (x * (seen * gamma * (1 - gamma))[:, None]).T @ x + 1e-3 * np.eye(x.shape[1])
        change = np.linalg.solve(curvature, x.T @ (attracted - seen * gamma) - 1e-3 * beta)
        moved = max(np.abs(new - theta).max(), np.abs(change).max())
        theta, beta = new, beta + np.clip(change, -1, 1)
        if moved < 1e-7:
            break
    return theta / theta.max()


def never_increasing(values: Floats, weights: Floats) -> Floats:
    """Return the non-increasing values nearest to ``values`` in weighted squares (pool adjacent violators).

    >>> never_increasing(np.array([1.0, 0.4, 0.6, 0.1]), np.ones(4)).tolist()
    [1.0, 0.5, 0.5, 0.1]
    """
    blocks: list[tuple[float, float, int]] = []
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        mean, mass, size = value, weight, 1
        while blocks and blocks[-1][0] <= mean:
            upper, above, count = blocks.pop()
            mean = (upper * above + mean * mass) / (above + mass) if above + mass else (upper + mean) / 2
            mass, size = above + mass, count + size
        blocks.append((mean, mass, size))
    return np.repeat([mean for mean, _, _ in blocks], [size for _, _, size in blocks])


def by_row_and_column(weight: Floats, mass: Floats, grid: Any) -> Floats:
    """Fit the weights of a grid by the product row × column, both non-increasing."""
    codes = [np.unique(axis, return_inverse=True)[1] for axis in grid.T]
    effects = [np.zeros(code.max() + 1) for code in codes]
    mass, target = mass + 0.5, np.log(weight)
    for _ in range(200):
        for mine, other in ((0, 1), (1, 0)):
            total = sums(codes[mine], mass)
            mean = sums(codes[mine], mass * (target - effects[other][codes[other]])) / total
            effects[mine] = never_increasing(mean, total)
    return np.exp(effects[0][codes[0]] + effects[1][codes[1]])
