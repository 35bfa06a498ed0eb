"""Prediction-powered inference: combine a few human-judged queries with many that a model judged.

Angelopoulos et al. (2023): the model's mean over many queries, corrected by how far model and assessors differ where
both judged. The interval is valid however wrong the model is; a good model makes it narrow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import polars as pl
from scipy import special

from rankdev._common.arrays import Floats
from rankdev._common.checks import check_number
from rankdev._common.result import Result
from rankdev._common.view import Col, Dot, Dots, Tab, View
from rankdev.errors import DataError, Note, warn
from rankdev.evaluation.scores import ScoresLike
from rankdev.statistics.inputs import alike, wanted_pairs
from rankdev.statistics.pairs import most_common
from rankdev.statistics.tests import fewest_differing, unseen

FEWEST = 10  # queries that both judged
ROUNDING = 1e-12  # differences up to which scores are equal
SHOWN = ("estimate", "low", "human_low", "model", "trust")


@dataclass(frozen=True, eq=False)
class PredictionPowered(Result):
    """Means of systems and their differences, from human and model judgments together.

    Attributes
    ----------
    frame : polars.DataFrame
        The table of :meth:`to_polars`.
    both : int
        Queries that assessors and model judged.
    model_only : int
        Queries that only the model judged.
    alpha : float
        Level of the intervals. Their confidence is 1 − alpha.
    remarks : tuple of str
        Notes on the estimates.
    lower_is_better : tuple of str
        Measures of which a lower value is better.

    See Also
    --------
    prediction_powered : Returns it.
    """

    view: ClassVar = View(
        [
            Tab(
                "Estimated scores by human judgments of all queries",
                ("measure", Col(("a", "b"), "system or pair", "difference"), *SHOWN),
                digits=3,
            )
        ],
        "ppi",
        closing=[
            "human and model judgments of {both:query}, model judgments of {model_only} more",
            "the intervals are valid if the human-judged queries are a random sample of all",
        ],
        figure=Dots(
            ["a", "b"],
            [
                Dot("estimate", "{measure} by both, {level} interval"),
                Dot("human", "by human judgments alone", "human_low", "human_high"),
            ],
            "{a} has {measure} {estimate:.3f} by humans and model, {human:.3f} by humans alone",
            facets=False,
        ),
    )

    frame: pl.DataFrame = field(repr=False)
    both: int
    model_only: int
    alpha: float
    remarks: tuple[str, ...] = ()
    lower_is_better: tuple[str, ...] = field(default=(), repr=False)

    made_with = ("both", "model_only", "alpha")

    def to_polars(self) -> pl.DataFrame:
        """Return one row per measure and system, and one per measure and pair (a − b).

        Returns
        -------
        polars.DataFrame
            Columns measure, a, b (null for a single system), estimate, low, high, human, human_low, human_high (from
            human judgments alone), model (from the model's alone), trust (λ, the weight of the model: 0 where it is
            not informative, 1 where it is as good as assessors).

        Examples
        --------
        >>> import rankdev as rd
        >>> rng = np.random.default_rng(0)
        >>> truth = rng.random((2, 300, 1)) * [[[0.8]], [[1.0]]]
        >>> queries = tuple(map(str, range(300)))
        >>> human = rd.Scores(("a", "b"), queries[:40], ("P@5",), truth[:, :40])
        >>> model = rd.Scores(("a", "b"), queries, ("P@5",), truth + rng.normal(0.2, 0.05, truth.shape))
        >>> rd.prediction_powered(human, model).to_polars().select("a", "b").rows()
        [('a', None), ('b', None), ('b', 'a')]
        """
        return self.frame

    def summary(self) -> pl.DataFrame:
        """Return the estimates of the systems.

        Returns
        -------
        polars.DataFrame
            Columns measure, system, estimate, low, high, narrower (width of the interval as a fraction of that from
            human judgments alone).

        Examples
        --------
        >>> import rankdev as rd
        >>> rng = np.random.default_rng(0)
        >>> truth = rng.random((2, 300, 1)) * [[[0.8]], [[1.0]]]
        >>> queries = tuple(map(str, range(300)))
        >>> human = rd.Scores(("a", "b"), queries[:40], ("P@5",), truth[:, :40])
        >>> model = rd.Scores(("a", "b"), queries, ("P@5",), truth + rng.normal(0.2, 0.05, truth.shape))
        >>> rd.prediction_powered(human, model).summary()["narrower"].max() < 0.6
        True
        """
        width = (pl.col("high") - pl.col("low")) / (pl.col("human_high") - pl.col("human_low"))
        kept = self.to_polars().filter(pl.col("b").is_null())
        return kept.select(
            "measure", pl.col("a").alias("system"), "estimate", "low", "high", width.alias("narrower")
        ).fill_nan(None)


def prediction_powered(
    human: ScoresLike,
    model: ScoresLike,
    *,
    measures: Sequence[str] | None = None,
    baselines: str | Sequence[str] | None = None,
    alpha: float = 0.05,
) -> PredictionPowered:
    """Estimate scores by human judgments of all the model's queries, with intervals for means and differences.

    The weight of the model is tuned for each system and pair (PPI++), so that a bad model costs next to nothing. The
    intervals of differences hold for all pairs of a measure together (Bonferroni). Where nearly all human scores are
    equal, the intervals allow for unseen ones within the measure's range.

    Parameters
    ----------
    human : Scores, table or path
        Scores against references made by assessors. Their queries should be a random sample of the model's.
    model : Scores, table or path
        Scores of the same systems against references made by a model.
    measures : sequence of str, optional
        Measures to estimate. Default: all.
    baselines : str or sequence of str, optional
        Compare every other system with these only. Default: all pairs.
    alpha : float, default 0.05
        Level of the intervals. Their confidence is 1 − alpha.

    Returns
    -------
    PredictionPowered
        Estimates of means and differences, next to those from each kind of judgment alone.

    Examples
    --------
    >>> import rankdev as rd
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.random((2, 300, 1)) * [[[0.8]], [[1.0]]]
    >>> queries = tuple(map(str, range(300)))
    >>> human = rd.Scores(("a", "b"), queries[:40], ("P@5",), truth[:, :40])
    >>> model = rd.Scores(("a", "b"), queries, ("P@5",), truth + rng.normal(0.2, 0.05, truth.shape))
    >>> rd.prediction_powered(human, model).summary()["narrower"].max() < 0.6
    True
    """
    alpha = check_number("alpha", alpha, 0, 1)
    judged, predicted = alike({"human": human, "model": model}, measures).values()
    systems = judged.systems
    first, second = wanted_pairs(judged, baselines) if len(systems) > 1 else (np.array([], int),) * 2
    pairs = list(zip(first.tolist(), second.tolist(), strict=True))
    place = {query: i for i, query in enumerate(predicted.queries)}
    common = [i for i, query in enumerate(judged.queries) if query in place]
    there = [place[judged.queries[i]] for i in common]
    others = np.setdiff1d(np.arange(len(predicted.queries)), there)
    lost = len(judged.queries) - len(common)
    remarks = [Note("unjudged", count=lost)] if lost else []
    rows: list[dict[str, Any]] = []
    for m, measure in enumerate(judged.measures):
        values = [judged.values[:, common, m], predicted.values[:, there, m], predicted.values[:, others, m]]
        known = _available(values, measure)
        low, high = judged.kinds[m].range
        bounded = np.isfinite(high - low)
        if not bounded:
            low, high = float(known[0].min()), float(known[0].max())
        wide = False  # whether an interval is made of the range
        for a, b in [*((system, None) for system in range(len(systems))), *pairs]:
            people, both, extra = (part[a] if b is None else part[a] - part[b] for part in known)
            level, span = (alpha, (low, high)) if b is None else (alpha / len(pairs), (low - high, high - low))
            least = least_half(people - (most_common(people) if b is None else 0.0), level, high - low)
            wide |= least > 0
            names = {"measure": measure, "a": systems[a], "b": None if b is None else systems[b]}
            rows.append({**names, **estimate(people, both, extra, level, span, least)})
        if wide and not bounded:
            remarks.append(Note("range-seen", measure=measure, range=high - low))
    for remark in remarks:
        warn(remark)
    frame = pl.DataFrame(rows, schema_overrides={"b": pl.String}, infer_schema_length=None).fill_nan(None)
    return PredictionPowered(frame, len(common), len(others), alpha, tuple(remarks), judged.lower_is_better)


def least_half(apart: Floats, level: float, reach: float) -> float:
    """Return how far limits reach at least: where too few values are not 0, as far as a query of another kind could.

    >>> round(least_half(np.zeros(50), 0.05, 1.0), 3)  # a kind that none of 50 queries is, 1 away
    0.071
    """
    few = (np.abs(apart) > ROUNDING).sum() < fewest_differing(level)
    return reach * float(unseen(len(apart), level)) if few else 0.0


def _available(values: list[Floats], measure: str) -> list[Floats]:
    """Keep the queries for which every system has a value."""
    both = np.isfinite(values[0]).all(axis=0) & np.isfinite(values[1]).all(axis=0)
    alone = np.isfinite(values[2]).all(axis=0)
    if both.sum() < FEWEST or not alone.any():
        raise DataError("little-overlap", measure=measure, both=both.sum(), alone=alone.sum(), least=FEWEST)
    return [values[0][:, both], values[1][:, both], values[2][:, alone]]


def estimate(
    human: Floats,
    model: Floats,
    extra: Floats,
    level: float,
    span: tuple[float, float] = (-np.inf, np.inf),
    least: float = 0.0,
) -> dict[str, float]:
    """Estimate a mean from human and model scores of the same queries, and the model's scores of extra ones.

    Scores lie in ``span``. Limits are Student's, and at least ``least`` away.
    """
    n, more = len(human), len(extra)
    spread = np.concatenate([model, extra]).var(ddof=1)
    # that makes the estimate most precise
    trust = float(np.clip(np.cov(human, model)[0, 1] / (spread * (1 + n / more)), 0, 1)) if spread > 0 else 0.0
    residual = human - trust * model
    # one degree of freedom goes to the weight
    variance = residual.var(ddof=1) * (n - 1) / (n - 2 if trust else n - 1) / n
    student = float(special.stdtrit(n - 1, 1 - level / 2))
    found: dict[str, float] = {}
    for name, centre, error in (
        ("", float(residual.mean() + trust * extra.mean()), float(np.sqrt(variance + trust**2 * spread / more))),
        ("human_", float(human.mean()), float(human.std(ddof=1)) / np.sqrt(n)),
    ):
        half = max(student * error, least)
        low, high = max(centre - half, min(span[0], centre)), min(centre + half, max(span[1], centre))
        found |= {name.removesuffix("_") or "estimate": centre, f"{name}low": low, f"{name}high": high}
    return {**found, "model": float(np.concatenate([model, extra]).mean()), "trust": trust}
