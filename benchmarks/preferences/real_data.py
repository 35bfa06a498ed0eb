"""Results on real judgments: `python -m benchmarks.preferences.real_data ../shared/data [--keep]`.

arguments: how well each method's strengths agree with the order supplied with the data. dl21-llm and dl21-crowd:
judgments → references → all runs scored, and the order of systems next to that by Compatibility on the authors' order.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from benchmarks.history import Row, report
from scipy.stats import kendalltau, spearmanr

from rankdev.data.files import read_run
from rankdev.data.references import References
from rankdev.evaluation.evaluate import evaluate
from rankdev.evaluation.scores import Scores
from rankdev.preferences import Preferences, strengths, tiers
from rankdev.preferences.files import read_preferences
from rankdev.statistics.judgment_uncertainty import evaluate_with_uncertainty

AUTHORS = "Compat(p=0.95)@100"


METHODS: dict[str, dict[str, Any]] = {
    "Bradley–Terry, Davidson's ties": {},
    "Rank Centrality": {"method": "rank-centrality"},
    "Crowd-BT": {"method": "crowd-bt"},
}


def arguments(folder: Path) -> list[Row]:
    """Return each method's agreement with the order supplied with the data, and print what else it finds."""
    judged = read_preferences(folder / "pairs_by_worker.tsv.gz")
    gold = pl.read_csv(folder / "gold_ranking.tsv", separator="\t")
    rows: list[Row] = []
    for name, chosen in METHODS.items():
        fit = strengths(judged, **chosen)
        joined = fit.to_polars().join(gold, left_on=["query", "item"], right_on=["topic", "arg_id"])
        rho = [
            spearmanr(topic["strength"], -topic["rank_score"]).statistic
            for _, topic in joined.group_by("query", maintain_order=True)
        ]
        rows.append({"method": name, "topics": len(rho), "mean Spearman": f"{np.mean(rho):.4f}"})
        if fit.workers is not None:
            print("  workers:", dict(fit.workers.to_polars()["verdict"].value_counts().rows()))
    print(tiers(strengths(judged)).conclusion)
    return rows


def systems(name: str, judged: Preferences, authors: References, runs: dict[str, Any]) -> tuple[Scores, Row]:
    """Return scores on references from judgments, and how their order of systems agrees with the authors'."""
    result = tiers(strengths(judged))
    print(result.conclusion)
    ours = evaluate(References.from_tiers(result.tiers), runs, ["RDQ@10", "RDQ@100", AUTHORS])
    theirs = evaluate(authors, runs, [AUTHORS]).means[:, 0]
    items = sum(len(tier) for each in result.tiers.values() for tier in each)
    row: dict[str, Any] = {
        "judgments": f"{name}, {len(judged):,} on {items:,} items",
        "tiers": sum(map(len, result.tiers.values())),
    }
    row |= {measure: float(kendalltau(ours.means[:, k], theirs).statistic) for k, measure in enumerate(ours.measures)}
    return ours, row


def uncertainty(judged: Preferences, runs: dict[str, Any], resamples: int) -> list[Row]:
    """Return how far a mean moves up or down: by the judgments alone, and by judgments and queries together."""
    found = evaluate_with_uncertainty(judged, runs, ["RDQ@10"], resamples=resamples)
    print(found.beats())
    return [
        {
            "system": row["system"].removeprefix("input."),
            "RDQ@10": row["value"],
            "± by judgments": (row["judgments_high"] - row["judgments_low"]) / 2,
            "± by judgments and queries": (row["high"] - row["low"]) / 2,
        }
        for row in found.to_polars().iter_rows(named=True)
    ]


def main() -> None:
    keep, given = "--keep" in sys.argv, [word for word in sys.argv[1:] if word != "--keep"]
    data = Path(given[0] if given else "../shared/data")
    report("Arguments", arguments(data / "preferences/arguments"), keep=keep)
    order = pl.read_csv(data / "preferences/dl21-llm/prefs.dl21", separator=" ", has_header=False)
    order = order.rename(dict(zip(order.columns, ("query", "zero", "item", "grade"), strict=True)))
    authors = References.from_grades(order.with_columns(pl.col("query").cast(pl.String)))
    runs = {
        path.name.removesuffix(".gz"): read_run(path) for path in sorted((data / "trec-dl/passage/dl21/runs").iterdir())
    }
    print(len(runs), "runs")
    rounds = [read_preferences(data / f"preferences/dl21-llm/rounds/judge.0{k}.gz").to_polars() for k in range(6)]
    model = Preferences.from_table(pl.concat(rounds))
    crowd = read_preferences(data / "preferences/dl21-crowd/judgments.txt.gz")
    _, by_model = systems("language model", model, authors, runs)
    scores, by_crowd = systems("crowd", crowd, authors, runs)
    report("Judgments to systems", [by_model, by_crowd], keep=keep)
    best = np.argsort(-scores.means[:, 0])[:6]
    chosen = {scores.systems[k]: runs[scores.systems[k]] for k in best}
    report("Uncertainty of systems", uncertainty(crowd, chosen, 40), keep=keep)


if __name__ == "__main__":
    main()
