"""Systems with several runs, such as training with several seeds: a run is a sample of its system, as queries are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import polars as pl
from scipy import special

from rankdev._common.arrays import Floats
from rankdev._common.checks import FINEST, check_number, is_list
from rankdev._common.result import Result
from rankdev.errors import DataError, UsageError, shown
from rankdev.evaluation.scores import Scores
from rankdev.statistics.contrasts import Family, symmetric
from rankdev.statistics.paired import Tested
from rankdev.statistics.panels import as_scores, carried, panels
from rankdev.statistics.power.student import LIMIT, smallest, t_power

FEW = 3  # degrees of freedom of the runs below which the test errs too often: .09 where two meet two


@dataclass(frozen=True, eq=False)
class Replicated:
    """Scores of single runs, and which of them each system has."""

    scores: Scores
    members: dict[str, list[int]]

    @property
    def counts(self) -> dict[str, int]:
        """Runs of each system."""
        return {name: len(runs) for name, runs in self.members.items()}

    @property
    def freedom(self) -> int:
        """Degrees of freedom of the variance between runs of a system."""
        return sum(count - 1 for count in self.counts.values())

    @property
    def averaged(self) -> Scores:
        """Scores of the systems: means over their runs."""
        values = [self.scores.values[runs].mean(axis=0) for runs in self.members.values()]
        return replace(self.scores, systems=tuple(self.members), values=np.stack(values), coverage=())

    @property
    def remarks(self) -> tuple[str, ...]:
        """Note how many runs each system has, and whether they are few."""
        few = "so few runs estimate the variance between runs poorly; use three or more of each system"
        return (f"means over runs: {in_words(self.counts)}", *([few] if self.freedom < FEW else []))


def in_words(counts: Mapping[str, int]) -> str:
    """Return how many runs each system has, as text.

    >>> in_words({"a": 3, "b": 3}), in_words({"a": 3, "b": 1})
    ('3 of each system', 'a 3, b 1')
    """
    if len(set(counts.values())) == 1:
        return f"{next(iter(counts.values()))} of each system"
    return ", ".join(f"{name} {count}" for name, count in counts.items())


def replicated(scores: Scores, replicates: Mapping[str, Sequence[str]]) -> Replicated:
    """Group runs by system; runs that no system names are systems with a single run.

    >>> scores = Scores(("a-1", "b", "a-2"), ("q",), ("P@1",), np.array([[[1.0]], [[0.5]], [[0.0]]]))
    >>> found = replicated(scores, {"a": ["a-1", "a-2"]})
    >>> found.counts, found.averaged.averages.tolist()
    ({'a': 2, 'b': 1}, [[0.5], [0.5]])
    """
    if not isinstance(replicates, Mapping) or not all(is_list(runs) and len(runs) for runs in replicates.values()):
        raise UsageError(f"replicates is {shown(replicates)}; expected the runs of each system, {{system: [run, …]}}")
    owner: dict[str, str] = {}
    for name, runs in replicates.items():
        for run in scores.select(systems=list(runs)).systems:  # refuses unknown names
            if run in owner:
                raise UsageError(f"replicates: run {run!r} belongs to {owner[run]!r} and {name!r}; keep one")
            owner[run] = name
    members: dict[str, list[int]] = {}
    for i, run in enumerate(scores.systems):
        if run not in owner and run in replicates:
            raise UsageError(f"replicates: system {run!r} does not list the run of that name; rename one of them")
        members.setdefault(owner.get(run, run), []).append(i)
    found = Replicated(scores, members)
    if not found.freedom:
        raise UsageError("every system has a single run, so the variance between runs is unknown; give more of some")
    return found


def between_runs(values: Floats, members: Sequence[Sequence[int]]) -> tuple[float, float]:
    """Return the variance of run means, ``values[query, run]``, and the part of it that queries explain; pooled.

    The second is the mean square of the interaction of runs and queries, divided by the number of queries.
    """
    queries, free = len(values), sum(len(runs) - 1 for runs in members)
    means = interaction = 0.0
    for runs in members:
        own = values[:, runs]
        each = own.mean(axis=0)
        means += float(((each - each.mean()) ** 2).sum())
        interaction += float(((own - own.mean(axis=1, keepdims=True) - each + each.mean()) ** 2).sum())
    return means / free, interaction / (free * max(queries - 1, 1) * queries)


def over_runs(family: Family, values: Floats, members: Sequence[Sequence[int]]) -> Tested:
    """Test mean differences that vary with the queries and with the runs; ``values[query, run]`` are single runs.

    The variance between runs is pooled over systems; degrees of freedom are Satterthwaite's.
    """
    queries = len(values)
    runs = np.array([len(each) for each in members])
    share = 1 / runs[family.first] + 1 / runs[family.second]
    means, interaction = between_runs(values, members)
    by_queries = family.error**2
    added = max(means - interaction, 0.0) * share
    error = np.sqrt(by_queries + added)
    freedom = np.full(family.pairs, queries - 1.0)
    if added.any():
        part = by_queries**2 / (queries - 1) + (means * share) ** 2 / sum(runs - 1)
        freedom = np.maximum(error**4 / part, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(family.mean == 0, 0.0, np.abs(family.mean) / error)
    p = 2 * special.stdtr(freedom, -t)
    p[error == 0] = np.where(family.mean[error == 0] == 0, 1.0, 2.0 ** (1 - queries))

    def interval(level: float) -> tuple[Floats, Floats]:
        half = special.stdtrit(freedom, 1 - level / 2) * error
        low, high = symmetric(family, 0.0, level)  # for pairs without any variance
        return np.where(error > 0, family.mean - half, low), np.where(error > 0, family.mean + half, high)

    return Tested(p, interval, single=False)


RUNS = (2, 3, 5, 10, 20)
SMALLEST = 10  # queries of a pilot


@dataclass(frozen=True)
class Spread:
    """Variances of one query's difference, of a run's mean, and of what a run adds to one query."""

    query: float
    run: float
    run_query: float

    def power(self, queries: int, runs: int, difference: float, alpha: float) -> float:
        """Return the power of the test over queries and runs, with this many runs of each system."""
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

    display: ClassVar = "rankdev.display.planning"
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
