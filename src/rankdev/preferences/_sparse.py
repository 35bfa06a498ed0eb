"""References from fewer judgments than sorting the items needs: a strict order, or one tier.

So few judgments cannot tell tiers from a strict order, least of all where the pairs were chosen by the answers before,
and one tier would score every ranking alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankdev._common.arrays import Ints
from rankdev.preferences.posterior import Posteriors
from rankdev.preferences.rules import EQUAL, RULES, Question

if TYPE_CHECKING:
    from rankdev.preferences.strengths import Strengths

LONGEST = 300  # items of a query
ODDS = 3.0  # that all items are equal, or that they are not
MANY = 4.0  # times n log₂ n judgments, from which one tier is one tier


def cuts_of_few(fit: Strengths, cuts: list[Ints]) -> list[Ints]:
    """Correct the cuts of an order into tiers where the judgments are too few for them.

    With fewer than n log₂ n judgments a query is strict, but one tier where all items are rather equal. With up to four
    times as many, one tier becomes a strict order where the evidence is against it: pairs that were chosen by the
    answers before are close, and make items look equal.
    """
    items = np.diff(fit.pairs.starts)
    query = np.searchsorted(fit.pairs.starts, fit.pairs.first, side="right") - 1
    judged = np.bincount(query, weights=fit.pairs.count, minlength=len(items)) / np.maximum(
        items * np.log2(np.maximum(items, 1)), 1e-9
    )
    one = np.array([len(starts) == 1 for starts in cuts])
    short = (items > 1) & (items <= LONGEST)
    few = judged < 1 - EQUAL
    few, some = short & few, short & one & ~few & (judged < MANY - EQUAL)
    if fit.curvature is None or not (few | some).any():
        return cuts
    posteriors = Posteriors.of(fit.preferences)
    posteriors.evaluate(np.flatnonzero(few | some).tolist())
    corrected = list(cuts)
    for number in np.flatnonzero(few | some).tolist():
        evidence = posteriors.order_evidence(number)
        if few[number] and evidence <= -np.log(ODDS):
            corrected[number] = np.zeros(1, np.int64)
        elif few[number] or evidence >= np.log(ODDS):
            corrected[number] = RULES["strict"].cut(Question(fit, number, 0.05))
    return corrected
