"""Registry of paired tests: randomization, t, Wilcoxon, bootstrap, one that needs only the range."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from rankdev._common.arrays import Floats
from rankdev.errors import DataError, UsageError, counted
from rankdev.evaluation.scores import Scores
from rankdev.statistics._randomization import (
    COMPARED,
    DRAWS,
    FIRST,
    Flips,
    PValue,
    enumerable,
    flip_p,
    flips_for,
    inverted,
    most_extremes,
    p_from_counts,
)
from rankdev.statistics.bounded_values import AT_ONCE as POINTS
from rankdev.statistics.bounded_values import level_of_zero, upper
from rankdev.statistics.contrasts import Family, symmetric
from rankdev.statistics.panels import Indices

RESAMPLES = 100_000
FEWEST = 5  # queries from which the bootstrap can reject at the usual levels
AT_ONCE = 1 << 24  # numbers held at a time


@dataclass(frozen=True)
class Drawing:
    """How a test draws; ``comparisons`` is the number of those that are corrected together."""

    permutations: int | None
    p_value: PValue
    alpha: float
    seed: int
    engine: str = "auto"
    threads: int | None = None
    comparisons: int = 1


@dataclass(frozen=True, eq=False)
class Tested:
    """p of each pair, a function from a level to the limits of the intervals, and notes on both."""

    p: Floats = field(repr=False)
    interval: Callable[[float], tuple[Floats, Floats]]
    permutations: int = 0  # flips or resamples that were drawn for p
    warnings: tuple[str, ...] = ()
    note: str = ""  # how it was done, where that is unusual
    agrees: bool = True  # whether interval and test are about the same quantity
    single: bool = True  # whether queries are flipped one by one, so that max-T bounds all pairs together
    enumerated: int = 0  # pairs of which all flips were enumerated
    interval_permutations: int = 0  # flips or resamples that are drawn for an interval


Test = Callable[[Family, Drawing], Tested]
TESTS: dict[str, Test] = {}


def test(name: str) -> Callable[[Test], Test]:
    """Offer a test under a name, in Python and on the command line."""

    def register(function: Test) -> Test:
        TESTS[name] = function
        return function

    return register


@test("randomization")
def randomization(family: Family, drawing: Drawing) -> Tested:
    """Flip signs at random; all flips are enumerated where a pair has few non-zero differences."""
    needed = flips_for(drawing.comparisons, drawing.alpha)
    flips = needed if drawing.permutations is None else drawing.permutations
    tilt = drawing.permutations is None and float(flips) * family.pairs > COMPARED and drawing.comparisons > 1
    rows = family.flipped
    drawn = Flips(rows, FIRST if tilt else flips, drawing.seed, drawing.engine, drawing.threads)
    p = flip_p(drawn, tilt, drawing.p_value)

    def interval(level: float) -> tuple[Floats, Floats]:
        return inverted(drawn, level, drawing.p_value)

    few = enumerable(rows)
    return Tested(
        p,
        interval,
        0 if few.all() else drawn.count,
        *_notes(rows, drawing, drawn.count, tilt, needed),
        single=rows is family,
        enumerated=int(few.sum()),
        interval_permutations=0 if drawn.exact else drawn.kept,
    )


def _notes(family: Family, drawing: Drawing, flips: int, tilt: bool, needed: int) -> tuple[tuple[str, ...], str]:
    """Return warnings and a note on what this number of flips can reject."""
    over, alpha, queries = drawing.comparisons, drawing.alpha, len(family.values)
    among = counted(over, "comparison")
    if tilt:
        return (), (
            f"{needed:,} uniform flips would be needed for {among}; after {flips:,}, small p-values come from"
            f" {DRAWS:,} tilted flips per pair"
        )
    if over * 2.0 ** (1 - queries) > alpha:
        few = counted(queries, "query" if family.sizes is None else "cluster", "is")
        return (), f"{few} too few for any significant difference at level {alpha:g} among {among}"
    if drawing.p_value == "plus-one" and over / (flips + 1) > alpha and (family.statistics["moved"] > 20).any():
        return (
            f"the smallest p of {flips:,} flips is {1 / (flips + 1):.2g}: nothing can be significant at {alpha:g}"
            f" among {among}; leave permutations out, or give at least {needed:,}",
        ), ""
    return (), ""


@test("t")
def student(family: Family, drawing: Drawing) -> Tested:
    """Student's paired t-test; where all differences are equal, the exact p of the sign-flip test."""
    from scipy import stats

    queries = len(family.values)
    if queries < 2:
        raise DataError("a t-test needs at least two queries; use test='randomization'")
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(family.mean == 0, 0.0, family.mean / family.error)
    p = 2 * stats.t.sf(np.abs(t), queries - 1)
    p[family.constant] = 2.0 ** (1 - queries)

    def interval(level: float) -> tuple[Floats, Floats]:
        return symmetric(family, float(stats.t.ppf(1 - level / 2, queries - 1)), level)

    return Tested(p, interval, 0, _on_constant(family))


@test("wilcoxon")
def wilcoxon(family: Family, drawing: Drawing) -> Tested:
    """Wilcoxon's signed-rank test, zero differences left out; its interval is Student's."""
    from scipy import stats

    def one(apart: Floats) -> float:
        moved = apart[apart != 0]
        return float(stats.wilcoxon(_levels(moved)).pvalue) if len(moved) else 1.0

    p = np.empty(family.pairs)
    for pairs, apart in family.differences():
        p[pairs] = [one(row) for row in apart]
    if len(family.values) < 2:
        return Tested(p, lambda level: (np.full(len(p), -np.inf), np.full(len(p), np.inf)))
    return replace(student(family, drawing), p=p, warnings=(), agrees=False)


def _levels(apart: Floats) -> Floats:
    """Number differences by magnitude, signs kept; rounding moves equal ones two units apart at most."""
    size = np.abs(apart)
    order = np.argsort(size)
    levels = np.empty(len(apart))
    levels[order] = 1 + np.cumsum(np.diff(size[order], prepend=0.0) > 2)
    return np.sign(apart) * levels


@test("bootstrap")
def bootstrap(family: Family, drawing: Drawing) -> Tested:
    """Resample queries with replacement; each resample's mean is divided by its own standard error."""
    queries = len(family.values)
    if queries < FEWEST:
        raise DataError(f"the bootstrap needs at least {FEWEST} queries; got {queries}: use test='randomization'")
    resamples = drawing.permutations or RESAMPLES
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(family.mean == 0, 0.0, np.abs(family.mean) / family.error)
    p = np.ones(family.pairs)
    for pairs, drawn in _studentised(family, resamples, drawing.seed):
        # a resample that is as extreme up to rounding counts as such
        counts = (drawn >= t[pairs, None] * (1 - 1e-9)).sum(axis=1)
        p[pairs] = p_from_counts(counts.astype(np.float64), resamples, drawing.p_value)
    p[family.constant] = 2.0 ** (1 - queries)

    def interval(level: float) -> tuple[Floats, Floats]:
        most = most_extremes(resamples, level, drawing.p_value)
        critical = np.full(family.pairs, np.inf)
        if 0 <= most < resamples:
            for pairs, drawn in _studentised(family, resamples, drawing.seed):
                critical[pairs] = np.partition(drawn, resamples - 1 - most, axis=1)[:, resamples - 1 - most]
        return symmetric(family, critical, level)

    used = resamples if (family.statistics["deviation"] > 0).any() else 0
    return Tested(p, interval, used, _on_constant(family), interval_permutations=used)


def _studentised(family: Family, resamples: int, seed: int) -> Iterator[tuple[Indices, Floats]]:
    """Yield |t| of centred resamples, a few pairs at a time: pairs, ``[pair, resample]``; pairs that vary only."""
    queries = len(family.values)
    bits = 50 - 2 * int(np.ceil(np.log2(queries)))  # whole numbers whose sums are exact, in any order
    moved = np.flatnonzero(family.statistics["deviation"] > 0)
    step = max(1, AT_ONCE // resamples)
    for start in range(0, len(moved), step):
        pairs = moved[start : start + step]
        apart = np.concatenate([rows for _, rows in family.differences(pairs)]) * family.unit
        score = (apart - family.mean[pairs, None]) / family.statistics["deviation"][pairs, None]
        columns = np.rint(np.ldexp(np.concatenate([score, score**2]), bits)).T
        drawn = np.empty((len(pairs), resamples))
        for done, weights in _weights(queries, resamples, seed):
            mean, square = np.split(np.ldexp((weights @ columns).T, -bits) / queries, 2)
            with np.errstate(divide="ignore", invalid="ignore"):
                spread = np.sqrt(np.maximum(square - mean**2, 0.0) / (queries - 1))
                drawn[:, done] = np.where(spread < 1e-6, np.inf, np.abs(mean) / spread)
        yield pairs, drawn


def _weights(queries: int, resamples: int, seed: int) -> Iterator[tuple[slice, Floats]]:
    """Yield how often each resample holds each query, some resamples at a time."""
    generator = np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, queries])))
    step = max(1, min(resamples, AT_ONCE // 16 // queries))
    for start in range(0, resamples, step):
        block = min(step, resamples - start)
        picks = generator.integers(0, queries, size=(block, queries))
        picks += np.arange(block)[:, None] * queries
        weights = np.bincount(picks.ravel(), minlength=block * queries).reshape(block, queries)
        yield slice(start, start + block), weights.astype(np.float64)


@test("bounded")
def bounded(family: Family, drawing: Drawing) -> Tested:
    """Bound the mean by the measure's range alone: a query with the largest possible difference may be unseen."""
    if not np.isfinite(family.span):
        raise DataError("test='bounded' needs a measure with a known range; use another test")
    weights = np.ones((1, len(family.values) + 1))

    def ends(find: Callable[[Floats, Floats], Floats]) -> tuple[Floats, Floats]:
        """Apply a function to the differences and an unseen one, below and above."""
        found = np.empty((2, family.pairs))
        for pairs, apart in family.differences():
            for rows in np.array_split(np.arange(len(pairs)), 1 + apart.size // POINTS):
                for side, sign in enumerate((-1.0, 1.0)):
                    points = np.column_stack([sign * apart[rows] * family.unit, np.full(len(rows), family.span)])
                    found[side, pairs[rows]] = find(points, weights * np.ones((len(rows), 1)))
        return found[0], found[1]

    p = np.minimum(1.0, 2 * np.minimum(*ends(level_of_zero)))

    def interval(level: float) -> tuple[Floats, Floats]:
        low, high = ends(lambda points, weights: upper(points, weights, level / 2))
        return -low, high

    return Tested(p, interval, single=False)


def _on_constant(family: Family) -> tuple[str, ...]:
    pairs = int(family.constant.sum())
    if not pairs:
        return ()
    return (
        f"{counted(pairs, 'pair', 'differs')} by the same amount on all"
        f" {counted(len(family.values), 'query')}: there is no variance to test with; p is that of the sign-flip test",
    )


def check_ranges(scores: Scores, what: str) -> None:
    """Refuse measures whose values have no known bounds, and values beyond them."""
    for m, kind in enumerate(scores.kinds):
        low, high = kind.range
        if not np.isfinite(high - low):
            raise UsageError(f"{what} needs the range of a measure, and {kind.label} has none; leave the measure out")
        values = scores.values[:, :, m]
        if (values < low).any() or (values > high).any():
            raise DataError(f"{kind.label} has values beyond its range, {low:g} to {high:g}; check the scores")
