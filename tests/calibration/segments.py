"""Does the difference depend on the segment? How often the test claims it where it does not."""

from __future__ import annotations

from collections.abc import Iterator
from unittest.mock import patch

import numpy as np

from rankdev.statistics import segments
from rankdev.statistics.contrasts import Family
from tests.calibration.simulations import ALPHA, KINDS, Finding

ALIKE = [((20, 20), (1, 1)), ((10, 200), (1, 1)), ((10,) * 8, (1,) * 8)]
UNLIKE = [
    ((10, 40), (3, 1)),
    ((30, 300), (3, 1)),
    ((5, 15, 60), (3, 1, 0.5)),
    ((5, 15, 60), (0.5, 1, 3)),
    ((15, 60, 100), (4, 1, 1)),
    ((10, 20, 40, 80), (3, 2, 1, 1)),
    ((5, 5, 5, 5, 40, 40, 40, 40), (3, 3, 2, 2, 1, 1, 1, 1)),
    ((10, 10, 10, 10, 40, 40, 40, 40), (1, 1, 1, 1, 3, 3, 3, 3)),
]
TOGETHER = 100  # trials that share permutations


def interactions(trials: int) -> Iterator[Finding]:
    """Differences with the same mean in two to eight segments, of unequal sizes and standard deviations (in brackets).

    *sparse*: one query in ten has a difference, of either sign; *rare gains*: all differences are gains, and the larger
    they are, the rarer. A false rejection claims that the difference depends on the segment.
    """
    for sizes, deviations in ALIKE + UNLIKE:
        for kind in ("normal", "exponential", "discrete", "tied", "sparse", "rare gains"):
            rng = np.random.default_rng([len(sizes), sum(sizes), len(kind)])
            false = 0.0
            for seed in range(-(-trials // TOGETHER)):
                false += _rejected(rng, kind, np.array(sizes), np.array(deviations, float), seed)
            done = TOGETHER * -(-trials // TOGETHER)
            unlike = len(set(deviations)) > 1
            skewed = unlike and kind in ("exponential", "rare gains")
            spread = " (" + ", ".join(f"{one:g}" for one in deviations) + ")" if unlike else ""
            setting = f"{kind}, segments of {', '.join(map(str, sizes))}{spread}"
            yield Finding("interaction, false rejection", setting, false / done, done, 0.07 if skewed else 0.06, True)


def _rejected(rng: np.random.Generator, kind: str, sizes: np.ndarray, deviations: np.ndarray, seed: int) -> int:
    shape = (int(sizes.sum()), TOGETHER)
    scale = np.repeat(deviations, sizes)[:, None]
    if kind == "sparse":
        apart = scale * np.where(rng.random(shape) < 0.1, rng.choice([-1.0, 1.0], shape), 0.0)
    elif kind == "rare gains":
        rate = 0.4 * deviations.min() / scale
        apart = np.where(rng.random(shape) < rate, 0.1 / rate, 0.0)
    else:
        apart = scale * KINDS[kind](rng, shape)
    values = np.stack([apart, np.zeros(shape)], axis=2).reshape(len(apart), -1)
    first = np.arange(0, 2 * TOGETHER, 2)
    family = Family(values, np.arange(len(values)), first, first + 1)
    ends = np.cumsum(sizes)
    named = {str(i): np.arange(end - size, end) for i, (size, end) in enumerate(zip(sizes, ends, strict=True))}
    with patch.object(segments, "DRAWS", 499):
        _, p = segments.interaction(family, named, seed)
    return int((p <= ALPHA).sum())


CLAIMS = {"interactions": (interactions, 2000)}
