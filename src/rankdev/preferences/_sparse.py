"""References from fewer judgments than sorting the items needs: a strict order, or one tier.

So few judgments cannot tell tiers from a strict order, least of all where the pairs were chosen by the answers before,
and one tier would score every ranking alike.
"""

from __future__ import annotations

from collections.abc import Callable
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


def cut_few_too(fit: Strengths, cut: Callable[[int], Ints]) -> list[Ints]:
    """Cut the order of every query into tiers by ``cut(query)``, but where the judgments are too few for it.

    With fewer than n log₂ n judgments a query is strict, but one tier where all items are rather equal. With up to four
    times as many, one tier becomes a strict order where the evidence is against it: pairs that were chosen by the
    answers before are close, and make items look equal.
    """
    items = np.diff(fit.pairs.starts)
    query = np.searchsorted(fit.pairs.starts, fit.pairs.first, side="right") - 1
    judged = np.bincount(query, weights=fit.pairs.count, minlength=len(items)) / np.maximum(
        items * np.log2(np.maximum(items, 1)), 1e-9
    )
    short = (items > 1) & (items <= LONGEST) & (fit.curvature is not None)
    few, some = short & (judged < 1 - EQUAL), short & (judged < MANY - EQUAL)
    one = np.zeros(1, np.int64)
    cuts = [one if few[number] else cut(number) for number in range(len(items))]
    doubtful = [number for number in np.flatnonzero(some).tolist() if len(cuts[number]) == 1]
    if not doubtful:
        return cuts
    posteriors = Posteriors.of(fit.preferences)
    posteriors.evaluate(doubtful)
    for number in doubtful:
        if posteriors.order_evidence(number) >= np.log(ODDS) * (-1 if few[number] else 1):
            cuts[number] = RULES["strict"].cut(Question(fit, number, 0.05))
    return cuts
