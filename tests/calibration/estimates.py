"""Claims about margins, components, collections, designs and judgments; see simulations.py for the others."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rankdev.meta.equivalence import interval
from rankdev.meta.families import Family
from tests.calibration.simulations import ALPHA, KINDS, Finding


def against_nothing(values: np.ndarray) -> Family:
    """Many samples of differences at once: ``values[query, trial]``, each less a column of zeros."""
    queries, trials = values.shape
    columns = np.concatenate([np.zeros((queries, 1)), values], axis=1)
    return Family(columns, np.arange(queries), np.arange(1, trials + 1), np.zeros(trials, np.int64))


def margins(trials: int) -> Iterator[Finding]:
    """Two systems that differ by just the margin are called the same; two equal ones better or worse."""
    for kind, draw in KINDS.items():
        for n in (10, 25, 50):
            family = against_nothing(draw(np.random.default_rng([n, 8, len(kind)]), (n, trials)))
            low, high = interval(family, 2 * ALPHA)  # around the truth, which is where a margin may lie
            wrong = max((high < 0).mean(), (low > 0).mean())
            # at ten queries a skewed sample can hide its tail altogether
            goal = 0.06 if kind == "exponential" else 0.05
            yield Finding("false `same` at the margin", f"{kind}, n = {n}", wrong, trials, goal, True)
            low, high = interval(family, ALPHA)
            wrong = ((low > 0) | (high < 0)).mean()
            yield Finding("false `better` or `worse`", f"{kind}, n = {n}", wrong, trials, goal, True)


CLAIMS = {
    "equivalence": (margins, 10_000),
}
