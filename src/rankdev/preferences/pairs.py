"""Judgments counted by pair of items, the two sums over pairs that every method needs, and Newton's method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rankdev._common.arrays import Bools, Codes, Floats, Ints

if TYPE_CHECKING:
    from rankdev.preferences.crowd_bt import WorkerQuality
    from rankdev.preferences.judgments import Preferences

LIMIT = 100  # steps of Newton's method


@dataclass(frozen=True, eq=False)
class Pairs:
    """Compared pairs ``first < second``: ``count`` judgments, ``score`` = wins of first + half the ties.

    ``starts`` has the index of each query's first item, and the number of items; ``of`` is the pair of each
    judgment.
    """

    starts: Ints = field(repr=False)
    first: Codes = field(repr=False)
    second: Codes = field(repr=False)
    count: Floats = field(repr=False)
    score: Floats = field(repr=False)
    ties: Floats = field(repr=False)
    of: Codes = field(repr=False)

    @property
    def items(self) -> int:
        """How many items there are in all queries."""
        return int(self.starts[-1])

    def majorities(self) -> tuple[Codes, Codes]:
        """Return winner and loser of each pair in which one of the two won more than half."""
        lead = self.score - self.count / 2
        won, decided = lead > 0, lead != 0
        return np.where(won, self.first, self.second)[decided], np.where(won, self.second, self.first)[decided]

    def net(self, values: Floats) -> Floats:
        """Sum values of pairs by item, with a minus for the second one."""
        return sums(self.first, values, self.items) - sums(self.second, values, self.items)

    def both(self, values: Floats) -> Floats:
        """Sum values of pairs by item."""
        return sums(self.first, values, self.items) + sums(self.second, values, self.items)

    def spread(self, curvature: Floats, x: Floats) -> Floats:
        """Sum ``curvature × x`` of the opponents of each item: the off-diagonal part of the Laplacian."""
        other = sums(self.first, curvature * x[self.second], self.items)
        return other + sums(self.second, curvature * x[self.first], self.items)


def count_pairs(preferences: Preferences, ahead: Bools) -> Pairs:
    """Count the judgments by pair; where ``ahead``, the winner is the first item of its pair, elsewhere the loser."""
    first = np.where(ahead, preferences.winner, preferences.loser)
    second = np.where(ahead, preferences.loser, preferences.winner)
    items = len(preferences.items)
    keys, of = np.unique(first.astype(np.int64) * items + second, return_inverse=True)
    i, j = (keys // items).astype(np.int32), (keys % items).astype(np.int32)
    counted = (1.0, gains(preferences, ahead), preferences.tie)
    count, score, ties = (sums(of, preferences.weights * part, len(keys)) for part in counted)
    return Pairs(preferences.starts, i, j, count, score, ties, of.astype(np.int32))


def gains(preferences: Preferences, won: Bools) -> Floats:
    """Score of an item of each judgment, the winner where ``won``: 1, ½, 0, or a judge's probability."""
    share = 1.0 if preferences.share is None else preferences.share
    gain: Floats = np.where(won, share, 1.0 - share)
    gain[preferences.tie] = 0.5
    return gain


def cells_of(preferences: Preferences) -> Ints:
    """Number the pair and worker of each judgment; those without workers are of one."""
    worker = 0 if preferences.worker is None else preferences.worker
    return preferences.pairs.of.astype(np.int64) * max(1, len(preferences.workers)) + worker


def linked(first: Codes, second: Codes, size: int, *, both_ways: bool = False) -> Ints:
    """Number the groups that chains of edges connect, one way or the other, or ``both_ways``; return each item's."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    edges = coo_array((np.ones(len(first), np.int8), (first, second)), shape=(size, size))
    return np.asarray(connected_components(edges, directed=both_ways, connection="strong")[1])


def sums(index: npt.NDArray[Any], values: Any, size: int = 0) -> Floats:
    """Sum values by index; of type float even if there are none."""
    return np.bincount(index, values, size).astype(np.float64, copy=False)


def moments(d: Floats, tie_rate: float = 0.0) -> tuple[Floats, Floats]:
    """Mean and variance of a judgment's score (win 1, tie ½, loss 0) at strength difference ``d``.

    With ``tie_rate`` 0 this is Bradley–Terry, else Davidson's model, where a tie has the odds
    tie_rate · √(π_i π_j).
    """
    if tie_rate == 0:
        lead = np.tanh(d / 2)
        return 0.5 + 0.5 * lead, 0.25 - 0.25 * lead * lead
    small = np.exp(-np.abs(d))
    tie = tie_rate * np.sqrt(small)
    total = 1.0 + small + tie
    mean = (np.where(d >= 0, 1.0, small) + 0.5 * tie) / total
    square = (np.where(d >= 0, 1.0, small) + 0.25 * tie) / total
    return mean, np.maximum(square - mean * mean, 0.0)


@dataclass(frozen=True, eq=False, kw_only=True)
class Fitted:
    """Strengths, the counts they were fitted to, and the curvature at the maximum.

    ``curvature`` is the information in each pair, before the last and smallest step, and None where a model has no
    likelihood; ``penalty`` that of each item's regulariser; ``coupling`` K the part −K Kᵀ of the information that is
    lost to other parameters; ``residual`` the difference of each judgment from what the strengths predict for its
    pair's first item.
    """

    values: Floats = field(repr=False)
    pairs: Pairs = field(repr=False)
    iterations: int
    converged: bool
    curvature: Floats | None = field(default=None, repr=False)
    penalty: Floats = field(default_factory=lambda: np.zeros(0), repr=False)
    residual: Floats | None = field(default=None, repr=False)
    coupling: Any = field(default=None, repr=False)
    tie_rate: float = 0.0
    workers: WorkerQuality | None = field(default=None, repr=False)


def maximise(
    pairs: Pairs,
    ridge: float,
    *,
    tie_rate: float = 0.0,
    virtual_node: bool = False,
    start: Floats | None = None,
    tolerance: float = 1e-8,
) -> Fitted:
    """Fit strengths: maximise Σ log-likelihood − ridge/2 · θ², or with a virtual node as the regulariser.

    The virtual node (Crowd-BT's regulariser) is an item of strength 0 that won and lost ``ridge`` times
    against every item. Stops after a step whose square, which is what Newton's method leaves to be done, is
    below ``tolerance``.
    """
    strength = _first_guess(pairs) if start is None else start
    iteration, change = 0, np.inf
    while change**2 > tolerance and iteration < LIMIT:
        iteration += 1
        mean, variance = moments(strength[pairs.first] - strength[pairs.second], tie_rate)
        curvature = pairs.count * variance
        slope, bend = penalise(strength, ridge, virtual_node)
        gradient, diagonal = pairs.net(pairs.score - pairs.count * mean) - slope, pairs.both(curvature)
        # solving more exactly than the quadratic model holds is wasted
        slope_left = float(np.abs(gradient).max(initial=0.0)) / (1.0 + float(diagonal.max(initial=0.0)))
        step = _newton_step(pairs, curvature, diagonal + bend, gradient, min(0.1, max(slope_left, 1e-4)))
        step, change = damped(pairs, step)
        strength = strength + step
    return Fitted(
        values=strength,
        pairs=pairs,
        iterations=iteration,
        converged=change**2 <= tolerance,
        curvature=curvature,
        penalty=bend,
        tie_rate=tie_rate,
    )


def _newton_step(pairs: Pairs, curvature: Floats, diagonal: Floats, right: Floats, tolerance: float) -> Floats:
    """Solve (diagonal − off-diagonal) x = right."""
    scale = np.where(diagonal > 0, diagonal, 1.0)
    return conjugate_gradients(lambda x: scale * x - pairs.spread(curvature, x), scale, right, tolerance)


def conjugate_gradients(
    image_of: Callable[[Floats], Floats], diagonal: Floats, right: Floats, tolerance: float
) -> Floats:
    """Solve ``image_of(x) = right`` until the residual, in the norm of 1/``diagonal``, shrank by ``tolerance``.

    Stops where the image of a direction points the other way, as it may far from a maximum.
    """
    x, rest = np.zeros_like(right), right.copy()
    direction = rest / diagonal
    size = float((rest * direction).sum())
    goal = size * tolerance**2
    for _ in range(1000):
        if size <= goal:
            break
        image = image_of(direction)
        bend = float((direction * image).sum())
        if bend <= 0:
            break
        x += size / bend * direction
        rest -= size / bend * image
        ahead = rest / diagonal
        grown = max(float((rest * ahead).sum()), 0.0)
        direction = ahead + grown / size * direction
        size = grown
    return x


def _first_guess(pairs: Pairs) -> Floats:
    n = pairs.items
    won = sums(pairs.first, pairs.score, n) + sums(pairs.second, pairs.count - pairs.score, n)
    played = pairs.both(pairs.count)
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


def centred(values: Floats, starts: Ints) -> Floats:
    """Shift the values of each query to mean 0."""
    sizes = np.diff(starts)
    means = np.add.reduceat(values, starts[:-1], axis=0).T / sizes
    return values - np.repeat(means.T, sizes, axis=0)
