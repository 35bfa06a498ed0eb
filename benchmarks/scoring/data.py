"""Made-up runs and qrels as TREC files: ids like those of MS MARCO passages, grades 0–3, 20–30 judged a query."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

POOL, RETURNED = 200, 100  # items that some run may return for a query; items that each run returns
PASSAGES = 8_841_800
SEED = 20240
BLOCK = 10_000  # queries made at once


@dataclass(frozen=True)
class Files:
    """One collection: its qrels and its runs."""

    name: str
    qrels: Path
    runs: list[Path]
    lines: int


def generate(folder: Path, name: str, runs: int, queries: int, prefix: str = "") -> Files:
    """Write ``runs`` × ``queries`` × 100 lines of runs, and their qrels."""
    rng = np.random.default_rng(SEED)
    qrels = folder / f"{name}.qrels"
    paths = [folder / f"{name}-{r:02}.run" for r in range(runs)]
    for path in (qrels, *paths):
        path.unlink(missing_ok=True)
    for begin in range(0, queries, BLOCK):
        query = 1_000_000 + np.arange(begin, min(begin + BLOCK, queries))
        _write_block(rng, query, prefix, qrels, paths)
    return Files(name, qrels, paths, runs * queries * RETURNED)


def _write_block(rng: np.random.Generator, query: Any, prefix: str, qrels: Path, runs: list[Path]) -> None:
    shape = (len(query), POOL)
    step = PASSAGES // POOL
    item = rng.permuted(np.tile(np.arange(POOL), (len(query), 1)), axis=1) * step + rng.integers(0, step, shape)
    quality = rng.standard_normal(shape)
    best = np.argsort(rng.standard_normal(shape) - quality, axis=1)
    rows, columns = np.nonzero(np.arange(POOL) < rng.integers(20, 31, (len(query), 1)))
    columns = best[rows, columns]
    grade = np.digitize(quality[rows, columns], [0.5, 1.2, 2.0])
    _write(qrels, query[rows], "0", _ids(prefix, item[rows, columns]), grade)
    for r, run in enumerate(runs):
        score = 12 + 2 * (quality + rng.standard_normal(shape) * (1 + r / 10))
        order = np.argsort(-score, axis=1)[:, :RETURNED]
        items, scores = (np.take_along_axis(values, order, 1).ravel() for values in (item, score))
        ranks = np.tile(np.arange(1, RETURNED + 1), len(query))
        _write(run, np.repeat(query, RETURNED), "Q0", _ids(prefix, items), ranks, scores, f"run{r:02}")


def _ids(prefix: str, numbers: Any) -> pl.Series:
    return pl.select(pl.lit(prefix) + pl.Series(numbers).cast(pl.String)).to_series()


def _write(path: Path, *columns: Any) -> None:
    frame = pl.select(pl.lit(c if isinstance(c, str) else pl.Series(c)).alias(str(at)) for at, c in enumerate(columns))
    with path.open("ab") as file:
        frame.write_csv(file, include_header=False, separator=" ", float_precision=6, quote_style="never")
