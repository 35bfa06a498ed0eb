"""Train for RDQ with LightGBM, and with lambdarank: python -m benchmarks.ltr [--seeds N] [--data FOLDER].

Equal settings and a fixed number of rounds for all; every model is scored by RDQ@10 on fresh queries. The
difference to lambdarank is taken with the gain that turned out best (and worst) on the test queries, which no user can
know beforehand.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import lightgbm as lgb
import numpy as np
from benchmarks.ltr.data import Rows, example, made, taken

from rankdev._common.arrays import Floats
from rankdev.integrations.lightgbm import Metric, Objective
from rankdev.learning.gains import OUTSIDE, PositionGains

K = 10
GAINS = {
    "binary": lambda rank: np.ones(len(rank)),
    "inverse": lambda rank: 1 / rank,
    "linear": lambda rank: 21.0 - rank,
    "exponential": lambda rank: 2.0 ** (1 - rank),
}
SETTINGS = {"num_leaves": 15, "learning_rate": 0.1, "min_data_in_leaf": 20, "verbosity": -1, "num_threads": 1}
DESIGNS = {"mixed": "RDQ@10", "short": "RDQ@10", "long": "RDQ@10", "m1": "RDQ(penalty=m1)@10", "uneven": "RDQ@10"}


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


def compared(train: Rows, test: Rows, measure: str, rounds: int, seed: int) -> dict[str, float]:
    """Scores of all objectives on one pair of training and test queries."""
    objectives: dict[str, object] = {f"lambdarank, {gain}": gain for gain in GAINS}
    objectives["RDQ"] = Objective(measure, seed=seed)
    objectives["RDQ, noise"] = Objective(measure, noise=0.3, seed=seed)
    for noise, word in ((0.0, "unnormalised"), (1.0, "unnormalised, noise")):
        objectives[f"RDQ, {word}"] = Objective(measure, normalise=False, noise=noise, seed=seed)
        objectives |= {f"nDCG {gain}, {word}": NDCG(gain, noise, seed) for gain in ("inverse", "linear")}
    return {name: fitted(train, test, measure, each, rounds, seed) for name, each in objectives.items()}


def shown(design: str, results: list[dict[str, float]]) -> None:
    """Print the means, and differences to the best and the worst gain, ± two standard errors."""
    table = {name: np.array([result[name] for result in results]) for name in results[0]}
    print(f"{design} ({len(results)} seeds)")
    for name, scores in table.items():
        print(f"  {name:24} {scores.mean():.4f}")
    for choose in (max, min):
        other = choose((f"lambdarank, {gain}" for gain in GAINS), key=lambda name: table[name].mean())
        compare("RDQ", other, table)
        compare("RDQ, noise", other, table)
    for name in ("RDQ", "RDQ, unnormalised", "nDCG inverse, unnormalised", "nDCG linear, unnormalised"):
        compare(f"{name}, noise", name, table)


def compare(a: str, b: str, table: dict[str, Floats]) -> None:
    """Print one difference."""
    difference = table[a] - table[b]
    error = 2 * difference.std(ddof=1) / np.sqrt(len(difference))
    print(f"  {a} − {b}: {difference.mean():+.4f} ± {error:.4f}", flush=True)


def main() -> None:
    """Compare on every design, and on LightGBM's example where its folder is given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--data", type=Path, help="folder with rank.train.gz, rank.test.gz and their .query files")
    parser.add_argument("--designs", nargs="*", default=list(DESIGNS), choices=list(DESIGNS))
    given = parser.parse_args()
    for design in given.designs:
        results = []
        for seed in range(given.seeds):
            rng = np.random.default_rng([seed, 1])
            train, test = made(design, rng, given.queries), made(design, rng, 1000)
            results.append(compared(train, test, DESIGNS[design], given.rounds, seed))
        shown(design, results)
    if given.data:
        rows, results = example(given.data), []
        for seed in range(given.seeds):
            queries = np.random.default_rng(seed).permutation(len(rows.sizes))
            train, test = taken(rows, np.sort(queries[50:])), taken(rows, np.sort(queries[:50]))
            results.append(compared(train, test, "RDQ@10", given.rounds, seed))
        shown("LightGBM's example, other queries held out for each seed", results)


if __name__ == "__main__":
    main()
