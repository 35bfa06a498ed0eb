"""The posterior of a mean difference: how probably it lies beyond a value."""

from __future__ import annotations

import numpy as np
from scipy import special

from rankdev._common.arrays import Floats
from rankdev.statistics.bounded_mean import AT_ONCE, CAUTIOUS, SPARSE, differences_and_unseen, exceeds, most_common
from rankdev.statistics.contrasts import Family


def beyond(family: Family, values: tuple[float, ...]) -> Floats:
    """Return the probabilities that mean differences are larger than each of ``values``: ``[value, pair]``.

    Where differences vary, the posterior is Student's: that of normal differences whose mean and log deviation may be
    anything (Benavoli et al. 2017, without the correlation of resampling). Where most of them are equal, it is that of
    the weights of the values, with one more observation at either end of what the measure's range allows: nothing seen
    is not nothing there. Between 40% and 80% of equal ones, the two are mixed. Clusters count as one observation each.
    """
    rows = family.flipped
    found = np.empty((len(values), rows.pairs))
    for pairs, apart, unseen in differences_and_unseen(rows):
        sparse = np.flatnonzero(unseen.weight > 0)
        spread = apart
        if rows.sizes is not None:  # the mean is a ratio: what sizes alone make of a sum does not count
            spread = apart - apart.mean(axis=1, keepdims=True) * (rows.sizes / rows.sizes.mean() - 1)
        for i, value in enumerate(values):
            chances = _student(spread, value / rows.unit)
            for part in np.array_split(sparse, 1 + len(sparse) * apart.shape[1] // AT_ONCE):
                few, share = unseen.of_rows(part), unseen.weight[part]
                points, weights = few.points(apart[part])
                ends, more = np.column_stack([few.below, few.above]), np.column_stack([CAUTIOUS * share] * 2)
                seen = exceeds(np.hstack([points, ends]), np.hstack([weights, more]), value / rows.unit)
                chances[part] = np.where(share == 1, seen, (1 - share) * chances[part] + share * seen)
            found[i, pairs] = chances
    return found


def guesses(family: Family) -> bool:
    """Check whether the posterior of some pair rests on how far apart unseen differences can be."""
    return any((most_common(apart)[1] > SPARSE[0]).any() for _, apart in family.flipped.differences())


def _student(apart: Floats, value: float) -> Floats:
    """Return the posterior probabilities that means are larger than a value; NaN where all differences are equal."""
    queries = apart.shape[1]
    if queries < 2:
        return np.full(len(apart), np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = apart.std(axis=1, ddof=1) / np.sqrt(queries)
        found: Floats = special.stdtr(queries - 1, (apart.mean(axis=1) - value) / error)
    return found
