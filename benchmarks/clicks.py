"""Position weights from clicks: how far off, how fast, and what the Open Bandit sample shows.

python -m benchmarks.clicks [OPEN BANDIT'S random_men.csv.gz] [--keep]
"""

import sys
import time

import numpy as np
import polars as pl
from tests.learning.simulate import position_based_log

import rankdev as rd
from benchmarks.history import Row, report

METHODS = ("rates", "harvesting", "em")


def accuracy(logs: int = 10, sessions: int = 20_000) -> list[Row]:
    """Mean absolute error of the weights of ten positions that fall as position^−0.7."""
    truth = np.arange(1, 11) ** -0.7
    off = {name: [] for name in METHODS}
    for seed in range(logs):
        log = position_based_log(np.random.default_rng(seed), truth, sessions=sessions, queries=100, items=10)
        for name in METHODS:
            off[name].append(np.abs(rd.weights_from_clicks(log, name, resamples=2).weight - truth).mean())
    return [{"method": name, "mean absolute error": float(np.mean(off[name]))} for name in METHODS]


def speed(impressions: int = 1_000_000) -> list[Row]:
    """CPU time for a log of ten positions with 200 resamples, once."""
    truth = np.arange(1, 11) ** -0.7
    log = position_based_log(np.random.default_rng(0), truth, sessions=impressions // 10, queries=100, items=10)
    rows = []
    for name in METHODS[1:]:
        begin = time.process_time()
        rd.weights_from_clicks(log, name)
        rows.append({"method": name, "impressions": log.height, "CPU seconds": time.process_time() - begin})
    return rows


def open_bandit(path: str) -> list[Row]:
    """Weights of the three positions of the small sample."""
    log = pl.read_csv(path).select(item="item_id", position="position", clicked="click")
    found = rd.weights_from_clicks(log)
    clicks = log.group_by("position").agg(pl.col("clicked").sum()).sort("position")["clicked"]
    return [
        {"position": str(position + 1), "clicks": clicks[position], "weight": weight, "low": low, "high": high}
        for position, (weight, low, high) in enumerate(zip(found.weight, found.low, found.high, strict=True))
    ]


if __name__ == "__main__":
    keep = "--keep" in sys.argv
    report("Position weights, accuracy", accuracy(), keep=keep)
    report("Position weights, speed", speed(), keep=keep)
    for path in (argument for argument in sys.argv[1:] if argument != "--keep"):
        report("Position weights, Open Bandit", open_bandit(path), keep=keep)
