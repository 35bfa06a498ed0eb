"""Claims about the means of a leaderboard, gates, and position weights from clicks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import special

import rankdev as rd
from rankdev.measures.base import MeasureInfo
from rankdev.statistics.bounded_values import mean_limits
from tests.calibration.simulations import ALPHA, KINDS, Finding
from tests.calibration.sparse import Draw
from tests.learning.simulate import position_based_log

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


MARGIN, QUERIES = 0.05, 60
MEASURES = tuple(MeasureInfo(name, higher_is_better=True) for name in ("x", "y"))
SEGMENTS = {f"s{part}": [f"q{i}" for i in range(part, QUERIES, 3)] for part in range(3)}


def gates(trials: int) -> Iterator[Finding]:
    """A gate with two measures, three segments of 20 queries and a release, 60 queries in all.

    Wrong failures: the candidate is worse by exactly the margin everywhere, the worst that must not fail. Wrong passes:
    it is worse by the margin in one segment by one measure, and far better everywhere else.
    """
    kinds = {**KINDS, "exponential, reversed": lambda rng, size: 1 - rng.exponential(1, size)}
    for kind, draw in kinds.items():
        rng = np.random.default_rng([len(kind), QUERIES])
        failed = passed = 0
        for _ in range(trials):
            values = np.zeros((3, QUERIES, 2))  # the baseline scores 0, the release about 0
            values[1], values[2] = 0.1 * draw(rng, (QUERIES, 2)) - MARGIN, rng.normal(0, 0.03, (QUERIES, 2))
            failed += _decided(values) == "fail"
            values[1, :, 1] += 1.0
            values[1, np.arange(QUERIES) % 3 != 0, 0] += 1.0
            values[2] -= 1.0
            passed += _decided(values) == "pass"
        yield Finding("gate, wrong failure", kind, failed / trials, trials, ALPHA, True)
        yield Finding("gate, wrong pass", kind, passed / trials, trials, ALPHA, True)


def _decided(values: np.ndarray) -> str:
    """Return what a gate decides about a baseline, a candidate and a release."""
    queries = tuple(f"q{i}" for i in range(QUERIES))
    scores = rd.Scores(("old", "new", "release"), queries, ("x", "y"), values, kinds=MEASURES)
    options = {"baseline": "old", "candidate": "new", "release": "release", "segments": SEGMENTS}
    return rd.gate(scores, margin=MARGIN, alpha=ALPHA, **options).verdict


def click_weights(trials: int) -> Iterator[Finding]:
    """Weights of six positions that fall as position^−0.7, from sessions of users who examine positions independently.

    40 queries of 8 items; 100 resamples of sessions. The first weight is 1 by definition and is not counted.
    """
    truth = np.arange(1, 7) ** -0.7
    for method in ("harvesting", "em"):
        for sessions in (500, 3000):
            held = []
            for seed in range(trials):
                log = position_based_log(np.random.default_rng([seed, sessions]), truth, sessions=sessions)
                found = rd.weights_from_clicks(log, method, resamples=100, seed=seed)
                held.append(((found.low <= truth) & (truth <= found.high))[1:].mean())
            yield Finding(f"`weights_from_clicks`, `{method}`", f"{sessions:,} sessions", np.mean(held), trials, 0.9)


CLAIMS = {"means": (means, 2000, 100), "gates": (gates, 200, 20), "position weights": (click_weights, 200, 5)}
