"""How many conclusions are certain when judgments are missing? python -m benchmarks.bounds [DL21 FOLDER] [--keep]

Eight of the 63 runs of TREC Deep Learning 2021 (passages), whose first five items were all judged. A fraction
of all judgments is removed at random, and the bounds show which conclusions no completion could overturn.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
import polars as pl
from benchmarks.history import Row, report

import rankdev as rd

FRACTIONS, SEEDS = (0.02, 0.05, 0.1), range(3)
MEASURES = ["RDQ@5", "nDCG@5", "RBP(p=0.8)@5", "AP@5", "Compat(p=0.95)@5"]
DEFAULT = Path(__file__).parents[2].parent / "shared/data/trec-dl/passage/dl21"


def main(folder: Path, keep: bool) -> None:
    """Report the mean width of bounds, how many conclusions are certain, and how many are correct."""
    whole = rd.read_references(folder / "qrels.dl21-passage.txt")
    runs = {path.name: rd.read_run(path) for path in sorted(folder.glob("runs/input.*.gz"))[::8]}
    truth = rd.evaluate(whole, runs, MEASURES)
    judged = whole.to_polars(nonrelevant=True).select("query", "item", "grade")
    lines: list[Row] = []
    for fraction in FRACTIONS:
        tables = []
        for seed in SEEDS:
            kept = judged.filter(np.random.default_rng(seed).random(judged.height) >= fraction)
            found = rd.bounds(rd.References.from_grades(kept), runs, MEASURES)
            means = dict(zip(truth.systems, truth.means, strict=True))
            pairs = found.pairs()
            real = [
                means[row["a"]][MEASURES.index(row["measure"])] - means[row["b"]][MEASURES.index(row["measure"])]
                for row in pairs.iter_rows(named=True)
            ]
            correct = pl.Series(np.sign(real) == np.sign(pairs["difference"].to_numpy()))
            width = found.to_polars().group_by("measure").agg(width=(pl.col("high") - pl.col("low")).mean())
            tables.append(pairs.with_columns(correct=correct).join(width, on="measure"))
        found_of = {
            "mean width of a score": pl.col("width").mean(),
            "safe conclusions, %": 100 * pl.col("safe").mean(),
            "correct, of those safe, %": 100 * pl.col("correct").filter("safe").mean(),
            "correct, of those not safe, %": 100 * pl.col("correct").filter(~pl.col("safe")).mean(),
        }
        by_measure = pl.concat(tables).group_by("measure").agg(**found_of)
        for what in found_of:
            cells = dict(by_measure.select("measure", what).iter_rows())
            lines.append({"judgments removed": f"{fraction:.0%}: {what}", **{name: cells[name] for name in MEASURES}})
    report("Bounds", lines, keep=keep)


if __name__ == "__main__":
    warnings.simplefilter("ignore", rd.RankdevWarning)
    folders = [Path(word) for word in sys.argv[1:] if word != "--keep"]
    main(folders[0] if folders else DEFAULT, "--keep" in sys.argv)
