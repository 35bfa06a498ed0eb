"""Rerankers of a city's places in several worlds: ``python -m experiments.city PLACES.csv -o FILE --pairs FILE``.

Trains four models in three settings on queries about the places, and runs the paper's study on them. A seed determines
everything. Without PLACES the places are those of a built-in city; ``--cross-encoder FOLDER`` trains cross-encoders on
texts instead of LightGBM on features. docs/research.md describes worlds, queries and systems.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import rankdev as rd
from experiments.cross_encoder import CrossEncoders
from experiments.places import Floats, built_in_city, read_places
from experiments.rerankers import Trees, references_of, rerank
from experiments.search import Weights, collect
from rankdev.studies.poi import FULL, LEAST, Poi, Protocol, run_poi, statements_of

PLAN = json.loads(Path(__file__).with_name("worlds.json").read_text("utf-8"))
WORLDS: Mapping[str, Mapping[str, Any]] = PLAN["worlds"]
RDQ, FEW, CUTOFF = "RDQ@5", 25, 5  # at so few queries powers are not yet near 1
PAIR_KINDS = ("same setting", "mp3 and mp4", "mp3 and mp5", "mp4 and mp5")
DIFFERENCES = ("right", "depth", "in_order")
QUICK = Protocol(800, (25, 50, 100, 200, 400), 40, 200)
SCHEMA = {"world": pl.String, "seed": pl.Int64, "part": pl.String, "measure": pl.String, "statistic": pl.String}
SCHEMA["value"] = pl.Float64


def main(arguments: list[str] | None = None) -> None:
    """Write the numbers and the pairs of all worlds and seeds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("places", nargs="?", type=Path, help="CSV with OpenStreetMap's columns")
    parser.add_argument("-o", "--output", type=Path, default=Path("facts.csv"))
    parser.add_argument("--pairs", type=Path, default=Path("pairs.csv"))
    parser.add_argument("--world", action="append", choices=list(WORLDS), help="default: all")
    parser.add_argument("--seed", action="append", type=int, help=f"default: {PLAN['seeds']}")
    parser.add_argument("--queries", type=int, default=PLAN["queries"])
    parser.add_argument("--training", type=int, default=PLAN["training_queries"])
    parser.add_argument("--candidates", type=int, default=PLAN["candidates"])
    parser.add_argument("--rounds", type=int, help="of boosting, or epochs; default: 100, or 1 with --cross-encoder")
    parser.add_argument("--cross-encoder", metavar="FOLDER")
    parser.add_argument("--quick", action="store_true", help="fewer subsamples and flips")
    given = parser.parse_args(arguments)
    city = built_in_city() if given.places is None else read_places(given.places)
    folder, rounds = given.cross_encoder, given.rounds
    reranker = CrossEncoders(folder, city, rounds or 1) if folder else Trees(rounds or 100)
    protocol = QUICK if given.quick else FULL
    facts, pairs = [], []
    for seed in given.seed or PLAN["seeds"]:
        for world in given.world or WORLDS:
            about = WORLDS[world]
            weights = Weights(about["distance"], about["popularity"])
            train, test = collect(city, weights, seed, given.queries, given.candidates, given.training)
            runs = dict(rerank(reranker, train, test, queries=given.training, dropout=about["dropout"], seed=seed))
            references = references_of(test)
            study = run_poi(references, runs, protocol=protocol, seed=seed)
            facts += [{"world": world, "seed": seed, **fact} for fact in facts_of(study)]
            pairs.append(pairs_of(world, seed, study, described(references, runs)))
            print(f"world {world}, seed {seed}", flush=True)
            pl.DataFrame(facts, schema=SCHEMA).write_csv(given.output)
            pl.concat(pairs).write_csv(given.pairs)


def facts_of(study: Poi) -> Iterator[dict[str, Any]]:
    """Yield every number of a study: the paper's tables and statements, power at 25 queries, and leads of RDQ@5."""
    rows = [row[:4] for row in study.to_polars().iter_rows()]
    for text, _, ours, holds in statements_of(study):
        rows.append(("statements", ours, text, None if holds is None else float(holds)))
    few = study.power.summary(FEW).select("measure", "p50")
    rows += [(f"power at {FEW}", measure, "p50", value) for measure, value in few.iter_rows()]
    for n in (FEW, LEAST):
        median = dict(study.power.summary(n).select("measure", "p50").iter_rows())
        leads = {measure: median[RDQ] - value for measure, value in median.items() if measure != RDQ}
        rows += [(f"lead of {RDQ} at {n}", measure, "p50", lead) for measure, lead in leads.items()]
    for part, measure, statistic, value in rows:
        rounded = None if value is None else round(float(value), 4)
        yield {"part": part, "measure": measure, "statistic": statistic, "value": rounded}


def described(references: rd.References, runs: Mapping[str, rd.Run]) -> dict[str, list[float]]:
    """Describe the first items of each system: right, depth and in_order.

    ``right`` is the mean fraction of them (of as many as the reference has, if fewer) that are in the reference;
    ``depth`` the mean relative rank in the reference of those, from 0 to 1, where the reference is longer than the
    cutoff; ``in_order`` the mean fraction of pairs of them that are in the reference's order, where there are two.
    """
    known = references.to_polars().select("query", "item", "rank")
    sizes = dict(known.group_by("query").len().iter_rows())
    size = np.array([sizes[query] for query in references.queries], float)
    place = {query: i for i, query in enumerate(references.queries)}
    found = {}
    for name, run in runs.items():
        top = run.to_polars().select("query", "item").group_by("query", maintain_order=True).head(CUTOFF)
        top = top.with_columns(at=pl.int_range(pl.len()).over("query")).join(known, on=["query", "item"], how="left")
        first = np.zeros((len(place), CUTOFF))
        first[[place[query] for query in top["query"]], top["at"].to_numpy()] = top["rank"].fill_null(0).to_numpy()
        inside = first > 0
        hits = inside.sum(axis=1)
        right = hits / np.minimum(CUTOFF, size)
        long = (size > CUTOFF) & (hits > 0)
        depth = (np.where(inside, first, 0).sum(axis=1)[long] / hits[long] - 0.5) / size[long]
        left, below = np.triu_indices(CUTOFF, 1)
        both = inside[:, left] & inside[:, below]
        good = np.where(first[:, left] < first[:, below], 1.0, np.where(first[:, left] == first[:, below], 0.5, 0.0))
        two = hits > 1
        in_order = (good * both).sum(axis=1)[two] / both.sum(axis=1)[two]
        found[name] = [float(part.mean()) if len(part) else float("nan") for part in (right, depth, in_order)]
    return found


def pair_kind(a: str, b: str) -> str:
    """Say how two systems differ: in training alone (v72-mp3, v81-mp3), or in what they see."""
    settings = sorted({name.rpartition("-")[2] for name in (a, b)})
    return "same setting" if len(settings) == 1 else " and ".join(settings)


def pairs_of(world: str, seed: int, study: Poi, systems: Mapping[str, list[float]]) -> pl.DataFrame:
    """Return a row per pair: what differs, and for every measure its power at 100 queries and its effect.

    An effect is the mean difference a − b over its standard deviation: as power, but without a ceiling.
    """
    found, scores = study.power, study.scores
    pairs = list(combinations(found.systems, 2))
    apart: Floats = np.array([np.subtract(systems[a], systems[b]) for a, b in pairs]).round(5)
    columns: dict[str, Any] = {"world": [world] * len(pairs), "seed": [seed] * len(pairs)}
    columns |= {"a": [a for a, _ in pairs], "b": [b for _, b in pairs], "kind": [pair_kind(*pair) for pair in pairs]}
    columns |= dict(zip(DIFFERENCES, apart.T, strict=True))
    at = {name: i for i, name in enumerate(scores.systems)}
    for i, measure in enumerate(found.measures):
        values = scores.values[:, :, scores.measures.index(measure)]
        gaps = np.array([values[at[a]] - values[at[b]] for a, b in pairs])
        columns[f"power {measure}"] = found.power[i, :, found.sizes.index(LEAST)].round(4)
        columns[f"effect {measure}"] = (gaps.mean(axis=1) / np.maximum(gaps.std(axis=1, ddof=1), 1e-12)).round(5)
    return pl.DataFrame(columns)


if __name__ == "__main__":
    main()
