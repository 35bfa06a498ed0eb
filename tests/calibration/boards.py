"""Claims about single numbers of a leaderboard: means."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import special

from rankdev.statistics.bounded_values import mean_limits
from tests.calibration.simulations import ALPHA, Finding
from tests.calibration.sparse import Draw

SCORES: dict[str, Draw] = {
    "normal": lambda rng, shape: np.clip(rng.normal(0.5, 0.15, shape), 0, 1),
    "discrete, P@5": lambda rng, shape: rng.binomial(5, 0.3, shape) / 5,
    "skewed, most near 0": lambda rng, shape: rng.beta(0.3, 1.2, shape),
    "skewed, most near 1": lambda rng, shape: rng.beta(2, 0.3, shape),
    "reciprocal ranks": lambda rng, shape: 1.0 / rng.geometric(0.6, shape),
    "60% zeros": lambda rng, shape: np.where(rng.random(shape) < 0.6, 0.0, rng.random(shape)),
    "95% zeros": lambda rng, shape: np.where(rng.random(shape) < 0.95, 0.0, rng.random(shape)),
    **{
        f"P@1, {often:g}": lambda rng, shape, often=often: (rng.random(shape) < often).astype(float)
        for often in (0.5, 0.9, 0.98)
    },
}


def means(trials: int) -> Iterator[Finding]:
    """The interval of a system's mean, and its width as a multiple of Student's, which is also cut at 0 and 1."""
    for kind, draw in SCORES.items():
        truth = float(draw(np.random.default_rng(0), (2_000_000,)).mean())
        for n in (5, 10, 25, 50, 200):
            values = draw(np.random.default_rng([n, 61, len(kind)]), (trials, n))
            low, high = mean_limits(values, (0.0, 1.0), ALPHA)
            middle = values.mean(axis=1)
            half = special.stdtrit(n - 1, 1 - ALPHA / 2) * values.std(axis=1, ddof=1) / np.sqrt(n)
            student = float((np.abs(middle - truth) <= half + 1e-12).mean())
            width = (high - low).mean() / (np.minimum(middle + half, 1) - np.maximum(middle - half, 0)).mean()
            held = float(((low <= truth + 1e-12) & (truth <= high + 1e-12)).mean())
            setting = f"{kind}, n = {n}; {width:.2f} × Student's width, which held {student:.2f}"
            yield Finding("`leaderboard`, a mean", setting, held, trials, 0.9 if n == 5 else 0.93)


CLAIMS = {"means": (means, 2000)}
