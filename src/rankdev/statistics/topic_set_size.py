"""Topic set size design: the queries that a new collection needs, from the variance of scores alone.

Sakai (2016, 2018): enough queries for a power to detect a difference, or for a width of an interval. His spreadsheets
use Nagata's approximations; here the distributions are exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import polars as pl
from scipy import special

from rankdev._common.arrays import Floats
from rankdev._common.checks import FINEST, check_number, check_whole, is_list, is_number
from rankdev._common.result import Result
from rankdev._common.view import Tab, View
from rankdev.errors import DataError, UsageError
from rankdev.statistics.design import Design
from rankdev.statistics.inputs import as_scores, is_several
from rankdev.statistics.student import LIMIT, smallest

CERTAIN = 1e12  # noncentrality at which a difference is always detected
SMALLEST = 10  # queries of a pilot from which the interval of its variance holds in simulations
WAYS = ("same", "different")
QUERIES = tuple(f"{way}{limit}" for way in WAYS for limit in ("", "_low", "_high"))


@dataclass(frozen=True)
class Spread:
    """The variance of a measure's scores over queries, and its residual part where systems share the queries.

    Each is a value with its 95% interval, whose limits are NaN where the variance was given, not estimated.
    """

    measure: str | None
    pilot: int | None
    same: tuple[float, ...]
    different: tuple[float, ...]

    @property
    def correlation(self) -> float:
        """Correlation between the scores of two systems on the same queries."""
        return 1 - self.same[0] / self.different[0]


@dataclass(frozen=True, eq=False)
class TopicSetSize(Result):
    """The queries that a new collection needs, by measure and requirement.

    Attributes
    ----------
    spreads : tuple of Spread
        Variance of each measure's scores over queries.
    difference : tuple of float
        Differences to detect.
    width : tuple of float
        Largest mean widths of the interval of a difference.
    systems : tuple of int
        Numbers of systems compared.
    power : float
        Power to detect a difference.
    alpha : float
        Level of the tests; intervals have confidence 1 − alpha.
    remarks : tuple of str
        Notes on the scores.

    See Also
    --------
    plan : Returns it.
    """

    view: ClassVar = View(
        [
            Tab(
                "Queries needed (power {power:.0%}, level {alpha:g})",
                ("measure", "method", "systems", "target", "same", "same_low", "different", "different_low"),
            ),
            Tab("Variance of scores over queries, and correlation between systems", frame="summary"),
        ],
        "design",
        closing=[
            "t, anova: to detect a difference; interval: for an interval of that width",
            "same: all systems on the same queries",
            "different: each system on its own queries (queries per system)",
        ],
    )

    spreads: tuple[Spread, ...] = field(repr=False)
    difference: tuple[float, ...]
    width: tuple[float, ...]
    systems: tuple[int, ...]
    power: float
    alpha: float
    remarks: tuple[str, ...] = ()

    made_with = ("difference", "width", "systems", "power", "alpha")

    def to_polars(self) -> pl.DataFrame:
        """Return one row per measure and requirement.

        Returns
        -------
        polars.DataFrame
            Columns measure, method (t or anova, with a difference as target; interval, with a width), systems, target,
            same (queries needed where all systems answer the same ones), same_low, same_high, different (queries per
            system where each has its own), different_low, different_high. The limits are null where the variance was
            given.

        Examples
        --------
        >>> import rankdev as rd
        >>> rd.plan(variance=0.05, difference=0.1).to_polars().select("method", "same", "different").rows()
        [('t', 81.0, 80.0)]
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
        """Return the queries needed for one requirement, as in the table.

        Parameters
        ----------
        spread : Spread
            Variance of a measure's scores, one of ``spreads``.
        method : {"t", "anova", "interval"}
            What the target is: a difference to detect, or the width of an interval.
        systems : int
            Number of systems compared.
        target : float
            The difference or width.

        Returns
        -------
        tuple of float
            same, same_low, same_high, different, different_low, different_high.

        Examples
        --------
        >>> import rankdev as rd
        >>> found = rd.plan(variance=0.05, difference=0.1)
        >>> found.queries(found.spreads[0], "t", 2, 0.1)[0]
        81.0
        """

        def needed(variance: float, same: bool) -> float:
            if np.isnan(variance):
                return np.nan
            if method == "interval":
                return queries_for_width(target, variance, same, self.alpha)
            return queries_to_detect(target, systems, variance, same, self.power, self.alpha)

        return tuple(needed(value, way == "same") for way in WAYS for value in getattr(spread, way))

    def summary(self) -> pl.DataFrame:
        """Return the variance of each measure's scores.

        Returns
        -------
        polars.DataFrame
            Columns measure, pilot (its queries), variance, low, high, correlation (between systems).

        Examples
        --------
        >>> import rankdev as rd
        >>> rd.plan(variance=0.05, difference=0.1).summary()["variance"].to_list()
        [0.05]
        """
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

    See :func:`rankdev.plan`, which calls it; ``variance`` is a number, or scores to estimate it from.

    >>> topic_set_size(0.05, difference=0.1, systems=[2, 10]).to_polars().select("method", "same", "different").rows()
    [('t', 81.0, 80.0), ('anova', 158.0, 158.0)]
    """
    alpha = check_number("alpha", alpha, FINEST, 1)
    power = check_number("power", power, alpha, 1)
    differences, widths = _numbers("difference", difference), _numbers("width", width)
    if not differences and not widths:
        raise UsageError("needed", name="difference or width", use="a plan")
    counts = tuple(check_whole("systems", m, 2, 10**6) for m in _listed(systems))
    if not counts:
        raise UsageError("none-given", what="systems")
    if correlation is not None:
        correlation = check_number("correlation", correlation, -1, 1)
    if is_number(variance):
        designs: list[Design] = []
        given = (check_number("variance", variance, 0, 1e9), np.nan, np.nan)
        spreads = [Spread(None, None, given, given)]
    else:
        parts = list(variance.values()) if is_several(variance) else [variance]
        if not parts:
            raise UsageError("empty", name="variance", expected="a number, scores, or {name: scores}")
        scores = [as_scores(part, measures) for part in parts]
        designs = [Design.of(part.select(measures=scores[0].measures)) for part in scores]
        spreads = _estimated(designs)
    if correlation is not None:
        spreads = [replace(one, same=tuple(v * (1 - correlation) for v in one.different)) for one in spreads]
    remarks = dict.fromkeys(remark for design in designs for remark in design.notes)
    return TopicSetSize(tuple(spreads), differences, widths, counts, power, alpha, tuple(remarks))


def _listed(value: Any) -> list[Any]:
    return list(value) if is_list(value) else [value]


def _numbers(name: str, value: Any) -> tuple[float, ...]:
    return tuple(check_number(name, each, 0, 1e9) for each in _listed(value))


def _estimated(collections: list[Design]) -> list[Spread]:
    """Pool the squares of all collections by measure, each around its own systems' means."""
    squares: dict[str, list[tuple[Floats, Floats]]] = {}
    for design in collections:
        for panel in design.panels:
            for m, measure in enumerate(panel.measures):
                squares.setdefault(measure, []).append(_squares(panel.values[:, :, m]))
    return [_spread(measure, squares[measure]) for measure in collections[0].scores.measures]


def _squares(values: Floats) -> tuple[Floats, Floats]:
    """Return each query's mean square around the systems' means, without and with the main effect of the query."""
    apart = values - values.mean(axis=0)
    left = apart - apart.mean(axis=1, keepdims=True)
    return (left**2).sum(axis=1) / (values.shape[1] - 1), (apart**2).mean(axis=1)


def _spread(measure: str, parts: list[tuple[Floats, Floats]]) -> Spread:
    pilot = sum(len(same) for same, _ in parts)
    if pilot < SMALLEST:
        raise DataError("too-few", measure=measure, what="a variance", least=SMALLEST, unit="query", count=pilot)
    same, different = (np.concatenate(part) for part in zip(*parts, strict=True))
    if not different.any():
        raise DataError("no-variance", measure=measure)
    return Spread(measure, pilot, *(_bounded(each, pilot - len(parts)) for each in (same, different)))


def _bounded(squares: Floats, freedom: int) -> tuple[float, float, float]:
    """Return a variance with Bonett's (2006) 95% interval, which accounts for the kurtosis."""
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
    """Return the smallest number of queries for which an F-test of all systems has a power (t², for two).

    All systems but the best and the worst are assumed to be in the middle, where they are hardest to distinguish.
    """
    with np.errstate(divide="ignore", over="ignore"):
        each = float(np.divide(difference**2, 2 * variance))

    def enough(n: int) -> bool:
        between, within = systems - 1, (n - 1) * (systems - 1 if same else systems)
        need = special.fdtri(between, within, 1 - alpha)
        return bool(special.ncfdtr(between, within, min(n * each, CERTAIN), need) <= 1 - power)

    return smallest(enough, 2, LIMIT)


def queries_for_width(width: float, variance: float, same: bool, alpha: float) -> float:
    """Return the smallest number of queries for which the interval of a difference is no wider, on average."""

    def enough(n: int) -> bool:
        freedom = (n - 1) * (1 if same else 2)
        # a sample's deviation is a little too small on average
        mean = np.exp(special.gammaln((freedom + 1) / 2) - special.gammaln(freedom / 2)) * np.sqrt(2 / freedom)
        reach = special.stdtrit(freedom, 1 - alpha / 2) * mean * np.sqrt(2 * variance / n)
        return bool(2 * reach <= width)

    return smallest(enough, 2, LIMIT)
