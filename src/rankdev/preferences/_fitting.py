"""Newton solver, bootstrap weights, covariances."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from rankdev._common.arrays import Floats
from rankdev.preferences._pairs import Pairs, sums

if TYPE_CHECKING:
    pass


@dataclass(frozen=True, eq=False)
class Fit:
    """Strengths that maximise a penalised likelihood, and the curvature there."""

    strength: Floats
    curvature: Floats  # of each pair, before the last and smallest step
    penalty: Floats  # curvature of each item's penalty
    iterations: int
    converged: bool


def maximise(
    pairs: Pairs,
    ridge: float,
    *,
    tie_rate: float = 0.0,
    virtual_node: bool = False,
    start: Floats | None = None,
    tolerance: float = 1e-8,
    limit: int = 100,
) -> Fit:
    """Fit strengths: maximise Σ log-likelihood − ridge/2 · θ², or with a virtual node as the regulariser.

    The virtual node (Crowd-BT's regulariser) is an item of strength 0 that won and lost ``ridge`` times
    against every item. Stops after a step whose square, which is what Newton's method leaves to be done, is
    below ``tolerance``.
    """
    strength = _first_guess(pairs) if start is None else start
    iteration, change = 0, np.inf
    while change**2 > tolerance and iteration < limit:
        iteration += 1
        gradient, curvature, diagonal = pairs.linearise(strength, tie_rate)
        slope, bend = penalise(strength, ridge, virtual_node)
        gradient = gradient - slope
        # solving more exactly than the quadratic model holds is wasted
        slope_left = float(np.abs(gradient).max(initial=0.0)) / (1.0 + float(diagonal.max(initial=0.0)))
        step = solve(pairs, curvature, diagonal + bend, gradient, min(0.1, max(slope_left, 1e-4)))
        step, change = damped(pairs, step)
        strength = strength + step
    return Fit(strength, curvature, bend, iteration, change**2 <= tolerance)


def solve(
    pairs: Pairs, curvature: Floats, diagonal: Floats, right: Floats, tolerance: float, limit: int = 1000
) -> Floats:
    """Solve (diagonal − off-diagonal) x = right by conjugate gradients; ``right`` may have several columns."""
    scale = diagonal if right.ndim == 1 else diagonal[:, None]
    scale = np.where(scale > 0, scale, 1.0)
    x, _ = conjugate_gradients(
        lambda x: scale * x - pairs.spread(curvature, x), lambda rest: rest / scale, right, tolerance, limit=limit
    )
    return x


def conjugate_gradients(
    image_of: Callable[[Floats], Floats],
    precondition: Callable[[Floats], Floats],
    right: Floats,
    tolerance: float,
    *,
    enough: float = 0.0,
    limit: int = 1000,
) -> tuple[Floats, Floats]:
    """Solve ``image_of(x) = right`` column by column; return x, and the expected gain of a full step along it.

    A column is finished when its residual, in the norm of the preconditioner, has shrunk by ``tolerance`` or its
    square is below ``enough``.
    """
    x, rest = np.zeros_like(right), right.copy()
    direction = precondition(rest)
    size = expected_gain = np.asarray((rest * direction).sum(axis=0))
    goal = np.maximum(size * tolerance**2, enough)
    for _ in range(limit):
        going = size > goal
        if not going.any():
            break
        image = image_of(direction)
        length = np.where(going, size / np.maximum((direction * image).sum(axis=0), 1e-300), 0.0)
        x += length * direction
        rest -= length * image
        ahead = precondition(rest)
        grown = np.maximum((rest * ahead).sum(axis=0), 0.0)
        direction = ahead + np.where(going, grown / np.maximum(size, 1e-300), 0.0) * direction
        size = np.where(going, grown, size)
    return x, expected_gain


def _first_guess(pairs: Pairs) -> Floats:
    n = pairs.items
    won = sums(pairs.first, pairs.score, n) + sums(pairs.second, pairs.count - pairs.score, n)
    played = sums(pairs.first, pairs.count, n) + sums(pairs.second, pairs.count, n)
    guess: Floats = np.log((won + 0.5) / (played - won + 0.5))
    return centred(guess, pairs.starts)


def penalise(strength: Floats, ridge: float, virtual_node: bool) -> tuple[Floats, Floats]:
    """Compute slope and curvature of each item's penalty."""
    if not virtual_node:
        return ridge * strength, np.full_like(strength, ridge)
    slope = np.tanh(strength / 2)
    return ridge * slope, ridge / 2 * (1 - slope**2)


def damped(pairs: Pairs, step: Floats) -> tuple[Floats, float]:
    """Shorten each query's step to its safe length; return it, and the largest change of the full step."""
    change = np.maximum.reduceat(step, pairs.starts[:-1]) - np.minimum.reduceat(step, pairs.starts[:-1])
    return step * np.repeat(safe_length(change), np.diff(pairs.starts)), float(change.max(initial=0.0))


def safe_length(change: Floats) -> Floats:
    """Return the fraction of a Newton step that is certain to raise the likelihood, without a line search.

    The logistic loss bends by at most a factor e^δ over a change δ of a difference, for which log(1 + δ)/δ is
    the safe length and, up to δ = 1.25, the full one still gains (generalised self-concordance; Sun and
    Tran-Dinh 2019).
    """
    return np.where(change <= 1.25, 1.0, np.log1p(change) / np.maximum(change, 1.25))


def centred(values: Floats, starts: npt.NDArray[np.int64]) -> Floats:
    """Shift the values of each query to mean 0."""
    sizes = np.diff(starts)
    means = np.add.reduceat(values, starts[:-1], axis=0).T / sizes
    return values - np.repeat(means.T, sizes, axis=0)
