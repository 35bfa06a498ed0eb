"""Click models: intervention harvesting, and the position-based model by EM.

Harvesting: where an item was shown ``n`` times at one position and ``m`` times at another, its clicks are scaled to
equal exposure, n·m/(n + m) impressions each. Positions are then compared as in Bradley–Terry's model: of all matched
clicks of two positions the fraction of the first is θ₁/(θ₁ + θ₂), whatever the items' relevance. (Agarwal et al. 2019
maximise another likelihood of the same matched counts.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy import special
from scipy.optimize import isotonic_regression
from scipy.sparse.csgraph import connected_components

from rankdev._common.arrays import Bools, Floats
from rankdev.errors import DataError
from rankdev.learning._log import ClickLog
from rankdev.preferences.pairs import Pairs, maximise, sums


def matched_clicks(log: ClickLog) -> Callable[[Floats | None], Floats]:
    """Return a function from weights of bags to the matched clicks ``[a, b]``: those at position a, against position b.

    They are those of all pairs of positions at which the same item was shown.
    """
    unit, place, _ = log.cells
    size = len(log.positions)
    longest = int(np.bincount(unit).max())
    pairs = [np.flatnonzero(unit[lag:] == unit[:-lag]) + np.array([[0], [lag]]) for lag in range(1, longest)]
    a, b = np.concatenate([np.zeros((2, 0), np.int64), *pairs], axis=1)  # cells of one unit, the earlier position first

    def won(weights: Floats | None) -> Floats:
        shown, clicked = log.counts(weights)
        both = shown[a] + shown[b]
        with np.errstate(invalid="ignore", divide="ignore"):
            of_a = np.where(both > 0, shown[b] * clicked[a] / both, 0.0)
            of_b = np.where(both > 0, shown[a] * clicked[b] / both, 0.0)
        found = sums(place[a] * size + place[b], of_a, size * size)
        return (found + sums(place[b] * size + place[a], of_b, size * size)).reshape(size, size)

    return won


def relative_weights(won: Floats, connected: Bools) -> Floats:
    """Fit Bradley–Terry's model to matched clicks by Newton's method; the largest weight is 1.

    Every pair of ``connected`` positions gets half a click each way, so that a position without clicks has a weight,
    and so does a resample that lost what connects positions.
    """
    score, size = won + 0.5 * connected, len(won)
    first, second = (each.astype(np.int32) for each in np.nonzero(np.triu(connected)))
    one, other = score[first, second], score[second, first]
    pairs = Pairs(np.array([0, size]), first, second, one + other, one, np.zeros(len(first)), np.zeros(0, np.int32))
    strength = maximise(pairs, 0.0, tolerance=1e-24).values
    return np.exp(strength - strength.max())


FLOOR = 1e-9
UNITS = 20_000  # the fit of the model is tested on at most so many items, a sample of more
DRAWS = 199  # logs that are simulated for this test


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

    def likelihood(theta: Floats, gamma: Floats) -> float:
        chance = np.clip(theta[place] * gamma[unit], FLOOR, 1 - FLOOR)
        return float(clicked @ np.log(chance) + (shown - clicked) @ np.log1p(-chance))

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
        new = two if likelihood(*new) < likelihood(*two) else new
        moved = np.abs(new[0] - theta).max()
        theta, gamma = new
        if moved < 1e-7:
            break
    return theta


def never_increasing(values: Floats, weights: Floats) -> Floats:
    """Return the non-increasing values nearest to ``values`` in weighted squares (pool adjacent violators).

    >>> never_increasing(np.array([1.0, 0.4, 0.6, 0.1]), np.ones(4)).tolist()
    [1.0, 0.5, 0.5, 0.1]
    """
    return np.asarray(isotonic_regression(values, weights=np.maximum(weights, FLOOR), increasing=False).x)


def model_fits(log: ClickLog, examination: Floats, seed: int) -> float:
    """Return the p-value of the position-based model.

    Logs are simulated from the fitted model and compared with this one by Pearson's statistic.
    """
    rng = np.random.default_rng([seed, 2])
    unit, place, _ = log.cells
    shown, clicked = log.counts()
    several = np.flatnonzero(np.bincount(unit, minlength=log.units) > 1)
    chosen = np.isin(unit, several if len(several) <= UNITS else rng.choice(several, UNITS, replace=False))
    unit, place = np.unique(unit[chosen], return_inverse=True)[1], place[chosen]
    clicked, trials = clicked[chosen], shown[chosen].astype(np.int64)
    exposure = sums(unit, trials * examination[place])

    def lack_of_fit(clicks: Floats) -> tuple[float, Floats]:
        rate = sums(unit, clicks) / exposure
        chance = np.clip(rate[unit] * examination[place], 1e-12, 1 - 1e-12)
        misfit = (clicks - trials * chance) ** 2 / (trials * chance * (1 - chance))
        return float(misfit[rate[unit] > 0].sum()), chance

    observed, chance = lack_of_fit(clicked)
    drawn = [lack_of_fit(rng.binomial(trials, chance).astype(np.float64))[0] for _ in range(DRAWS)]
    return (1 + sum(value >= observed for value in drawn)) / (DRAWS + 1)


def trust_in_the_top(log: ClickLog, examination: Floats, seed: int) -> float:
    """Return the p-value, one-sided, of trust bias: unattractive items lose more clicks further down than others.

    Users who trust the top click on whatever is there; then positions differ more for unattractive items than for
    attractive ones, and no single weight of a position is true. Bags of sessions go into two halves at random: items
    are ordered by their click rates in one half, and the clicks of each in the other half compared with those that the
    model expects, given how many it has.
    """
    rng = np.random.default_rng([seed, 3])
    unit, place, _ = log.cells
    half = rng.permutation(log.bags) % 2
    depth = np.log(np.maximum(examination, 1e-9))
    found = np.zeros(log.units)
    halves = [log.counts((half == side).astype(np.float64)) for side in (0, 1)]
    for (n, c), (others, seen) in (halves, halves[::-1]):
        exposure = sums(unit, others * examination[place], log.units)
        rate = sums(unit, seen, log.units) / np.maximum(exposure, 1e-9)
        clicks = sums(unit, c, log.units)
        known = (exposure > 0) & (clicks > 0)
        rank = np.zeros(log.units)
        rank[known] = np.argsort(np.argsort(rate[known], kind="stable"), kind="stable")
        # centred by clicks, so that weights that are a little off do not count
        rank -= rank @ (clicks * known) / max(float((clicks * known).sum()), 1.0)
        expected = sums(unit, n * examination[place], log.units)
        apart = c - clicks[unit] * n * examination[place] / np.maximum(expected[unit], 1e-9)
        found += np.where(known, rank, 0.0) * sums(unit, apart * depth[place], log.units)
    size = float(np.sqrt((found**2).sum()))
    return 1.0 if size == 0 else float(special.ndtr(found.sum() / size))


def check_connected(won: Floats, positions: Sequence[int]) -> None:
    """Refuse a log whose positions fall into groups without an item that was clicked in both."""
    groups, labels = connected_components(won + won.T, directed=False)
    if groups > 1:
        one, other = ([positions[i] for i in np.flatnonzero(labels == label).tolist()] for label in (0, 1))
        raise DataError("unlinked-positions", groups=groups, one=one, other=other)
