"""Claims about posterior probabilities: whether what is stated with .9 is right in .9 of all cases."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from rankdev.statistics.equivalence import beyond
from tests.calibration.simulations import KINDS, Finding
from tests.calibration.sparse import against_nothing

SIZES = (10, 25, 50, 200)
MARGIN = 0.05


def posteriors(trials: int) -> Iterator[Finding]:
    """Posterior probabilities of worse, same and better, over true differences that are drawn anew in every trial.

    True differences are uniform between −.3 and .3, differences of queries have a standard deviation of .2, and the
    margin is .05. With ties, the fraction of queries that differ is uniform, up to twice 1 − the fraction of ties, and
    so is the fraction of these that are wins; they differ by 1, or by up to 1. With 90% ties or more, the margin is
    .01. Nothing is claimed for "small true differences": if all true differences lie between −.1 and .1, or fewer than
    two queries are expected to differ, a flat prior is overconfident.
    """
    for n in SIZES:
        for kind, draw in KINDS.items():
            rng = np.random.default_rng([n, 50, len(kind)])
            spread = 0.2 / float(draw(np.random.default_rng(0), (10**6,)).std())
            truth = rng.uniform(-0.3, 0.3, trials)
            values = truth[:, None] + spread * draw(rng, (trials, n))
            yield from _findings(f"{kind}, n = {n}", values, truth, MARGIN, 0.85 if kind == "exponential" else 0.9)
        for ties in (0.5, 0.7, 0.9, 0.98):
            for most in ("1", "up to 1"):
                rng = np.random.default_rng([n, 51, int(100 * ties), len(most)])
                often, wins = rng.uniform(0, 2 * (1 - ties), (trials, 1)), rng.random((trials, 1))
                size = rng.random((trials, n)) if most == "up to 1" else np.ones((trials, n))
                signs = np.where(rng.random((trials, n)) < wins, 1, -1) * (rng.random((trials, n)) < often)
                truth = (often * (2 * wins - 1))[:, 0] * (0.5 if most == "up to 1" else 1.0)
                margin = MARGIN if ties < 0.9 else MARGIN / 5
                small = (1 - ties) * n < 2
                setting = f"{'small true differences, ' * small}{ties:.0%} ties, differences of {most}, n = {n}"
                yield from _findings(setting, signs * size, truth, margin, 0.0 if small else 0.85)
    for clusters in (8, 40):
        rng = np.random.default_rng([clusters, 52])
        truth = rng.uniform(-0.3, 0.3, trials)
        members = np.repeat(np.arange(clusters), rng.integers(1, 21, clusters))
        between, within = rng.normal(size=(trials, clusters))[:, members], rng.normal(size=(trials, len(members)))
        values = truth[:, None] + 0.2 * (np.sqrt(0.3) * between + np.sqrt(0.7) * within)
        yield from _findings(f"{clusters} clusters of 1–20", values, truth, MARGIN, 0.9, members)
    for n in SIZES:
        rng = np.random.default_rng([n, 53])
        truth = rng.uniform(-0.1, 0.1, trials)
        values = truth[:, None] + rng.normal(0, 0.2, (trials, n))
        yield from _findings(f"small true differences, n = {n}", values, truth, MARGIN, 0.0)


def _findings(
    setting: str,
    values: np.ndarray,
    truth: np.ndarray,
    margin: float,
    goal: float,
    members: np.ndarray | None = None,
) -> Iterator[Finding]:
    within, above = beyond(replace(against_nothing(values), clusters=members), (-margin, margin))
    stated = np.array([1 - within, within - above, above])
    right = np.array([truth < -margin, np.abs(truth) <= margin, truth > margin])
    for low, high, words in ((0.9, 1.01, ".9 or more"), (0.6, 0.9, ".6 to .9")):
        chosen = (stated >= low) & (stated < high)
        if chosen.sum() < max(50, stated.shape[1] // 50):
            continue
        mean, held = float(stated[chosen].mean()), float(right[chosen].mean())
        least = goal if low == 0.9 else goal and 0.6
        yield Finding(
            f"`posterior`, stated with {words}: right", f"{setting}; stated {mean:.2f}", held, int(chosen.sum()), least
        )


CLAIMS = {"posteriors": (posteriors, 2000)}
