"""Randomised Tukey HSD: the largest difference between any two systems, under shuffled system labels."""

from __future__ import annotations

import numpy as np

from rankdev.evaluation.scores import Floats
from rankdev.meta.flips.exact_sums import largest_of, scale_for, slack
from rankdev.meta.paired import PValue, p_from_counts

ROOM = 1 << 22  # scores shuffled at a time


def tukey(values: Floats, *, permutations: int, p_value: PValue, seed: int) -> Floats:
    """Give p-values ``[pair, measure]`` that hold for all pairs together.

    Within each query the systems' scores are shuffled; a pair's p-value is the share of shuffles whose best
    and worst system lie at least as far apart as the pair.
    """
    queries, systems, measures = values.shape
    a, b = np.triu_indices(systems, 1)
    scale = scale_for(largest_of(values), queries)
    p = np.empty((len(a), measures))
    for m in range(measures):
        units = np.rint(values[:, :, m] * scale[m])
        whole = units.sum(axis=0)
        ranges = np.sort(_ranges(units, permutations, seed))
        need = np.abs(whole[a] - whole[b]) - slack(queries)
        counts = permutations - np.searchsorted(ranges, need, side="left")
        p[:, m] = p_from_counts(counts.astype(np.float64), permutations, p_value)
    return p


def _ranges(units: Floats, permutations: int, seed: int) -> Floats:
    generator = np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, *units.shape])))
    step = max(1, ROOM // units.size)
    found = []
    for start in range(0, permutations, step):
        block = np.broadcast_to(units, (min(step, permutations - start), *units.shape))
        found.append(np.ptp(generator.permuted(block, axis=2).sum(axis=1), axis=1))
    return np.concatenate(found)
