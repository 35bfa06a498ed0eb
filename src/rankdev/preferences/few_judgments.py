"""References from fewer judgments than sorting the items needs: a strict order, or one tier.

So few judgments cannot tell tiers from a strict order, least of all where the pairs were chosen by the answers before,
and one tier would score every ranking alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankdev._common.arrays import Ints
from rankdev.preferences.posterior import Posteriors
from rankdev.preferences.rules import RULES, Question

if TYPE_CHECKING:
    from rankdev.preferences.strengths import Strengths

LONGEST = 300  # items of a query
EQUAL = 3.0  # odds that all items are equal, from which they share a tier


def cuts_of_few(fit: Strengths) -> dict[int, Ints]:
    """Cut the queries with fewer than n log₂ n judgments: strict, but one tier where all items are rather equal."""
    items = np.diff(fit.pairs.starts)
    query = np.searchsorted(fit.pairs.starts, fit.pairs.first, side="right") - 1
    judged = np.bincount(query, weights=fit.pairs.count, minlength=len(items))
    few = (judged < items * np.log2(np.maximum(items, 1))) & (items > 1) & (items <= LONGEST)
    if fit.curvature is None or not few.any():
        return {}
    posteriors = Posteriors.of(fit.preferences)
    posteriors.evaluate(np.flatnonzero(few).tolist())
    return {
        number: np.zeros(1, np.int64)
        if posteriors.order_evidence(number) <= -np.log(EQUAL)
        else RULES["strict"].cut(Question(fit, number, 0.05))
        for number in np.flatnonzero(few).tolist()
    }
