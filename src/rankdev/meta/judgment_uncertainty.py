"""Doubt carried through: scores whose intervals hold the queries' and the judgments' uncertainty."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
import polars as pl

from rankdev.arguments import check_choice, check_number, check_seed, check_whole
from rankdev.arrays import Floats
from rankdev.errors import RankdevWarning, UsageError, counted
from rankdev.evaluation.scores import Scores
from rankdev.measures.base import MeasureLike
from rankdev.meta.order_posterior import Judged, draw_strengths, ranking_curve
from rankdev.preferences.evidence import effective_wins
from rankdev.preferences.strengths import METHODS, Strengths
from rankdev.preferences.tiers import Tiers
from rankdev.results import Result
from rankdev.runs import Run, RunLike
from rankdev.tabular import check_mapping

Target = Literal["order", "tiers"]


@dataclass(frozen=True, eq=False)
class Doubt(Result):
    """Mean scores of systems drawn again and again, ``[resample, system, measure]``.

    ``judgments`` are means over the same queries, with only the judgments drawn again; in ``both`` the queries
    are drawn again too. ``scores`` are those of the references as judged. ``target`` says what is estimated.
    """

    scores: Scores = field(repr=False)
    both: Floats = field(repr=False)
    judgments: Floats = field(repr=False)
    resamples: int
    method: str
    confidence: float
    seed: int
    remarks: tuple[str, ...] = ()
    target: Target = "tiers"

    made_with = ("target", "method", "resamples", "confidence", "seed")

    @property
    def means(self) -> Floats:
        """What is estimated, ``[system, measure]``: against the true order the mean over draws, else as judged."""
        return _mean_of(self.judgments) if self.target == "order" else self.scores.means

    def to_polars(self) -> pl.DataFrame:
        """One row per system and measure: measure, system, mean, low, high, judgments_low, judgments_high."""
        tails = [(1 - self.confidence) / 2, (1 + self.confidence) / 2]
        low, high = _quantiles(self.both, tails)
        only_low, only_high = _quantiles(self.judgments, tails)
        systems, measures = self.scores.systems, self.scores.measures
        frame = pl.DataFrame(
            {
                "measure": np.repeat(measures, len(systems)).tolist(),
                "system": list(systems) * len(measures),
                "mean": self.means.T.ravel(),
                "low": low.T.ravel(),
                "high": high.T.ravel(),
                "judgments_low": only_low.T.ravel(),
                "judgments_high": only_high.T.ravel(),
            }
        )
        return frame.fill_nan(None)

    def beats(self) -> pl.DataFrame:
        """One row per measure and pair of systems: measure, a, b, how often a beats b (ties count half).

        Resamples in which one of the two has no score do not count.
        """
        systems, measures = self.scores.systems, self.scores.measures
        a, b = np.triu_indices(len(systems), 1)
        difference = self.both[:, a] - self.both[:, b]
        won = np.where(np.abs(difference) < 1e-12, 0.5, difference > 0).sum(axis=0)
        known = np.isfinite(difference).sum(axis=0)
        share = np.divide(won, known, out=np.full(known.shape, np.nan), where=known > 0)
        frame = pl.DataFrame(
            {
                "measure": np.repeat(measures, len(a)).tolist(),
                "a": [systems[k] for k in a] * len(measures),
                "b": [systems[k] for k in b] * len(measures),
                "a_beats_b": share.T.ravel(),
            }
        )
        return frame.fill_nan(None)


def evaluate_with_doubt(
    preferences: Any,
    runs: Mapping[str, RunLike],
    measures: MeasureLike | Iterable[MeasureLike],
    *,
    target: Target = "order",
    method: str = "bradley-terry",
    resamples: int = 200,
    confidence: float = 0.95,
    seed: int = 0,
    evaluate: Callable[..., Scores] | None = None,
    **options: Any,
) -> Doubt:
    """Score systems against what preferences say, and carry the doubt about judgments and queries into the result.

    ``target`` says which score is estimated. ``"order"``: that against the true order of the items, in which no two are
    equal. Orders are drawn from what the judgments leave open, given the system's own ranking, whose agreement with the
    judgments of all queries tells something about the items that were judged little. ``"tiers"``: that against the
    tiers which these rules make of such judgments; the judgments are drawn again, clustered by worker, and new tiers
    made of them. Either way the queries are drawn again as well. ``options`` go to the references: alpha, rule,
    max_depth, ridge, ties, disconnected.

    >>> judged = [("q1", "x", "y")] * 8 + [("q2", "u", "v")] * 5 + [("q2", "v", "u")] * 3
    >>> runs = {"good": {"q1": ["x", "y"], "q2": ["u", "v"]}, "bad": {"q1": ["y", "x"], "q2": ["v", "u"]}}
    >>> doubt = evaluate_with_doubt(judged, runs, ["RDQ@2"])
    >>> doubt.beats()["a_beats_b"][0] > 0.8
    True
    """
    from rankdev.preferences import tiers_from_preferences

    check_choice("target", target, get_args(Target))
    check_choice("method", method, METHODS)
    if target == "order" and method != "bradley-terry":
        raise UsageError(f"the true order is estimated by bradley-terry, not {method}; say target='tiers'")
    confidence, seed = check_number("confidence", confidence, 0, 1), check_seed(seed)
    resamples = check_whole("resamples", resamples, 1)
    score = evaluate or _evaluate
    loaded = {name: _loaded(run) for name, run in check_mapping(runs, "runs", "{system: run}").items()}
    judged = tiers_from_preferences(preferences, method, seed=seed, **options)
    scores = score(judged.tiers, loaded, measures)
    if target == "order":
        drawn = _against_orders(judged.strengths, loaded, measures, resamples, seed, score)
    else:
        drawn = _against_tiers(judged, loaded, measures, resamples, seed, score)
    rng = np.random.Generator(np.random.Philox(seed + 1))
    both, judgments = [], []
    for values in drawn:
        queries = (values.shape[1],)
        both.append(_mean(values, rng.standard_exponential(queries)))
        judgments.append(_mean(values, np.ones(queries)))
    few = _few(judged.strengths)
    for remark in few:
        warnings.warn(remark, RankdevWarning, stacklevel=2)
    remarks = (*scores.remarks, *few, *_one_judge(judged.strengths))
    return Doubt(scores, np.stack(both), np.stack(judgments), resamples, method, confidence, seed, remarks, target)


def _against_tiers(
    judged: Tiers, runs: Mapping[str, Any], measures: Any, resamples: int, seed: int, score: Callable[..., Scores]
) -> Iterator[Floats]:
    """Score against the tiers of judgments drawn again: ``[system, query, measure]`` for each draw."""
    from rankdev.preferences import resample_tiers

    for tiers in resample_tiers(judged, resamples, seed):
        yield score(tiers, runs, measures).values


def _against_orders(
    fit: Strengths, runs: Mapping[str, Any], measures: Any, resamples: int, seed: int, score: Callable[..., Scores]
) -> Iterator[Floats]:
    """Score each system against orders drawn from what judgments leave open, given its own ranking."""
    items = list(fit.ordered_items().items())
    judged = Judged.of([effective_wins(fit, query) for query in range(len(items))])
    found = []
    for name, run in runs.items():
        ranked = Run.of(run)
        places = [_places(names, ranked.get(query, [])) for query, names in items]
        padded = np.stack([np.pad(one, (0, judged.real.shape[1] - len(one)), constant_values=1.0) for one in places])
        # the same random numbers for every system, so that differences between them are not noise
        rng = np.random.Generator(np.random.Philox(seed))
        drawn = draw_strengths(judged, ranking_curve(padded, judged.real), resamples, rng)
        orders = np.argsort(np.where(judged.real, -drawn, np.inf), axis=2, kind="stable")
        again = [
            {
                query: [[names[k]] for k in order[: len(names)]]
                for (query, names), order in zip(items, draw, strict=True)
            }
            for draw in orders
        ]
        found.append(_scored(again, name, ranked, measures, score))
    for values in zip(*found, strict=True):
        yield np.concatenate(values)


def _scored(
    again: list[dict[str, list[list[str]]]], name: str, run: Run, measures: Any, score: Callable[..., Scores]
) -> list[Floats]:
    """Score one system against many references; by the usual way all at once, under names of their own."""
    if score is not _evaluate:
        return [score(tiers, {name: run}, measures).values for tiers in again]
    tiers = {f"{draw} {query}": one for draw, drawn in enumerate(again) for query, one in drawn.items()}
    lists = {f"{draw} {query}": run[query] for draw, drawn in enumerate(again) for query in drawn if query in run}
    values = score(tiers, {name: Run.from_lists(lists)}, measures).values
    return list(values.reshape(len(again), 1, -1, values.shape[2]))


def _places(items: list[str], ranking: list[str]) -> Floats:
    """Number items by their place among each other in a ranking, from 1; those that are not there share the last."""
    seen = {item: place for place, item in enumerate(dict.fromkeys(ranking))}
    known = np.array([seen.get(item, len(seen)) for item in items], float)
    below = (known[:, None] > known).sum(axis=1)
    return below + 1 + ((known[:, None] == known).sum(axis=1) - 1) / 2


def _few(fit: Strengths) -> tuple[str, ...]:
    """Say where there are fewer judgments than sorting needs."""
    items = np.diff(fit.pairs.starts)
    query = np.searchsorted(fit.pairs.starts, fit.pairs.first, side="right") - 1
    judged = np.bincount(query, weights=fit.pairs.count, minlength=len(items))
    few = int((judged < items * np.log2(np.maximum(items, 1))).sum())
    if not few:
        return ()
    return (
        f"{counted(few, 'query', 'has', of=len(items))} fewer judgments than an order of n items needs (n log₂ n);"
        " what is said about these rests on little",
    )


def _one_judge(fit: Strengths) -> tuple[str, ...]:
    judges = fit.preferences.workers
    if fit.preferences.worker is None or len(judges) != 1:
        return ()
    return (
        f"all judgments come from one judge, {judges[0]}: the intervals are about that judge's order, not people's",
    )


def _evaluate(tiers: dict[str, list[list[str]]], runs: Mapping[str, Any], measures: Any) -> Scores:
    from rankdev.evaluation.scoring import evaluate
    from rankdev.references.references import References

    return evaluate(References.from_tiers(tiers), runs, measures)


def _loaded(run: Any) -> Any:
    """Read a file once, not once per resample."""
    from rankdev.formats import read_run

    return read_run(run) if isinstance(run, str | os.PathLike) else run


def _mean(values: Floats, weight: Floats) -> Floats:
    """Weighted mean over the queries where a measure is available."""
    known = np.isfinite(values)
    weights = known * weight[:, None]
    total, summed = weights.sum(axis=1), (np.where(known, values, 0.0) * weights).sum(axis=1)
    return np.divide(summed, total, out=np.full(total.shape, np.nan), where=total > 0)


def _mean_of(drawn: Floats) -> Floats:
    """Mean over the resamples that have a score."""
    known = np.isfinite(drawn)
    total = known.sum(axis=0)
    return np.divide(np.where(known, drawn, 0.0).sum(axis=0), total, out=np.full(total.shape, np.nan), where=total > 0)


def _quantiles(drawn: Floats, tails: list[float]) -> Floats:
    """Quantiles over the resamples that have a score; NaN where none has."""
    known = np.isfinite(drawn).any(axis=0)
    ends = np.full((len(tails), *known.shape), np.nan)
    ends[:, known] = np.nanquantile(drawn[:, known], tails, axis=0)
    return ends
