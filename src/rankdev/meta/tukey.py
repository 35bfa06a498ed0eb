"""Randomised Tukey HSD: the largest difference between any two systems, under shuffled system labels."""

from __future__ import annotations

import numpy as np

from rankdev.arrays import Floats
from rankdev.meta.families import Family
from rankdev.meta.flips.exact_sums import slack
from rankdev.meta.randomization import PValue, most_extremes, p_from_counts

ROOM = 1 << 22  # scores shuffled at a time


def tukey(
    family: Family, *, permutations: int, p_value: PValue, seed: int, alpha: float
) -> tuple[Floats, Floats, Floats]:
    """Give p-values that hold for all pairs together, and the ends of the intervals that agree with them.

    Within each query the systems' scores are shuffled; a pair's p-value is the share of shuffles whose best
    and worst system lie at least as far apart as the pair. This takes systems to be exchangeable: one system that
    is much noisier than the others makes it reject too often among the others.
    """
    queries = len(family.values)
    ranges = np.sort(_ranges(family.units, permutations, seed))
    whole = family.units.sum(axis=0)
    need = np.abs(whole[family.first] - whole[family.second]) - slack(queries)
    counts = permutations - np.searchsorted(ranges, need, side="left")
    most = most_extremes(permutations, alpha, p_value)
    half = ranges[permutations - 1 - most] * family.unit / queries if 0 <= most < permutations else np.inf
    return p_from_counts(counts.astype(np.float64), permutations, p_value), family.mean - half, family.mean + half


def _ranges(units: Floats, permutations: int, seed: int) -> Floats:
    generator = np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, *units.shape])))
    step = max(1, ROOM // units.size)
    found = []
    for start in range(0, permutations, step):
        block = np.broadcast_to(units, (min(step, permutations - start), *units.shape))
        found.append(np.ptp(generator.permuted(block, axis=2).sum(axis=1), axis=1))
    return np.concatenate(found)
