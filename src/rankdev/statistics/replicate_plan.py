"""How many queries a comparison of two systems needs, for some numbers of runs of each: which of them to buy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import polars as pl
from scipy import special

from rankdev._common.arrays import Floats
from rankdev._common.checks import FINEST, check_number
from rankdev._common.result import Result
from rankdev.errors import DataError
from rankdev.statistics.panels import as_scores, carried, panels
from rankdev.statistics.power.student import LIMIT, smallest, t_power
from rankdev.statistics.replicates import between_runs, replicated

RUNS = (2, 3, 5, 10, 20)
SMALLEST = 10  # queries of a pilot


@dataclass(frozen=True)
class Spread:
    """Variances of one query's difference, of a run's mean, and of what a run adds to one query."""

    query: float
    run: float
    run_query: float

    def power(self, queries: int, runs: int, difference: float, alpha: float) -> float:
        """Return the power of the test over queries and runs, with so many runs of each system."""
        by_queries = (self.query + 2 * self.run_query / runs) / queries
        variance = by_queries + 2 * self.run / runs
        if variance <= 0:
            return 1.0
        between = 2 * (self.run + self.run_query / queries) / runs
        weight = by_queries**2 / (queries - 1) + (between**2 / (2 * (runs - 1)) if self.run else 0.0)
        freedom = max(variance**2 / weight, 1.0) if weight > 0 else 1e9
        return t_power(freedom + 1, difference / np.sqrt(variance * (freedom + 1)), alpha)

    def queries(self, runs: int, difference: float, power: float, alpha: float) -> float:
        """Return the smallest number of queries with that power; infinite where runs vary too much for any."""
        return smallest(lambda n: self.power(n, runs, difference, alpha) >= power, 2, LIMIT)


@dataclass(frozen=True, eq=False, kw_only=True)
class ReplicatePlan(Result):
    """Queries that a comparison needs, for some numbers of runs of each system.

    Attributes
    ----------
    columns : dict
        Columns of the table, one entry per number of runs.
    a, b : str
        The systems.
    measure : str
        The measure.
    difference : float
        Difference of means to detect.
    replicates : dict of str to int
        Runs of each system of the pilot.
    pilot : int
        Queries of the pilot.
    run_deviation : float
        Standard deviation of the means of a system's runs, beyond what queries explain.
    power : float
        Power to reach.
    alpha : float
        Level of the test.
    remarks : tuple of str
        Notes on the pilot.

    See Also
    --------
    plan : Returns it.
    """

    display: ClassVar = "rankdev.display.power"
    made_with = ("a", "b", "measure", "difference", "power", "alpha", "replicates")

    columns: dict[str, Any] = field(repr=False)
    a: str
    b: str
    measure: str
    difference: float
    replicates: dict[str, int]
    pilot: int
    run_deviation: float
    power: float
    alpha: float
    remarks: tuple[str, ...] = ()

    def to_polars(self) -> pl.DataFrame:
        """Return one row per number of runs.

        Returns
        -------
        polars.DataFrame
            Columns runs (of each system), queries, low, high (their 95% interval, given the uncertainty of the pilot);
            infinite where no number of queries is enough.

        Examples
        --------
        >>> import rankdev as rd
        >>> rng = np.random.default_rng(0)
        >>> values = rng.normal(0.5, 0.1, (6, 200, 1)) + rng.normal(0, 0.01, (6, 1, 1))
        >>> scores = rd.Scores(tuple("uvwxyz"), tuple(map(str, range(200))), ("P@5",), values)
        >>> found = rd.plan(scores, "a", "b", "P@5", difference=0.03, replicates={"a": list("uvw"), "b": list("xyz")})
        >>> found.to_polars()["runs"].to_list()
        [2, 3, 5, 10, 20]
        """
        return pl.DataFrame(self.columns)


def plan_with_runs(
    scores: Any,
    a: str,
    b: str,
    measure: str,
    *,
    replicates: Mapping[str, Sequence[str]],
    difference: Any,
    power: float,
    alpha: float,
) -> ReplicatePlan:
    """Plan a comparison of two systems from a pilot with several runs of them."""
    alpha = check_number("alpha", alpha, FINEST, 1)
    power, difference = check_number("power", power, alpha, 1), check_number("difference", difference, 0, 1e9)
    runs = replicated(as_scores(scores, [measure]), replicates)
    averaged = runs.averaged.select(systems=[a, b])
    panel = panels(runs.scores)[0]
    values: Floats = panel.values[:, :, 0]
    if len(values) < SMALLEST:
        raise DataError(f"a pilot needs at least {SMALLEST} queries that all runs answer; got {len(values)}")
    members = [runs.members[name] for name in averaged.systems]
    means, noise = between_runs(values, list(runs.members.values()))
    apart = values[:, members[0]].mean(axis=1) - values[:, members[1]].mean(axis=1)
    share = sum(1 / len(each) for each in members)
    guess, low, high = (
        Spread(
            max(apart.var(ddof=1) * queries - noise * len(values) * share, 0.0),
            max(means * between - noise, 0.0),
            noise * len(values),
        )
        for queries, between in ((1.0, 1.0), *_factors(len(values) - 1, runs.freedom))
    )
    needed = {
        name: [spread.queries(count, difference, power, alpha) for count in RUNS]
        for name, spread in (("queries", guess), ("low", low), ("high", high))
    }
    return ReplicatePlan(
        columns={"runs": list(RUNS), **needed},
        a=a,
        b=b,
        measure=measure,
        difference=difference,
        replicates={name: runs.counts[name] for name in (a, b)},
        pilot=len(values),
        run_deviation=float(np.sqrt(guess.run)),
        power=power,
        alpha=alpha,
        remarks=(*runs.remarks, *carried(runs.scores)),
    )


def _factors(queries: int, runs: int) -> list[tuple[float, float]]:
    """Return what the variances of queries and of runs are at least, and at most, in terms of those estimated."""
    tails = (0.025, 0.975)
    return [tuple(free / special.chdtri(free, tail) for free in (queries, runs)) for tail in tails]
