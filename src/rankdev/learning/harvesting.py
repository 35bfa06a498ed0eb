"""Intervention harvesting: items that were shown at several positions compare these positions.

Where an item was shown ``n`` times at one position and ``m`` times at another, its clicks are brought to equal
exposure, n·m/(n + m) impressions each. Positions then meet as in Bradley–Terry's model: of all matched clicks of two
positions the share of the first is θ₁/(θ₁ + θ₂), whatever the items' relevance. (Agarwal et al. 2019 maximise another
likelihood of the same matched counts.)
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from rankdev.arrays import Bools, Floats, Ints
from rankdev.learning.click_log import ClickLog, sums


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
        """Matched clicks ``[a, b]``: those of position a where it meets position b."""
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


def relative_weights(won: Floats, met: Bools) -> Floats:
    """Fit Bradley–Terry's model to matched clicks by Newton's method; the largest weight is 1.

    Every pair of positions that ``met`` gets half a click each way, so that a position without clicks has a weight, and
    a resample that lost what connects positions has one too.
    """
    won = won + 0.5 * met
    total = won + won.T
    strength = np.zeros(len(won))
    for _ in range(100):
        share = 1 / (1 + np.exp(strength[None, :] - strength[:, None]))
        slope = (won - total * share).sum(axis=1)
        links = total * share * (1 - share)
        curvature = np.diag(links.sum(axis=1)) - links + links.mean()  # the last term fixes the sum of strengths
        change = np.clip(np.linalg.solve(curvature, slope), -2, 2)
        strength += change
        if np.abs(change).max() < 1e-10:
            break
    return np.exp(strength - strength.max())
