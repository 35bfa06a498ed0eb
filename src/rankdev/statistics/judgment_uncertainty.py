"""Scores with the uncertainty of preference judgments: strengths of items are drawn from their posterior.

Strengths have a normal prior around a curve over a system's own ranking: a ranking that agrees with the judgments
is informative about items with few judgments, and ignoring that would make every system look worse than it is. How
informative it is, and how far strengths scatter, is estimated from all queries together, by Laplace's approximation of
how probable they make the judgments.
"""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
import polars as pl
from scipy import optimize, special

from rankdev._common.arrays import Bools, Floats, Ints
from rankdev._common.checks import check_number, check_seed, check_whole
from rankdev._common.result import Result
from rankdev._common.view import Col, Dot, Dots, Tab, View
from rankdev.data.files import load_runs
from rankdev.data.references import References
from rankdev.data.run import Run, RunLike
from rankdev.data.tables import check_mapping
from rankdev.errors import Note, UsageError, warn
from rankdev.evaluation.evaluate import evaluate
from rankdev.evaluation.scores import Scores
from rankdev.measures.base import MeasureLike
from rankdev.preferences.strengths import Strengths
from rankdev.preferences.tiers import as_preferences, tiers_from_preferences
from rankdev.preferences.uncertainty import derivatives, inflation
from rankdev.statistics.design import Design, crossed, in_pairs

EACH = 8  # draws of strengths for each draw of the prior
SHARPEST = 2.0  # least curvature of the prior's likelihood: bounds the draws of a parameter that is hardly identified
SCALES = np.array([1.0, 3.0, 1.0])  # of the prior's parameters, a priori: few answers in agreement prove little
NEAR = 0.1  # distance of differences that stand for derivatives
LIMITS = (-5.0, 4.0)  # of the logarithm of the prior's deviation


@dataclass(frozen=True, eq=False)
class UncertainScores(Result):
    """Mean scores of systems with the uncertainty of judgments and queries.

    Attributes
    ----------
    scores : Scores
        Scores against the references as judged.
    both : ndarray
        Mean scores with judgments and queries resampled, ``[resample, system, measure]``.
    judgments : ndarray
        Mean scores with only the judgments resampled, in the same layout.
    resamples : int
        Number of draws.
    alpha : float
        Intervals have confidence 1 − alpha.
    seed : int
        Seed of the draws.
    remarks : tuple of str
        Notes on the judgments and the scores.

    See Also
    --------
    evaluate_with_uncertainty : Returns it.
    """

    view: ClassVar = View(
        [
            Tab(
                "Means over judgments drawn {resamples:time}; intervals of queries and judgments, and of judgments",
                ("measure", "system", Col("value", "mean"), "low", "judgments_low"),
            ),
            Tab("How often a beats b (ties count half)", frame="beats", digits=3),
        ],
        more={"beats": "beats"},
        figure=Dots(
            ["system"],
            [Dot("value", "mean {measure}, {level} interval")],
            "{most} has the highest mean {measure}, {highest}, as far as queries and judgments tell",
        ),
    )

    scores: Scores = field(repr=False)
    both: Floats = field(repr=False)
    judgments: Floats = field(repr=False)
    resamples: int
    alpha: float
    seed: int
    remarks: tuple[str, ...] = ()

    made_with = ("resamples", "alpha", "seed")

    @property
    def means(self) -> Floats:
        """Estimated scores against the true order, ``[system, measure]``: means over the draws."""
        return _over_draws(np.nanmean, self.judgments)

    def to_polars(self) -> pl.DataFrame:
        """Return one row per measure and system.

        Returns
        -------
        polars.DataFrame
            Columns system, measure, value, low, high (uncertainty of judgments and queries), judgments_low,
            judgments_high (of the judgments only).

        Examples
        --------
        >>> import rankdev as rd
        >>> judged = [("q1", "x", "y")] * 8 + [("q2", "u", "v")] * 5 + [("q2", "v", "u")] * 3
        >>> runs = {"good": {"q1": ["x", "y"], "q2": ["u", "v"]}, "bad": {"q1": ["y", "x"], "q2": ["v", "u"]}}
        >>> found = rd.evaluate_with_uncertainty(judged, runs, "RDQ@2", resamples=20)
        >>> found.to_polars()["system"].to_list()
        ['good', 'bad']
        """
        names = crossed({"measure": self.scores.measures}, {"system": self.scores.systems}).select("system", "measure")
        limits = self._limits(self.means, self.both, self.judgments)
        return names.with_columns(value=self.means.T.ravel(), **limits).fill_nan(None)

    def differences(self) -> pl.DataFrame:
        """Return the difference of every pair of systems.

        Returns
        -------
        polars.DataFrame
            Columns measure, a, b, difference, low, high, judgments_low, judgments_high.

        Examples
        --------
        >>> import rankdev as rd
        >>> judged = [("q1", "x", "y")] * 8 + [("q2", "u", "v")] * 5 + [("q2", "v", "u")] * 3
        >>> runs = {"good": {"q1": ["x", "y"], "q2": ["u", "v"]}, "bad": {"q1": ["y", "x"], "q2": ["v", "u"]}}
        >>> found = rd.evaluate_with_uncertainty(judged, runs, "RDQ@2", resamples=20)
        >>> found.differences()["difference"][0] > 0
        True
        """
        one, other = np.triu_indices(len(self.scores.systems), 1)
        apart = self.means[one] - self.means[other]
        limits = self._limits(apart, *(drawn[:, one] - drawn[:, other] for drawn in (self.both, self.judgments)))
        return self._pairs.with_columns(difference=apart.T.ravel(), **limits).fill_nan(None)

    def _limits(self, mean: Floats, both: Floats, judgments: Floats) -> dict[str, Any]:
        """Compute the ends of both intervals; where nearly all draws are equal, they reach to the mean of all."""
        tails = [self.alpha / 2, 1 - self.alpha / 2]
        found = []
        for low, high in (_over_draws(np.nanquantile, drawn, tails) for drawn in (both, judgments)):
            found += [np.minimum(low, mean), np.maximum(high, mean)]
        names = ("low", "high", "judgments_low", "judgments_high")
        return {name: limit.T.ravel() for name, limit in zip(names, found, strict=True)}

    @property
    def _pairs(self) -> pl.DataFrame:
        """Name each measure and pair of systems."""
        return crossed({"measure": self.scores.measures}, in_pairs(self.scores.systems))

    def beats(self) -> pl.DataFrame:
        """Estimate how often a beats b, for every pair of systems.

        Ties count half. Resamples in which one of the two has no score do not count.

        Returns
        -------
        polars.DataFrame
            Columns measure, a, b, a_beats_b (fraction of the resamples).

        Examples
        --------
        >>> import rankdev as rd
        >>> judged = [("q1", "x", "y")] * 8 + [("q2", "u", "v")] * 5 + [("q2", "v", "u")] * 3
        >>> runs = {"good": {"q1": ["x", "y"], "q2": ["u", "v"]}, "bad": {"q1": ["y", "x"], "q2": ["v", "u"]}}
        >>> found = rd.evaluate_with_uncertainty(judged, runs, "RDQ@2", resamples=20)
        >>> found.beats()["a_beats_b"][0] > 0.8
        True
        """
        a, b = np.triu_indices(len(self.scores.systems), 1)
        difference = self.both[:, a] - self.both[:, b]
        won = np.where(np.abs(difference) < 1e-12, 0.5, difference > 0).sum(axis=0)
        known = np.isfinite(difference).sum(axis=0)
        fraction = np.divide(won, known, out=np.full(known.shape, np.nan), where=known > 0)
        return self._pairs.with_columns(a_beats_b=fraction.T.ravel()).fill_nan(None)


def evaluate_with_uncertainty(
    preferences: Any,
    runs: Mapping[str, RunLike],
    measures: MeasureLike | Iterable[MeasureLike],
    *,
    resamples: int = 200,
    alpha: float = 0.05,
    clusters: Mapping[str, Any] | None = None,
    seed: int = 0,
    **options: Any,
) -> UncertainScores:
    """Score systems against the true order behind preferences, with the uncertainty of judgments and queries.

    Orders are drawn from their posterior given the judgments and the system's own ranking, whose agreement with the
    judgments of all queries is informative about items with few judgments. Each order is scored, with the queries
    resampled as well. If items are truly equal, any order of them is a true one, and the score is the mean over
    these orders: it does not treat the items as tied.

    Parameters
    ----------
    preferences : Preferences, path, table or list of (query, winner, loser)
        Pairwise judgments.
    runs : dict of str to Run, path, table or dict
        Ranking of each system.
    measures : str, Measure or list of them
        Such as ``"RDQ@5"``.
    resamples : int, default 200
        Number of orders drawn.
    alpha : float, default 0.05
        Intervals have confidence 1 − alpha.
    clusters : dict of str to str, optional
        The cluster of each query, as in :func:`significance`. Whole clusters are then resampled.
    seed : int, default 0
        Seed of the draws.
    **options : object
        Options of the references as judged: rule, probability, ridge, disconnected.

    Returns
    -------
    UncertainScores
        Estimates with intervals, for systems and for their differences.

    Examples
    --------
    >>> import rankdev as rd
    >>> judged = [("q1", "x", "y")] * 8 + [("q2", "u", "v")] * 5 + [("q2", "v", "u")] * 3
    >>> runs = {"good": {"q1": ["x", "y"], "q2": ["u", "v"]}, "bad": {"q1": ["y", "x"], "q2": ["v", "u"]}}
    >>> found = rd.evaluate_with_uncertainty(judged, runs, "RDQ@2")
    >>> found.beats()["a_beats_b"][0] > 0.8
    True
    """
    alpha, seed = check_number("alpha", alpha, 0, 1), check_seed(seed)
    resamples = check_whole("resamples", resamples, 1)
    if "method" in options:
        expected = "none: orders are drawn from a Bradley–Terry model"
        raise UsageError("bad-value", name="method", value=options["method"], expected=expected)
    loaded = load_runs(check_mapping(runs, "runs", "{system: run}"))
    given = as_preferences(preferences)
    alone = given.worker is not None and len(given.workers) == 1
    judged = tiers_from_preferences(given, "bradley-terry", **options)
    scores = evaluate(References.from_tiers(judged.tiers), loaded, measures)
    rng = np.random.Generator(np.random.Philox(seed + 1))
    design = Design.of(scores, clusters=clusters, least=1)
    place = {query: i for i, query in enumerate(scores.queries)}
    members = design.members(np.array([place[query] for query in judged.strengths.ordered_items()]))
    both, judgments = [], []
    for values in _against_orders(judged.strengths, loaded, measures, resamples, seed):
        both.append(_mean(values, rng.standard_exponential((members.max() + 1,))[members]))
        judgments.append(_mean(values, np.ones(values.shape[1])))
    few = _few(judged.strengths)
    for remark in few:
        warn(remark)
    remarks = (
        *scores.remarks,
        *few,
        *design.on_clusters("resampled"),
        *([Note("one-judge", judge=given.workers[0])] if alone else []),
    )
    return UncertainScores(scores, np.stack(both), np.stack(judgments), resamples, alpha, seed, remarks)


def _against_orders(
    fit: Strengths, runs: Mapping[str, Run], measures: Any, resamples: int, seed: int
) -> Iterator[Floats]:
    """Score each system against orders drawn from their posterior, given its own ranking."""
    items = list(fit.ordered_items().items())
    wins, real = _effective_wins(fit)
    lists = [{query: run[query] for query, _ in items if query in run} for run in runs.values()]
    drawn = []
    for returned in lists:
        places = [_places(names, returned.get(query, [])) for query, names in items]
        padded = np.stack([np.pad(one, (0, real.shape[1] - len(one)), constant_values=1.0) for one in places])
        # the same numbers for systems that rank alike, which do not differ; the priors of others contradict each other,
        # and with the same numbers for all, intervals of differences were too narrow (.86 for one judgment of a pair)
        rng = np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, zlib.crc32(padded.tobytes())])))
        drawn.append(draw_strengths(wins, real, ranking_curve(padded, real), resamples, rng))
    for blocks in zip(*drawn, strict=True):  # a few draws of every system
        found = []
        for returned, strengths in zip(lists, blocks, strict=True):
            orders = np.argsort(np.where(real, -strengths, np.inf), axis=2, kind="stable")
            found.append(_scored(items, returned, orders, measures))
        yield from np.stack(found, axis=1)


def _scored(items: list[tuple[str, list[str]]], returned: Mapping[str, list[str]], orders: Ints, measures: Any) -> Any:
    """Score one system against many orders, all at once under distinct names: ``[draw, query, measure]``."""
    true = {
        f"{draw} {query}": [names[k] for k in order[: len(names)]]
        for draw, drawn in enumerate(orders)
        for (query, names), order in zip(items, drawn, strict=True)
    }
    run = Run.from_lists({f"{draw} {query}": own for draw in range(len(orders)) for query, own in returned.items()})
    values = evaluate(true, {"s": run}, measures).values
    return values.reshape(len(orders), len(items), -1)


def _effective_wins(fit: Strengths) -> tuple[Floats, Bools]:
    """Count wins between places in the order of strengths, ``[query, item, other]``, and mark items, not padding.

    They are scaled to the number of independent judgments. A tie is half a win each, and where there are ties all count
    more, since ties vary less than wins and losses. Where workers' judgments are correlated, all count less.
    """
    pairs = fit.pairs
    sizes = np.diff(pairs.starts)
    query = np.repeat(np.arange(len(sizes)), sizes)
    place = np.empty(pairs.items, np.int64)
    place[fit.order] = np.arange(pairs.items) - pairs.starts[query]
    of, i, j = query[pairs.first], place[pairs.first], place[pairs.second]
    count, ties = (np.bincount(of, values, len(sizes)) for values in (pairs.count, pairs.ties))
    apart = 1 - np.minimum(ties / np.maximum(count, 1e-300), 0.95)[of]
    wins = np.zeros((len(sizes), sizes.max(), sizes.max()))
    wins[of, i, j], wins[of, j, i] = pairs.score / apart, (pairs.count - pairs.score) / apart
    return wins / inflation(fit), np.arange(sizes.max()) < sizes[:, None]


def _places(items: list[str], ranking: list[str]) -> Floats:
    """Rank items by their positions in a ranking, from 1; those that are not there share the last rank."""
    seen = {item: place for place, item in enumerate(dict.fromkeys(ranking))}
    known = np.array([seen.get(item, len(seen)) for item in items], float)
    below = (known[:, None] > known).sum(axis=1)
    return below + 1 + ((known[:, None] == known).sum(axis=1) - 1) / 2


def _few(fit: Strengths) -> tuple[Note, ...]:
    """Note the queries with fewer judgments than sorting needs."""
    items = np.diff(fit.pairs.starts)
    query = np.searchsorted(fit.pairs.starts, fit.pairs.first, side="right") - 1
    judged = np.bincount(query, weights=fit.pairs.count, minlength=len(items))
    few = np.flatnonzero(judged < items * np.log2(np.maximum(items, 1)))
    counts = [(fit.preferences.queries[k], round(judged[k])) for k in few]
    return (Note("few-judgments", count=len(few), queries=len(items), counts=counts),) if counts else ()


def _mean(values: Floats, weight: Floats) -> Floats:
    """Weighted mean over the queries where a measure is available."""
    known = np.isfinite(values)
    weights = known * weight[:, None]
    total, summed = weights.sum(axis=1), (np.where(known, values, 0.0) * weights).sum(axis=1)
    return np.divide(summed, total, out=np.full(total.shape, np.nan), where=total > 0)


def _over_draws(function: Callable[..., Any], drawn: Floats, *options: Any) -> Floats:
    """Take a mean or quantiles over the resamples that have a score; NaN where none has."""
    with warnings.catch_warnings(action="ignore", category=RuntimeWarning):
        return np.asarray(function(drawn, *options, axis=0))


def ranking_curve(place: Floats, real: Bools) -> Floats:
    """Return the two basis functions of the prior's mean over a ranking: ``[function, query, item]``.

    Normal scores of the positions in the ranking (from 1), and their squares around their mean.
    """
    items = real.sum(axis=1, keepdims=True)
    score = np.where(real, special.ndtri(np.clip((items - place + 0.625) / (items + 0.25), 1e-9, 1 - 1e-9)), 0.0)
    square = np.where(real, score**2 - (score**2).sum(axis=1, keepdims=True) / items, 0.0)
    return np.stack([score, square])


def draw_strengths(wins: Floats, real: Bools, curve: Floats, draws: int, rng: np.random.Generator) -> Iterator[Floats]:
    """Draw strengths of all items from their posterior, a few draws at a time: ``[draw, query, item]``."""
    at = np.zeros(real.shape)

    def fit(hyper: Floats) -> Posterior:
        nonlocal at
        mean, deviation = _prior(hyper, curve)
        found = posterior(wins, np.where(real, mean, 0.0), deviation, at)
        at = found.mode
        return found

    def negative_log_evidence(hyper: Floats) -> float:
        return float(((hyper / SCALES) ** 2).sum() / 2 - fit(hyper).evidence.sum())

    found = optimize.minimize(
        negative_log_evidence,
        np.zeros(3),
        method="Nelder-Mead",
        options={"xatol": 0.01, "fatol": 0.01, "initial_simplex": np.vstack([np.zeros(3), np.diag([0.7, 0.7, 0.4])])},
    )
    values, vectors = np.linalg.eigh(derivatives(negative_log_evidence, found.x, NEAR)[1])
    for start in range(0, draws, EACH):
        normal = fit(found.x + vectors @ (rng.standard_normal(3) / np.sqrt(np.maximum(values, SHARPEST))))
        noise = rng.standard_normal((*normal.mode.shape, min(EACH, draws - start)))
        factor = np.linalg.cholesky(np.linalg.inv(normal.information))
        yield np.moveaxis(normal.mode[:, :, None] + factor @ noise, 2, 0)


class Posterior(NamedTuple):
    """Most probable strengths of each query, their information there, and the log evidence, by Laplace's method."""

    mode: Floats
    information: Floats
    evidence: Floats


def posterior(wins: Floats, mean: Floats, deviation: float, start: Floats) -> Posterior:
    """Find the posterior of strengths N(``mean``, ``deviation``²) after ``wins[query, item, other]``; by Newton."""
    total, precision, own = wins + wins.transpose(0, 2, 1), deviation**-2.0, np.arange(wins.shape[1])
    strength = start
    for _ in range(100):
        apart = strength[:, :, None] - strength[:, None, :]
        chance = special.expit(apart)
        information = -total * chance * (1 - chance)  # the diagonal of wins is 0
        information[:, own, own] = precision - information.sum(axis=2)
        pull = (wins - total * chance).sum(axis=2) - (strength - mean) * precision
        step = np.linalg.solve(information, pull[:, :, None])[:, :, 0]
        largest = np.abs(step).max(axis=1, keepdims=True)
        strength = strength + step * np.minimum(1.0, 2 / np.maximum(largest, 1e-9))
        if largest.max() < 1e-4:
            break
    fits = (wins * special.log_expit(apart)).sum(axis=(1, 2)) - ((strength - mean) ** 2).sum(axis=1) * precision / 2
    return Posterior(strength, information, fits - len(own) * np.log(deviation) - np.linalg.slogdet(information)[1] / 2)


def _prior(prior: Floats, curve: Floats) -> tuple[Floats, float]:
    return prior[1] * curve[0] + prior[2] * curve[1], float(np.exp(np.clip(prior[0], *LIMITS)))
