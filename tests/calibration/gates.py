"""Wrong decisions of a gate with several measures, segments and a release."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import rankdev as rd
from rankdev.measures.base import MeasureInfo
from tests.calibration.simulations import ALPHA, KINDS, Finding

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


CLAIMS = {"gates": (gates, 200)}
