"""Rerankers of a city's places in several worlds: ``python -m experiments.city PLACES.csv -o FILE``.

Trains four models in three settings on queries about the places, and runs the paper's study on them. A seed determines
everything. docs/research.md describes worlds, queries and systems.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from experiments.places import read_places
from experiments.rerankers import references_of, rerank
from experiments.search import Weights, collect
from rankdev.studies.poi import FULL, LEAST, Poi, Protocol, run_poi

PLAN = json.loads(Path(__file__).with_name("worlds.json").read_text("utf-8"))
WORLDS: Mapping[str, Mapping[str, Any]] = PLAN["worlds"]
RDQ, FEW = "RDQ@5", 25  # at so few queries powers are not yet near 1
QUICK = Protocol(800, (25, 50, 100, 200, 400), 40, 200)
SCHEMA = {"world": pl.String, "seed": pl.Int64, "part": pl.String, "measure": pl.String, "statistic": pl.String}
SCHEMA["value"] = pl.Float64


def main(arguments: list[str] | None = None) -> None:
    """Write the numbers of all worlds and seeds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("places", type=Path, help="CSV with OpenStreetMap's columns")
    parser.add_argument("-o", "--output", type=Path, default=Path("facts.csv"))
    parser.add_argument("--world", action="append", choices=list(WORLDS), help="default: all")
    parser.add_argument("--seed", action="append", type=int, help=f"default: {PLAN['seeds']}")
    parser.add_argument("--queries", type=int, default=PLAN["queries"])
    parser.add_argument("--training", type=int, default=PLAN["training_queries"])
    parser.add_argument("--candidates", type=int, default=PLAN["candidates"])
    parser.add_argument("--rounds", type=int, default=100, help="of boosting")
    parser.add_argument("--quick", action="store_true", help="fewer subsamples and flips")
    given = parser.parse_args(arguments)
    city = read_places(given.places)
    protocol = QUICK if given.quick else FULL
    facts = []
    for seed in given.seed or PLAN["seeds"]:
        for world in given.world or WORLDS:
            about = WORLDS[world]
            weights = Weights(about["distance"], about["popularity"])
            train, test = collect(city, weights, seed, given.queries, given.candidates, given.training)
            runs = dict(rerank(train, test, given.rounds, queries=given.training, dropout=about["dropout"], seed=seed))
            study = run_poi(references_of(test), runs, protocol=protocol, seed=seed)
            facts += [{"world": world, "seed": seed, **fact} for fact in facts_of(study)]
            print(f"world {world}, seed {seed}", flush=True)
            pl.DataFrame(facts, schema=SCHEMA).write_csv(given.output)


def facts_of(study: Poi) -> Iterator[dict[str, Any]]:
    """Yield every number of a study: the paper's tables, power at 25 queries, and leads of RDQ@5."""
    rows = [row[:4] for row in study.to_polars().iter_rows()]
    few = study.power.summary(FEW).select("measure", "p50")
    rows += [(f"power at {FEW}", measure, "p50", value) for measure, value in few.iter_rows()]
    for n in (FEW, LEAST):
        median = dict(study.power.summary(n).select("measure", "p50").iter_rows())
        leads = {measure: median[RDQ] - value for measure, value in median.items() if measure != RDQ}
        rows += [(f"lead of {RDQ} at {n}", measure, "p50", lead) for measure, lead in leads.items()]
    for part, measure, statistic, value in rows:
        rounded = None if value is None else round(float(value), 4)
        yield {"part": part, "measure": measure, "statistic": statistic, "value": rounded}


if __name__ == "__main__":
    main()
