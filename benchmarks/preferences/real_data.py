"""Results on real judgments: `python -m benchmarks.preferences.real_data ../shared/data`.

arguments: how well each method's strengths agree with the order supplied with the data. dl21-llm and dl21-crowd:
judgments → references → all runs scored, and the order of systems next to that by Compatibility on the authors' order.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import kendalltau, spearmanr

from rankdev.core.references import References
from rankdev.evaluation.evaluate import evaluate
from rankdev.evaluation.scores import Scores
from rankdev.io import read_run
from rankdev.io.preferences import read_preferences
from rankdev.preferences import Preferences, strengths, tiers
from rankdev.statistics.judgment_uncertainty import evaluate_with_uncertainty

AUTHORS = "Compat(p=0.95)@100"


def arguments(folder: Path) -> None:
    judged = read_preferences(folder / "pairs_by_worker.tsv.gz")
    gold = pl.read_csv(folder / "gold_ranking.tsv", separator="\t")
    options: list[dict[str, Any]] = [{}, {"method": "rank-centrality"}, {"method": "crowd-bt"}]
    for chosen in options:
        start = time.perf_counter()
        fit = strengths(judged, **chosen)
        spent = time.perf_counter() - start
        joined = fit.to_polars().join(gold, left_on=["query", "item"], right_on=["topic", "arg_id"])
        rho = [
            spearmanr(topic["strength"], -topic["rank_score"]).statistic
            for _, topic in joined.group_by("query", maintain_order=True)
        ]
        print(f"arguments {chosen}: mean Spearman {np.mean(rho):.4f} over {len(rho)} topics, {spent:.2f} s")
        if fit.workers is not None:
            print("  workers:", dict(fit.workers.to_polars()["verdict"].value_counts().rows()))
    print(tiers(strengths(judged)).undecided())


def systems(name: str, judged: Preferences, authors: References, runs: dict[str, Any]) -> Scores:
    start = time.perf_counter()
    result = tiers(strengths(judged))
    print(f"{name}: tiers in {time.perf_counter() - start:.1f} s")
    print(result.undecided())
    ours = evaluate(References.from_tiers(result.tiers), runs, ["RDQ@10", "RDQ@100", AUTHORS])
    theirs = evaluate(authors, runs, [AUTHORS]).means[:, 0]
    for number, measure in enumerate(ours.measures):
        tau = kendalltau(ours.means[:, number], theirs).statistic
        print(f"  {measure} on our references against {AUTHORS} on the authors' order: Kendall τ {tau:.3f}")
    return ours


def uncertainty(judged: Preferences, runs: dict[str, Any], resamples: int) -> None:
    start = time.perf_counter()
    found = evaluate_with_uncertainty(judged, runs, ["RDQ@10"], resamples=resamples)
    print(f"uncertainty, {resamples} resamples, {len(runs)} runs: {time.perf_counter() - start:.1f} s")
    print(found.to_polars(), found.beats())


def main() -> None:
    data = Path(sys.argv[1] if len(sys.argv) > 1 else "../shared/data")
    arguments(data / "preferences/arguments")
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
    systems("dl21-llm", model, authors, runs)
    scores = systems("dl21-crowd", crowd, authors, runs)
    best = np.argsort(-scores.means[:, 0])[:6]
    uncertainty(crowd, {scores.systems[k]: runs[scores.systems[k]] for k in best}, 40)


if __name__ == "__main__":
    main()
