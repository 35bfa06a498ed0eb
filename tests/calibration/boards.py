"""Claims about single numbers of a leaderboard: means, and risk against a baseline."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import special

from rankdev.statistics._risk import risk_to
from rankdev.statistics.bounded_values import mean_limits
from tests.calibration.simulations import ALPHA, KINDS, Finding
from tests.calibration.sparse import SPARSE, Draw, dense

GAINS: dict[str, Draw] = {
    **{kind: lambda rng, shape, draw=draw: 0.05 + 0.2 * draw(rng, shape) for kind, draw in KINDS.items()},
    **{kind: SPARSE[kind][0] for kind in ("5% lose 1", "10% lose up to 1", "5% win 3 : 1", "20% win 3 : 1")},
    "30% ties": dense(0.3),
    "80% ties": dense(0.8),
}


def risk(trials: int) -> Iterator[Finding]:
    """The interval of URisk, in which losses count two or six times, and for comparison Student's, that of TRisk.

    Gains of *normal*, *exponential*, *discrete* and *tied* are .05 on average, with a standard deviation of .2 or less.
    """
    for kind, draw in GAINS.items():
        for aversion in (1.0, 5.0):
            many = draw(np.random.default_rng(0), (2_000_000,))
            truth = float(np.where(many < 0, (1 + aversion) * many, many).mean())
            for n in (10, 25, 50, 200):
                gains = draw(np.random.default_rng([n, 60, len(kind)]), (n, trials))
                found = risk_to(0, np.column_stack([np.zeros(n), gains]), aversion, 1.0, ALPHA)
                low, high, urisk = (found[name][1:] for name in ("urisk_low", "urisk_high", "urisk"))
                weighted = np.where(gains < 0, (1 + aversion) * gains, gains)
                half = special.stdtrit(n - 1, 1 - ALPHA / 2) * weighted.std(axis=0, ddof=1) / np.sqrt(n)
                student = float((np.abs(urisk - truth) <= half + 1e-12).mean())
                held = float(((low <= truth) & (truth <= high)).mean())
                setting = f"{kind}, losses × {1 + aversion:g}, n = {n}; Student's held {student:.2f}"
                yield Finding("`risk`, URisk", setting, held, trials, 0.9)


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


CLAIMS = {"means": (means, 2000), "risk": (risk, 1000)}
