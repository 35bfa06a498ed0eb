"""Leaderboards: means and ranks with intervals, groups without a significant difference, probability of being best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl

from rankdev._common.arrays import Floats
from rankdev._common.checks import FINEST, check_choice, check_number, check_seed, check_whole
from rankdev._common.result import Result
from rankdev.errors import UsageError
from rankdev.evaluation.scores import Scores, ScoresLike
from rankdev.measures.base import MeasureInfo
from rankdev.statistics.groups import (
    RULES,
    group_letters,
    points,
    rank_limits,
    ranks,
    ranks_on_new,
    shares_of_best,
    significant_pairs,
)
from rankdev.statistics.means import Sample, as_uncertain_as_t, complete_queries, members_of
from rankdev.statistics.panels import alike, as_scores, is_several
from rankdev.statistics.replicates import replicated
from rankdev.statistics.significance import significance
from rankdev.statistics.significance.result import Significance


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
        Collections or tasks; a single one where there is just one collection.
    rule : {"mean", "borda", "wins"}
        What orders systems over several tasks.
    alpha : float
        Intervals have confidence 1 − alpha.
    resamples : int
        Resamples for the probability of being best.
    seed : int
        Seed of flips and resamples.
    clusters : int, optional
        Clusters of queries that were flipped whole.
    replicates : dict of str to int, optional
        Runs of each system.
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
    remarks: tuple[str, ...] = ()

    made_with = ("rule", "alpha", "resamples", "seed", "clusters", "replicates")

    def to_polars(self) -> pl.DataFrame:
        """Return one row per measure and system, best first.

        Returns
        -------
        polars.DataFrame
            Columns measure, rank, system, mean, low, high (interval of the mean by itself), rank_low, rank_high (ranks
            that hold for all systems together), group (systems that share a letter do not differ significantly), best
            (probability of being best on other queries; null with one query). Over several tasks also borda (fraction
            of systems beaten, mean over tasks), wins (fraction of tasks on which the system is best), without_low,
            without_high (ranks without one of the tasks), new_low, new_high (ranks on other such tasks, for all systems
            together) and new_best.

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
    resamples: int = 2000,
    seed: int = 0,
) -> Leaderboard:
    """Rank systems: intervals of means and ranks, groups that do not differ significantly, probability of being best.

    Ranks follow from the tests of all pairs (:func:`significance`, Holm), which must also reject when skewness is
    allowed for: a system is below those that are significantly better and above those that are significantly worse.
    With confidence 1 − alpha, the true ranks of all systems lie within these limits.

    Parameters
    ----------
    scores : Scores, table, path, or dict of str to these
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
    resamples : int, default 2000
        Resamples of the queries (or clusters, or tasks) for the probability of being best, by the Bayesian bootstrap.
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
    boards = [
        _board(
            {name: part.select(measures=[measure]) for name, part in parts.items()},
            rule=rule,
            resamples=resamples,
            testing={"alpha": alpha, "clusters": clusters, "replicates": replicates, "seed": seed},
        )
        for measure in first.measures
    ]
    tests = [board.found for board in boards]
    of_one = {remark for measure in first.measures for remark in first.select(measures=[measure]).remarks}
    own = (remark for found in tests for remark in found.remarks if remark not in of_one)  # those of all are below
    others = [f"{name}: " * (len(parts) > 1) + remark for name, part in parts.items() for remark in part.remarks]
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
        remarks=tuple(dict.fromkeys((*own, *others))),
    )


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
) -> _Board:
    first = next(iter(parts.values()))
    measure, several = first.measures[0], len(parts) > 1
    sign = -1.0 if first.lower_is_better else 1.0
    runs = None if testing["replicates"] is None else replicated(first.oriented, testing["replicates"])
    systems = first.systems if runs is None else runs.averaged.systems
    tables = [complete_queries(part.oriented if runs is None else runs.averaged) for part in parts.values()]
    joined = _joined(tables, systems, measure) if several else first.oriented
    found = significance(joined, **testing)
    sample = Sample(tables, None if testing["clusters"] is None else members_of(first, testing["clusters"]), runs)
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
        better = significant_pairs(found, joined)
        limits = rank_limits(len(systems), better)
        columns |= {"rank_low": limits[0], "rank_high": limits[1], "group": group_letters(better, order)}
    else:  # the tests are about means
        columns |= dict.fromkeys(("rank_low", "rank_high", "group"), np.full(len(systems), None))
    columns["best"] = shares_of_best(drawn)
    left = np.empty((0, len(systems)), dtype=np.int64)
    if several:
        each = points(means, rule)
        left = np.stack([ranks(np.delete(each, i, axis=0).mean(axis=0)) for i in range(len(each))])
        anew = ranks_on_new(_joined([each], systems, measure), testing["alpha"])
        weights = _dirichlet(generator, resamples, len(each))
        columns |= {
            "borda": points(means, "borda").mean(axis=0),
            "wins": points(means, "wins").mean(axis=0),
            "without_low": left.min(axis=0),
            "without_high": left.max(axis=0),
            "new_low": anew[0],
            "new_high": anew[1],
            "new_best": shares_of_best(as_uncertain_as_t(weights @ each, each.mean(axis=0), len(each), generator)),
        }
    kinds = {name: pl.Int64 for name in columns if "rank" in name or name.endswith(("_low", "_high"))} | {
        "group": pl.String
    }
    rows = pl.DataFrame({name: list(values[order]) for name, values in columns.items()}, schema_overrides=kinds)
    rows = rows.with_columns(pl.col("best").fill_nan(None))
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


def _joined(tables: Sequence[Floats], systems: Sequence[str], measure: str) -> Scores:
    """Join queries of tasks into one table, whose means are the means over tasks of their means."""
    whole = sum(len(table) for table in tables)
    scaled = [table * (whole / (len(tables) * len(table))) for table in tables]
    values = np.concatenate(scaled).T[:, :, None]
    return Scores(tuple(systems), tuple(map(str, range(whole))), (measure,), values, kinds=(MeasureInfo(measure),))


def _dirichlet(generator: np.random.Generator, resamples: int, count: int) -> Floats:
    weights = generator.standard_exponential((resamples, count))
    return weights / weights.sum(axis=1, keepdims=True)
