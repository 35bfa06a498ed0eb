"""A few queries judged by people, many by a model: estimates that use both and rest on the people.

Prediction-powered inference (Angelopoulos et al. 2023): the model's mean over many queries, corrected by how far model
and people differ where both judged. However wrong the model is, the interval holds; a good one makes it narrow.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import polars as pl
from scipy import special

from rankdev._common.arrays import Floats
from rankdev._common.checks import check_number
from rankdev._common.result import Result
from rankdev.errors import DataError, RankdevWarning, counted
from rankdev.evaluation.scores import Scores
from rankdev.statistics.panels import alike, wanted_pairs

FEWEST = 10  # queries that both judged


@dataclass(frozen=True, eq=False)
class PredictionPowered(Result):
    """Means of systems and their differences, from people's and a model's judgments; ``columns`` holds the table."""

    display: ClassVar = "rankdev.display.comparisons"

    columns: dict[str, Any] = field(repr=False)
    both: int
    model_only: int
    alpha: float
    remarks: tuple[str, ...] = ()

    made_with = ("both", "model_only", "alpha")

    def to_polars(self) -> pl.DataFrame:
        """One row per measure and system, and per measure and pair (a − b): the estimate and what it is made of.

        ``human``, with its interval, is the estimate from human judgments alone, ``model`` that from the model's alone;
        ``trust`` is the weight of the model (λ), 0 where it tells nothing about people, 1 where it is as good as they.
        """
        return pl.DataFrame(self.columns).fill_nan(None)

    def summary(self) -> pl.DataFrame:
        """The rows of systems without a pair: measure, system, estimate, low, high, narrower.

        ``narrower`` is the width of the interval as a share of that of people alone.
        """
        width = (pl.col("high") - pl.col("low")) / (pl.col("human_high") - pl.col("human_low"))
        kept = self.to_polars().filter(pl.col("b").is_null())
        return kept.select(
            "measure", pl.col("a").alias("system"), "estimate", "low", "high", width.alias("narrower")
        ).fill_nan(None)


def prediction_powered(
    human: Scores | Any,
    model: Scores | Any,
    *,
    measures: Sequence[str] | None = None,
    baselines: str | Sequence[str] | None = None,
    alpha: float = 0.05,
) -> PredictionPowered:
    """Estimate what people would say of all the model's queries, with intervals for means and differences.

    ``human`` are scores against references made by people, ``model`` against those made by a model, for the same
    systems; the people's queries should be a random sample of the model's. The weight of the model is tuned for
    each system and pair (PPI++), so that a bad model costs next to nothing.

    >>> rng = np.random.default_rng(0)
    >>> truth = rng.random((2, 300, 1)) * [[[0.8]], [[1.0]]]
    >>> queries = tuple(map(str, range(300)))
    >>> human = Scores(("a", "b"), queries[:40], ("P@5",), truth[:, :40])
    >>> model = Scores(("a", "b"), queries, ("P@5",), truth + rng.normal(0.2, 0.05, truth.shape))
    >>> prediction_powered(human, model).summary()["narrower"].max() < 0.6
    True
    """
    alpha = check_number("alpha", alpha, 0, 1)
    parts = alike({"human": human, "model": model}, measures)
    judged, predicted = parts.values()
    first, second = wanted_pairs(judged, baselines) if len(judged.systems) > 1 else (np.array([], int),) * 2
    place = {query: i for i, query in enumerate(predicted.queries)}
    common = [i for i, query in enumerate(judged.queries) if query in place]
    there = [place[judged.queries[i]] for i in common]
    others = np.setdiff1d(np.arange(len(predicted.queries)), there)
    remarks = _remarks(len(judged.queries) - len(common))
    rows: dict[str, list[Any]] = {}
    for m, measure in enumerate(judged.measures):
        values = [judged.values[:, common, m], predicted.values[:, there, m], predicted.values[:, others, m]]
        told, said, alone = _available(values, measure)
        for a, b in [(i, None) for i in range(len(judged.systems))] + list(zip(first, second, strict=True)):
            one, other, new = (part[a] if b is None else part[a] - part[b] for part in (told, said, alone))
            found = {
                "measure": measure,
                "a": judged.systems[a],
                "b": None if b is None else judged.systems[b],
                **estimate(one, other, new, alpha),
            }
            for name, value in found.items():
                rows.setdefault(name, []).append(value)
    for remark in remarks:
        warnings.warn(remark, RankdevWarning, stacklevel=2)
    return PredictionPowered(rows, len(common), len(others), alpha, remarks)


def _available(values: list[Floats], measure: str) -> list[Floats]:
    """Keep the queries for which everything is known."""
    both = np.isfinite(values[0]).all(axis=0) & np.isfinite(values[1]).all(axis=0)
    alone = np.isfinite(values[2]).all(axis=0)
    if both.sum() < FEWEST or not alone.any():
        raise DataError(
            f"{measure}: people and model share {counted(int(both.sum()), 'query')} with values of all systems, and the"
            f" model has {alone.sum():,} more; expected at least {FEWEST} and at least 2, with the same query ids on"
            " both sides"
        )
    return [values[0][:, both], values[1][:, both], values[2][:, alone]]


def _remarks(unknown: int) -> tuple[str, ...]:
    if not unknown:
        return ()
    return (f"{unknown} of the people's queries are not among the model's; they are left out",)


def estimate(told: Floats, said: Floats, alone: Floats, alpha: float) -> dict[str, float]:
    """Estimate a mean from what people told and the model said of the same queries, and what it said of others."""
    n, more = len(told), len(alone)
    spread = np.concatenate([said, alone]).var(ddof=1)
    trust = float(np.clip(np.cov(told, said)[0, 1] / (spread * (1 + n / more)), 0, 1)) if spread > 0 else 0.0
    left = told - trust * said
    # one degree of freedom goes to the weight
    variance = left.var(ddof=1) * (n - 1) / (n - 2 if trust else n - 1) / n + trust**2 * spread / more
    middle = left.mean() + trust * alone.mean()
    reach = float(special.stdtrit(n - 1, 1 - alpha / 2))
    error, plain = np.sqrt(variance), told.std(ddof=1) / np.sqrt(n)
    return {
        "estimate": float(middle),
        "low": float(middle - reach * error),
        "high": float(middle + reach * error),
        "human": float(told.mean()),
        "human_low": float(told.mean() - reach * plain),
        "human_high": float(told.mean() + reach * plain),
        "model": float(np.concatenate([said, alone]).mean()),
        "trust": trust,
    }
