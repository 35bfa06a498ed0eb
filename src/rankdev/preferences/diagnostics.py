"""Checks of the judgments of each query; agreement of annotators, transitivity, repeated questions, position bias."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from rankdev._common.arrays import Floats
from rankdev._common.checks import check_number, check_seed, check_whole
from rankdev._common.result import Result
from rankdev._common.view import Tab, View
from rankdev.errors import DataError, Note
from rankdev.preferences.bias import PositionBias, position_bias
from rankdev.preferences.tiers import as_preferences

if TYPE_CHECKING:
    from rankdev.preferences.judgments import Preferences

CHUNK = 4_000_000  # weights at a time
COLUMNS = (
    "comparisons",
    "items",
    "workers",
    "groups",
    "in_cycles",
    "agreement",
    "duplicates",
    "contradictions",
)


@dataclass(frozen=True, eq=False)
class Diagnostics(Result):
    """Checks of the judgments, one row per query.

    Attributes
    ----------
    queries : tuple of str
        The queries.
    values : dict of str to array
        Columns of :meth:`to_polars`, one value per query.
    disconnected : dict of str to list of list of str
        Connected components of every query that has more than one.

    See Also
    --------
    Preferences.diagnostics : Make them.
    """

    queries: tuple[str, ...]
    values: dict[str, npt.NDArray[Any]] = field(repr=False)
    disconnected: dict[str, list[list[str]]] = field(repr=False)

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
        columns = {name: self.values[name] for name in COLUMNS}
        table = pl.DataFrame({"query": list(self.queries), **columns}, schema_overrides={"query": pl.String})
        return table.with_columns(pl.col("agreement").fill_nan(None), connected=pl.col("groups") == 1)


def diagnose(preferences: Preferences) -> Diagnostics:
    """Compute what :class:`Diagnostics` holds.

    >>> from rankdev.preferences import Preferences
    >>> rows = [("q", "x", "y"), ("q", "y", "z"), ("q", "z", "x")]
    >>> diagnose(Preferences.from_rows(rows)).values["in_cycles"].tolist()
    [3]
    """
    queries = len(preferences.queries)
    of_judgment = preferences.item_query[preferences.winner]
    pairs = preferences.pairs
    of_pair = preferences.item_query[pairs.first]
    values: dict[str, npt.NDArray[Any]] = {
        "comparisons": np.bincount(of_judgment, minlength=queries),
        "items": np.diff(preferences.starts),
        "groups": preferences.group_counts,
        "in_cycles": _in_cycles(preferences),
        "agreement": _agreement(preferences, of_pair),
        **_workers(preferences, of_judgment),
    }
    return Diagnostics(preferences.queries, values, preferences.disconnected())


def _in_cycles(preferences: Preferences) -> npt.NDArray[np.int64]:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    winner, loser = preferences.pairs.majorities()
    graph = coo_array((np.ones(len(winner), np.int8), (winner, loser)), shape=(len(preferences.items),) * 2)
    _, label = connected_components(graph, directed=True, connection="strong")
    cyclic = np.bincount(label)[label] > 1
    return np.bincount(preferences.item_query[cyclic], minlength=len(preferences.queries))


def _agreement(preferences: Preferences, of_pair: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    pairs, queries = preferences.pairs, len(preferences.queries)
    n = np.bincount(pairs.of, minlength=len(pairs.first)).astype(float)
    won = np.bincount(pairs.of, (preferences.winner < preferences.loser) & ~preferences.tie, minlength=len(pairs.first))
    tied = np.bincount(pairs.of, preferences.tie, minlength=len(pairs.first))
    agreeing = sum((k * (k - 1) for k in (won, tied, n - won - tied)), np.zeros(len(n)))
    possible = np.bincount(of_pair, n * (n - 1), queries)
    return np.where(possible > 0, np.bincount(of_pair, agreeing, queries) / np.maximum(possible, 1), np.nan)


def _workers(preferences: Preferences, of_judgment: npt.NDArray[Any]) -> dict[str, npt.NDArray[np.int64]]:
    queries, worker = len(preferences.queries), preferences.worker
    nothing = np.zeros(queries, np.int64)
    if worker is None:
        return dict.fromkeys(("workers", "duplicates", "contradictions"), nothing)
    outcome = np.where(preferences.tie, 0, np.where(preferences.winner < preferences.loser, 1, 2))
    who = np.unique(np.stack([of_judgment, worker]), axis=1)
    distinct, repeats = np.unique(np.stack([worker, preferences.pairs.of, outcome]), axis=1, return_counts=True)
    judged, answers = np.unique(distinct[:2], axis=1, return_counts=True)
    of_pair = preferences.item_query[preferences.pairs.first]
    return {
        "workers": np.bincount(who[0], minlength=queries),
        "duplicates": np.bincount(of_pair[distinct[1]], repeats - 1, queries).astype(np.int64),
        "contradictions": np.bincount(of_pair[judged[1][answers > 1]], minlength=queries),
    }


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

    view: ClassVar = View([Tab("Agreement between judges")], closing=["{position.swaps}"])

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


def judge_agreement(
    preferences: Any,
    *,
    alpha: float = 0.05,
    resamples: int = 1000,
    seed: int = 0,
) -> JudgeAgreement:
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
    counts = _answers(judged)
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
        workers=_by_worker(judged, order),
        alpha=alpha,
        resamples=resamples,
        seed=seed,
        remarks=tuple(_remarks(judged, len(units))),
    )


def _answers(judged: Preferences) -> Floats:
    """Count for every pair the judgments for its first item, for its second, and ties."""
    first = judged.winner < judged.loser
    answer = (first & ~judged.tie, ~first & ~judged.tie, judged.tie)
    return np.stack([np.bincount(judged.pairs.of, what, len(judged.pairs.first)) for what in answer], axis=1)


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


def _by_worker(judged: Preferences, order: PositionBias | None) -> pl.DataFrame:
    """One row per worker: judgments, ties, agreement with the others' answers to the same pairs, repeats, bias."""
    if judged.worker is None:
        return pl.DataFrame(schema={"worker": pl.String})
    answer = np.where(judged.tie, 2, np.where(judged.winner < judged.loser, 0, 1))
    given = pl.DataFrame({"worker": judged.worker, "pair": judged.pairs.of, "answer": answer, "tie": judged.tie})
    counted = given.with_columns(
        all=pl.len().over("pair"),
        alike=pl.len().over("pair", "answer"),
        mine=pl.len().over("worker", "pair"),
        mine_alike=pl.len().over("worker", "pair", "answer"),
    ).cast(dict.fromkeys(("all", "alike", "mine", "mine_alike"), pl.Float64))
    others, again = pl.col("all") > pl.col("mine"), pl.col("mine") > 1
    found = counted.group_by("worker").agg(
        judgments=pl.len().cast(pl.Int64),
        ties=pl.col("tie").mean(),
        agreement=((pl.col("alike") - pl.col("mine_alike")) / (pl.col("all") - pl.col("mine"))).filter(others).mean(),
        repeats_alike=((pl.col("mine_alike") - 1) / (pl.col("mine") - 1)).filter(again).mean(),
    )
    workers = pl.DataFrame({"worker": np.arange(len(judged.workers), dtype=np.int32)})
    table = workers.join(found, on="worker", how="left", maintain_order="left")
    table = table.with_columns(pl.Series("worker", judged.workers, pl.String), pl.col("judgments").fill_null(0))
    if order is None:
        return table
    names = ("first_if_equal", "low", "high", "p")
    return table.with_columns(pl.Series(name, order.by_worker[name]).fill_nan(None) for name in names)


def _remarks(judged: Preferences, units: int) -> Iterator[Note]:
    if not units:
        yield Note("no-repeats")
    if judged.weight is not None:
        yield Note("weights-ignored")
    if judged.winner_first is None:
        yield Note("no-position-bias")
