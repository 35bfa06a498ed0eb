"""Doubt carried through: scores whose intervals hold the queries' and the judgments' uncertainty."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from rankdev.arguments import check_number, check_seed
from rankdev.arrays import Floats
from rankdev.evaluation.scores import Scores
from rankdev.measures.base import MeasureLike
from rankdev.results import Result
from rankdev.runs import RunLike
from rankdev.tabular import check_mapping


@dataclass(frozen=True, eq=False)
class Doubt(Result):
    """Mean scores of systems drawn again and again, ``[resample, system, measure]``.

    ``judgments`` are means over the same queries, with only the judgments drawn again; in ``both`` the queries
    are drawn again too. ``scores`` are those of the references as judged.
    """

    scores: Scores = field(repr=False)
    both: Floats = field(repr=False)
    judgments: Floats = field(repr=False)
    resamples: int
    method: str
    confidence: float
    seed: int
    remarks: tuple[str, ...] = ()

    made_with = ("method", "resamples", "confidence", "seed")

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
                "mean": self.scores.averages.T.ravel(),
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
    method: str = "bradley-terry",
    resamples: int = 200,
    confidence: float = 0.95,
    seed: int = 0,
    evaluate: Callable[..., Scores] | None = None,
    **options: Any,
) -> Doubt:
    """Score systems against references from preferences, and carry the doubt about both into the result.

    The judgments are drawn again ``resamples`` times (clustered by worker), each time giving new references and
    new scores; each time the queries are drawn again as well. ``options`` go to the references: alpha, rule,
    max_depth, ridge, ties, disconnected.

    >>> judged = [("q1", "x", "y")] * 8 + [("q2", "u", "v")] * 5 + [("q2", "v", "u")] * 3
    >>> runs = {"good": {"q1": ["x", "y"], "q2": ["u", "v"]}, "bad": {"q1": ["y", "x"], "q2": ["v", "u"]}}
    >>> doubt = evaluate_with_doubt(judged, runs, ["RDQ@2"], resamples=20)
    >>> doubt.beats()["a_beats_b"].to_list()
    [1.0]
    """
    from rankdev.preferences import resample_references, tiers_from_preferences

    confidence, seed = check_number("confidence", confidence, 0, 1), check_seed(seed)
    score = evaluate or _evaluate
    loaded = {name: _loaded(run) for name, run in check_mapping(runs, "runs", "{system: run}").items()}
    scores = score(tiers_from_preferences(preferences, method, seed=seed, **options).tiers, loaded, measures)
    again = resample_references(preferences, method, resamples=resamples, seed=seed, **options)
    rng = np.random.Generator(np.random.Philox(seed + 1))
    both, judgments = [], []
    for tiers in again:
        drawn = score(tiers, loaded, measures)
        both.append(_mean(drawn.values, rng.standard_exponential(len(drawn.queries))))
        judgments.append(_mean(drawn.values, np.ones(len(drawn.queries))))
    return Doubt(scores, np.stack(both), np.stack(judgments), resamples, method, confidence, seed, scores.remarks)


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


def _quantiles(drawn: Floats, tails: list[float]) -> Floats:
    """Quantiles over the resamples that have a score; NaN where none has."""
    known = np.isfinite(drawn).any(axis=0)
    ends = np.full((len(tails), *known.shape), np.nan)
    ends[:, known] = np.nanquantile(drawn[:, known], tails, axis=0)
    return ends
