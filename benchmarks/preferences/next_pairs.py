"""How many judgments each strategy needs; `rankdev figures` draws what it finds.

python -m benchmarks.preferences.next_pairs src/rankdev/data/studies/next-pairs.json [--keep]

Queries of 16 items with normal strengths (standard deviation 1.5) are judged in batches chosen by each strategy;
quality is Kendall's τ-b between the fitted and the true order, and the same over the true best five items.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from benchmarks.history import Row, report
from scipy.stats import kendalltau

from rankdev.preferences import Preferences, next_pairs
from rankdev.preferences.models import Options
from rankdev.preferences.strengths import fit_model

ITEMS, QUERIES, BATCH, BATCHES, SPREAD = 16, 40, 8, 24, 1.5
STRATEGIES = ("information", "top-heavy", "grade-prior", "random")


def simulate(strategy: str, seed: int) -> list[tuple[float, float]]:
    """Judge one query batch by batch; τ over all items and over the best five, after each batch."""
    rng = np.random.default_rng(seed)
    strength = rng.normal(size=ITEMS) * SPREAD
    names = [f"d{k}" for k in range(ITEMS)]
    # grades of a first assessor: four levels, with noise
    noisy = strength + rng.normal(size=ITEMS) * 0.75
    grades = {"q": dict(zip(names, np.digitize(noisy, [-1.5, 0.0, 1.5]).tolist(), strict=True))}
    best = np.argsort(-strength)[:5]
    rows: list[tuple[str, str, str]] = []
    quality = []
    for batch in range(BATCHES):
        judged = Preferences.from_rows(rows, items={"q": names})
        for _, a, b in next_pairs(judged, BATCH, strategy, grades=grades, seed=seed + batch):
            chance = 1 / (1 + np.exp(strength[names.index(b)] - strength[names.index(a)]))
            rows.append(("q", a, b) if rng.random() < chance else ("q", b, a))
        judged = Preferences.from_rows(rows, items={"q": names})
        fitted = fit_model(judged, "bradley-terry", Options(ties="half")).values
        quality.append(
            (kendalltau(fitted, strength).statistic, np.nan_to_num(kendalltau(fitted[best], strength[best]).statistic))
        )
    return quality


def main() -> None:
    judgments = np.arange(1, BATCHES + 1) * BATCH
    titles, levels = ("order of all 16 items", "order of the best five"), ((0.7, 0.8), (0.5, 0.6))
    panels = [{"title": title, "label": "Kendall τ with the truth", "curves": {}} for title in titles]
    table: list[Row] = []
    for strategy in STRATEGIES:
        mean = np.mean([simulate(strategy, seed) for seed in range(QUERIES)], axis=0)
        row: dict[str, str | float] = {"strategy": f"`{strategy}`"}
        for panel, column, wanted, what in zip(panels, mean.T, levels, ("all items", "best five"), strict=True):
            panel["curves"][strategy] = column.round(4).tolist()
            for t in wanted:
                reached = int(judgments[np.argmax(column >= t)]) if column.max() >= t else "not reached"
                row[f"{what}, τ ≥ {t}"] = reached
            row[f"{what}, τ at the end"] = float(column[-1])
        table.append(row)
    report("Strategies", table, keep="--keep" in sys.argv)
    title = "Choosing pairs pays at the top; over all items random pairs do nearly as well"
    found = {"title": title, "judgments": judgments.tolist(), "panels": panels}
    Path(sys.argv[1]).write_text(json.dumps(found, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
