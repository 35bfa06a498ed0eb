"""Time Spark (Sail, on this machine) beside one process on the same files: python -m benchmarks.spark --rows N."""

import argparse
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
from pysail.spark import SparkConnectServer
from pyspark.sql import SparkSession

import rankdev as rd
from rankdev.integrations import spark

MEASURES = ["RDQ@10", "nDCG(gains=linear)@10"]
DEPTH = 1000


def write(folder: Path, rows: int, systems: int = 2) -> None:
    """Write references of 20 items a query, and runs of 1,000 items a query."""
    rng = np.random.default_rng(0)
    queries = rows // DEPTH // systems
    query = np.repeat(np.arange(queries), 20)
    item = np.tile(np.arange(20) * 50, queries)
    ranks = pl.DataFrame({"query": query, "item": item, "rank": np.tile(np.arange(20) // 2 + 1, queries)})
    ranks.with_columns(pl.col("query", "item").cast(pl.String)).write_parquet(folder / "references.parquet")
    for system in range(systems):
        (folder / f"{system}").mkdir()
        query = np.repeat(np.arange(queries), DEPTH)
        frame = pl.DataFrame(
            {"query": query, "item": np.tile(np.arange(DEPTH), queries), "score": rng.random(len(query))}
        )
        frame = frame.with_columns(pl.col("query", "item").cast(pl.String), system=pl.lit(f"s{system}"))
        frame.write_parquet(folder / f"{system}" / "part.parquet")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    rows = parser.parse_args().rows
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, rows)
        begin = time.perf_counter()
        runs = {f"s{i}": str(folder / str(i)) for i in range(2)}
        here = rd.evaluate(str(folder / "references.parquet"), runs, MEASURES)
        alone = time.perf_counter() - begin
        alone_memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        server = SparkConnectServer(port=0)
        server.start(background=True)
        session = SparkSession.builder.remote(f"sc://localhost:{server.listening_address[1]}").create()
        references = session.read.parquet(str(folder / "references.parquet"))
        found = session.read.parquet(*(f"{run}/part.parquet" for run in runs.values()))
        begin = time.perf_counter()
        means = spark.means(spark.evaluate(references, found, MEASURES))
        there = time.perf_counter() - begin
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        assert np.allclose(means.select(sorted(here.measures)), here.mean().select(sorted(here.measures)), atol=1e-12)
        print(f"{rows / 1e6:g} million rows: one process {alone:.1f} s, {alone_memory} MB at most;")
        print(f"Sail, shuffle included, {there:.1f} s, {memory} MB at most (server and workers in one process)")
        session.stop()
        server.stop()


if __name__ == "__main__":
    main()
