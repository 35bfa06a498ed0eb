"""How many queries does a comparison need? Estimated from a pilot, with the pilot's own uncertainty."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import polars as pl
from scipy import special

from rankdev._common.arrays import Floats
from rankdev._common.checks import FINEST, check_number, check_whole
from rankdev._common.view import Col, Curves, Tab, View
from rankdev.errors import DataError, Note, UsageError, printable, warn
from rankdev.evaluation.scores import ScoresLike
from rankdev.statistics.decision import losing
from rankdev.statistics.design import COUNTED, Design, OfDrawnQueries
from rankdev.statistics.inputs import as_scores, check_reach
from rankdev.statistics.pairs import gains
from rankdev.statistics.t_power import LIMIT, detectable_effect, effect_limits, queries_for, t_power
from rankdev.statistics.tests import fewest_differing

SUMMARY = (
    *("a", "b", "measure", "pilot", "observed", "deviation", "difference"),
    *("queries", "low", "high", "assured", "detectable"),
)
ASSURANCE = 0.07  # level whose lower limit holds in 90% of pilots, skewed ones such as those of AP@5 included
SMALLEST = 10  # queries of a pilot from which its interval holds in simulations
HEAVY = 8.0  # kurtosis above which its coverage is below the nominal level in simulations
AROUND = np.array([0.25, 0.5, 0.75, 1, 1.5, 2])  # times the queries needed, of which power is shown


@dataclass(frozen=True, eq=False, kw_only=True)
class Plan(OfDrawnQueries):
    """Queries needed to detect a difference between two systems. Answers beyond ten million are infinite.

    Attributes
    ----------
    a, b : str
        The systems.
    measure : str
        The measure they are compared by.
    pilot : int
        Queries of the pilot; with clusters their number, and so are all answers.
    observed : float
        Mean difference a − b in the pilot.
    deviation : float
        Standard deviation of the differences in the pilot.
    difference : float
        The difference to detect.
    assured : float
        Queries at which the power is reached with 90% confidence, given the uncertainty of the pilot; infinite where
        the pilot cannot tell.
    queries : float
        Queries needed if the pilot is typical (noncentral t); NaN where the pilot cannot tell, because its systems
        differ on too few queries.
    low, high : float
        95% interval of that number; high is infinite where the pilot cannot exclude that there is no difference, or
        cannot tell.
    detectable : float
        Smallest difference that the pilot's own number of queries would detect.
    curve : tuple of ndarray
        Numbers of queries, and their power.
    power : float
        Power to reach.
    alpha : float
        Level of the tests.
    systems : int
        Systems that will be compared: tests are corrected over all their pairs.
    remarks : tuple of str
        Notes on the pilot.
    clusters : int, optional
        Clusters of queries in the pilot, where it has any.

    See Also
    --------
    plan : Returns it.
    """

    view: ClassVar = View(
        [Tab("Power to find {what}, by number of {unit}", ("n", Col("analytic", "power")), "_shown", digits=3)],
        "plan",
        opening=["{conclusion}"],
        closing=["{method}"],
        figure=Curves("n", "power", "power", "way", "_curves", goal=0.8),
    )

    a: str
    b: str
    measure: str
    pilot: int
    observed: float
    deviation: float
    difference: float
    queries: float
    low: float
    high: float
    assured: float
    detectable: float
    curve: tuple[Floats, Floats] = field(repr=False)
    power: float
    alpha: float
    systems: int
    remarks: tuple[str, ...] = ()
    clusters: int | None = None

    made_with = ("a", "b", "measure", "difference", "power", "alpha", "systems", "clusters")

    @property
    def what(self) -> str:
        """The difference that is looked for."""
        return f"a difference of {self.difference:.4g} in {self.measure}"

    @property
    def conclusion(self) -> str:
        """How many queries are needed, and what those of the pilot find."""
        unit, what = self.unit, self.what
        if math.isnan(self.queries):
            return (
                f"These {self.pilot:,} {unit} cannot tell how many confirm {what}: {printable(self.a)} and"
                f" {printable(self.b)} differ on too few of them. At least {_queries(self.low)} are needed."
            )
        typical = f"{_queries(self.queries)} may be enough if these {self.pilot:,} are typical."
        if math.isinf(self.assured):
            return (
                f"No number of {unit} is sure to confirm {what}: these {self.pilot:,} do not exclude that there is"
                f" none. {typical}"
            )
        return (
            f"{_queries(self.assured)} {unit} confirm {what} with {100 * self.power:g}% power (90% sure of that); you"
            f" have {self.pilot:,}, which find differences of {self.detectable:.2g} and more. {typical}"
        )

    @property
    def method(self) -> str:
        """The test of the plan, and what the pilot shows."""
        pairs = self.systems * (self.systems - 1) // 2
        test = f"Paired t-test at level {self.alpha:g}{f', Holm over {pairs} pairs' if pairs > 1 else ''}"
        between = f"; 95% interval of the {_queries(self.queries)}: {_queries(self.low)} to {_queries(self.high)}"
        limits = "" if math.isnan(self.queries) else between
        seen = f"In the pilot, {printable(self.a)} − {printable(self.b)} is {self.observed:+.4g}"
        return f"{test}{limits}. {seen}."

    def _shown(self) -> pl.DataFrame:
        return self.to_polars().filter(not math.isnan(self.queries))

    def _curves(self) -> pl.DataFrame:
        return self.to_polars().unpivot(index="n", variable_name="way", value_name="power")

    def to_polars(self) -> pl.DataFrame:
        """Return the power for numbers of queries around the one needed.

        Returns
        -------
        polars.DataFrame
            Columns n, analytic (power by the noncentral t-distribution).

        Examples
        --------
        >>> import rankdev as rd
        >>> values = np.random.default_rng(0).normal(0.5, 0.1, (2, 40, 1))
        >>> scores = rd.Scores(("a", "b"), tuple(map(str, range(40))), ("P@5",), values)
        >>> found = rd.plan(scores, "a", "b", "P@5", difference=0.05)
        >>> found.to_polars()["n"].to_list()
        [16, 32, 47, 63, 94, 126]
        """
        sizes, analytic = self.curve
        return pl.DataFrame({"n": sizes.astype(np.int64), "analytic": analytic}).fill_nan(None)

    def summary(self) -> pl.DataFrame:
        """Return the plan in one row.

        Returns
        -------
        polars.DataFrame
            Columns a, b, measure, pilot, observed, deviation, difference, queries, low, high, assured,
            detectable.

        Examples
        --------
        >>> import rankdev as rd
        >>> values = np.random.default_rng(0).normal(0.5, 0.1, (2, 40, 1))
        >>> scores = rd.Scores(("a", "b"), tuple(map(str, range(40))), ("P@5",), values)
        >>> found = rd.plan(scores, "a", "b", "P@5", difference=0.05)
        >>> found.summary().select("a", "b", "queries").row(0)
        ('a', 'b', 63.0)
        """
        return pl.DataFrame({name: [getattr(self, name)] for name in SUMMARY}).fill_nan(None)


def _queries(n: float) -> str:
    return "more than ten million" if math.isinf(n) else f"{n:,.0f}"


def plan(
    scores: ScoresLike,
    a: str,
    b: str,
    measure: str,
    *,
    difference: float | None = None,
    systems: int = 2,
    power: float = 0.8,
    alpha: float = 0.05,
    clusters: Mapping[str, Any] | None = None,
) -> Plan:
    """Estimate how many queries a comparison of two systems needs.

    The scores are a pilot of their paired t-test, of at least 10 queries. Rely on ``assured``: it allows for the
    pilot's own uncertainty. A pilot in which fewer queries differ than a test needs to reject (six at .05) tells too
    little: there is then a lower limit, but no upper one.

    Parameters
    ----------
    scores : Scores, table or path
        Scores of the pilot.
    a : str
        The candidate. On the command line the default is the later one.
    b : str
        The baseline.
    measure : str
        The measure to plan for.
    difference : float, optional
        Smallest difference of means that matters. Default: the observed one. It makes the interval much wider, because
        it is itself uncertain.
    systems : int, default 2
        Number of systems that will be compared. The level of the test is alpha over the number of all pairs, as in
        Holm's first step.
    power : float, default 0.8
        Power to reach.
    alpha : float, default 0.05
        Level of the test.
    clusters : dict of str to str, optional
        The cluster of each query, as in :func:`significance`. Answers are then numbers of clusters.

    Returns
    -------
    Plan
        What is needed, and how sure that is.

    Examples
    --------
    >>> import rankdev as rd
    >>> values = np.random.default_rng(0).normal(0.5, 0.1, (2, 40, 1))
    >>> scores = rd.Scores(("a", "b"), tuple(map(str, range(40))), ("P@5",), values)
    >>> found = rd.plan(scores, "a", "b", "P@5", difference=0.05)
    >>> found.queries, found.low < found.queries < found.high
    (63.0, True)
    """
    if not isinstance(measure, str):
        raise UsageError("bad-value", name="measure", value=measure, expected="one measure")
    alpha = check_number("alpha", alpha, FINEST, 1)
    power = check_number("power", power, alpha, 1)
    systems = check_whole("systems", systems, 2)
    pairs = systems * (systems - 1) // 2
    level = alpha / pairs  # of Holm's first step
    pair = as_scores(scores, [measure]).select(systems=[a, b])
    design = Design.of(pair, clusters=clusters)
    rows = design.families(b)[0].rows
    if len(rows.values) < SMALLEST:
        raise DataError("too-few", what="a pilot", least=SMALLEST, unit=design.unit, count=len(rows.values))
    apart, pilot = gains(rows), len(rows.values)
    observed, deviation = float(rows.mean[0]), float(rows.statistics["deviation"][0])
    if difference is not None:
        difference = check_number("difference", difference, 0, 1e9)
        check_reach("difference", difference, pair)
    elif observed == 0:
        raise DataError("no-difference", a=a, b=b)
    target = abs(observed) if difference is None else difference
    moved, least = int(rows.moved[0]), fewest_differing(level)  # queries that differ: seen, needed to reject
    unknown = moved < least
    if unknown:
        remarks = [Note("equal-pilot", a=a, b=b, count=moved, unit=design.unit, all=pilot, least=least)]
        fewest, most, queries, assured = np.ceil(least / losing(moved, pilot)), np.inf, np.nan, np.inf
        curve = np.array([min(fewest, LIMIT)]), np.array([np.nan])
    elif deviation == 0:
        raise DataError("no-deviation", a=a, b=b)
    else:
        kurtosis = heaviness(apart)
        remarks = [Note("heavy-tails", kurtosis=kurtosis)] if kurtosis > HEAVY else []
        effect, (low, high) = target / deviation, bounded_effect(apart, difference)
        surest, _ = bounded_effect(apart, difference, ASSURANCE)
        needed = (queries_for(each, power, level) for each in (high, low, effect, surest))
        fewest, most, queries, assured = needed
        sizes = np.unique(np.maximum(2, np.rint(AROUND * min(queries, LIMIT))))
        curve = sizes, np.array([t_power(n, effect, level) for n in sizes])
    for remark in remarks:
        warn(remark)
    return Plan(
        a=a,
        b=b,
        measure=measure,
        pilot=pilot,
        observed=observed,
        deviation=deviation,
        difference=target,
        queries=queries,
        low=fewest,
        high=most,
        assured=assured,
        detectable=np.nan if unknown else detectable_effect(pilot, power, level) * deviation,
        curve=curve,
        power=power,
        alpha=alpha,
        systems=systems,
        remarks=(*remarks, *design.on_clusters(COUNTED), *design.notes),
        clusters=None if clusters is None else pilot,
    )


def bounded_effect(apart: Floats, difference: float | None, level: float = 0.05) -> tuple[float, float]:
    """Return an interval of the standardised effect; its lower limit is 0 where the sign is uncertain.

    For a stated difference by Bonett's interval for the deviation, with a floor under the kurtosis because few
    queries underestimate it; for the observed one by the noncentral t-distribution.
    """
    if difference is not None:
        low, high = _deviation(apart, level)
        return difference / high, difference / low
    ends = effect_limits(np.array([apart.mean() / apart.std(ddof=1)]), len(apart), level)
    return float(ends[0][0]), float(ends[1][0])


def _deviation(apart: Floats, level: float) -> tuple[float, float]:
    n, z = len(apart), special.ndtri(1 - level / 2)
    factor = n / (n - z)
    kurtosis = max(heaviness(apart), 3 + 2 * float(np.clip((n - 10) / 15, 0, 1)))
    middle = np.log(factor * apart.var(ddof=1))
    reach = z * factor * np.sqrt((kurtosis - (n - 3) / n) / (n - 1))
    low, high = np.exp((middle - reach) / 2), np.exp((middle + reach) / 2)
    return float(low), float(high)


def heaviness(apart: Floats) -> float:
    """Return the kurtosis (3 for normal differences) around a mean without the largest and smallest few."""
    n = len(apart)
    cut = int(n / (2 * np.sqrt(n - 4)))
    centre = np.sort(apart)[cut : n - cut].mean()
    return float(n * ((apart - centre) ** 4).sum() / ((apart - apart.mean()) ** 2).sum() ** 2)
