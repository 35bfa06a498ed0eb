"""How many queries does a new collection need? From the variance of scores alone, before any pair is compared.

Topic set size design (Sakai 2016, 2018): a power for a difference, or a width for an interval. His spreadsheets take
Nagata's approximations; here the distributions are exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import polars as pl
from scipy import special

from rankdev._common.arrays import Floats
from rankdev._common.checks import FINEST, check_number, check_whole, is_list, is_number
from rankdev._common.result import Result
from rankdev.errors import DataError, UsageError
from rankdev.evaluation.scores import Scores
from rankdev.statistics.panels import as_scores, carried, is_several, panels
from rankdev.statistics.power.student import LIMIT, smallest

CERTAIN = 1e12  # noncentrality at which a difference is seen whatever else
SMALLEST = 10  # queries of a pilot from which the interval of its variance was seen to hold
WAYS = ("same", "different")
QUERIES = tuple(f"{way}{end}" for way in WAYS for end in ("", "_low", "_high"))


@dataclass(frozen=True)
class Spread:
    """The variance of a measure's scores over queries, and what is left of it where systems share the queries.

    Each is a value with its 95% interval, of which the ends are NaN where the variance was given, not estimated.
    """

    measure: str | None
    pilot: int | None
    same: tuple[float, float, float]
    different: tuple[float, float, float]

    @property
    def correlation(self) -> float:
        """How far two systems find the same queries hard."""
        return 1 - self.same[0] / self.different[0]


@dataclass(frozen=True, eq=False)
class TopicSetSize(Result):
    """The queries that a new collection needs, by measure and by what is asked of it."""

    display: ClassVar = "rankdev.display.power"

    spreads: tuple[Spread, ...] = field(repr=False)
    difference: tuple[float, ...]
    width: tuple[float, ...]
    systems: tuple[int, ...]
    power: float
    alpha: float
    remarks: tuple[str, ...] = ()

    made_with = ("difference", "width", "systems", "power", "alpha")

    def to_polars(self) -> pl.DataFrame:
        """One row per measure and requirement: measure, method, systems, target, and the queries needed.

        ``method`` is t or anova, whose ``target`` is a difference, or interval, whose target is a width. ``same`` is
        the number of queries where all systems answer the same ones, ``different`` that for each system where each
        has its own; both with ``_low`` and ``_high`` where the variance was estimated.
        """
        rows = [
            (spread.measure, *asked, *self.queries(spread, *asked)) for spread in self.spreads for asked in self.asked
        ]
        names = {"measure": pl.String, "method": pl.String, "systems": pl.Int64, "target": pl.Float64}
        return pl.DataFrame(rows, {**names, **dict.fromkeys(QUERIES, pl.Float64)}, orient="row").fill_nan(None)

    @property
    def asked(self) -> Iterator[tuple[str, int, float]]:
        """Each requirement: method, systems, target."""
        yield from (("t" if m == 2 else "anova", m, d) for d in self.difference for m in self.systems)
        yield from (("interval", 2, width) for width in self.width)

    def queries(self, spread: Spread, method: str, systems: int, target: float) -> tuple[float, ...]:
        """Give the queries needed for one requirement, as in the table."""

        def needed(variance: float, same: bool) -> float:
            if np.isnan(variance):
                return np.nan
            if method == "interval":
                return queries_for_width(target, variance, same, self.alpha)
            return queries_to_detect(target, systems, variance, same, self.power, self.alpha)

        return tuple(needed(value, way == "same") for way in WAYS for value in getattr(spread, way))

    def summary(self) -> pl.DataFrame:
        """One row per measure: the pilot's queries, the variance of scores with its interval, the correlation."""
        rows = [(each.measure, each.pilot, *each.different, each.correlation) for each in self.spreads]
        names = dict.fromkeys(("variance", "low", "high", "correlation"), pl.Float64)
        return pl.DataFrame(rows, {"measure": pl.String, "pilot": pl.Int64, **names}, orient="row").fill_nan(None)


def topic_set_size(
    variance: float | Any,
    *,
    difference: float | Sequence[float] = (),
    width: float | Sequence[float] = (),
    systems: int | Sequence[int] = 2,
    correlation: float | None = None,
    measures: Sequence[str] | None = None,
    power: float = 0.8,
    alpha: float = 0.05,
) -> TopicSetSize:
    """Estimate how many queries a new collection needs, from the variance of scores alone.

    ``variance`` is that of one system's scores over queries, or scores to estimate it from, by measure: of one
    collection or, as ``{name: scores}``, of several, which may hold other systems each. ``difference`` is what
    should be detected with ``power``, between the best and the worst where there are more than two ``systems``
    (analysis of variance; Student's t for two); ``width`` is how wide the 1 − ``alpha`` interval of a difference
    may be, on average. ``correlation`` is that of two systems' scores on the same queries; without it the scores
    say, and for a number it is 0, which is safe.

    >>> topic_set_size(0.05, difference=0.1, systems=[2, 10]).to_polars().select("method", "same", "different").rows()
    [('t', 81.0, 80.0), ('anova', 158.0, 158.0)]
    """
    alpha = check_number("alpha", alpha, FINEST, 1)
    power = check_number("power", power, alpha, 1)
    differences, widths = _numbers("difference", difference), _numbers("width", width)
    if not differences and not widths:
        raise UsageError("say what the collection is for: a difference to detect, or the width of an interval")
    counts = tuple(check_whole("systems", m, 2, 10**6) for m in _listed(systems))
    if not counts:
        raise UsageError("systems is an empty list; give at least one number")
    if correlation is not None:
        correlation = check_number("correlation", correlation, -1, 1)
    if is_number(variance):
        scores: list[Scores] = []
        spreads = [_given(check_number("variance", variance, 0, 1e9))]
    else:
        parts = list(variance.values()) if is_several(variance) else [variance]
        if not parts:
            raise UsageError("variance holds no collection; give a number, scores, or {name: scores}")
        scores = [as_scores(part, measures) for part in parts]
        spreads = _estimated(scores)
    if correlation is not None:
        spreads = [_correlated(spread, correlation) for spread in spreads]
    remarks = dict.fromkeys(remark for part in scores for remark in carried(part))
    return TopicSetSize(tuple(spreads), differences, widths, counts, power, alpha, tuple(remarks))


def _listed(value: Any) -> list[Any]:
    return list(value) if is_list(value) else [value]


def _numbers(name: str, value: Any) -> tuple[float, ...]:
    return tuple(check_number(name, each, 0, 1e9) for each in _listed(value))


def _given(variance: float) -> Spread:
    alone = (variance, np.nan, np.nan)
    return Spread(None, None, alone, alone)


def _correlated(spread: Spread, correlation: float) -> Spread:
    low, middle, high = (value * (1 - correlation) for value in spread.different)
    return Spread(spread.measure, spread.pilot, (low, middle, high), spread.different)


def _estimated(collections: list[Scores]) -> list[Spread]:
    """Pool the squares of all collections by measure, each around its own systems' means."""
    squares: dict[str, list[tuple[Floats, Floats]]] = {}
    for scores in collections:
        for panel in panels(scores.select(measures=list(collections[0].measures))):
            for m, measure in enumerate(panel.measures):
                squares.setdefault(measure, []).append(_squares(panel.values[:, :, m]))
    return [_spread(measure, squares[measure]) for measure in collections[0].measures]


def _squares(values: Floats) -> tuple[Floats, Floats]:
    """Give each query's mean square around the systems' means, with and without what the query does to all systems."""
    apart = values - values.mean(axis=0)
    left = apart - apart.mean(axis=1, keepdims=True)
    return (left**2).sum(axis=1) / (values.shape[1] - 1), (apart**2).mean(axis=1)


def _spread(measure: str, parts: list[tuple[Floats, Floats]]) -> Spread:
    pilot = sum(len(same) for same, _ in parts)
    if pilot < SMALLEST:
        raise DataError(f"{measure}: a variance needs at least {SMALLEST} queries that all systems answer; got {pilot}")
    same, different = (np.concatenate(part) for part in zip(*parts, strict=True))
    if not different.any():
        raise DataError(f"{measure}: the scores do not vary over queries, so that nothing says how many are needed")
    return Spread(measure, pilot, *(_bounded(each, pilot - len(parts)) for each in (same, different)))


def _bounded(squares: Floats, freedom: int) -> tuple[float, float, float]:
    """Give a variance with its 95% interval, Bonett's (2006), which knows how unequal the squares are."""
    n, value = len(squares), float(squares.sum() / freedom)
    if value == 0:
        return 0.0, 0.0, 0.0
    factor = n / (n - special.ndtri(0.975))
    kurtosis = 1 + squares.var() / squares.mean() ** 2
    reach = special.stdtrit(n - 1, 0.975) * factor * np.sqrt(max(kurtosis - (n - 3) / n, 0.0) / (n - 1))
    return value, float(factor * value * np.exp(-reach)), float(factor * value * np.exp(reach))


def queries_to_detect(
    difference: float, systems: int, variance: float, same: bool, power: float, alpha: float
) -> float:
    """Give the smallest number of queries for which an F-test of all systems has a power (t², for two).

    All systems but the best and the worst are taken to be in the middle, where they are hardest to tell apart.
    """
    with np.errstate(divide="ignore", over="ignore"):
        each = float(np.divide(difference**2, 2 * variance))

    def enough(n: int) -> bool:
        between, within = systems - 1, (n - 1) * (systems - 1 if same else systems)
        need = special.fdtri(between, within, 1 - alpha)
        return bool(special.ncfdtr(between, within, min(n * each, CERTAIN), need) <= 1 - power)

    return smallest(enough, 2, LIMIT)


def queries_for_width(width: float, variance: float, same: bool, alpha: float) -> float:
    """Give the smallest number of queries for which the interval of a difference is no wider, on average."""

    def enough(n: int) -> bool:
        freedom = (n - 1) * (1 if same else 2)
        # a sample's deviation is a little too small on average
        mean = np.exp(special.gammaln((freedom + 1) / 2) - special.gammaln(freedom / 2)) * np.sqrt(2 / freedom)
        reach = special.stdtrit(freedom, 1 - alpha / 2) * mean * np.sqrt(2 * variance / n)
        return bool(2 * reach <= width)

    return smallest(enough, 2, LIMIT)
