"""Checks of the judgments of each query; agreement of annotators, transitivity, repeated questions, position bias."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from rankdev._common.arrays import Floats
from rankdev._common.checks import check_number, check_seed, check_whole
from rankdev._common.result import Result
from rankdev._common.view import Tab, View
from rankdev.errors import DataError, Note, counted
from rankdev.preferences.bias import PositionBias, position_bias
from rankdev.preferences.pairs import linked
from rankdev.preferences.tiers import as_preferences

if TYPE_CHECKING:
    from rankdev.preferences.judgments import Preferences

CHUNK = 4_000_000  # weights at a time


@dataclass(frozen=True, eq=False)
class Diagnostics(Result):
    """Checks of the judgments, one row per query.

    Attributes
    ----------
    table : polars.DataFrame
        What :meth:`to_polars` returns.

    See Also
    --------
    Preferences.diagnostics : Make them.
    """

    table: pl.DataFrame = field(repr=False)

    def to_polars(self) -> pl.DataFrame:
        """Tabulate the checks.

        Returns
        -------
        polars.DataFrame
            One row per query. comparisons, items, workers: their numbers; groups: connected components, 1 where all
            items are connected; in_cycles: items on a cycle of majorities (x beats y beats z beats x); agreement:
            probability that two judgments of one pair agree, null where no pair was judged twice; duplicates: rows that
            repeat another in everything, worker included; contradictions: pairs to which one worker gave different
            answers; connected: whether groups is 1.

        Examples
        --------
        >>> from rankdev.preferences import Preferences
        >>> judged = Preferences.from_rows([("q", "x", "y"), ("q", "x", "y"), ("q", "v", "w")])
        >>> judged.diagnostics().to_polars().select("groups", "agreement", "connected").rows()
        [(2, 1.0, False)]
        """
        return self.table


def diagnose(preferences: Preferences) -> Diagnostics:
    """Compute what :class:`Diagnostics` holds.

    >>> from rankdev.preferences import Preferences
    >>> rows = [("q", "x", "y"), ("q", "y", "z"), ("q", "z", "x")]
    >>> diagnose(Preferences.from_rows(rows)).table["in_cycles"].to_list()
    [3]
    """
    named, mine = preferences.worker is not None, pl.struct("worker", "pair")
    found = (
        _answers(preferences)
        .group_by("query")
        .agg(
            comparisons=pl.len(),
            workers=pl.col("worker").n_unique() * named,
            agreement=(pl.len().over("pair", "answer") - 1).sum() / (pl.len().over("pair") - 1).sum(),
            duplicates=(pl.len() - pl.struct("worker", "pair", "answer").n_unique()) * named,
            contradictions=mine.filter(pl.col("answer").n_unique().over("worker", "pair") > 1).n_unique() * named,
        )
    )
    places = np.arange(len(preferences.queries))
    winner, loser = preferences.pairs.majorities()
    label = linked(winner, loser, len(preferences.items), both_ways=True)
    cyclic = np.bincount(label)[label] > 1
    columns = {
        "items": np.diff(preferences.starts),
        "groups": preferences.group_counts,
        "in_cycles": np.bincount(preferences.item_query[cyclic], minlength=len(places)),
    }
    table = pl.DataFrame({"query": places, **columns}).join(found, on="query", how="left", maintain_order="left")
    counts = ("comparisons", "items", "workers", "groups", "in_cycles")
    others = ("duplicates", "contradictions")
    table = table.with_columns(
        pl.Series("query", preferences.queries, pl.String),
        pl.col(*counts, *others).fill_null(0).cast(pl.Int64),
        pl.col("agreement").fill_nan(None),
        connected=pl.col("groups") == 1,
    )
    return Diagnostics(table.select("query", *counts, "agreement", *others, "connected"))


def _answers(judged: Preferences) -> pl.DataFrame:
    """Return query, worker and pair of each judgment, and which item of the pair is better: 0, 1, or 2 for a tie."""
    columns = {
        "query": judged.item_query[judged.winner].astype(np.int64),
        "worker": np.zeros(len(judged), np.int32) if judged.worker is None else judged.worker,
        "pair": judged.pairs.of,
        "answer": np.where(judged.tie, 2, np.where(judged.winner < judged.loser, 0, 1)),
    }
    return pl.DataFrame(columns)


def krippendorff_alphas(counts: Floats, weight: Floats) -> Floats:
    """Compute α for nominal values from ``counts[unit, value]``, for each row of weights of the units.

    Units judged less than twice carry no information. NaN where all values are equal.

    >>> krippendorff_alphas(np.array([[2, 0], [0, 2], [1, 1], [2, 0]]), np.ones((1, 4)))
    array([0.53333333])
    """
    judged = counts.sum(axis=1)
    pairable = np.where(judged[:, None] >= 2, counts, 0).astype(np.float64)
    disagreement = (judged * pairable.sum(axis=1) - (pairable**2).sum(axis=1)) / np.maximum(judged - 1, 1)
    totals = weight @ pairable
    n = totals.sum(axis=1)
    expected = (n**2 - (totals**2).sum(axis=1)) / np.maximum(n - 1, 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(expected > 0, 1 - (weight @ disagreement) / expected, np.nan))


@dataclass(frozen=True, eq=False, kw_only=True)
class JudgeAgreement(Result):
    """Agreement of judges: a few statistics, and a table by worker.

    Values are NaN where the judgments do not allow an estimate.

    Attributes
    ----------
    judgments : int
        Number of judgments.
    krippendorff, krippendorff_low, krippendorff_high : float
        Krippendorff's α for nominal values (first item, second item, tie) on pairs judged twice or more, with its
        bootstrap interval.
    pairs_judged_twice : int
        Pairs judged twice or more.
    ties : float
        Fraction of ties.
    triads : int
        Triples of items all three of whose pairs have a majority.
    intransitive : float
        Fraction of the triads that are cycles.
    position : PositionBias or None
        Position bias; None where it is unknown which item was shown first.
    workers : polars.DataFrame
        One row per worker: worker, judgments, ties, agreement with the others' answers to the same pairs,
        repeats_alike, and the position bias with its interval.
    alpha : float
        Intervals are at level 1 − ``alpha``.
    resamples : int
        Bootstrap samples.
    seed : int
        Seed of the random numbers.
    remarks : tuple of str
        Notes.

    See Also
    --------
    judge_agreement : Compute it.
    """

    view: ClassVar = View([Tab()], opening=["{conclusion}"], closing=["{position.swaps}"])

    judgments: int
    krippendorff: float
    krippendorff_low: float
    krippendorff_high: float
    pairs_judged_twice: int
    ties: float
    triads: int
    intransitive: float
    position: PositionBias | None = field(repr=False)
    workers: pl.DataFrame = field(repr=False)
    alpha: float
    resamples: int
    seed: int
    remarks: tuple[str, ...] = ()

    made_with = ("alpha", "resamples", "seed")

    @property
    def conclusion(self) -> str:
        """How far judges agree on the pairs that several judged."""
        if not self.pairs_judged_twice:
            return "No pair was judged twice: how far judges agree cannot be told."
        pairs = counted(self.pairs_judged_twice, "pair")
        return f"On {pairs} judged repeatedly, Krippendorff's α is {self.krippendorff:.2f} (1: all agree, 0: chance)."

    def to_polars(self) -> pl.DataFrame:
        """Tabulate the statistics.

        Returns
        -------
        polars.DataFrame
            One row per statistic: fact, value, low, high, chance (its value by chance), p, n (number of cases).

        Examples
        --------
        >>> rows = [("q", "x", "y", "ann"), ("q", "x", "y", "bob"), ("q", "y", "z", "ann"), ("q", "y", "z", "bob")]
        >>> judge_agreement(rows).to_polars()["fact"].to_list()[:2]
        ["Krippendorff's α", 'ties']
        """
        order = self.position
        alpha = (self.krippendorff, self.krippendorff_low, self.krippendorff_high)
        rows: list[tuple[Any, ...]] = [
            ("Krippendorff's α", *alpha, 0.0, None, self.pairs_judged_twice),
            ("ties", self.ties, None, None, None, None, self.judgments),
            ("intransitive triads", self.intransitive, None, None, 0.25, None, self.triads),
        ]
        if order is not None:
            rows.append(("first wins if equal", order.bias, order.low, order.high, 0.5, order.p, order.judgments))
        names = ["fact", "value", "low", "high", "chance", "p", "n"]
        kinds = dict.fromkeys(names[1:6], pl.Float64)
        table = pl.DataFrame(rows, schema=names, orient="row", schema_overrides=kinds)
        return table.with_columns(pl.col("value", "low", "high", "p").fill_nan(None))


def judge_agreement(preferences: Any, *, alpha: float = 0.05, resamples: int = 1000, seed: int = 0) -> JudgeAgreement:
    """Measure how far judges agree, are consistent, and follow the order of presentation.

    Which item of a pair comes first in the data has no meaning, so that α takes both as equally frequent by chance.

    Parameters
    ----------
    preferences : Preferences, table, or rows
        Judgments, or what :meth:`Preferences.from_table` or :meth:`Preferences.from_rows` takes.
    alpha : float, default 0.05
        Intervals are at level 1 − ``alpha``.
    resamples : int, default 1000
        Bootstrap samples of pairs, for the interval of Krippendorff's α.
    seed : int, default 0
        Seed of the random numbers.

    Returns
    -------
    JudgeAgreement
        Statistics of agreement, and a table by worker.

    Examples
    --------
    >>> rows = [("q", "x", "y", "ann"), ("q", "x", "y", "bob"), ("q", "y", "z", "ann"), ("q", "y", "z", "bob")]
    >>> judge_agreement(rows).krippendorff
    1.0
    """
    judged = as_preferences(preferences)
    if not len(judged):
        raise DataError("none-given", what="comparisons")
    alpha = check_number("alpha", alpha, 0, 1)
    resamples = check_whole("resamples", resamples, 1)
    rng = np.random.Generator(np.random.Philox(check_seed(seed)))
    answers = _answers(judged)
    counts = np.zeros((len(judged.pairs.first), 3), np.int64)  # of each pair, the judgments for an item, and ties
    np.add.at(counts, (answers["pair"], answers["answer"]), 1)
    units = counts[counts.sum(axis=1) >= 2]
    krippendorff, low, high = _krippendorff(units, alpha, resamples, rng)
    triads, intransitive = _triads(judged)
    order = None if judged.winner_first is None else position_bias(judged, alpha=alpha)
    return JudgeAgreement(
        judgments=len(judged),
        krippendorff=krippendorff,
        krippendorff_low=low,
        krippendorff_high=high,
        pairs_judged_twice=len(units),
        ties=float(judged.tie.mean()),
        triads=triads,
        intransitive=intransitive,
        position=order,
        workers=_by_worker(judged, answers, order),
        alpha=alpha,
        resamples=resamples,
        seed=seed,
        remarks=tuple(_remarks(judged, len(units))),
    )


def _krippendorff(pairs: Floats, alpha: float, resamples: int, rng: np.random.Generator) -> tuple[float, float, float]:
    """Return α and its bootstrap interval; every pair counts both ways, as the order of its items has no meaning."""
    n = len(pairs)
    if not n:
        return np.nan, np.nan, np.nan
    units, chance, step = np.concatenate([pairs, pairs[:, [1, 0, 2]]]), np.full(n, 1 / n), max(1, CHUNK // n)
    drawn = (rng.multinomial(n, chance, min(step, resamples - at)) for at in range(0, resamples, step))
    draws = np.concatenate([krippendorff_alphas(units, np.tile(weight, 2)) for weight in drawn])
    draws = draws[np.isfinite(draws)]
    tails = (alpha / 2, 1 - alpha / 2)
    low, high = np.quantile(draws, tails).tolist() if len(draws) else (np.nan, np.nan)
    return float(krippendorff_alphas(units, np.ones((1, 2 * n)))[0]), low, high


def _triads(judged: Preferences) -> tuple[int, float]:
    """Count the triads whose pairs all have a majority, and the fraction of them that are cycles."""
    from scipy.sparse import coo_array

    winner, loser = judged.pairs.majorities()
    beats = coo_array((np.ones(len(winner)), (winner, loser)), shape=(len(judged.items),) * 2).tocsr()
    compared = beats + beats.T
    triads = round((compared @ compared).multiply(compared).sum() / 6)
    cycles = round((beats @ beats).multiply(beats.T).sum() / 3)
    return triads, cycles / triads if triads else np.nan


def _by_worker(judged: Preferences, answers: pl.DataFrame, order: PositionBias | None) -> pl.DataFrame:
    """One row per worker: judgments, ties, agreement with the others' answers to the same pairs, repeats, bias."""
    if judged.worker is None:
        return pl.DataFrame(schema={"worker": pl.String})
    same = {
        "all": ["pair"],
        "alike": ["pair", "answer"],
        "mine": ["worker", "pair"],
        "mine_alike": ["worker", "pair", "answer"],
    }
    counted = answers.with_columns(pl.len().over(keys).cast(pl.Float64).alias(name) for name, keys in same.items())
    others, again = pl.col("all") > pl.col("mine"), pl.col("mine") > 1
    found = counted.group_by("worker").agg(
        judgments=pl.len().cast(pl.Int64),
        ties=(pl.col("answer") == 2).mean(),
        agreement=((pl.col("alike") - pl.col("mine_alike")) / (pl.col("all") - pl.col("mine"))).filter(others).mean(),
        repeats_alike=((pl.col("mine_alike") - 1) / (pl.col("mine") - 1)).filter(again).mean(),
    )
    workers = pl.DataFrame({"worker": np.arange(len(judged.workers), dtype=np.int32)})
    table = workers.join(found, on="worker", how="left", maintain_order="left")
    table = table.with_columns(pl.Series("worker", judged.workers, pl.String), pl.col("judgments").fill_null(0))
    bias = pl.col("first_if_equal", "low", "high", "p").fill_nan(None)
    return table if order is None else table.hstack(order.workers.select(bias))


def _remarks(judged: Preferences, units: int) -> Iterator[Note]:
    if not units:
        yield Note("no-repeats")
    if judged.weight is not None:
        yield Note("weights-ignored")
    if judged.winner_first is None:
        yield Note("no-position-bias")
