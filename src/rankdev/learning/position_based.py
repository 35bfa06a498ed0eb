"""The position-based model, click = examination of the position × attractiveness of the item, by EM."""

from __future__ import annotations

import numpy as np

from rankdev.arrays import Floats, Ints
from rankdev.learning.click_log import ClickLog, sums

FLOOR = 1e-9


def examination_by_em(log: ClickLog, weights: Floats | None = None, start: Floats | None = None) -> Floats:
    """Fit examination probabilities; the scale is free, the largest is 1.

    Every third step is extrapolated (SQUAREM), which saves most of the steps that EM needs.
    """
    unit, place, _ = log.cells
    shown, clicked = log.counts(weights)
    informative = sums(unit, clicked, log.units)[unit] > 0  # items without a click say nothing of positions
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
    """Fit the model with attractiveness σ(β·features), shared by all items (regression-EM, Wang et al. 2018).

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
