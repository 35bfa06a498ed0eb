"""Do click rates factor into a position's and an item's? A test of the position-based model."""

from __future__ import annotations

import numpy as np

from rankdev.arrays import Floats
from rankdev.learning.click_log import ClickLog, sums

UNITS = 20_000  # as many items tell enough
DRAWS = 199


def model_fits(log: ClickLog, examination: Floats, seed: int) -> float:
    """Give the p-value of the model: how often logs drawn from it fit as badly as this one (Pearson's statistic)."""
    rng = np.random.default_rng([seed, 2])
    unit, place, _ = log.cells
    shown, clicked = log.counts()
    several = np.flatnonzero(np.bincount(unit, minlength=log.units) > 1)
    chosen = np.isin(unit, several if len(several) <= UNITS else rng.choice(several, UNITS, replace=False))
    unit, place = np.unique(unit[chosen], return_inverse=True)[1], place[chosen]
    clicked, trials = clicked[chosen], shown[chosen].astype(np.int64)
    exposure = sums(unit, trials * examination[place])

    def misfit(clicks: Floats) -> tuple[float, Floats]:
        rate = sums(unit, clicks) / exposure
        chance = np.clip(rate[unit] * examination[place], 1e-12, 1 - 1e-12)
        return float(
            (((clicks - trials * chance) ** 2) / (trials * chance * (1 - chance)))[rate[unit] > 0].sum()
        ), chance

    observed, chance = misfit(clicked)
    drawn = [misfit(rng.binomial(trials, chance).astype(np.float64))[0] for _ in range(DRAWS)]
    return (1 + sum(value >= observed for value in drawn)) / (DRAWS + 1)
