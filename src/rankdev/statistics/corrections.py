"""Registry of multiple-comparison corrections.

A correction takes the families that are corrected together, the test's results for each, and how to draw; it returns
adjusted p-values and intervals for each. Intervals contain 0 exactly where the adjusted p-value is above α; those of
sparse differences are widened afterwards.

Max-T: the flips of a query are the same for all systems and measures, so the maximum reflects how the comparisons
depend on each other. Unlike randomised Tukey it does not assume that systems are exchangeable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from rankdev._common.arrays import Floats
from rankdev.errors import UsageError
from rankdev.statistics._randomization import USUAL, PValue, most_extremes, p_from_counts
from rankdev.statistics.contrasts import Family, agreeing, symmetric
from rankdev.statistics.flips.exact import flip_words, slack, stream_keys
from rankdev.statistics.paired import Drawing, Tested

FLIPS = (9_999, 1_999, 2 * 10**8)  # most and fewest flips, and the flips × pairs in between
PAIRS = 64  # pairs at a time: their flips stay in the cache
SIGNS = 1 << 20  # signs held at a time


@dataclass(frozen=True, eq=False)
class Simultaneous:
    """The largest correlation of flips with centred differences, over all pairs of some families: one per flip."""

    largest: Floats = field(repr=False)  # descending
    comparisons: int

    def p(self, family: Family) -> Floats:
        """Return p-values that hold for all pairs of all the families together."""
        queries = len(family.values)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.where(family.mean == 0, 0.0, np.abs(family.mean) / family.error)
            observed = t / np.sqrt(queries - 1 + t**2)
        counts = len(self.largest) - np.searchsorted(self.largest[::-1], observed, side="left")
        p = p_from_counts(counts.astype(np.float64), len(self.largest), "plus-one")
        p[family.constant] = min(1.0, self.comparisons * 2.0 ** (1 - queries))
        return p

    def interval(self, family: Family, alpha: float) -> tuple[Floats, Floats]:
        """Return intervals that cover the differences of all pairs together with confidence 1 − ``alpha``."""
        return symmetric(family, self.critical(len(family.values), alpha), alpha / self.comparisons)

    def critical(self, queries: int, alpha: float) -> float:
        """Return the t that the largest of all pairs exceeds with probability ``alpha``."""
        most = most_extremes(len(self.largest), alpha, "plus-one")
        r = 1.0 if most < 0 or queries < 2 else float(self.largest[most])
        return float(np.sqrt(queries - 1) * r / np.sqrt(1 - r**2)) if r < 1 - 1e-9 else np.inf


def simultaneous(families: Sequence[Family], seed: int, flips: int | None = None) -> Simultaneous:
    """Flip the centred differences of all families together; fewer times where there are many, unless told."""
    comparisons = sum(family.pairs for family in families)
    most, fewest, products = FLIPS
    flips = flips or int(np.clip(products // comparisons, fewest, most))
    queries = 1 + max(int(family.queries[-1]) for family in families)
    key = stream_keys(seed, queries, 3)[2, 1]  # the first keys serve the test
    largest = np.zeros(flips)
    step = max(1, SIGNS // queries)
    for start in range(0, flips, step):
        words = flip_words(key, queries, start, min(step, flips - start))
        bits = np.unpackbits(words.astype("<u8").view(np.uint8), axis=1, count=queries, bitorder="little")
        part = largest[start : start + step]
        for family in families:
            flipped = bits if len(family.queries) == queries else bits[:, family.queries]
            np.maximum(part, _largest(family, flipped.astype(np.float64)), out=part)
    return Simultaneous(np.sort(largest)[::-1], comparisons)


def _largest(family: Family, flipped: Floats) -> Floats:
    """Return the largest |Σ S (d − mean)| in units of √(n Σ (d − mean)²) over the pairs, for each flip.

    ``flipped[flip, query]`` is 1 where S is −1, else 0.
    """
    queries, totals = len(family.values), family.units.sum(axis=0)
    # whole numbers until here: the product is exact in whatever order it is summed
    sums = (totals - 2.0 * (flipped @ family.units)).T - np.outer(totals / queries, queries - 2.0 * flipped.sum(axis=1))
    squares = family.statistics["deviation"] / family.unit * np.sqrt(max(queries - 1, 1) * queries)
    moved = np.flatnonzero(squares > 0)
    largest = np.zeros(len(flipped))
    for start in range(0, len(moved), PAIRS):
        pairs = moved[start : start + PAIRS]
        apart = sums[family.first[pairs]]
        apart -= sums[family.second[pairs]]
        np.abs(apart, out=apart)
        apart /= squares[pairs, None]
        np.maximum(largest, apart.max(axis=0), out=largest)
    return largest


AT_ONCE = 1 << 22  # scores shuffled at a time


def tukey(
    family: Family, *, permutations: int, p_value: PValue, seed: int, alpha: float
) -> tuple[Floats, Floats, Floats]:
    """Return p-values that hold for all pairs together, and the limits of the intervals that agree with them.

    Within each query the systems' scores are shuffled; a pair's p-value is the fraction of shuffles whose best
    and worst system differ at least as much as the pair. This assumes that systems are exchangeable: one system that
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
    step = max(1, AT_ONCE // units.size)
    found = []
    for start in range(0, permutations, step):
        block = np.broadcast_to(units, (min(step, permutations - start), *units.shape))
        found.append(np.ptp(generator.permuted(block, axis=2).sum(axis=1), axis=1))
    return np.concatenate(found)


@dataclass(frozen=True, eq=False)
class Adjusted:
    """Adjusted p-values of a family's pairs, and the limits of their intervals.

    ``level`` is that of each interval by itself, with which all hold together; by default Bonferroni's.
    """

    p: Floats = field(repr=False)
    low: Floats = field(repr=False)
    high: Floats = field(repr=False)
    level: float | None = None
    permutations: int = 0  # flips, shuffles or resamples that were drawn for the intervals


Correct = Callable[[Sequence[Family], Sequence[Tested], Drawing], list[Adjusted]]


@dataclass(frozen=True)
class Correction:
    """A correction; ``multiplies`` where p-values are multiplied, so that small ones must be accurate.

    ``draws`` where it draws the adjusted p-values.
    """

    correct: Correct
    multiplies: bool = False
    draws: bool = False


CORRECTIONS: dict[str, Correction] = {}


def correction(name: str, multiplies: bool = False, draws: bool = False) -> Callable[[Correct], Correct]:
    """Offer a correction under a name, in Python and on the command line."""

    def register(function: Correct) -> Correct:
        CORRECTIONS[name] = Correction(function, multiplies, draws)
        return function

    return register


@correction("holm", multiplies=True)
def by_holm(families: Sequence[Family], tested: Sequence[Tested], drawing: Drawing) -> list[Adjusted]:
    """Control the family-wise error rate; the intervals cover all differences together (max-T; else Bonferroni)."""
    adjusted = _split(holm(_joined(tested)), families)
    comparisons = sum(family.pairs for family in families)
    if comparisons == 1:
        return uncorrected(families, tested, drawing)
    if not all(one.single for one in tested):  # clusters of unequal sizes: max-T covers .5 to .9, this .95
        level = drawing.alpha / comparisons
        return [_by_itself(*row, level, drawing) for row in zip(families, tested, adjusted, strict=True)]
    together = simultaneous(families, drawing.seed)
    return [_simultaneous(family, p, together, drawing.alpha) for family, p in zip(families, adjusted, strict=True)]


def _simultaneous(family: Family, p: Floats, together: Simultaneous, alpha: float) -> Adjusted:
    limits = agreeing(p, alpha, family.mean, *together.interval(family, alpha))
    return Adjusted(p, *limits, alpha / together.comparisons, len(together.largest))


@correction("bh", multiplies=True)
def by_benjamini_hochberg(families: Sequence[Family], tested: Sequence[Tested], drawing: Drawing) -> list[Adjusted]:
    """Control the false discovery rate, and with intervals at α × the fraction rejected, the false coverage rate."""
    raw = _joined(tested)
    adjusted = benjamini_hochberg(raw)
    level = drawing.alpha * max(1, int((adjusted <= drawing.alpha).sum())) / len(raw)
    return [_by_itself(*row, level, drawing) for row in zip(families, tested, _split(adjusted, families), strict=True)]


def _by_itself(family: Family, tested: Tested, p: Floats, level: float, drawing: Drawing) -> Adjusted:
    limits = agreeing(p, drawing.alpha, family.mean, *tested.interval(level))
    return Adjusted(p, *limits, level, tested.interval_permutations)


@correction("max-t", draws=True)
def by_max_t(families: Sequence[Family], tested: Sequence[Tested], drawing: Drawing) -> list[Adjusted]:
    """Compare each studentised mean with the largest of all under sign flips; the intervals are its own."""
    if any(len(family.values) < 2 for family in families):
        raise UsageError("max-t needs at least two queries; choose another correction")
    together = simultaneous(families, drawing.seed)
    return [_simultaneous(family, together.p(family), together, drawing.alpha) for family in families]


@correction("tukey", draws=True)
def by_tukey(families: Sequence[Family], tested: Sequence[Tested], drawing: Drawing) -> list[Adjusted]:
    """Compare each difference with the largest of all under shuffled system labels; the intervals are its own."""
    if len(families) > 1:
        raise UsageError("tukey compares the systems' means of one measure; over all measures use max-t or holm")
    p, low, high = tukey(
        families[0],
        permutations=drawing.permutations or USUAL,
        p_value=drawing.p_value,
        seed=drawing.seed,
        alpha=drawing.alpha,
    )
    limits = agreeing(p, drawing.alpha, families[0].mean, low, high)
    return [Adjusted(p, *limits, drawing.alpha / families[0].pairs, drawing.permutations or USUAL)]


@correction("none")
def uncorrected(families: Sequence[Family], tested: Sequence[Tested], drawing: Drawing) -> list[Adjusted]:
    """Leave p-values as they are; each interval is the test's own."""
    return [
        _by_itself(family, one, one.p.copy(), drawing.alpha, drawing)
        for family, one in zip(families, tested, strict=True)
    ]


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
