"""What does a raw threshold cost? False alarms and missed losses of a gate: python -m benchmarks.gate [DL21 FOLDER]

A common check in continuous integration fails a candidate whose mean is more than 2% below the baseline's. Here it is
compared with ``rd.gate`` at the same margin, 2% of the baseline's mean. Per-query scores are nDCG@10 of the 63 runs of
TREC Deep Learning 2021 (passages): a run, and either the run whose scores are most like its own (a small change) or the
next one by the mean (another system). Queries are drawn with replacement, and the differences of a pair are shifted to
a true change that is known. Writes benchmarks/gate/found.json, which docs/gate.md shows.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import rankdev as rd
from rankdev.statistics.pairs import Family
from rankdev.statistics.tests import student

DEFAULT = Path(__file__).parents[2].parent / "shared/data/trec-dl/passage/dl21"
FOUND = Path(__file__).parent / "found.json"
SIZES, CHANGES, THRESHOLD, ALPHA, TRIALS = (50, 200, 1000), (0.0, -0.02, -0.04), 0.02, 0.05, 5000
KINDS = ("a small change", "another system")


def scores(folder: Path) -> np.ndarray:
    """Return nDCG@10 of every run: ``[system, query]``."""
    runs = {path.name: path for path in sorted(folder.glob("runs/input.*.gz"))}
    found = rd.evaluate(folder / "qrels.dl21-passage.txt", runs, "nDCG@10")
    return found.sorted_by("nDCG@10").values[:, :, 0]


def pairs(values: np.ndarray) -> dict[str, np.ndarray]:
    """Return pairs (baseline, candidate) of systems of each kind."""
    spread = np.std(values[:, None] - values[None], axis=2)
    spread[spread < 1e-6] = np.inf  # runs that were handed in twice, and each with itself
    systems = np.arange(len(values))
    nearest, following = np.stack([systems, spread.argmin(1)], 1), np.stack([systems[:-1], systems[1:]], 1)
    following = following[np.isfinite(spread[following[:, 0], following[:, 1]])]
    return dict(zip(KINDS, (nearest, following), strict=True))


def drawn(
    values: np.ndarray, among: np.ndarray, queries: int, change: float, trials: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return scores of baselines and candidates, ``[trial, query]``, and the margin of each trial."""
    chosen = among[rng.integers(len(among), size=trials)]
    picked = rng.integers(values.shape[1], size=(trials, queries))
    old, new = values[chosen[:, 0]], values[chosen[:, 1]]
    means = old.mean(axis=1, keepdims=True)
    new = old + (new - old) - (new - old).mean(axis=1, keepdims=True) + change * means
    return np.take_along_axis(old, picked, 1), np.take_along_axis(new, picked, 1), THRESHOLD * means[:, 0]


def decided(old: np.ndarray, new: np.ndarray, margin: np.ndarray) -> dict[str, np.ndarray]:
    """Return which trials fail by a raw threshold, and which pass and fail by a gate; all of them at once."""
    trials = len(old)
    family = Family(
        np.concatenate([old, new]).T, np.arange(old.shape[1]), trials + np.arange(trials), np.arange(trials), 1.0
    )
    low, high = student(family, ALPHA).interval(family, np.full(trials, ALPHA))
    raw = new.mean(axis=1) < (1 - THRESHOLD) * old.mean(axis=1)
    return {"raw fails": raw, "gate fails": high < -margin, "gate passes": low > -margin}


def simulate(values: np.ndarray, trials: int = TRIALS, seed: int = 0) -> list[dict[str, Any]]:
    """Return a row per kind of change, number of queries and true change, with the fraction of trials."""
    rows = []
    for kind, among in pairs(values).items():
        for queries in SIZES:
            for change in CHANGES:
                rng = np.random.default_rng([seed, KINDS.index(kind), queries, CHANGES.index(change)])
                found = decided(*drawn(values, among, queries, change, trials, rng))
                rates = {name: round(float(trial.mean()), 4) for name, trial in found.items()}
                rows.append({"kind": kind, "queries": queries, "change": change, "trials": trials, **rates})
                print(rows[-1], flush=True)
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """Write the rows as the table of docs/gate.md."""
    heads = ("threshold fails", "gate fails", "gate cannot tell")
    columns = [
        *(f"no change: {head}" for head in heads),
        *(f"4% worse: {head.replace('fails', 'passes')}" for head in heads),
    ]
    lines = [f"| candidate | queries | {' | '.join(columns)} |", "|---" * (len(columns) + 2) + "|"]
    known = {(row["kind"], row["queries"], row["change"]): row for row in rows}
    for kind in KINDS:
        for queries in SIZES:
            same, worse = known[kind, queries, CHANGES[0]], known[kind, queries, CHANGES[-1]]
            rates = (same["raw fails"], same["gate fails"], _open(same))
            rates += (1 - worse["raw fails"], worse["gate passes"], _open(worse))
            lines.append(f"| {kind} | {queries:,} | {' | '.join(f'{rate:.1%}' for rate in rates)} |")
    return "\n".join(lines)


def _open(row: dict[str, Any]) -> float:
    return 1 - row["gate passes"] - row["gate fails"]


def wrong_passes(rows: list[dict[str, Any]]) -> str:
    """Write the sentence of docs/gate.md about candidates that are worse by the margin, the edge of what may pass."""
    edge = [row for row in rows if row["change"] == -THRESHOLD]
    raw, gate = ([1 - row["raw fails"] for row in edge], [row["gate passes"] for row in edge])
    return (
        f"Of candidates that are worse by exactly the margin, {min(raw):.0%} to {max(raw):.0%} pass the threshold and"
        f" {min(gate):.1%} to {max(gate):.1%} pass the gate, which allows 2.5%."
    )


if __name__ == "__main__":
    found = simulate(scores(Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT))
    FOUND.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(table(found), wrong_passes(found), sep="\n\n")
