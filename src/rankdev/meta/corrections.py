"""Corrections for many comparisons. A new one is a function here, marked with ``@correction("name")``.

It gets the families that are corrected together, what the test said about each, and how to draw; and gives adjusted
p-values and intervals for each. Intervals hold 0 exactly where the adjusted p-value is above α.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from rankdev.arrays import Floats
from rankdev.errors import UsageError
from rankdev.meta.families import Family, agreeing
from rankdev.meta.max_t import simultaneous
from rankdev.meta.paired import Drawing, Tested
from rankdev.meta.randomization import USUAL
from rankdev.meta.tukey import tukey


@dataclass(frozen=True, eq=False)
class Adjusted:
    """Adjusted p-values of a family's pairs, and the ends of their intervals."""

    p: Floats = field(repr=False)
    low: Floats = field(repr=False)
    high: Floats = field(repr=False)


Correct = Callable[[Sequence[Family], Sequence[Tested], Drawing], list[Adjusted]]


@dataclass(frozen=True)
class Correction:
    """A way to correct; ``multiplies`` where p-values are multiplied, so that small ones must be known.

    ``draws`` counts the shuffles of its own that it takes where no number is given.
    """

    correct: Correct
    multiplies: bool = False
    draws: int = 0


CORRECTIONS: dict[str, Correction] = {}


def correction(name: str, multiplies: bool = False, draws: int = 0) -> Callable[[Correct], Correct]:
    """Offer a correction under a name, in Python and on the command line."""

    def register(function: Correct) -> Correct:
        CORRECTIONS[name] = Correction(function, multiplies, draws)
        return function

    return register


@correction("holm", multiplies=True)
def by_holm(families: Sequence[Family], tested: Sequence[Tested], drawing: Drawing) -> list[Adjusted]:
    """Bound the chance of any false rejection; the intervals hold all differences together (max-T)."""
    adjusted = _split(holm(_joined(tested)), families)
    if sum(family.pairs for family in families) == 1:
        return uncorrected(families, tested, drawing)
    ends = simultaneous(families, drawing.seed)
    return [
        Adjusted(p, *agreeing(p, drawing.alpha, family.mean, *ends.interval(family, drawing.alpha)))
        for family, p in zip(families, adjusted, strict=True)
    ]


@correction("bh", multiplies=True)
def by_benjamini_hochberg(families: Sequence[Family], tested: Sequence[Tested], drawing: Drawing) -> list[Adjusted]:
    """Bound the share of false rejections; the intervals, at level α × the share rejected, that of those that miss."""
    raw = _joined(tested)
    adjusted = benjamini_hochberg(raw)
    level = drawing.alpha * max(1, int((adjusted <= drawing.alpha).sum())) / len(raw)
    return [
        Adjusted(p, *agreeing(p, drawing.alpha, family.mean, *one.interval(level)))
        for family, one, p in zip(families, tested, _split(adjusted, families), strict=True)
    ]


@correction("max-t")
def by_max_t(families: Sequence[Family], tested: Sequence[Tested], drawing: Drawing) -> list[Adjusted]:
    """Compare each studentised mean with the largest of all under sign flips; the intervals are its own."""
    if any(len(family.values) < 2 for family in families):
        raise UsageError("max-t needs at least two queries; take another correction")
    ends = simultaneous(families, drawing.seed)
    found = []
    for family in families:
        p = ends.p(family)
        found.append(Adjusted(p, *agreeing(p, drawing.alpha, family.mean, *ends.interval(family, drawing.alpha))))
    return found


@correction("tukey", draws=USUAL)
def by_tukey(families: Sequence[Family], tested: Sequence[Tested], drawing: Drawing) -> list[Adjusted]:
    """Compare each difference with the largest of all under shuffled system labels; the intervals are its own."""
    if len(families) > 1:
        raise UsageError("tukey compares the systems' means of one measure; over all measures take max-t or holm")
    p, low, high = tukey(
        families[0],
        permutations=drawing.permutations or USUAL,
        p_value=drawing.p_value,
        seed=drawing.seed,
        alpha=drawing.alpha,
    )
    return [Adjusted(p, *agreeing(p, drawing.alpha, families[0].mean, low, high))]


@correction("none")
def uncorrected(families: Sequence[Family], tested: Sequence[Tested], drawing: Drawing) -> list[Adjusted]:
    """Leave p-values as they are; each interval is the test's own."""
    return [Adjusted(one.p.copy(), *_own(family, one, drawing)) for family, one in zip(families, tested, strict=True)]


def _own(family: Family, tested: Tested, drawing: Drawing) -> tuple[Floats, Floats]:
    ends = tested.interval(drawing.alpha)
    return agreeing(tested.p, drawing.alpha, family.mean, *ends) if tested.agrees else ends


def _joined(tested: Sequence[Tested]) -> Floats:
    return np.concatenate([one.p for one in tested])


def _split(p: Floats, families: Sequence[Family]) -> list[Floats]:
    return np.split(p, np.cumsum([family.pairs for family in families])[:-1])


def holm(p: Floats) -> Floats:
    """Adjust by Holm's step-down method.

    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()  # 3 × .01, 2 × .03, and no less than the one before
    [0.03, 0.06, 0.06]
    """
    order, ranked = _ranked(p)
    factors = np.arange(p.shape[-1], 0, -1)
    return _unranked(np.minimum(np.maximum.accumulate(ranked * factors, axis=-1), 1.0), order)


def benjamini_hochberg(p: Floats) -> Floats:
    """Adjust by Benjamini and Hochberg's step-up method.

    >>> benjamini_hochberg(np.array([0.01, 0.04, 0.03])).tolist()  # 3/1 × .01, 3/3 × .04, at most the next
    [0.03, 0.04, 0.04]
    """
    order, ranked = _ranked(p)
    scaled = ranked * p.shape[-1] / np.arange(1, p.shape[-1] + 1)
    smallest = np.minimum.accumulate(scaled[..., ::-1], axis=-1)[..., ::-1]
    return _unranked(np.minimum(smallest, 1.0), order)


def _ranked(p: Floats) -> tuple[npt.NDArray[np.int64], Floats]:
    order = np.argsort(p, axis=-1, kind="stable")
    return order, np.take_along_axis(p, order, axis=-1)


def _unranked(ranked: Floats, order: npt.NDArray[np.int64]) -> Floats:
    adjusted = np.empty_like(ranked)
    np.put_along_axis(adjusted, order, ranked, axis=-1)
    return adjusted
