"""How two systems differ, query by query: mean, interval, effect, wins, ties and losses of every pair."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rankdev.evaluation.scores import Floats
from rankdev.meta.paired import differences, empty

Columns = dict[str, Any]


def describe(values: Floats, confidence: float) -> dict[str, Floats]:
    """Describe the differences of all pairs: arrays ``[pair, measure]``, with Student's interval.

    The effect is the mean in standard deviations (Cohen's d for pairs): 0 without a difference, infinite
    where all differences are equal, unknown with a single query.
    """
    from scipy import stats

    queries = len(values)
    names = ("difference", "low", "high", "effect", "wins", "ties", "losses")
    found = {name: empty(values) for name in names}
    half = stats.t.ppf((1 + confidence) / 2, queries - 1) / np.sqrt(queries) if queries > 1 else np.nan
    for place, apart, unit in differences(values):
        mean = apart.mean(axis=1) * unit
        spread = apart.std(axis=1, ddof=min(1, queries - 1)) * unit
        spread[np.ptp(apart, axis=1) <= 2] = 0.0  # equal but for rounding
        with np.errstate(divide="ignore", invalid="ignore"):
            effect = np.where(mean == 0, 0.0, mean / spread) if queries > 1 else mean * np.nan
        wins, losses = (apart > 0).sum(axis=1), (apart < 0).sum(axis=1)
        ends = (mean - half * spread, mean + half * spread)
        row = (mean, *ends, effect, wins, queries - wins - losses, losses)
        for name, column in zip(names, row, strict=True):
            found[name][place] = column
    return found


def oriented(
    column: dict[str, Floats], first: npt.NDArray[np.int64], second: npt.NDArray[np.int64], systems: int
) -> Columns:
    """Pick the pairs (first, second) of one measure; the other way round the sign changes."""
    low, high = np.minimum(first, second), np.maximum(first, second)
    place = low * systems - low * (low + 1) // 2 + high - low - 1
    picked: Columns = {name: array[place] for name, array in column.items()}
    turned = first > second
    for name in ("difference", "effect", "low", "high"):
        picked[name] = np.where(turned, 0.0 - picked[name], picked[name])
    for one, other in (("low", "high"), ("wins", "losses")):
        x, y = picked[one], picked[other]
        picked[one], picked[other] = np.where(turned, y, x), np.where(turned, x, y)
    for name in ("wins", "ties", "losses"):
        picked[name] = picked[name].astype(np.int64)
    return picked
