"""Krippendorff's α: agreement beyond chance, whoever judged what."""

from __future__ import annotations

import numpy as np

from rankdev.arrays import Floats

CHUNK = 4_000_000  # weights at a time


def krippendorff_alpha(counts: Floats, distance: Floats | None = None, *, mirror: list[int] | None = None) -> float:
    """Give α of units × values counts: how often each unit was given each value.

    ``distance`` is the squared distance between values; without it, values are the same or not (nominal).
    ``mirror`` names for each value the one it would be, were the unit turned round: then every unit counts both
    ways. Units judged less than twice say nothing. NaN where all values are alike.

    >>> krippendorff_alpha(np.array([[2, 0], [0, 2], [1, 1], [2, 0]]))
    0.5333333333333333
    """
    return float(_alphas(*_parts(counts, distance, mirror), np.ones((1, len(counts))))[0])


def bootstrap_alpha(
    counts: Floats,
    resamples: int,
    rng: np.random.Generator,
    distance: Floats | None = None,
    *,
    mirror: list[int] | None = None,
) -> Floats:
    """Give α of units drawn again and again, with replacement."""
    parts, units = _parts(counts, distance, mirror), len(counts)
    step = max(1, CHUNK // max(units, 1))
    chance = np.full(units, 1 / units)
    drawn = (rng.multinomial(units, chance, min(step, resamples - at)) for at in range(0, resamples, step))
    return np.concatenate([_alphas(*parts, weight.astype(np.float64)) for weight in drawn])


def _parts(counts: Floats, distance: Floats | None, mirror: list[int] | None) -> tuple[Floats, Floats, Floats]:
    """Give each unit's disagreement, its values that can be paired, and the distances."""
    distance = 1.0 - np.eye(counts.shape[1]) if distance is None else distance
    judged = counts.sum(axis=1)
    pairable = np.where(judged[:, None] >= 2, counts, 0).astype(np.float64)
    disagreement = ((pairable @ distance) * pairable).sum(axis=1) / np.maximum(judged - 1, 1)
    if mirror is not None:
        disagreement, pairable = 2 * disagreement, pairable + pairable[:, mirror]
    return disagreement, pairable, distance


def _alphas(disagreement: Floats, pairable: Floats, distance: Floats, weight: Floats) -> Floats:
    totals = weight @ pairable
    n = totals.sum(axis=1)
    expected = ((totals @ distance) * totals).sum(axis=1) / np.maximum(n - 1, 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(expected > 0, 1 - (weight @ disagreement) / expected, np.nan))
