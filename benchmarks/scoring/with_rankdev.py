"""Score runs with rankdev: QRELS OUTPUT MEASURES RUN…; values of each query to OUTPUT, means to standard output."""

import sys
from pathlib import Path

import rankdev

qrels, output, measures, *runs = sys.argv[1:]
scores = rankdev.evaluate(qrels, {Path(run).stem: run for run in runs}, measures.split())
scores.to_polars().write_csv(output)
print(scores.mean())
