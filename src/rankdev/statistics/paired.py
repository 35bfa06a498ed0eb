"""Paired tests: randomization and Student's t."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from rankdev._common.arrays import Floats
from rankdev.errors import DataError, counted
from rankdev.statistics._randomization import (
    COMPARED,
    DRAWS,
    FIRST,
    Flips,
    enumerable,
    flip_p,
    flips_for,
    inverted,
)
from rankdev.statistics.contrasts import Family, symmetric


@dataclass(frozen=True)
class Drawing:
    """How a test draws; ``comparisons`` is the number of those that are corrected together."""

    permutations: int | None
    alpha: float
    seed: int
    comparisons: int = 1


@dataclass(frozen=True, eq=False)
class Tested:
    """p of each pair, a function from a level to the limits of the intervals, and notes on both."""

    p: Floats = field(repr=False)
    interval: Callable[[float], tuple[Floats, Floats]]
    permutations: int = 0  # flips that were drawn for p
    warnings: tuple[str, ...] = ()
    note: str = ""  # how it was done, where that is unusual
    single: bool = True  # whether queries are flipped one by one, so that max-T bounds all pairs together
    enumerated: int = 0  # pairs of which all flips were enumerated
    interval_permutations: int = 0  # flips that are drawn for an interval


def randomization(family: Family, drawing: Drawing) -> Tested:
    """Flip signs at random; all flips are enumerated where a pair has few non-zero differences."""
    needed = flips_for(drawing.comparisons, drawing.alpha)
    flips = needed if drawing.permutations is None else drawing.permutations
    tilt = drawing.permutations is None and float(flips) * family.pairs > COMPARED and drawing.comparisons > 1
    rows = family.flipped
    drawn = Flips(rows, FIRST if tilt else flips, drawing.seed)
    p = flip_p(drawn, tilt)

    def interval(level: float) -> tuple[Floats, Floats]:
        return inverted(drawn, level)

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
    if over / (flips + 1) > alpha and (family.statistics["moved"] > 20).any():
        return (
            f"the smallest p of {flips:,} flips is {1 / (flips + 1):.2g}: nothing can be significant at {alpha:g}"
            f" among {among}; leave permutations out, or give at least {needed:,}",
        ), ""
    return (), ""


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


def _on_constant(family: Family) -> tuple[str, ...]:
    pairs = int(family.constant.sum())
    if not pairs:
        return ()
    return (
        f"{counted(pairs, 'pair', 'differs')} by the same amount on all"
        f" {counted(len(family.values), 'query')}: there is no variance to test with; p is that of the sign-flip test",
    )


TESTS: dict[str, Callable[[Family, Drawing], Tested]] = {"randomization": randomization, "t": student}
