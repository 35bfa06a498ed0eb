"""Does asking several questions at a time cost answers? python -m benchmarks.preferences.parallel [--keep]

Ten queries of twelve items with normal strengths (standard deviation 5), an imperfect judge who follows Bradley–Terry:
questions asked until ``rd.collect`` is finished and pairs that are then wrong, and pairs wrong with a budget.
"""

from __future__ import annotations

import sys

import numpy as np
from benchmarks.history import Row, report

import rankdev as rd

QUERIES, ITEMS, SPREAD, TRIALS, BUDGET = 10, 12, 5.0, 12, 250


def collected(seed: int, parallel: int, budget: int | None) -> tuple[int, float]:
    """Return the number of questions, and the fraction of pairs in the wrong order by the fitted strengths."""
    rng = np.random.default_rng(seed)
    names = [f"d{k}" for k in range(ITEMS)]
    truth = {
        f"q{q}": dict(zip(names, row, strict=True)) for q, row in enumerate(SPREAD * rng.normal(size=(QUERIES, ITEMS)))
    }

    def ask(query: str, a: str, b: str) -> str:
        return a if rng.random() < 1 / (1 + np.exp(truth[query][b] - truth[query][a])) else b

    found = rd.collect(ask, dict.fromkeys(truth, names), parallel=parallel, budget=budget, seed=seed)
    fitted = rd.strengths(found.preferences, disconnected="largest").to_polars()
    i, j = np.triu_indices(ITEMS, 1)
    wrong = []
    for query, own in truth.items():
        values = dict(fitted.filter(query=query).select("item", "strength").iter_rows())
        here = np.array([values.get(name, np.nan) for name in names])
        true = np.array([own[name] for name in names])
        wrong.append(np.mean((here[i] - here[j]) * (true[i] - true[j]) <= 0))
    return len(found.preferences), float(np.mean(wrong))


def main(keep: bool) -> None:
    table: list[Row] = []
    for parallel in (1, 8):
        whole = np.array([collected(seed, parallel, None) for seed in range(TRIALS)])
        part = np.array([collected(seed, parallel, BUDGET)[1] for seed in range(TRIALS)])
        table.append(
            {
                "at a time": f"{parallel}",
                "questions": whole[:, 0].mean(),
                "standard error": whole[:, 0].std(ddof=1) / np.sqrt(TRIALS),
                "pairs wrong": whole[:, 1].mean(),
                f"pairs wrong after {BUDGET}": part.mean(),
            }
        )
    report("Questions at a time", table, keep=keep)


if __name__ == "__main__":
    main("--keep" in sys.argv)
