"""Rerankers trained on a collection: four ways to train, three settings of features at inference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import polars as pl

from rankdev._common.arrays import Floats, Ints
from rankdev.core.references import References
from rankdev.core.runs import Run
from rankdev.errors import MissingExtraError
from rankdev.studies.city._search import TIED, Part, Singles

MODELS = {
    "v72": "baseline",
    "v74": "every kind of query equally often",
    "v75": "30 negatives a query, not 8",
    "v81": "distance in five bins",
}
SETTINGS = {
    "mp3": "without distance",
    "mp4": "distance, first category only",
    "mp5": "distance, all categories",
}
POSITIVES, NEGATIVES, MORE_NEGATIVES = 12, 8, 30
BINS = (0.25, 0.5, 1.0, 2.0)  # in steps of distance
PARAMETERS = {
    "objective": "lambdarank",
    "num_leaves": 31,
    "learning_rate": 0.1,
    "min_data_in_leaf": 40,
    "feature_fraction": 0.8,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "lambdarank_truncation_level": 10,
    "deterministic": True,
    "force_row_wise": True,
    "num_threads": 1,  # the same trees on every machine
    "verbose": -1,
}
Score = Callable[[Part, str], Floats]
"""Called as ``score(part, setting)``; returns a score for every candidate of the part's queries."""


class Reranker(Protocol):
    """What the study trains: four models, each asked in three settings."""

    def train(self, part: Part, model: str, *, queries: int, dropout: bool, seed: int) -> Score:
        """Train one model; with dropout each query is seen in one of the three settings, otherwise in the last."""


@dataclass(frozen=True)
class Sample:
    """What a model is trained on: candidates, query by query, with grades and the setting that a query is seen in."""

    rows: Ints
    grades: Ints
    groups: list[int]
    settings: list[str]


def training_sample(part: Part, model: str, *, queries: int, dropout: bool, seed: int) -> Sample:
    """Draw what a model is trained on."""
    rng = np.random.default_rng([seed, 26, list(MODELS).index(model)])
    rows, groups, grades = _training_rows(part, model, queries, rng)
    settings = list(SETTINGS)
    shown = rng.integers(3, size=len(groups)) if dropout else np.full(len(groups), 2)
    return Sample(rows, grades, groups, [settings[at] for at in shown])


def model_seed(model: str, seed: int) -> int:
    """Return the seed of a model's own training."""
    return seed * 10 + list(MODELS).index(model)


class FeatureReranker:
    """LightGBM over features."""

    def __init__(self, rounds: int) -> None:
        self.rounds = rounds
        try:
            import lightgbm  # noqa: F401
        except ImportError:
            raise MissingExtraError("LightGBM", "lightgbm", "training the study's rerankers") from None

    def train(self, part: Part, model: str, *, queries: int, dropout: bool, seed: int) -> Score:
        """Train trees; without dropout, a distance that is missing later is the median of those seen here."""
        import lightgbm

        sample = training_sample(part, model, queries=queries, dropout=dropout, seed=seed)
        shown = np.repeat(sample.settings, sample.groups)
        *others, last = SETTINGS
        data = features(part, model, last)[sample.rows]
        for setting in others:
            data[shown == setting] = features(part, model, setting)[sample.rows[shown == setting]]
        parameters = {**PARAMETERS, "seed": model_seed(model, seed)}
        found = lightgbm.train(parameters, lightgbm.Dataset(data, sample.grades, group=sample.groups), self.rounds)
        missing = np.nan if dropout else float(np.median(part.steps))
        return lambda asked, setting: np.asarray(
            found.predict(features(asked, model, setting, missing), num_threads=1)
        ).reshape(asked.candidates.shape)


def features(part: Part, model: str, setting: str, missing: float = np.nan) -> Singles:
    """Return what a model sees of every candidate in a setting; a distance that it does not see is ``missing``."""
    steps = part.steps if setting != "mp3" else np.full_like(part.steps, missing)
    if model == "v81":
        steps = np.where(np.isnan(steps), steps, np.digitize(steps, BINS)).astype(np.float32)
    categories = part.top_category if setting == "mp4" else part.all_categories
    return np.concatenate([part.seen, categories, steps[:, :, None]], axis=2).reshape(steps.size, -1)


def _training_rows(part: Part, model: str, queries: int, rng: np.random.Generator) -> tuple[Ints, list[int], Ints]:
    """Draw queries, and for each some of its reference items and some others; grades are quarters of the reference."""
    ranks = part.ranks
    grades = np.where(ranks > 0, 4 - 4 * (ranks - 1) // part.sizes[:, None], 0)
    usable = np.flatnonzero((ranks > 0).any(axis=1) & (ranks == 0).any(axis=1))
    weights = np.ones(len(usable))
    if model == "v74":
        kinds = [part.queries[i].kind for i in usable.tolist()]
        counts = Counter(kinds)
        weights = np.array([1 / counts[kind] for kind in kinds])
    drawn = rng.choice(usable, min(queries, len(usable)), replace=False, p=weights / weights.sum())
    rows, groups = [], []
    for query in drawn:
        inside = rng.permutation(np.flatnonzero(ranks[query] > 0))[:POSITIVES]
        outside = rng.permutation(np.flatnonzero(ranks[query] == 0))
        taken = np.r_[inside, outside[: MORE_NEGATIVES if model == "v75" else NEGATIVES]]
        rows.append(query * ranks.shape[1] + taken)
        groups.append(len(taken))
    chosen = np.concatenate(rows)
    return chosen, groups, grades.ravel()[chosen]


def rerank(
    reranker: Reranker, training: Part, test: Part, *, queries: int, dropout: bool, seed: int
) -> Iterator[tuple[str, Run]]:
    """Train the four models, and yield the runs of each in the three settings."""
    for model in MODELS:
        score = reranker.train(training, model, queries=queries, dropout=dropout, seed=seed)
        for setting in SETTINGS:
            yield f"{model}-{setting}", run_of(test, score(test, setting))


def run_of(part: Part, scores: Floats) -> Run:
    """Put candidates in order of score, in single precision; equal scores by higher id."""
    by_id = np.argsort(-part.candidates, axis=1, kind="stable")
    single = np.take_along_axis(scores, by_id, 1).astype(np.float32).astype(np.float64)
    order = np.argsort(-single, axis=1, kind="stable")
    items = np.take_along_axis(np.take_along_axis(part.candidates, by_id, 1), order, 1)
    queries, count = items.shape
    offsets = np.arange(queries + 1) * count
    return Run(query_names(queries), offsets, item_names(items.ravel()), np.take_along_axis(single, order, 1).ravel())


def query_names(count: int) -> pl.Series:
    """Name the queries of a collection."""
    return "q" + pl.Series(np.arange(count)).cast(pl.String).str.zfill(4)


def item_names(places: Ints) -> pl.Series:
    """Name places by their number."""
    return "p" + pl.Series(places).cast(pl.String).str.zfill(4)


def references_of(part: Part) -> References:
    """Return the references of a collection: near-unique ranks."""
    return _references([part.best[i, :size] for i, size in enumerate(part.sizes)], part.utility)


def left_out(part: Part, share: float, rng: np.random.Generator) -> References:
    """Return incomplete references: each item is missing with some probability; one always stays."""
    lists, values = [], np.full_like(part.utility, np.nan)
    for i, size in enumerate(part.sizes):
        kept = np.flatnonzero(rng.random(size) >= share)
        kept = kept if len(kept) else rng.integers(size, size=1)
        lists.append(part.best[i, kept])
        values[i, : len(kept)] = part.utility[i, kept]
    return _references(lists, values)


def mistaken(part: Part, noise: float, rng: np.random.Generator) -> References:
    """Return references of the same sizes from a utility with errors of some deviation: silver labels."""
    seen = part.utility + rng.normal(0, noise, part.utility.shape)
    order = np.argsort(-seen, axis=1, kind="stable")
    best = np.take_along_axis(part.best, order, 1)
    return _references([best[i, :size] for i, size in enumerate(part.sizes)], np.take_along_axis(seen, order, 1))


def _references(lists: list[Ints], utility: Floats) -> References:
    sizes = np.array([len(items) for items in lists])
    ranks: list[Any] = []
    for i, size in enumerate(sizes):
        values = utility[i, :size]
        ranks.append(1 + np.cumsum(np.r_[False, values[:-1] - values[1:] >= TIED]))
    offsets = np.r_[0, np.cumsum(sizes)]
    return References(query_names(len(lists)), offsets, item_names(np.concatenate(lists)), np.concatenate(ranks))
