"""Leaderboards: means with intervals, groups without a significant difference, differences to the best system."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import polars as pl

from rankdev._common.arrays import Floats
from rankdev._common.checks import check_number
from rankdev.errors import UsageError
from rankdev.evaluation.scores import Scores, ScoresLike
from rankdev.statistics.panels import as_scores, families_of
from rankdev.statistics.significance import Significance


def mean_intervals(scores: Scores, alpha: float = 0.05) -> tuple[Floats, Floats]:
    """Bound the mean of every system and measure by Student's t, ``[system, measure]``; NaN with fewer than two values.

    >>> values = np.array([[[0.2], [0.4], [0.6]]])
    >>> low, high = mean_intervals(Scores(("s",), ("a", "b", "c"), ("P@5",), values))
    >>> low.round(4).tolist(), high.round(4).tolist()
    ([[-0.0968]], [[0.8968]])
    """
    from scipy import special

    tail = check_number("alpha", alpha, 0, 1) / 2
    n = np.isfinite(scores.values).sum(axis=1)
    apart = np.where(np.isfinite(scores.values), scores.values - scores.averages[:, None], 0.0)
    free = np.where(n > 1, n - 1, np.nan)
    half = special.stdtrit(free, 1 - tail) * np.sqrt((apart**2).sum(axis=1) / free / n)
    return scores.averages - half, scores.averages + half


def groups(scores: Scores, found: Significance, measure: str) -> list[tuple[str, ...]]:
    """Return the largest groups of neighbours on the leaderboard in which no pair differs significantly, best first.

    Groups may overlap: a may not differ from b, nor b from c, though a differs from c.

    >>> from rankdev.statistics.significance import significance
    >>> values = np.array([[0.9] * 8, [0.8, 0.8, 0.8, 0.8, 1, 1, 1, 1], [0.1] * 8])[:, :, None]
    >>> scores = Scores(("x", "y", "z"), tuple("abcdefgh"), ("P@5",), values)
    >>> groups(scores, significance(scores), "P@5")
    [('x', 'y'), ('z',)]
    """
    return grouped(scores.sorted_by(measure).systems, found, measure)


def grouped(order: tuple[str, ...], found: Significance, measure: str) -> list[tuple[str, ...]]:
    """Return the groups of :func:`groups` for systems whose order is known."""
    place = {system: i for i, system in enumerate(order)}
    rows = found.to_polars().with_columns(significant=pl.Series(found.significant)).filter(measure=measure)
    reach = np.full(len(order), len(order))  # the first system below that differs significantly from this one
    for a, b in rows.filter("significant").select("a", "b").iter_rows():
        first, second = sorted((place[a], place[b]))
        reach[first] = min(reach[first], second)
    reach = np.minimum.accumulate(reach[::-1])[::-1]
    bounds = [(i, int(stop)) for i, stop in enumerate(reach) if i == 0 or stop > reach[i - 1]]
    return [order[start:stop] for start, stop in bounds]


@dataclass(frozen=True)
class ToBest:
    """The difference of a system to the best one, with its interval; 0 for the best one itself."""

    system: str
    difference: float
    low: float
    high: float
    significant: bool


def differences_to_best(found: Significance, measure: str) -> list[ToBest]:
    """Return the systems, best first, each with its difference to the best; of tests of all pairs only.

    >>> from rankdev.statistics.significance import significance
    >>> values = np.array([[0.1] * 8, [0.9, 0.9, 0.9, 0.9, 1, 1, 1, 1], [0.9] * 8])[:, :, None]
    >>> found = significance(Scores(("x", "y", "z"), tuple("abcdefgh"), ("P@5",), values))
    >>> [(row.system, round(row.difference, 6), row.significant) for row in differences_to_best(found, "P@5")]
    [('y', 0.0, False), ('z', -0.05, False), ('x', -0.85, True)]
    """
    rows = found.to_polars().with_columns(significant=pl.Series(found.significant)).filter(measure=measure)
    if not has_all_pairs(rows):
        raise UsageError("groups of systems need every pair of them; test without baselines, or draw the pairs")
    systems = tuple(dict.fromkeys([*rows["a"], *rows["b"]]))
    known: dict[tuple[str, str], tuple[float, float, float, bool]] = {}
    for row in rows.iter_rows(named=True):
        difference, low, high = (row[name] or 0.0 for name in ("difference", "low", "high"))
        known[row["a"], row["b"]] = (difference, low, high, row["significant"])
        known[row["b"], row["a"]] = (-difference, -high, -low, row["significant"])
    ahead = {system: sum(known[system, other][0] for other in systems if other != system) for system in systems}
    best, *others = sorted(systems, key=lambda system: -ahead[system])
    return [ToBest(best, 0.0, 0.0, 0.0, False), *(ToBest(system, *known[system, best]) for system in others)]


def has_all_pairs(rows: pl.DataFrame) -> bool:
    """Check whether a table of tests has every pair of its systems, not only those with baselines."""
    systems = len({*rows["a"], *rows["b"]})
    return 2 * rows.height == systems * (systems - 1) * rows["measure"].n_unique()


@dataclass(frozen=True, eq=False)
class PairByQuery:
    """Two systems query by query, largest difference a − b first: ``scores[system, query]``."""

    queries: tuple[str, ...]
    scores: Floats = field(repr=False)
    differences: Floats = field(repr=False)
    mean: float
    wins: int
    ties: int
    losses: int


def pair_by_query(scores: ScoresLike, a: str, b: str, measure: str) -> PairByQuery:
    """Compare two systems on the queries for which both have a value; equal but for rounding is a tie.

    >>> scores = Scores(("x", "y"), ("q1", "q2"), ("P@1",), np.array([[[0.5], [1.0]], [[0.5], [0.0]]]))
    >>> found = pair_by_query(scores, "x", "y", "P@1")
    >>> found.queries, found.mean, (found.wins, found.ties, found.losses)
    (('q2', 'q1'), 0.5, (1, 1, 0))
    """
    pair = as_scores(scores, [measure]).select(systems=[a, b])
    family = families_of(pair, np.array([0]), np.array([1]))[0]
    values = family.values.T
    order = np.argsort(values[1] - values[0], kind="stable")
    wins, ties, losses = (int(family.statistics[name][0]) for name in ("wins", "ties", "losses"))
    queries = tuple(pair.queries[i] for i in family.queries[order])
    differences = (values[0] - values[1])[order]
    return PairByQuery(queries, values[:, order], differences, float(differences.mean()), wins, ties, losses)
