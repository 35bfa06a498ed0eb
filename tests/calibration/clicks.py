"""Position weights from clicks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import rankdev as rd
from tests.calibration.simulations import Finding
from tests.learning.simulate import position_based_log


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


CLAIMS = {"position weights": (click_weights, 200)}
