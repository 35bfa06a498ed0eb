"""A synthetic test collection: references and the runs of related rankers, for studying measures.

The defaults resemble the paper's points-of-interest data. Every parameter describes the data or the rankers, and
none a measure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from rankdev._common.arrays import Floats, Ints
from rankdev._common.checks import check_choice, check_number, check_seed, check_whole
from rankdev.data.ids import Ids, Words, sorted_rows, take
from rankdev.data.references import References
from rankdev.data.rows import offsets_of
from rankdev.data.run import Run
from rankdev.errors import UsageError

BUCKETS = ((1, 3, 100), (4, 10, 762), (11, 20, 2397), (21, 60, 1741))
MODELS = {"v72": 1.0, "v74": 1.04, "v75": 0.92, "v81": 0.97}
SETTINGS = {"mp3": 1.2, "mp4": 1.07, "mp5": 1.0}


@dataclass(frozen=True, kw_only=True)
class Shape:
    """Properties of the simulated data and rankers.

    Candidates have a true worth drawn from a normal distribution with deviation 1. Reference items lie ``margin``
    above the others and are ranked by worth; neighbours are tied with probability ``ties``. A ranker sees each
    candidate's worth with an error of deviation ``noise`` × its model's and its setting's factor × the query's
    difficulty, a log-normal factor of log-deviation ``difficulty`` that is the same for all rankers. Of the error's
    variance the fraction ``shared`` is common to all rankers, and half of the rest is common to rankers of the same
    model and of the same setting (a quarter each). ``buckets`` holds the reference sizes as (from, to, weight).
    """

    buckets: Sequence[tuple[int, int, float]] = BUCKETS
    models: Mapping[str, float] = field(default_factory=lambda: dict(MODELS))
    settings: Mapping[str, float] = field(default_factory=lambda: dict(SETTINGS))
    distractors: int = 30
    recall: float = 0.9
    ties: float = 0.03
    margin: float = 1.0
    noise: float = 1.0
    difficulty: float = 0.5
    shared: float = 0.5

    def __post_init__(self) -> None:
        for name, high in (("recall", 1), ("ties", 1), ("shared", 1), ("noise", np.inf), ("difficulty", np.inf)):
            check_number(name, getattr(self, name), 0, high, ends=True)
        check_whole("distractors", self.distractors, 0)
        if not self.buckets or any(not 1 <= low <= high or weight < 0 for low, high, weight in self.buckets):
            expected = "(from, to, weight) with 1 ≤ from ≤ to"
            raise UsageError("bad-value", name="buckets", value=self.buckets, expected=expected)
        for name in ("models", "settings"):
            if not getattr(self, name):
                raise UsageError("bad-value", name=name, value=getattr(self, name), expected="at least one name")


@dataclass(frozen=True, eq=False)
class Simulation:
    """References and the runs of all rankers.

    Attributes
    ----------
    references : References
        Ideal order of each query.
    runs : dict of str to Run
        One run per ranker, named model-setting.
    shape : Shape
        Properties of the data.
    seed : int
        Seed of the data.

    See Also
    --------
    rankdev.studies.simulate : Returns a simulation.
    """

    references: References = field(repr=False)
    runs: Mapping[str, Run] = field(repr=False)
    shape: Shape
    seed: int


def simulate(queries: int = 5000, *, seed: int = 0, **shape: Any) -> Simulation:
    """Simulate references and runs of related rankers.

    Every ranker orders the same candidates of a query: the reference items that the first stage found, each with
    probability ``recall``, and ``distractors`` items that are not in the reference. The same seed makes the same data.

    Parameters
    ----------
    queries : int, default 5000
        Number of queries.
    seed : int, default 0
        Seed of the data.
    **shape : object
        Properties of the data and the rankers, the fields of :class:`rankdev.studies.simulation.Shape`: buckets,
        models, settings, distractors, recall, ties, margin, noise, difficulty, shared.

    Returns
    -------
    Simulation
        References, and one run per ranker.

    Examples
    --------
    >>> made = simulate(200, seed=1)
    >>> made.references
    References(200 queries, 4,612 items)
    >>> list(made.runs)[:3]
    ['v72-mp3', 'v72-mp4', 'v72-mp5']
    """
    queries, seed = check_whole("queries", queries, 1), check_seed(seed)
    for name in shape:
        check_choice("parameter", name, tuple(Shape.__dataclass_fields__))
    plan = Shape(**shape)
    sizes = _sizes(plan, queries, _generator(seed, 0))
    pool = _pool(plan, sizes, _generator(seed, 1))
    return Simulation(_references(plan, pool, _generator(seed, 2)), _runs(plan, pool, seed), plan, seed)


@dataclass(frozen=True, eq=False)
class _Pool:
    """All items, query by query and best first; the first ``sizes[query]`` of a query are its reference."""

    sizes: Ints
    names: list[str]
    query: Ints
    place: Ints
    items: Ids
    worth: Floats
    found: Ints  # rows of the items that the first stage found, higher ids of a query first


def _generator(seed: int, *stream: int) -> np.random.Generator:
    """Return a random stream for each part of the data, so that more rankers do not change the data."""
    return np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, *stream])))


def _sizes(plan: Shape, queries: int, rng: np.random.Generator) -> Ints:
    """Draw reference sizes, uniform within a bucket; queries are divided among buckets by largest remainder."""
    weights = np.array([weight for _, _, weight in plan.buckets], float)
    exact = queries * weights / weights.sum()
    counts = np.floor(exact).astype(np.int64)
    counts[np.argsort(counts - exact, kind="stable")[: queries - counts.sum()]] += 1
    parts = [
        rng.integers(low, high, count, endpoint=True)
        for (low, high, _), count in zip(plan.buckets, counts, strict=True)
    ]
    return rng.permutation(np.concatenate(parts))


def _pool(plan: Shape, sizes: Ints, rng: np.random.Generator) -> _Pool:
    counts = sizes + plan.distractors
    query = np.repeat(np.arange(len(sizes)), counts)
    place = np.arange(len(query)) - np.repeat(np.cumsum(counts) - counts, counts)
    worth = rng.standard_normal(len(query))
    relevant = place < sizes[query]
    worth[relevant] += plan.margin
    worth = worth[np.lexsort((-worth, ~relevant, query))]
    found = np.flatnonzero(~relevant | (rng.random(len(query)) < plan.recall))
    labels = rng.permutation(len(query))  # names must not reveal worth
    found = found[np.lexsort((-labels[found], query[found]))]
    names, items = _named("q", np.arange(len(sizes))), Words.of(_named("p", labels))
    return _Pool(sizes, names.to_list(), query, place, items, worth, found)


def _named(letter: str, numbers: Ints) -> pl.Series:
    return letter + pl.Series(numbers).cast(pl.String).str.zfill(len(str(len(numbers))))


def _references(plan: Shape, pool: _Pool, rng: np.random.Generator) -> References:
    relevant = np.flatnonzero(pool.place < pool.sizes[pool.query])
    new_tier = (rng.random(len(relevant)) >= plan.ties) | (pool.place[relevant] == 0)
    tiers = np.cumsum(new_tier)
    offsets = offsets_of(pool.sizes)
    ranks = tiers - np.repeat(tiers[offsets[:-1]], pool.sizes) + 1
    return References(pool.names, offsets, take(pool.items, relevant), ranks)


def _runs(plan: Shape, pool: _Pool, seed: int) -> dict[str, Run]:
    rows = pool.found
    difficulty = np.exp(plan.difficulty * _generator(seed, 3).standard_normal(len(pool.sizes)))[pool.query[rows]]
    runs = {}
    for i, (model, model_factor) in enumerate(plan.models.items()):
        for j, (setting, setting_factor) in enumerate(plan.settings.items()):
            error = _errors(plan, seed, i, j, len(rows))
            score = pool.worth[rows] + plan.noise * model_factor * setting_factor * difficulty * error
            runs[f"{model}-{setting}"] = _ordered(pool, score)
    return runs


def _errors(plan: Shape, seed: int, model: int, setting: int, count: int) -> Floats:
    """Draw errors of deviation 1, in part common to all rankers, to those of a model, and to those of a setting."""
    streams = ((4,), (5, model), (6, setting), (7, model, setting))
    common, by_model, by_setting, alone = (_generator(seed, *stream).standard_normal(count) for stream in streams)
    own = 1 - plan.shared
    error = np.sqrt(plan.shared) * common + np.sqrt(own / 4) * (by_model + by_setting)
    error += np.sqrt(own / 2) * alone
    return error


def _ordered(pool: _Pool, score: Floats) -> Run:
    """Put the candidates of every query in order, as trec_eval would: in single precision, higher id first."""
    single = score.astype(np.float32).astype(np.float64)
    query = pool.query[pool.found]
    order = sorted_rows(query, single)
    offsets = offsets_of(np.bincount(query, minlength=len(pool.sizes)))
    return Run(pool.names, offsets, take(pool.items, pool.found[order]), single[order])
