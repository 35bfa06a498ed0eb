"""The study in several worlds: what counts in the references, and how features go missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

import rankdev as rd
from rankdev._common.arrays import Floats
from rankdev._common.checks import check_choice
from rankdev._common.tables import Tabular
from rankdev._common.work import Progress, part_of
from rankdev.core.runs import Run
from rankdev.io.streams import PathLike
from rankdev.statistics.panels import pairs_of
from rankdev.statistics.power import power
from rankdev.statistics.rank_correlation import tau_b
from rankdev.studies._published import published, warnings_into
from rankdev.studies.city._cross_encoder import TextReranker
from rankdev.studies.city._reading import load_places
from rankdev.studies.city._rerankers import FeatureReranker, Reranker, left_out, mistaken, references_of, rerank
from rankdev.studies.city._search import Part, Weights, collect
from rankdev.studies.poi.study import FULL as PAPER
from rankdev.studies.poi.study import LEAST, MEASURES, Poi, Protocol, run_poi

CUTOFF = 5
PAIR_KINDS = ("same setting", "mp3 and mp4", "mp3 and mp5", "mp4 and mp5")
DIFFERENCES = ("lost_by_retrieval", "lost_by_cutoff", "lost_by_order", "right", "depth", "in_order")


@dataclass(frozen=True)
class Size:
    """How much of the written plan is run."""

    queries: int
    training: int
    candidates: int
    rounds: int  # of boosting, or epochs of a cross-encoder
    seeds: Sequence[int]
    protocol: Protocol


_PLAN = published("poi-worlds")
WORLDS: Mapping[str, Mapping[str, Any]] = _PLAN["worlds"]
FULL = Size(
    _PLAN["queries"],
    _PLAN["training_queries"],
    _PLAN["candidates"],
    100,
    tuple(_PLAN["seeds"]),
    Protocol(_PLAN["queries"], PAPER.sizes, PAPER.subsamples, PAPER.permutations, 200),
)
QUICK = Size(800, 400, 120, 40, (1,), Protocol(800, (25, 50, 100, 200, 400), 40, 200, 50))
# a cross-encoder reads every candidate: 96,000 pairs of texts in a quick world, 7.2 million in a full one
FULL_TEXT = replace(FULL, rounds=1)
QUICK_TEXT = Size(200, 150, 40, 1, (1,), Protocol(200, (25, 50, 100), 40, 200, 50))


@dataclass(frozen=True, eq=False, kw_only=True)
class Outcome:
    """One world with one seed.

    ``pairs`` has a row per pair of systems, ``systems`` one per system, and ``labels`` one per measure and kind of
    worse references: median power at 100 queries and τ with the order of systems by the complete references.
    """

    world: str
    seed: int
    recall: float
    sizes: Floats  # quartiles of the reference sizes
    study: Poi = field(repr=False)
    systems: pl.DataFrame = field(repr=False)
    pairs: pl.DataFrame = field(repr=False)
    labels: pl.DataFrame = field(repr=False)


@dataclass(frozen=True, eq=False, kw_only=True)
class Worlds(Tabular):
    """Results of the study, world by world; ``complete`` is false where it was interrupted."""

    source: str
    outcomes: tuple[Outcome, ...] = field(repr=False)
    size: Size
    complete: bool
    notes: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        """The worlds, in the plan's order."""
        found = {outcome.world for outcome in self.outcomes}
        return [name for name in WORLDS if name in found]

    def of(self, world: str) -> list[Outcome]:
        """Return the outcomes of a world, a seed each."""
        return [outcome for outcome in self.outcomes if outcome.world == world]

    def to_polars(self) -> pl.DataFrame:
        """One row per fact: world, seed, part, measure, statistic, value, low, high, published."""
        from rankdev.studies.city.output import worlds_report

        return worlds_report(self).rows

    @cached_property
    def pairs(self) -> pl.DataFrame:
        """One row per world, seed and pair of systems; docs/studies.md explains the columns."""
        return pl.concat([outcome.pairs for outcome in self.outcomes])


def run_worlds(
    places: PathLike | None = None,
    worlds: Sequence[str] = (),
    *,
    cross_encoder: PathLike | None = None,
    quick: bool = False,
    seed: int = 0,
    progress: Progress | None = None,
) -> Worlds:
    """Train rerankers for places, or for those of the built-in city, and run the paper's study on them.

    ``cross_encoder`` is the folder of a model that is trained on texts, instead of LightGBM on features. ``seed`` is
    added to the seeds of the plan. An interruption returns what is finished.
    """
    for name in worlds:
        check_choice("world", name, tuple(WORLDS))
    city = load_places(places)
    notes: list[str] = list(city.notes)
    reranker: Reranker
    if cross_encoder is None:
        size = QUICK if quick else FULL
        reranker = FeatureReranker(size.rounds)
    else:
        size = QUICK_TEXT if quick else FULL_TEXT
        reranker = TextReranker(cross_encoder, city, size.rounds)
        notes.append(reranker.note)
    plan = [(name, number + seed) for number in size.seeds for name in WORLDS if not worlds or name in worlds]
    outcomes: list[Outcome] = []
    made: dict[tuple[Weights, int], tuple[Part, Part, list[str]]] = {}
    complete = True
    try:
        for done, (name, number) in enumerate(plan):
            weights = Weights(WORLDS[name]["distance"], WORLDS[name]["popularity"])
            if (weights, number) not in made:
                made = {(weights, number): collect(city, weights, number, size.queries, size.candidates, size.training)}
            train, test, said = made[weights, number]
            notes += [note for note in said if note not in notes]
            watch = part_of(progress, done, done + 1, len(plan), f"world {name}, seed {number}")
            outcomes.append(_outcome(name, number, reranker, train, test, size, watch))
    except KeyboardInterrupt:
        if not outcomes:
            raise
        complete = False
        notes.append(f"interrupted: {len(outcomes)} of {len(plan)} worlds and seeds are shown")
    return Worlds(source=city.source, outcomes=tuple(outcomes), size=size, complete=complete, notes=tuple(notes))


def _outcome(
    world: str, seed: int, reranker: Reranker, train: Part, test: Part, size: Size, progress: Progress | None
) -> Outcome:
    options = {"queries": size.training, "dropout": WORLDS[world]["dropout"], "seed": seed}
    runs = {}
    for name, run in rerank(reranker, train, test, **options):
        runs[name] = run
        if progress is not None:
            progress(len(runs), 24, f"training, {len(runs)} of 12 systems")
    references = references_of(test)
    study = run_poi(references, runs, protocol=size.protocol, seed=seed, progress=part_of(progress, 0.5, 0.9))
    systems = described(references, runs)
    return Outcome(
        world=world,
        seed=seed,
        recall=test.recall,
        sizes=np.quantile(test.sizes, [0.25, 0.5, 0.75]),
        study=study,
        systems=systems,
        pairs=_pairs(world, seed, study, systems),
        labels=_labels(test, runs, study, size.protocol, seed),
    )


def described(references: rd.References, runs: Mapping[str, Run]) -> pl.DataFrame:
    """Describe systems at the cutoff: three losses in RDQ@5, and what their first items are.

    ``right`` is the mean fraction of the first items (of as many as the reference has, if fewer) that are in the
    reference; ``depth`` the mean relative rank in the reference of those, from 0 to 1, where the reference is longer
    than the cutoff; ``in_order`` the mean fraction of pairs of them that are in the reference's order, where there
    are two.
    """
    with warnings_into([]):
        found = rd.losses(references, dict(runs), f"RDQ@{CUTOFF}").to_polars()
    ranks = _first_ranks(references, runs)
    sizes = references.sizes.astype(float)
    rows = []
    for name in found["system"]:
        first = ranks[name]
        inside = first > 0
        hits = inside.sum(axis=1)
        right = hits / np.minimum(CUTOFF, sizes)
        long = (sizes > CUTOFF) & (hits > 0)
        depth = (np.where(inside, first, 0).sum(axis=1)[long] / hits[long] - 0.5) / sizes[long]
        left, below = np.triu_indices(CUTOFF, 1)
        both = inside[:, left] & inside[:, below]
        good = np.where(first[:, left] < first[:, below], 1.0, np.where(first[:, left] == first[:, below], 0.5, 0.0))
        two = hits > 1
        in_order = (good * both).sum(axis=1)[two] / both.sum(axis=1)[two]
        rows.append((float(right.mean()), _mean(depth), _mean(in_order)))
    return found.with_columns(pl.DataFrame(rows, schema=["right", "depth", "in_order"], orient="row"))


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else float("nan")


def _first_ranks(references: rd.References, runs: Mapping[str, Run]) -> dict[str, Floats]:
    """Return the reference rank of each system's first items, by query; 0 outside the reference."""
    known = references.to_polars().select("query", "item", "rank")
    found = {}
    for name, run in runs.items():
        first = run.to_polars().select("query", "item").group_by("query", maintain_order=True).head(CUTOFF)
        first = first.with_columns(at=pl.int_range(pl.len()).over("query"))
        first = first.join(known, on=["query", "item"], how="left").with_columns(pl.col("rank").fill_null(0))
        table = np.zeros((len(references), CUTOFF))
        place = {query: i for i, query in enumerate(references.queries)}
        table[[place[query] for query in first["query"]], first["at"].to_numpy()] = first["rank"].to_numpy()
        found[name] = table
    return found


def pair_kind(a: str, b: str) -> str:
    """State how two systems differ: in training alone, or in what they see.

    >>> pair_kind("v72-mp3", "v81-mp3"), pair_kind("v72-mp5", "v74-mp3")
    ('same setting', 'mp3 and mp5')
    """
    settings = sorted({name.rpartition("-")[2] for name in (a, b)})
    return "same setting" if len(settings) == 1 else " and ".join(settings)


def _pairs(world: str, seed: int, study: Poi, systems: pl.DataFrame) -> pl.DataFrame:
    found, scores = study.power, study.scores
    pairs = pairs_of(found.systems)
    row = {name: i for i, name in enumerate(systems["system"])}
    a, b = (np.array([row[pair[side]] for pair in pairs]) for side in (0, 1))
    names = {"world": [world] * len(pairs), "seed": [seed] * len(pairs)}
    names |= {"a": [pair[0] for pair in pairs], "b": [pair[1] for pair in pairs]}
    kinds = {"kind": [pair_kind(*pair) for pair in pairs]}
    table = systems.select(DIFFERENCES).to_numpy()
    apart = dict(zip(DIFFERENCES, (table[a] - table[b]).T.round(5), strict=True))
    powers = found.power[:, :, found.sizes.index(LEAST)]
    at = {name: i for i, name in enumerate(scores.systems)}
    effects = np.zeros_like(powers)
    for i, measure in enumerate(found.measures):
        values = scores.values[:, :, scores.measures.index(measure)]
        gaps = np.array([values[at[one]] - values[at[other]] for one, other in pairs])
        effects[i] = gaps.mean(axis=1) / np.maximum(gaps.std(axis=1, ddof=1), 1e-12)
    best = np.abs(effects).argmax(axis=0)  # many powers are 1; of these, too, one measure separates more clearly
    best_power = powers[best, np.arange(len(pairs))]
    leading = {"best": [found.measures[i] for i in best], "best_power": best_power.round(4)}
    columns: dict[str, Any] = {}
    for i, measure in enumerate(found.measures):
        columns |= {f"power {measure}": powers[i].round(4), f"effect {measure}": effects[i].round(5)}
    return pl.DataFrame({**names, **kinds, **apart, **leading, **columns})


def worse_references(test: Part, seed: int) -> Iterator[tuple[str, rd.References]]:
    """Yield the references with items left out at random, and those of a utility with errors."""
    for share in _PLAN["left_out"]:
        yield f"{share:.0%} left out", left_out(test, share, np.random.default_rng([seed, 27, round(100 * share)]))
    for noise in _PLAN["noise"]:
        yield f"noise {noise:g}", mistaken(test, noise, np.random.default_rng([seed, 28, round(100 * noise)]))


def _labels(test: Part, runs: Mapping[str, Run], study: Poi, protocol: Protocol, seed: int) -> pl.DataFrame:
    """Return each measure's median power and order of systems under worse references."""
    whole = study.scores.means
    medians = study.power.medians[:, study.power.sizes.index(LEAST)]
    rows = [("complete", m, float(p), 1.0) for m, p in zip(study.power.measures, medians, strict=True)]
    for name, references in worse_references(test, seed):
        with warnings_into([]):
            scores = rd.evaluate(references, dict(runs), MEASURES)
            testing: dict[str, Any] = {
                "subsamples": protocol.subsamples,
                "permutations": protocol.permutations,
                "p_value": "paper",
            }
            found = power(scores, sizes=[LEAST], seed=seed, **testing)
        if not found.complete:
            raise KeyboardInterrupt
        for i, measure in enumerate(found.measures):
            at = scores.measures.index(measure)
            tau = float(tau_b(whole[:, study.scores.measures.index(measure)], scores.means[:, at]))
            rows.append((name, measure, float(found.medians[i, 0]), tau))
    return pl.DataFrame(rows, schema=["labels", "measure", "power", "tau"], orient="row")
