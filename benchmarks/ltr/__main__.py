"""Train for RDQ with LightGBM, and with lambdarank: python -m benchmarks.ltr [--seeds N] [--data FOLDER] [--keep].

Equal settings and a fixed number of rounds for all; every model is scored by RDQ@10 on fresh queries. The
difference to lambdarank is taken with the gain that turned out best (and worst) on the test queries, which no user can
know beforehand.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import lightgbm as lgb
import numpy as np
from benchmarks.history import Row, report
from benchmarks.ltr.data import Rows, example, made, taken

from rankdev._common.arrays import Floats
from rankdev.integrations.lightgbm import Metric, Objective
from rankdev.learning.training import OUTSIDE, PositionGains

K = 10
ROWS = np.full(10_000, 100)
GAINS = {
    "binary": lambda rank: np.ones(len(rank)),
    "inverse": lambda rank: 1 / rank,
    "linear": lambda rank: 21.0 - rank,
    "exponential": lambda rank: 2.0 ** (1 - rank),
}
SETTINGS = {"num_leaves": 15, "learning_rate": 0.1, "min_data_in_leaf": 20, "verbosity": -1, "num_threads": 1}
DESIGNS = {"mixed": "RDQ@10", "short": "RDQ@10", "long": "RDQ@10", "m1": "RDQ(penalty=m1)@10", "uneven": "RDQ@10"}
WORDS = {
    "mixed": "references of 3–20 items",
    "short": "4 items",
    "long": "20 items",
    "m1": "3–20 items, penalty M1",
    "uneven": "3–20 items, label noise in some rows only",
}


class NDCG(Objective):
    """Lambdarank by the same code, so that noise can be added to it: DCG is a sum over positions as well."""

    def __init__(self, gain: str, noise: float, seed: int) -> None:
        super().__init__(f"RDQ@{K}", normalise=False, noise=noise, seed=seed)
        self.gain = gain

    def gains(self, labels: Floats, sizes: Floats) -> PositionGains:
        """Let rows earn their gain by the discount of the position."""
        known = super().gains(labels, sizes)
        owner = np.repeat(np.arange(len(known.sizes)), known.sizes)
        gains = np.zeros(len(labels))
        inside = known.ranks < OUTSIDE
        gains[inside] = GAINS[self.gain](known.ranks[inside])
        order = np.lexsort((-gains, owner))
        position = np.arange(len(order)) - known.offsets[owner]
        discount = 1 / np.log2(np.arange(K) + 2)
        top = position < K
        best = np.bincount(owner[top], gains[order][top] * discount[position[top]], len(known.sizes))
        return PositionGains(
            known.offsets, known.ranks, gains[:, None] * discount / np.maximum(best, 1e-9)[owner, None]
        )


def lambdarank(train: Rows, gain: str) -> dict[str, object]:
    """Parameters of LightGBM's own lambdarank with a gain made from ranks; labels are 31 − rank there."""
    table = np.append(0.0, GAINS[gain](31.0 - np.arange(1, 31)))
    return {"objective": "lambdarank", "label_gain": table.tolist(), "lambdarank_truncation_level": K + 3}


def fitted(train: Rows, test: Rows, measure: str, objective: object, rounds: int, seed: int) -> float:
    """Train, and score on the test queries."""
    labels = train.labels
    settings = {**SETTINGS, "seed": seed}
    if isinstance(objective, str):
        settings |= lambdarank(train, objective)
        ranks = PositionGains.of(Metric(measure).measure, labels, train.sizes).ranks
        labels = np.where(ranks < OUTSIDE, 31 - np.minimum(ranks, 30), 0)
    else:
        settings["objective"] = objective
    booster = lgb.train(settings, lgb.Dataset(train.features, labels, group=train.sizes), rounds)
    return Metric(measure).mean(test.labels, booster.predict(test.features), test.sizes)


def compared(train: Rows, test: Rows, measure: str, rounds: int, seed: int, *, every: bool) -> dict[str, float]:
    """Scores of all objectives on one pair of training and test queries."""
    objectives: dict[str, object] = {f"lambdarank, {gain}": gain for gain in GAINS}
    objectives["RDQ"] = Objective(measure, seed=seed)
    objectives["RDQ, noise"] = Objective(measure, noise=0.3, seed=seed)
    for noise, word in ((0.0, "unnormalised"), (1.0, "unnormalised, noise")) if every else ():
        objectives[f"RDQ, {word}"] = Objective(measure, normalise=False, noise=noise, seed=seed)
        objectives |= {f"nDCG {gain}, {word}": NDCG(gain, noise, seed) for gain in ("inverse", "linear")}
    return {name: fitted(train, test, measure, each, rounds, seed) for name, each in objectives.items()}


def shown(data: str, results: list[dict[str, float]]) -> Row:
    """Print the means, and return them beside lambdarank's worst and best gain, ± two standard errors."""
    table = {name: np.array([result[name] for result in results]) for name in results[0]}
    print(f"{data} ({len(results)} seeds)")
    for name, scores in table.items():
        print(f"  {name:24} {scores.mean():.4f}", flush=True)
    worst, *_, best = sorted((f"lambdarank, {gain}" for gain in GAINS), key=lambda name: table[name].mean())
    return {
        "data": data,
        "seeds": len(results),
        "lambdarank, worst gain": f"{table[worst].mean():.3f} ({worst.partition(', ')[2]})",
        "best gain": f"{table[best].mean():.3f} ({best.partition(', ')[2]})",
        "RDQ": float(table["RDQ"].mean()),
        "RDQ − best": apart(table["RDQ"] - table[best]),
        "with `noise=0.3` − best": apart(table["RDQ, noise"] - table[best]),
    }


def apart(difference: Floats) -> str:
    """Write a difference with two standard errors."""
    error = 2 * difference.std(ddof=1) / np.sqrt(len(difference))
    return f"{difference.mean():+.4f} ± {error:.4f}".replace("-", "−")


def timed() -> list[Row]:
    """CPU time of a round, for a million rows with 20 features: what ten more rounds take, in turns, the least of 3."""
    rng = np.random.default_rng(0)
    ranks = rng.random((10_000, 100)).argsort(axis=1) + 1
    rows = Rows(rng.normal(size=(10**6, 20)) - 0.02 * ranks.reshape(-1, 1), np.maximum(0, 21 - ranks).ravel(), ROWS)
    ways = {"lambdarank": lambdarank(rows, "linear"), "RDQ": {"objective": Objective("RDQ@10")}}
    least = dict.fromkeys(ways, np.inf)
    for _ in range(3):
        for name, way in ways.items():
            data = lgb.Dataset(rows.features, rows.labels, group=rows.sizes).construct()
            took = []
            for rounds in (1, 11):
                begin = time.process_time()
                lgb.train({**SETTINGS, **way}, data, rounds)
                took.append(time.process_time() - begin)
            least[name] = min(least[name], (took[1] - took[0]) / 10)
    return [{"objective": name, "CPU seconds": seconds} for name, seconds in least.items()]


def main() -> None:
    """Compare on every design, and on LightGBM's example where its folder is given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--data", type=Path, help="folder with rank.train.gz, rank.test.gz and their .query files")
    parser.add_argument("--designs", nargs="*", default=list(DESIGNS), choices=list(DESIGNS))
    parser.add_argument("--every", action="store_true", help="objectives without normalisation, too")
    parser.add_argument("--time", action="store_true", help="time a round instead")
    parser.add_argument("--keep", action="store_true", help="add the table to the history")
    given = parser.parse_args()
    if given.time:
        report("LightGBM, a round", timed(), keep=given.keep)
        return
    rows = []
    for design in given.designs:
        results = []
        for seed in range(given.seeds):
            rng = np.random.default_rng([seed, 1])
            train, test = made(design, rng, given.queries), made(design, rng, 1000)
            results.append(compared(train, test, DESIGNS[design], given.rounds, seed, every=given.every))
        rows.append(shown(WORDS[design], results))
    if given.data:
        whole, results = example(given.data), []
        for seed in range(2 * given.seeds):
            queries = np.random.default_rng(seed).permutation(len(whole.sizes))
            train, test = taken(whole, np.sort(queries[50:])), taken(whole, np.sort(queries[:50]))
            results.append(compared(train, test, "RDQ@10", given.rounds, seed, every=given.every))
        rows.append(shown("LightGBM's own ranking example, other queries held out each time", results))
    report("LightGBM", rows, keep=given.keep)


if __name__ == "__main__":
    main()
