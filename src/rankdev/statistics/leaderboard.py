"""Leaderboards: means and ranks with intervals, groups without a significant difference, the chance to be best."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from string import ascii_lowercase
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import special

from rankdev._common.arrays import Floats
from rankdev._common.checks import FINEST, check_choice, check_number, check_seed, check_whole
from rankdev._common.result import Result
from rankdev.errors import DataError, RankdevWarning, UsageError
from rankdev.evaluation.scores import Scores, ScoresLike
from rankdev.measures.base import MeasureInfo
from rankdev.statistics.bounded_mean import mean_limits
from rankdev.statistics.corrections import holm
from rankdev.statistics.panels import Family, Indices, alike, as_scores, families_of, is_several, numbered
from rankdev.statistics.randomization import USUAL, Flips, inverted
from rankdev.statistics.replicates import Replicated, between_runs, replicated
from rankdev.statistics.risk import risk_among, risk_to
from rankdev.statistics.significance import Significance, significance
from rankdev.statistics.skewed import skewed_p

ROUNDING = 1e-12  # means that differ by less are equal


def mean_intervals(
    scores: Scores,
    alpha: float = 0.05,
    clusters: Mapping[str, Any] | None = None,
    replicates: Mapping[str, Sequence[str]] | None = None,
) -> tuple[Floats, Floats]:
    """Bound the mean of every system and measure, ``[system, measure]``; NaN with fewer than two values.

    Those of clusters are those of flips of whole clusters; those of several runs allow for how far runs vary.

    >>> values = np.array([[[0.2], [0.4], [0.6]], [[1.0], [1.0], [1.0]]])
    >>> low, high = mean_intervals(Scores(("s", "t"), ("a", "b", "c"), ("P@5",), values))
    >>> low.round(4).tolist(), high.round(4).tolist()  # Student's would reach −.0968 and .8968, and [1, 1]
    ([[0.0], [0.369]], [[0.8968], [1.0]])
    """
    check_number("alpha", alpha, 0, 1)
    if clusters is not None or replicates is not None:
        each = [_designed(scores.select(measures=[name]), alpha, clusters, replicates) for name in scores.measures]
        low, high = (np.stack(ends, axis=1) for ends in zip(*each, strict=True))
        return low, high
    limits = np.full((2, len(scores.systems), len(scores.measures)), np.nan)
    for m, kind in enumerate(scores.kinds):
        known = np.isfinite(scores.values[:, :, m])
        for pattern in np.unique(known, axis=0):
            rows = np.flatnonzero((known == pattern).all(axis=1))
            if pattern.sum() > 1:
                own = scores.values[rows][:, pattern, m]
                limits[:, rows, m] = mean_limits(own, kind.range, alpha)
    return limits[0], limits[1]


def _designed(
    one: Scores, alpha: float, clusters: Mapping[str, Any] | None, replicates: Mapping[str, Sequence[str]] | None
) -> tuple[Floats, Floats]:
    """Bound the means of one measure, with clusters of queries or several runs of systems."""
    runs = None if replicates is None else replicated(one, replicates)
    members = None if clusters is None else _members(one, clusters)
    sample = _Sample([_complete(one if runs is None else runs.averaged)], members, runs)
    low, high = sample.mean_limits(1.0, one.kinds[0].range, alpha)
    return low, high


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
    apart = [(place[a], place[b]) for a, b in rows.filter("significant").select("a", "b").iter_rows()]
    return [order[group.start : group.stop] for group in neighbours(len(order), apart)]


def neighbours(count: int, apart: Sequence[tuple[int, int]]) -> list[range]:
    """Return the largest groups of neighbours, by place, of which none is a pair that differs significantly.

    >>> neighbours(4, [(0, 2), (0, 3)])
    [range(0, 2), range(1, 4)]
    """
    reach = np.full(count, count)  # the first system below that differs significantly from this one
    for pair in apart:
        first, second = sorted(pair)
        reach[first] = min(reach[first], second)
    reach = np.minimum.accumulate(reach[::-1])[::-1]
    return [range(i, int(stop)) for i, stop in enumerate(reach) if i == 0 or stop > reach[i - 1]]


@dataclass(frozen=True)
class ToBest:
    """The difference of a system to the best one, with its interval and p; 0 for the best one itself."""

    system: str
    difference: float
    low: float
    high: float
    p: float | None
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
    known: dict[tuple[str, str], tuple[float, float, float, float | None, bool]] = {}
    for row in rows.iter_rows(named=True):
        difference, low, high = (row[name] or 0.0 for name in ("difference", "low", "high"))
        known[row["a"], row["b"]] = (difference, low, high, row["p_adjusted"], row["significant"])
        known[row["b"], row["a"]] = (-difference, -high, -low, row["p_adjusted"], row["significant"])
    ahead = {system: sum(known[system, other][0] for other in systems if other != system) for system in systems}
    lowest = measure in found.lower_is_better
    best, *others = sorted(systems, key=lambda system: ahead[system] if lowest else -ahead[system])
    return [ToBest(best, 0.0, 0.0, 0.0, None, False), *(ToBest(system, *known[system, best]) for system in others)]


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


RULES = ("mean", "borda", "wins")
AT_ONCE = 1 << 22  # weights held at a time


@dataclass(frozen=True, eq=False, kw_only=True)
class Leaderboard(Result):
    """Systems in order, with what is certain about their means and ranks.

    Attributes
    ----------
    frame : polars.DataFrame
        The table of :meth:`to_polars`.
    left_out : polars.DataFrame
        The table of :meth:`without_task`.
    measures : tuple of str
        Measures, each with a leaderboard of its own.
    tasks : tuple of str
        Collections or tasks; one where there are no several.
    rule : {"mean", "borda", "wins"}
        What orders systems over several tasks.
    alpha : float
        Intervals have confidence 1 − alpha.
    resamples : int
        Resamples for the chance to be best.
    seed : int
        Seed of flips and resamples.
    clusters : int, optional
        Clusters of queries that were flipped whole.
    replicates : dict of str to int, optional
        Runs of each system.
    risk : float, optional
        How many times more than gains losses count.
    baseline : str, optional
        What gains and losses are against.
    remarks : tuple of str
        Notes on the tests and the scores.

    See Also
    --------
    leaderboard : Returns it.
    """

    display: ClassVar = "rankdev.display.leaderboard"

    frame: pl.DataFrame = field(repr=False)
    left_out: pl.DataFrame = field(repr=False)
    measures: tuple[str, ...]
    tasks: tuple[str, ...]
    rule: str
    alpha: float
    resamples: int
    seed: int
    clusters: int | None = None
    replicates: dict[str, int] | None = None
    risk: float | None = None
    baseline: str | None = None
    remarks: tuple[str, ...] = ()

    made_with = ("rule", "alpha", "resamples", "seed", "clusters", "replicates", "risk", "baseline")

    def to_polars(self) -> pl.DataFrame:
        """Return one row per measure and system, best first.

        Returns
        -------
        polars.DataFrame
            Columns measure, rank, system, mean, low, high (interval of the mean by itself), rank_low, rank_high (ranks
            that hold for all systems together), group (systems that share a letter do not differ significantly), best
            (chance to be best on other queries; null with one query). Over several tasks also borda (fraction of
            systems beaten, mean over tasks), wins (fraction of tasks on which the system is best), without_low,
            without_high (ranks without one of the tasks), new_low, new_high (ranks on other such tasks, for all systems
            together) and new_best. With ``risk`` also zrisk and georisk, and against a baseline urisk, urisk_low,
            urisk_high (interval by itself) and trisk.

        Examples
        --------
        >>> import rankdev as rd
        >>> values = np.random.default_rng(0).normal([[[0.0]], [[0.1]], [[0.9]]], 1, (3, 40, 1))
        >>> scores = rd.Scores(("a", "b", "c"), tuple(map(str, range(40))), ("P@5",), values)
        >>> rd.leaderboard(scores).to_polars().select("rank", "system", "rank_low", "rank_high", "group").rows()
        [(1, 'c', 1, 2, 'a'), (2, 'b', 1, 3, 'ab'), (3, 'a', 2, 3, 'b')]
        """
        return self.frame

    def without_task(self) -> pl.DataFrame:
        """Return the ranks without one of the tasks.

        Returns
        -------
        polars.DataFrame
            Columns measure, left_out (the task), system, rank; empty for a single task.

        Examples
        --------
        >>> import rankdev as rd
        >>> values = np.random.default_rng(0).normal([[[0.0]], [[0.1]], [[0.9]]], 1, (3, 40, 1))
        >>> scores = rd.Scores(("a", "b", "c"), tuple(map(str, range(40))), ("P@5",), values)
        >>> rd.leaderboard(scores).without_task().height
        0
        """
        return self.left_out


def leaderboard(
    scores: ScoresLike | Mapping[str, ScoresLike],
    *,
    measures: Sequence[str] | None = None,
    rule: Literal["mean", "borda", "wins"] = "mean",
    alpha: float = 0.05,
    clusters: Mapping[str, Any] | None = None,
    replicates: Mapping[str, Sequence[str]] | None = None,
    risk: float | None = None,
    baseline: str | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> Leaderboard:
    """Order systems, with intervals of means and ranks, groups without a significant difference, the chance to be best.

    Ranks follow from the tests of all pairs (:func:`significance`, Holm), which must hold also if skewness is allowed
    for: a system is below those that are significantly better and above those that are significantly worse. With
    confidence 1 − alpha the ranks of all systems are among those given.

    Parameters
    ----------
    scores : Scores, table, or dict of str to either
        Scores of the systems; those of several collections or tasks by name, in which the systems are the same. Tasks
        with one measure each may have different ones.
    measures : sequence of str, optional
        Measures, each with a leaderboard of its own. Default: all.
    rule : {"mean", "borda", "wins"}
        What orders systems over several tasks: the mean of the tasks' means, the mean fraction of systems beaten, or
        the fraction of tasks on which a system is best.
    alpha : float, default 0.05
        Intervals have confidence 1 − alpha.
    clusters : dict of str to str, optional
        The cluster of each query, such as its user; for a single collection. See :func:`significance`.
    replicates : dict of str to list of str, optional
        Systems with several runs; for a single collection. See :func:`significance`.
    risk : float, optional
        Add the risk of each system: losses count 1 + risk times as much as gains, usually 2 or 6 times. Without a
        baseline, ZRisk and GeoRisk, for which the other systems tell what to expect. For a single collection.
    baseline : str, optional
        With ``risk``, add URisk with its interval, and TRisk, against this system.
    resamples : int, default 2000
        Resamples of the queries (or clusters, or tasks) for the chance to be best, by the Bayesian bootstrap.
    seed : int, default 0
        Seed of flips and resamples.

    Returns
    -------
    Leaderboard
        Systems in order, for each measure.

    Examples
    --------
    >>> import rankdev as rd
    >>> values = np.random.default_rng(0).normal([[[0.0]], [[0.1]], [[0.9]]], 1, (3, 40, 1))
    >>> scores = rd.Scores(("a", "b", "c"), tuple(map(str, range(40))), ("P@5",), values)
    >>> rd.leaderboard(scores).to_polars().select("system", "rank", "rank_low", "rank_high").row(0)
    ('c', 1, 1, 2)
    """
    check_choice("rule", rule, RULES)
    alpha, seed = check_number("alpha", alpha, FINEST, 1), check_seed(seed)
    resamples = check_whole("resamples", resamples, 1)
    parts = _tasks(scores, measures) if is_several(scores) else {"all": as_scores(scores, measures)}
    if len(parts) > 1:
        for name, given in (("clusters", clusters), ("replicates", replicates)):
            if given is not None:
                raise UsageError(f"{name} is for a single collection; leave it out, or give one collection")
    elif rule != "mean":
        raise UsageError(f"rule={rule!r} is for several tasks; give {{task: scores}}, or leave it out")
    first = next(iter(parts.values()))
    plain = len(parts) == 1 and clusters is None and replicates is None
    at_risk = _risk(risk, baseline, first, plain=plain)
    boards = [
        _board(
            {name: part.select(measures=[measure]) for name, part in parts.items()},
            rule=rule,
            resamples=resamples,
            testing={"alpha": alpha, "clusters": clusters, "replicates": replicates, "seed": seed},
            risk=at_risk,
        )
        for measure in first.measures
    ]
    tests = [board.found for board in boards]
    own = (remark for found in tests for remark in found.remarks)
    others = [f"{name}: {remark}" for name, part in parts.items() for remark in part.remarks if len(parts) > 1]
    if risk is not None:
        others += [
            f"{board.found.columns['measure'][0]}: ZRisk and GeoRisk are of scores from 0 on of which higher is better"
            for board in boards
            if board.rows["georisk"].is_null().all()
        ]
    return Leaderboard(
        frame=pl.concat([board.rows for board in boards]),
        left_out=pl.concat([board.without for board in boards]),
        measures=first.measures,
        tasks=tuple(parts),
        rule=rule,
        alpha=alpha,
        resamples=resamples,
        seed=seed,
        clusters=tests[0].clusters,
        replicates=tests[0].replicates,
        risk=None if at_risk is None else at_risk[0],
        baseline=baseline,
        remarks=tuple(dict.fromkeys((*own, *others))),
    )


def _risk(risk: float | None, baseline: str | None, scores: Scores, *, plain: bool) -> tuple[float, int | None] | None:
    """Check and return how much more losses count, and the place of the baseline."""
    if risk is None:
        if baseline is not None:
            raise UsageError("baseline is for risk, how much more losses count; give risk=1, or leave it out")
        return None
    aversion = check_number("risk", risk, 0, ends=True)
    if not plain:
        raise UsageError("risk is for a single collection without clusters or replicates; leave one of them out")
    place = None if baseline is None else scores.systems.index(scores.select(systems=[baseline]).systems[0])
    return aversion, place


def _tasks(scores: Mapping[str, ScoresLike], measures: Sequence[str] | None) -> dict[str, Scores]:
    """Bring tasks to the same systems and measures; where each has one measure of its own, it is called score."""
    if measures is None:
        parts = {str(name): as_scores(part) for name, part in scores.items()}
        if len({part.measures for part in parts.values()}) > 1 and all(len(p.measures) == 1 for p in parts.values()):
            label = "score"
            return alike(
                {
                    name: replace(part.oriented, measures=(label,), kinds=(MeasureInfo(label),))
                    for name, part in parts.items()
                },
                None,
            )
    return alike(scores, measures)


@dataclass(frozen=True, eq=False)
class _Board:
    """The leaderboard of one measure: rows, ranks without one of the tasks, and the tests behind them."""

    rows: pl.DataFrame
    without: pl.DataFrame
    found: Significance


def _board(
    parts: dict[str, Scores],
    *,
    rule: str,
    resamples: int,
    testing: dict[str, Any],
    risk: tuple[float, int | None] | None,
) -> _Board:
    first = next(iter(parts.values()))
    measure, several = first.measures[0], len(parts) > 1
    sign = -1.0 if first.lower_is_better else 1.0
    runs = None if testing["replicates"] is None else replicated(first.oriented, testing["replicates"])
    systems = first.systems if runs is None else runs.averaged.systems
    tables = [_complete(part.oriented if runs is None else runs.averaged) for part in parts.values()]
    joined = _joined(tables, systems, measure) if several else first.oriented
    found = significance(joined, **testing)
    sample = _Sample(tables, None if testing["clusters"] is None else _members(first, testing["clusters"]), runs)
    means = np.stack([table.mean(axis=0) for table in tables])  # [task, system]
    score = points(means, rule).mean(axis=0)
    order = np.lexsort((-means.mean(axis=0), -score.round(12)))
    ends = sample.mean_limits(sign, first.kinds[0].range, testing["alpha"])
    generator = np.random.Generator(np.random.Philox(np.random.SeedSequence([testing["seed"], 21])))
    drawn = points(sample.resampled(resamples, generator), rule).mean(axis=1)
    columns: dict[str, Any] = {
        "rank": ranks(score),
        "system": np.array(systems, dtype=object),
        "mean": sign * means.mean(axis=0),
        "low": ends[0],
        "high": ends[1],
    }
    if rule == "mean":
        better = _better(found, joined)
        limits = rank_limits(len(systems), better)
        columns |= {"rank_low": limits[0], "rank_high": limits[1], "group": _letters(better, order)}
    else:  # the tests are about means
        columns |= dict.fromkeys(("rank_low", "rank_high", "group"), np.full(len(systems), None))
    columns["best"] = _shares_of_best(drawn)
    left = np.empty((0, len(systems)), dtype=np.int64)
    if several:
        each = points(means, rule)
        left = np.stack([ranks(np.delete(each, i, axis=0).mean(axis=0)) for i in range(len(each))])
        anew = _ranks_on_new(_joined([each], systems, measure), testing["alpha"])
        weights = _dirichlet(generator, resamples, len(each))
        columns |= {
            "borda": points(means, "borda").mean(axis=0),
            "wins": points(means, "wins").mean(axis=0),
            "without_low": left.min(axis=0),
            "without_high": left.max(axis=0),
            "new_low": anew[0],
            "new_high": anew[1],
            "new_best": _shares_of_best(_as_uncertain_as_t(weights @ each, each.mean(axis=0), len(each), generator)),
        }
    kinds = {name: pl.Int64 for name in columns if "rank" in name or name.endswith(("_low", "_high"))} | {
        "group": pl.String
    }
    if risk is not None:
        columns |= _risks(*risk, tables[0], first.kinds[0], testing["alpha"])
    rows = pl.DataFrame({name: list(values[order]) for name, values in columns.items()}, schema_overrides=kinds)
    rows = rows.with_columns(
        pl.col(name).fill_nan(None) for name in ("best", "trisk", "zrisk", "georisk") if name in columns
    )
    without = pl.DataFrame(
        {
            "measure": [measure] * left.size,
            "left_out": np.repeat(list(parts)[: len(left)], len(systems)),
            "system": list(systems) * len(left),
            "rank": left.ravel(),
        },
        {"measure": pl.String, "left_out": pl.String, "system": pl.String, "rank": pl.Int64},
    )
    return _Board(rows.select(pl.lit(measure).alias("measure"), pl.all()), without, found)


def _risks(aversion: float, baseline: int | None, table: Floats, kind: MeasureInfo, alpha: float) -> dict[str, Floats]:
    """Return the columns on risk, of oriented scores; NaN where there is none."""
    found: dict[str, Floats] = {}
    if baseline is not None:
        low, high = kind.range
        found |= risk_to(baseline, table, aversion, high - low, alpha)
    if kind.higher_is_better is False or table.min() < 0:
        return found | dict.fromkeys(("zrisk", "georisk"), np.full(table.shape[1], np.nan))
    return found | risk_among(table, aversion)


def _ranks_on_new(tasks: Scores, alpha: float) -> tuple[Indices, Indices]:
    """Return the ranks that tests over tasks leave; Student's, because few tasks have too few flips."""
    with warnings.catch_warnings(action="ignore", category=RankdevWarning):  # systems that always differ by the same
        return rank_limits(len(tasks.systems), _better(significance(tasks, test="t", alpha=alpha)))


def _complete(scores: Scores) -> Floats:
    """Return the values of one measure for queries that have them for every system: ``[query, system]``."""
    values = scores.values[:, :, 0].T
    values = values[np.isfinite(values).all(axis=1)]
    if not len(values):
        raise DataError(f"{scores.measures[0]} has no query with a value for every system; leave a system out")
    return values


def _joined(tables: Sequence[Floats], systems: Sequence[str], measure: str) -> Scores:
    """Join queries of tasks into one table, whose means are the means over tasks of their means."""
    whole = sum(len(table) for table in tables)
    scaled = [table * (whole / (len(tables) * len(table))) for table in tables]
    values = np.concatenate(scaled).T[:, :, None]
    return Scores(tuple(systems), tuple(map(str, range(whole))), (measure,), values, kinds=(MeasureInfo(measure),))


def _members(scores: Scores, clusters: Mapping[str, Any]) -> Indices:
    return numbered(scores, np.flatnonzero(np.isfinite(scores.values[:, :, 0]).all(axis=0)), clusters)


def points(means: Floats, rule: str) -> Floats:
    """Turn means, ``[…, system]``, into what a rule adds up over tasks.

    >>> means = np.array([0.5, 0.7, 0.7])
    >>> points(means, "borda").tolist(), points(means, "wins").tolist()  # others beaten, shared first places
    ([0.0, 0.75, 0.75], [0.0, 0.5, 0.5])
    """
    if rule == "mean":
        return means
    if rule == "wins":
        top = means >= means.max(axis=-1, keepdims=True) - ROUNDING
        return top / top.sum(axis=-1, keepdims=True)
    beaten = np.zeros_like(means)
    for other in np.moveaxis(means, -1, 0):
        apart = means - other[..., None]
        beaten += (apart > ROUNDING) + 0.5 * (np.abs(apart) <= ROUNDING)
    return (beaten - 0.5) / (means.shape[-1] - 1)


def ranks(score: Floats) -> Indices:
    """Rank systems, best first; equal ones share the best of their ranks.

    >>> ranks(np.array([0.5, 0.7, 0.7])).tolist()
    [3, 1, 1]
    """
    return 1 + (score[None, :] > score[:, None] + ROUNDING).sum(axis=1)


def rank_limits(systems: int, better: Sequence[tuple[int, int]]) -> tuple[Indices, Indices]:
    """Return the first and the last rank of each system that the significant differences leave, (better, worse) each.

    >>> low, high = rank_limits(3, [(0, 1), (0, 2)])
    >>> low.tolist(), high.tolist()
    ([1, 2, 2], [1, 3, 3])
    """
    counts = np.zeros((2, systems), np.int64)
    for one, other in better:
        counts[0, other] += 1
        counts[1, one] += 1
    return 1 + counts[0], systems - counts[1]


def _better(found: Significance, joined: Scores | None = None) -> list[tuple[int, int]]:
    """Return the pairs that differ significantly, the better system first, by place.

    Flips of ``joined`` scores assume symmetric differences, and many pairs find those that are not: a difference must
    also be significant if skewness is allowed for. Clusters and runs have tests of their own.
    """
    place = {name: i for i, name in enumerate(dict.fromkeys([*found.columns["a"], *found.columns["b"]]))}
    p = np.asarray(found.columns["p"])
    if joined is not None and found.clusters is None and found.replicates is None and len(joined.queries) > 1:
        with warnings.catch_warnings(action="ignore", category=RankdevWarning):  # on gaps; the tests have warned
            family = families_of(joined, *np.triu_indices(len(place), 1))[0]
        p = np.fmax(p, skewed_p(family))
    rows = zip(found.columns["a"], found.columns["b"], found.columns["difference"], holm(p) <= found.alpha, strict=True)
    pairs = [(place[a], place[b], apart) for a, b, apart, differ in rows if differ]
    return [(a, b) if apart > 0 else (b, a) for a, b, apart in pairs]


def _letters(better: Sequence[tuple[int, int]], order: Indices) -> npt.NDArray[Any]:
    """Name the groups of each system: two share one exactly where they do not differ significantly.

    Where that takes more groups than there are letters, groups are of neighbours only; two that share none may then be
    without a significant difference.
    """
    place = np.argsort(order)
    apart = [(int(place[a]), int(place[b])) for a, b in better]
    members = sorted(map(sorted, letter_groups(len(order), apart) or neighbours(len(order), apart)))
    few = len(members) <= len(ascii_lowercase)
    names = ascii_lowercase if few else [str(i + 1) for i in range(len(members))]
    shown = np.empty(len(order), dtype=object)
    for system, own in enumerate(place):
        labels = [label for label, group in zip(names, members, strict=False) if own in group]
        shown[system] = ("" if few else " ").join(labels)
    return shown


def letter_groups(count: int, apart: Sequence[tuple[int, int]]) -> list[frozenset[int]]:
    """Return the largest groups without a significant difference (insert and absorb, Piepho 2004).

    Nothing is returned where they become more than there are letters, as they may by the thousand.

    >>> sorted(map(sorted, letter_groups(4, [(0, 2), (0, 3)])))
    [[0, 1], [1, 2, 3]]
    """
    found = [frozenset(range(count))]
    for one, other in apart:
        split = [part for group in found if {one, other} <= group for part in (group - {one}, group - {other})]
        kept = [group for group in found if not {one, other} <= group]
        for part in dict.fromkeys(split):
            if not any(part <= group for group in kept) and not any(part < larger for larger in split):
                kept.append(part)
        found = kept
        if len(found) > len(ascii_lowercase):
            return []
    return found


@dataclass(frozen=True, eq=False)
class _Sample:
    """Scores of each task, ``[query, system]``; of one task perhaps with clusters of queries or runs of systems."""

    tables: list[Floats]
    clusters: Indices | None
    runs: Replicated | None

    @cached_property
    def between(self) -> tuple[Floats, float]:
        """The variance of each mean that is due to its runs, and how far means of runs vary in all."""
        systems = self.tables[0].shape[1]
        if self.runs is None:
            return np.zeros(systems), 0.0
        members = list(self.runs.members.values())
        means, interaction = between_runs(_complete(self.runs.scores), members)
        return max(means - interaction, 0.0) / np.array([len(each) for each in members]), means

    def mean_limits(self, sign: float, range_: tuple[float, float], alpha: float) -> Floats:
        """Bound the mean of each system over tasks by itself, within the range; with the sign that scores had."""
        if len(self.tables) == 1 and self.clusters is None and self.runs is None:
            return np.stack(mean_limits(sign * self.tables[0].T, range_, alpha))
        ends: Floats = np.sort(sign * np.stack(self._student_limits(alpha)), axis=0)
        values = sign * np.concatenate(self.tables)
        return np.clip(ends, *range_) if range_[0] <= values.min() and values.max() <= range_[1] else ends

    def _student_limits(self, alpha: float) -> tuple[Floats, Floats]:
        if self.clusters is not None:
            table = np.column_stack([self.tables[0], np.zeros(len(self.tables[0]))])
            systems = table.shape[1] - 1
            first, second = np.arange(systems), np.full(systems, systems)
            family = Family(table, np.arange(len(table)), first, second, clusters=self.clusters)
            return inverted(Flips(family.flipped, USUAL, seed=0), alpha, "plus-one")
        count = len(self.tables)
        middle = np.mean([table.mean(axis=0) for table in self.tables], axis=0)
        if min(map(len, self.tables)) < 2:
            return np.full_like(middle, -np.inf), np.full_like(middle, np.inf)
        parts = np.array([table.var(axis=0, ddof=1) / len(table) for table in self.tables]) / count**2
        free = np.array([[len(table) - 1.0] for table in self.tables])
        added, means = self.between
        variance = parts.sum(axis=0) + added
        weight = (parts**2 / free).sum(axis=0)
        if self.runs is not None:
            weight += np.where(added > 0, (means / self._runs) ** 2 / self.runs.freedom, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            freedom = np.where(variance > 0, np.maximum(variance**2 / weight, 1.0), 1.0)
        half = special.stdtrit(freedom, 1 - alpha / 2) * np.sqrt(variance)
        return middle - half, middle + half

    @property
    def _runs(self) -> Floats:
        assert self.runs is not None
        return np.array(list(self.runs.counts.values()), float)

    def resampled(self, resamples: int, generator: np.random.Generator) -> Floats:
        """Draw means, ``[resample, task, system]``, by the Bayesian bootstrap of queries or clusters."""
        drawn = np.empty((resamples, len(self.tables), self.tables[0].shape[1]))
        for t, table in enumerate(self.tables):
            rows, sizes = table, np.ones(len(table))
            if self.clusters is not None:
                sizes = np.bincount(self.clusters).astype(float)
                rows = np.stack([np.bincount(self.clusters, column) for column in table.T], axis=1)
            step = max(1, AT_ONCE // len(rows))
            for start in range(0, resamples, step):
                weights = generator.standard_exponential((min(step, resamples - start), len(rows)))
                drawn[start : start + step, t] = (weights @ rows) / (weights @ sizes)[:, None]
            drawn[:, t] = _as_uncertain_as_t(drawn[:, t], table.mean(axis=0), len(rows), generator)
        return drawn + generator.standard_normal(drawn.shape) * np.sqrt(self.between[0])


def _dirichlet(generator: np.random.Generator, resamples: int, count: int) -> Floats:
    weights = generator.standard_exponential((resamples, count))
    return weights / weights.sum(axis=1, keepdims=True)


def _as_uncertain_as_t(drawn: Floats, middle: Floats, rows: int, generator: np.random.Generator) -> Floats:
    """Spread resampled means, ``[resample, system]``, as Student's posterior does: few rows show too little of it.

    NaN where there is one row.
    """
    if rows < 2:
        return np.full_like(drawn, np.nan)
    times: Floats = np.sqrt((rows + 1) / generator.chisquare(rows - 1, len(drawn)))
    return middle + (drawn - middle) * times[:, None]


def _shares_of_best(drawn: Floats) -> Floats:
    """Return the fraction of resamples in which each system is best; equal ones share it. NaN where it is unknown."""
    if np.isnan(drawn).any():
        return np.full(drawn.shape[1], np.nan)
    return points(drawn, "wins").mean(axis=0)
