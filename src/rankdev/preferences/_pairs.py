"""Judgments counted by pair of items, and the two sums over pairs that every method needs.

The reference implementation is in NumPy; for many pairs, and where numba is installed, the same sums are compiled.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rankdev._common.arrays import Floats

if TYPE_CHECKING:
    from rankdev.preferences.judgments import Preferences


Ints = npt.NDArray[np.int32]

COMPILE_FROM = 20_000  # below, loading compiled code costs more than it saves


@dataclass(frozen=True, eq=False)
class Pairs:
    """Compared pairs ``first < second``: ``count`` judgments, ``score`` = wins of first + half the ties.

    ``starts`` has the index of each query's first item, and the number of items; ``of`` is the pair of each
    judgment.
    """

    starts: npt.NDArray[np.int64] = field(repr=False)
    first: Ints = field(repr=False)
    second: Ints = field(repr=False)
    count: Floats = field(repr=False)
    score: Floats = field(repr=False)
    ties: Floats = field(repr=False)
    of: Ints = field(repr=False)

    @property
    def items(self) -> int:
        """How many items there are in all queries."""
        return int(self.starts[-1])

    def weighted(self, preferences: Preferences, weight: Floats) -> Pairs:
        """Count again, each judgment with a weight of its own."""
        return _tally(preferences, self.first, self.second, self.of, weight)

    def components(self) -> npt.NDArray[np.int64]:
        """Number each item by the smallest item that a chain of pairs connects it with."""
        roots: npt.NDArray[np.int64] = _engine(len(self.first)).components(self.first, self.second, self.items)
        return roots

    def linearise(self, strength: Floats, tie_rate: float = 0.0) -> tuple[Floats, Floats, Floats]:
        """Compute what a Newton step needs: gradient of the log-likelihood, curvatures, and their sums by item."""
        arrays = (self.first, self.second, self.count, self.score, strength, tie_rate)
        gradient, curvature, diagonal = _engine(len(self.first)).linearise(*arrays)
        return gradient, curvature, diagonal

    def spread(self, curvature: Floats, x: Floats) -> Floats:
        """Sum ``curvature × x`` of the opponents of each item: the off-diagonal part of the Laplacian."""
        result: Floats = _engine(len(self.first)).spread(self.first, self.second, curvature, x)
        return result


def count_pairs(preferences: Preferences) -> Pairs:
    """Count the judgments by pair."""
    low = np.minimum(preferences.winner, preferences.loser)
    high = np.maximum(preferences.winner, preferences.loser)
    first, second, of = _engine(len(low)).group(low, high, len(preferences.items))
    weight = preferences.weight
    return _tally(preferences, first, second, of, weight)


def _tally(preferences: Preferences, first: Ints, second: Ints, of: Ints, weight: Floats | None) -> Pairs:
    n = len(first)
    gain = gains(preferences)
    ties = preferences.tie.astype(np.float64)
    if weight is None:
        count = np.bincount(of, minlength=n).astype(np.float64)
    else:
        count, gain, ties = sums(of, weight, n), gain * weight, ties * weight
    score = sums(of, gain, n)
    tied = sums(of, ties, n) if preferences.tie.any() else np.zeros(n)
    return Pairs(preferences.starts, first, second, count, score, tied, of)


def gains(preferences: Preferences) -> Floats:
    """Score of the first item of the pair in each judgment: 1, ½, 0, or a judge's probability."""
    won = 1.0 if preferences.share is None else preferences.share
    gain: Floats = np.where(preferences.winner < preferences.loser, won, 1.0 - won)
    gain[preferences.tie] = 0.5
    return gain


def residuals(preferences: Preferences, pairs: Pairs, expected: Floats) -> Floats:
    """Subtract the expected score of its pair from each judgment's score (1, ½ or 0 for the first item)."""
    gain = gains(preferences)
    residual: Floats = gain - expected[pairs.of]
    return residual if preferences.weight is None else preferences.weight * residual


def sums(index: npt.NDArray[Any], values: Any, size: int) -> Floats:
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


class _NumPy:
    @staticmethod
    def group(low: Ints, high: Ints, items: int) -> tuple[Ints, Ints, Ints]:
        keys, of = np.unique(low.astype(np.int64) * items + high, return_inverse=True)
        return (keys // items).astype(np.int32), (keys % items).astype(np.int32), of.astype(np.int32)

    @staticmethod
    def components(first: Ints, second: Ints, items: int) -> npt.NDArray[np.int64]:
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        edges = coo_array((np.ones(len(first), np.int8), (first, second)), shape=(items, items))
        _, smallest, label = np.unique(
            connected_components(edges, directed=False)[1], return_index=True, return_inverse=True
        )
        return smallest[label]

    @staticmethod
    def linearise(
        first: Ints, second: Ints, count: Floats, score: Floats, strength: Floats, tie_rate: float
    ) -> tuple[Floats, Floats, Floats]:
        mean, variance = moments(strength[first] - strength[second], tie_rate)
        residual, curvature, n = score - count * mean, count * variance, len(strength)
        gradient = sums(first, residual, n) - sums(second, residual, n)
        return gradient, curvature, sums(first, curvature, n) + sums(second, curvature, n)

    @staticmethod
    def spread(first: Ints, second: Ints, curvature: Floats, x: Floats) -> Floats:
        n = len(x)
        if x.ndim == 1:
            return sums(first, curvature * x[second], n) + sums(second, curvature * x[first], n)
        from scipy.sparse import coo_array

        matrix = coo_array((curvature, (first, second)), shape=(n, n)).tocsr()
        result: Floats = matrix @ x + matrix.T @ x
        return result


@cache
def _compiled() -> Any:
    if not find_spec("numba"):
        return _NumPy
    from rankdev.preferences import _numba

    return _numba


def _engine(size: int) -> Any:
    return _compiled() if size >= COMPILE_FROM else _NumPy
