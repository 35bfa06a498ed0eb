"""What people's checks of a language model are good for: ``python -m benchmarks.preferences.llm_judges [--keep]``.

People and a model compare all pairs of the five items of each query. The model errs in its own way, prefers the item
that it sees first, and may err in favour of one of the two systems. Queries are drawn from a large population, a few of
them are judged by people too, and the intervals are compared with the population's values.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from benchmarks.history import Row, report

import rankdev as rd
from rankdev.judging.check import scored
from rankdev.statistics.agreement_with_people import fraction_limits
from rankdev.statistics.prediction_powered import prediction_powered

ITEMS, MEASURE, SPREAD = 5, "RDQ@5", 4.0


@dataclass(frozen=True)
class Model:
    """A model: how far its strengths err, where the true ones scatter by 4; its bias to the first, and to system b."""

    name: str
    error: float
    first: float
    favours: float


MODELS = (
    Model("good", 1.0, 0.5, 0.0),
    Model("fair, position bias", 3.0, 2.0, 0.0),
    Model("fair, favours b", 3.0, 0.5, 1.0),
    Model("random", np.inf, 1.0, 0.0),
)


def population(model: Model, queries: int, rng: np.random.Generator, better: float) -> dict[str, Any]:
    """Judge and score a population; system a is better by ``better``, in the scatter of its scores."""
    truth = rng.normal(size=(queries, ITEMS)) * SPREAD
    own = rng.normal(size=(queries, ITEMS)) * min(model.error, SPREAD)
    seen = own + (truth if np.isfinite(model.error) else 0)
    i, j = np.triu_indices(ITEMS, 1)
    side = np.where(rng.random((queries, len(i))) < 0.5, 1, -1)  # whether the model sees the first of the pair first
    chances = {
        "human": 1 / (1 + np.exp(truth[:, j] - truth[:, i])),
        "model": 1 / (1 + np.exp(seen[:, j] - seen[:, i] - side * model.first)),
    }
    won = {who: rng.random(chance.shape) < chance for who, chance in chances.items()}
    noise = rng.normal(size=(2, queries, ITEMS))
    a = truth + SPREAD * noise[0]
    b = truth * (1 - better) + model.favours * own + SPREAD * noise[1]
    names = [f"q{k}" for k in range(queries)]
    runs = {
        name: {q: [f"d{k}" for k in row] for q, row in zip(names, np.argsort(-score, axis=1), strict=True)}
        for name, score in (("a", a), ("b", b))
    }
    scores = {}
    for who, first in won.items():
        query = np.repeat(names, len(i))
        left, right = np.tile(i, queries), np.tile(j, queries)
        winner, loser = (np.where(first.ravel(), *sides) for sides in ((left, right), (right, left)))
        items = np.array([f"d{k}" for k in range(ITEMS)])
        frame = pl.DataFrame({"query": query, "winner": items[winner], "loser": items[loser], "tie": False})
        scores[who] = scored(frame, runs, MEASURE)
    return {**scores, "names": names, "agrees": (won["human"] == won["model"]).mean(axis=1)}


def trials(found: dict[str, Any], judged: int, by_people: int, number: int, rng: np.random.Generator) -> list[float]:
    """Draw queries, and count how often intervals hold."""
    agree = found["agrees"]
    values = {who: found[who].select(queries=found["names"]).values for who in ("human", "model")}
    truth = float((values["human"][0] - values["human"][1]).mean())
    rows = []
    for _ in range(number):
        drawn = rng.choice(len(agree), judged, replace=False)
        names = tuple(map(str, range(judged)))
        human_part = rd.Scores(("a", "b"), names[:by_people], (MEASURE,), values["human"][:, drawn[:by_people]])
        model_part = rd.Scores(("a", "b"), names, (MEASURE,), values["model"][:, drawn])
        row = prediction_powered(human_part, model_part, baselines="b").to_polars().row(2, named=True)
        apart = (values["model"][0] - values["model"][1])[drawn, 0]
        reach = 1.96 * apart.std(ddof=1) / np.sqrt(judged)
        (low,), (high,) = fraction_limits(10 * agree[drawn[:by_people], None], np.full(by_people, 10.0), 0.05)
        sign = np.sign(truth)
        rows.append(
            (
                row["low"] <= truth <= row["high"],
                row["human_low"] <= truth <= row["human_high"],
                abs(apart.mean() - truth) <= reach,
                (row["high"] - row["low"]) / (row["human_high"] - row["human_low"]),
                row["low"] > 0 or row["high"] < 0,
                row["human_low"] > 0 or row["human_high"] < 0,
                (row["high"] < 0) if sign > 0 else (row["low"] > 0),
                sign * apart.mean() + reach < 0,
                low <= agree.mean() <= high,
            )
        )
    means = np.mean(np.array(rows, float), axis=0)
    return [truth, float(agree.mean()), *means.tolist()]


NAMES = ("difference", "agreement", "joined holds", "people hold", "model holds", "width", "joined decides")
NAMES += ("people decide", "joined wrong", "model wrong", "agreement holds")


def worst(rows: pl.DataFrame) -> list[Row]:
    """Return the worst of the rows of each model."""
    found = rows.group_by("model", maintain_order=True).agg(
        pl.col("agreement").mean().alias("agreement with people"),
        pl.col("joined holds").min().alias("coverage, from both"),
        pl.col("model holds").min().alias("coverage, from the model alone"),
        pl.col("joined wrong").max().alias("wrong conclusions, from both"),
        pl.col("model wrong").max().alias("wrong conclusions, from the model alone"),
        pl.col("width").min().alias("least width relative to people alone"),
        pl.col("width").max().alias("most"),
        pl.col("agreement holds").min().alias("coverage of the agreement"),
    )
    return found.to_dicts()


def main() -> None:
    """Print a row per model and number of queries that people judged, and the worst of each model."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--population", type=int, default=8000)
    parser.add_argument("--keep", action="store_true", help="add the tables to the history")
    options = parser.parse_args()
    rows = []
    for k, model in enumerate(MODELS):
        for better in (0.0, 0.3):
            rng = np.random.default_rng((7, k, int(10 * better)))
            found = population(model, options.population, rng, better)
            for by_people in (10, 20, 40):
                measured = trials(found, 200, by_people, options.trials, rng)
                rows.append((model.name, better, by_people, *measured))
    table = pl.DataFrame(rows, schema=["model", "better", "queries", *NAMES], orient="row")
    with pl.Config(tbl_rows=-1, tbl_cols=-1, tbl_width_chars=200, fmt_str_lengths=30):
        print(table)
    report("Models and people", worst(table), keep=options.keep)


if __name__ == "__main__":
    main()
