"""Judgments that are removed, those of a team or a random fraction, and the scores without them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import polars as pl

from rankdev._common.arrays import Floats, Ints
from rankdev.core.references import References
from rankdev.core.runs import Run
from rankdev.errors import DataError
from rankdev.evaluation.evaluate import evaluate
from rankdev.statistics.rank_correlation import tau_ap, tau_b

TIED = 1e-12


def resampled_weights(queries: int, resamples: int, seed: int) -> Floats:
    """Return the weight of each query, ``[resample, query]``; all are equal in the first."""
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(queries, np.full(queries, 1 / queries), size=resamples)
    return np.concatenate([np.ones((1, queries)), drawn]) / queries


class Rescoring:
    """Scores the runs with all judgments, and with some removed."""

    def __init__(self, references: References, runs: Mapping[str, Run], texts: Sequence[str], weights: Floats) -> None:
        self.runs, self.texts, self.weights, self.systems = dict(runs), texts, weights, list(runs)
        self.graded = references.grades is not None
        judged = references.to_polars(nonrelevant=True)
        self.judged = judged.drop("rank") if self.graded else judged  # ranks follow from grades
        self.queries = references.queries
        self.remarks: list[str] = []
        scores = evaluate(references, self.runs, texts)
        self.measures = scores.measures
        gaps = np.flatnonzero(np.isnan(scores.values).any(axis=(0, 1)))
        if len(gaps):
            raise DataError(f"{self.measures[gaps[0]]} has no value for some queries; leave it out")
        self.whole = self._means(scores.values)
        self.places = _rank(self.whole)

    def _means(self, values: Floats) -> Floats:
        """Return means ``[resample, measure, system]``."""
        return np.einsum("rq,sqm->rms", self.weights, values)

    def without(self, rows: Ints, own: Sequence[int]) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """Compare with scores without some judgments: τ, τ_ap, shift, own, places, ``[resample, measure]``."""
        kept = np.ones(self.judged.height, bool)
        kept[rows] = False
        means = self._means(self._values(self.judged.filter(kept)))
        change = means - self.whole
        tau, ap = tau_b(means, self.whole, TIED), tau_ap(means, self.whole, TIED)
        if not own:
            unknown = np.full(tau.shape, np.nan)
            return tau, ap, change.mean(axis=2), unknown, unknown
        others = [place for place in range(len(self.systems)) if place not in own]
        rest = change[..., others].mean(axis=2) if others else 0.0
        fallen = (_rank(means) - self.places)[..., own].mean(axis=2)
        return tau, ap, change.mean(axis=2), change[..., own].mean(axis=2) - rest, fallen

    def _values(self, judged: pl.DataFrame) -> Floats:
        """Score by these judgments ``[system, query, measure]``; a query without any scores 0 for all systems."""
        if not self.graded:
            judged = judged.with_columns(rank=pl.col("rank").rank("dense").over("query").cast(pl.Int64))
        scores = evaluate(References.from_table(judged), self.runs, self.texts)
        values = np.zeros((len(self.systems), len(self.queries), len(self.measures)))
        place = {query: i for i, query in enumerate(self.queries)}
        values[:, [place[query] for query in scores.queries]] = np.nan_to_num(scores.values)
        return values


def _rank(means: Floats) -> Floats:
    """Rank the systems from the top, ties at their mean rank."""
    above = means[..., None, :] - means[..., :, None]
    return np.asarray((above > TIED).sum(axis=-1) + (np.abs(above) <= TIED).sum(axis=-1) / 2)


def of_teams(work: Rescoring, teams: Mapping[str, tuple[str, ...]], depth: int) -> Iterator[tuple[str, str, Ints]]:
    """Yield the judgments that each team alone contributed; teams without any are noted."""
    team_of = {system: team for team, systems in teams.items() for system in systems}
    parts = [
        run.to_polars().filter(pl.col("rank") <= depth).select("query", "item", team=pl.lit(team_of[name]))
        for name, run in work.runs.items()
    ]
    contributed = pl.concat(parts).unique()
    alone = contributed.filter(pl.len().over("query", "item") == 1)
    found = work.judged.select("query", "item").with_row_index("row").join(alone, on=["query", "item"])
    nothing = [team for team in teams if found.filter(team=team).is_empty()]
    if nothing:
        work.remarks.append(f"teams without unique contributions: {', '.join(nothing)}")
    for team in teams:
        rows = found.filter(team=team)["row"].to_numpy().astype(np.int64)
        if len(rows):
            yield "team", team, np.sort(rows)


def of_fractions(work: Rescoring, fractions: Sequence[float], draws: int, seed: int) -> Iterator[tuple[str, str, Ints]]:
    """Draw fractions of all judgments; larger ones include the smaller ones of the same draw."""
    orders = [np.random.default_rng([seed, draw]).permutation(work.judged.height) for draw in range(draws)]
    for fraction in fractions:
        for order in orders:
            yield "share", f"{100 * fraction:g}% of judgments", order[: round(fraction * len(order))]
