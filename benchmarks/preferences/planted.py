"""How many relations of planted tiers and equal items the default rule finds.

    python -m benchmarks.preferences.planted [--keep]

Three tiers of three items, one query alone and files of thirty; equal items, of which all are in one tier if the rule
is right.
"""

from __future__ import annotations

import sys

import numpy as np
from benchmarks.history import Row, report
from benchmarks.preferences.tiers import Design, draw_truth, judge, places, relations_right

import rankdev as rd

TIERS = {
    "10 judgments of each pair": Design("tiers", (3.0, 1.0), 9, 10, 0.0),
    "4 judgments of each pair, half ties": Design("tiers", (3.0, 1.5), 9, 4, 2.0),
}
EQUAL = {f"{items} equal items": Design("null", (), items, 4, 0.0) for items in (5, 9, 20)}
FILES = {"one query": (1, 60), "files of 30": (30, 6)}  # queries of a file, files


def right(design: Design, queries: int, files: int) -> float:
    """Return the fraction of pair relations that are right; of equal items, of queries that are one tier."""
    rng = np.random.default_rng((design.items, queries, int(design.tie_rate)))
    found = []
    for _ in range(files):
        truths = np.stack([draw_truth(design, rng) for _ in range(queries)])
        tiers = places(rd.tiers(rd.strengths(judge(design, truths, rng))).tiers, design.items)
        found.append((tiers.max(axis=1) == 0).mean() if design.kind == "null" else relations_right(tiers, truths))
    return float(np.mean(found))


def main(keep: bool) -> None:
    table: list[Row] = [
        {"truth": name, **{file: right(design, *size) for file, size in FILES.items()}}
        for name, design in {**TIERS, **EQUAL}.items()
    ]
    report("Planted tiers", table, keep=keep)


if __name__ == "__main__":
    main("--keep" in sys.argv)
