"""Flipped bits in runs, and the memory that reading takes: the tables of docs/trust.md.

python -m benchmarks.reliability [--keep]
"""

import os
import random
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
import zstandard
from tests.data.samples import parquet
from tests.fuzz.test_damage import FRAME, PACKED, TREC, flipped, read

import rankdev as rd
from benchmarks.growth.__main__ import measure
from benchmarks.history import Row, report

FLIPS, QUERIES, ITEMS = 1000, 20_000, 100
KINDS = {
    "`.gz`": ("a.gz", PACKED["gz"]),
    "`.zst` with checksum": ("a.zst", PACKED["zst"]),
    "`.zst` without checksum": ("a.zst", zstandard.ZstdCompressor(write_checksum=False).compress(TREC)),
    "`.parquet`": ("a.parquet", parquet(FRAME)),
    "`.parquet.gz`": ("a.parquet.gz", PACKED["parquet.gz"]),
}


def damage(folder: Path) -> list[Row]:
    """One bit flipped at random in a run of 400 rows."""
    rows: list[Row] = []
    for kind, (name, content) in KINDS.items():
        whole, chance = read(folder / name, content), random.Random(kind)
        found = [read(folder / name, flipped(content, chance.randrange(8 * len(content)))) for _ in range(FLIPS)]
        refused, same = sum(run is None for run in found), sum(run == whole for run in found)
        rows.append(
            {
                "file": kind,
                "refused": refused,
                "read as it was": same,
                "read as something else": FLIPS - refused - same,
            }
        )
    return rows


def memory(folder: Path) -> list[Row]:
    """Peak of `rankdev eval` with RDQ@10 on two million rows, by format."""
    rng = np.random.default_rng(0)
    items = [f"D{number}" for number in rng.integers(10**6, 10**7, QUERIES * ITEMS)]
    table = pl.DataFrame(
        {
            "query": np.repeat([f"q{i}" for i in range(QUERIES)], ITEMS),
            "item": items,
            "score": np.tile(np.arange(ITEMS, 0, -1) / 7, QUERIES),
        }
    ).unique(["query", "item"], maintain_order=True)
    (folder / "qrels").write_text("".join(f"q{i} 0 {items[i * ITEMS]} 1\n" for i in range(QUERIES)), encoding="utf-8")
    run = rd.Run.of(table)
    found: dict[str, str | float] = {}
    for kind, name in {"TREC": "a.run", "CSV": "a.csv", "JSONL": "a.jsonl", "JSON": "a.json"}.items():
        if kind in ("CSV", "JSONL"):
            (table.write_csv if kind == "CSV" else table.write_ndjson)(folder / name)
        else:
            rd.write_run(run, folder / name)
        found[kind] = measure(["eval", str(folder / "qrels"), str(folder / name), "-m", "RDQ@10"])[1]
    table.write_parquet(folder / "a.parquet")
    found["Parquet"] = measure(["eval", str(folder / "qrels"), str(folder / "a.parquet"), "-m", "RDQ@10"])[1]
    return [{"format": kind, "peak MB": peak} for kind, peak in found.items()]


if __name__ == "__main__":
    keep = "--keep" in sys.argv
    with tempfile.TemporaryDirectory() as name:
        hidden = os.dup(2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # polars prints its own messages about damaged Parquet
        damaged = damage(Path(name))
        os.dup2(hidden, 2)
        report("Flipped bits", damaged, keep=keep)
        report("Memory of formats", memory(Path(name)), keep=keep)
