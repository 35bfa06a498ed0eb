"""Can a pilot predict which measure has the most power? `python -m benchmarks.statements.choice ../shared/data`.

Writes docs/data/choice.json: mean power over pairs of systems under the measure that each way of choosing takes. The
rule from losses is fitted to pairs of worlds A and C of the study of real places (what `rankdev study poi --real
--pairs` wrote, the first seed): each measure's share of the largest effect, by the shares of what two systems lose by
retrieval, cutoff and order. It is tested on worlds B and AC, which it has not seen, and on public runs, where 40 random
halves of the queries are the pilot and the other halves tell the power. The one fixed choice is the best of A and C.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars as pl

import rankdev as rd
from benchmarks.statements.page import CHOICE, PAIRS
from rankdev.io.tables import runs_in
from rankdev.statistics.power.student import power_of

FITTED, UNSEEN = ("A", "C"), ("B", "AC")
HALVES, QUERIES, ALPHA, RIDGE = 40, 25, 0.05, 0.5
LOST = ("lost_by_retrieval", "lost_by_cutoff", "lost_by_order")


def features(lost: np.ndarray) -> np.ndarray:
    """Return the shares of a pair's losses; that by order is negative where one system leads in each."""
    found, order = lost[:, 0] + lost[:, 1], lost[:, 2]
    total = np.maximum(np.abs(lost).sum(axis=1), 1e-12)
    opposed = order * np.where(found < 0, -1, 1)
    return np.column_stack([np.ones(len(lost)), np.abs(found) / total, opposed / total, np.abs(lost[:, 0]) / total])


def fitted(lost: np.ndarray, effects: np.ndarray) -> tuple[np.ndarray, int]:
    """Return the rule's coefficients, and the one measure that is best without it."""
    size = np.abs(effects)
    share = size / np.maximum(size.max(axis=1, keepdims=True), 1e-12)
    known = features(lost)
    return np.linalg.solve(known.T @ known + RIDGE * np.eye(4), known.T @ share), int(np.argmax(share.mean(axis=0)))


def powers(effects: np.ndarray, n: int, ways: Mapping[str, np.ndarray | int]) -> dict[str, float]:
    """Return the mean power of each way's choice, of the best single measure and of the best for each pair."""
    power = power_of(n, ALPHA)(effects)
    found = {name: float(power[np.arange(len(power)), choice].mean()) for name, choice in ways.items()}
    return {**found, "best measure": float(power.mean(axis=0).max()), "best for each pair": power.max(axis=1).mean()}


def of_world(table: pl.DataFrame, measures: list[str]) -> tuple[np.ndarray, np.ndarray]:
    return table.select(LOST).to_numpy(), table.select([f"effect {name}" for name in measures]).to_numpy()


def of_queries(values: np.ndarray, best: np.ndarray, queries: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return losses and effects of all pairs, from scores and best placings [system, query, …]."""
    one, other = np.triu_indices(len(values), 1)
    apart = values[one][:, queries] - values[other][:, queries]
    spread = apart.std(axis=1, ddof=1)
    score, first, returned, ideal = best[:, queries].mean(axis=1).T
    lost = np.column_stack([ideal - returned, returned - first, first - score])
    return lost[one] - lost[other], np.where(spread > 0, apart.mean(axis=1) / np.where(spread > 0, spread, 1), 0.0)


def collections(data: Path) -> dict[str, tuple[rd.References, dict[str, str]]]:
    folder = data / "trec-dl" / "passage"
    runs = {19: runs_in(folder / "dl19"), 20: runs_in(folder / "dl20"), 21: runs_in(folder / "dl21" / "runs")}
    found = {f"DL{y}": (rd.read_references(folder / f"qrels.dl{y}-passage.txt"), runs[y]) for y in (19, 20)}
    found["DL21"] = rd.read_references(folder / "dl21" / "qrels.dl21-passage.txt"), runs[21]
    judged = rd.read_preferences(data / "preferences" / "dl21-crowd" / "judgments.txt.gz")
    found["DL21, crowd"] = rd.References.from_preferences(judged, disconnected="largest"), runs[21]
    return found


def main(data: Path) -> None:
    pairs = pl.read_csv(PAIRS)
    measures = [name.removeprefix("effect ") for name in pairs.columns if name.startswith("effect ")]
    seen = pairs.filter(pl.col("world").is_in(FITTED), pl.col("seed") == pairs["seed"].min())
    rule, fixed = fitted(*of_world(seen, measures))
    rows = {}
    for world in UNSEEN:
        lost, effects = of_world(pairs.filter(world=world), measures)
        n = next(n for n in range(2, 10_000) if power_of(n, ALPHA)(effects).mean() >= 0.5)
        ways = {"fixed": fixed, "losses": np.argmax(features(lost) @ rule, axis=1)}
        rows[f"world {world}"] = {"n": n, **powers(effects, n, ways)}
    for name, (references, runs) in collections(data).items():
        values = rd.evaluate(references, runs, measures).values
        best = rd.losses(references, runs, "RDQ@5").scores.values
        rng, drawn = np.random.default_rng(0), []
        for _ in range(HALVES):
            pilot, rest = np.array_split(rng.permutation(values.shape[1]), 2)
            (lost, known), (_, effects) = of_queries(values, best, pilot), of_queries(values, best, rest)
            ways = {
                "fixed": fixed,
                "losses": np.argmax(features(lost) @ rule, axis=1),
                "pilot": int(np.argmax(power_of(QUERIES, ALPHA)(known).mean(axis=0))),
                "pilot of the pair": np.argmax(np.abs(known), axis=1),
            }
            drawn.append(powers(effects, QUERIES, ways))
        rows[name] = {"n": QUERIES, **{way: float(np.mean([one[way] for one in drawn])) for way in drawn[0]}}
    content = {"source": "python -m benchmarks.statements.choice", "fixed": measures[fixed], "rows": rows}
    CHOICE.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
