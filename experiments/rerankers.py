"""Rerankers trained on a collection: four ways to train, three settings of features at inference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np
import polars as pl

import rankdev as rd
from experiments.places import Floats
from experiments.search import TIED, Ints, Part, Singles

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
Score = Callable[[Part, str], Floats]  # score(part, setting): a score for every candidate of the part's queries


def training_sample(
    part: Part, model: str, *, queries: int, dropout: bool, seed: int
) -> tuple[Ints, Ints, list[int], list[str]]:
    """Draw queries, and for each some of its reference items and some others: rows, grades, their groups, settings.

    Grades are quarters of the reference. With dropout each query is seen in one of the three settings, otherwise in
    the last.
    """
    rng = np.random.default_rng([seed, 26, list(MODELS).index(model)])
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
    chosen, settings = np.concatenate(rows), list(SETTINGS)
    shown = rng.integers(3, size=len(groups)) if dropout else np.full(len(groups), 2)
    return chosen, grades.ravel()[chosen], groups, [settings[at] for at in shown]


def trained(part: Part, model: str, rounds: int, *, queries: int, dropout: bool, seed: int) -> Score:
    """Train trees; without dropout, a distance that is missing later is the median of those seen here."""
    import lightgbm

    rows, grades, groups, settings = training_sample(part, model, queries=queries, dropout=dropout, seed=seed)
    shown = np.repeat(settings, groups)
    *others, last = SETTINGS
    data = features(part, model, last)[rows]
    for setting in others:
        data[shown == setting] = features(part, model, setting)[rows[shown == setting]]
    parameters = {**PARAMETERS, "seed": seed * 10 + list(MODELS).index(model)}
    found = lightgbm.train(parameters, lightgbm.Dataset(data, grades, group=groups), rounds)
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


def rerank(
    training: Part, test: Part, rounds: int, *, queries: int, dropout: bool, seed: int
) -> Iterator[tuple[str, rd.Run]]:
    """Train the four models, and yield the runs of each in the three settings."""
    for model in MODELS:
        score = trained(training, model, rounds, queries=queries, dropout=dropout, seed=seed)
        for setting in SETTINGS:
            found = score(test, setting).astype(np.float32).astype(np.float64)  # trec_eval's order in single precision
            table = {**_names(test.candidates.shape[1], test.candidates), "score": found.ravel()}
            yield f"{model}-{setting}", rd.Run.of(pl.DataFrame(table))


def references_of(part: Part) -> rd.References:
    """Return the references of a collection: near-unique ranks."""
    items, ranks = [], []
    for i, size in enumerate(part.sizes):
        values = part.utility[i, :size]
        ranks.append(1 + np.cumsum(np.r_[False, values[:-1] - values[1:] >= TIED]))
        items.append(part.best[i, :size])
    table = {**_names(part.sizes, np.concatenate(items)), "rank": np.concatenate(ranks)}
    return rd.References.from_table(pl.DataFrame(table))


def _names(sizes: int | Ints, items: Ints) -> dict[str, pl.Series]:
    """Name queries and places by their number; ``sizes`` is the number of items of every query."""
    count = items.size // sizes if np.isscalar(sizes) else len(sizes)
    numbers = {"query": np.repeat(np.arange(count), sizes), "item": items.ravel()}
    return {name: name[0].replace("i", "p") + pl.Series(n).cast(pl.String).str.zfill(4) for name, n in numbers.items()}
