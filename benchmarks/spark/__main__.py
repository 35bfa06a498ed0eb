"""Time Spark (Sail, on this machine) beside one process: python -m benchmarks.spark [--rows N] [--parts P].

Sail keeps a shuffle in memory, so that many rows are scored in parts, one after another; each part has its own queries.
Seconds of CPU are what counts where other work shares the machine; memory is the most that a process ever held.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

MEASURES = ["RDQ@10", "nDCG(gains=linear)@10"]
DEPTH, SYSTEMS = 1000, 2


def write(folder: Path, rows: int, parts: int) -> None:
    """Write references of 20 items a query, and runs of 1,000 items a query, one file for each part of the queries."""
    rng = np.random.default_rng(0)
    for name in ("references", *(f"s{system}" for system in range(SYSTEMS))):
        (folder / name).mkdir()
    for part, queries in enumerate(np.array_split(np.arange(rows // DEPTH // SYSTEMS), parts)):
        ranks = {
            "query": np.repeat(queries, 20),
            "item": np.tile(np.arange(20) * 50, len(queries)),
            "rank": np.tile(np.arange(20) // 2 + 1, len(queries)),
        }
        _save(pl.DataFrame(ranks), folder / "references" / f"{part}.parquet")
        for system in range(SYSTEMS):
            query = np.repeat(queries, DEPTH)
            found = {"query": query, "item": np.tile(np.arange(DEPTH), len(queries)), "score": rng.random(len(query))}
            frame = pl.DataFrame(found).with_columns(system=pl.lit(f"s{system}"))
            _save(frame, folder / f"s{system}" / f"{part}.parquet")


def _save(frame: pl.DataFrame, path: Path) -> None:
    frame.with_columns(pl.col("query", "item").cast(pl.String)).write_parquet(path)


def alone(folder: Path) -> list[list[float]]:
    """Score everything in this process."""
    import rankdev as rd

    references = pl.read_parquet(folder / "references" / "*.parquet")
    runs = {f"s{system}": str(folder / f"s{system}") for system in range(SYSTEMS)}
    return rd.evaluate(references, runs, MEASURES).means.tolist()


def on_sail(folder: Path) -> list[list[float]]:
    """Score part by part on Sail, whose server and workers are threads of this process."""
    from pysail.spark import SparkConnectServer
    from pyspark.sql import SparkSession

    from rankdev.integrations import spark

    server = SparkConnectServer(port=0)
    server.start(background=True)
    session = SparkSession.builder.remote(f"sc://localhost:{server.listening_address[1]}").create()
    systems, means, queries = [f"s{system}" for system in range(SYSTEMS)], [], []
    for part in sorted((folder / "references").iterdir()):
        references = session.read.parquet(str(part))
        found = session.read.parquet(*(str(folder / system / part.name) for system in systems))
        table = spark.means(spark.evaluate(references, found, MEASURES, systems=systems)).sort("system")
        means.append(table.select(MEASURES).to_numpy())
        queries.append(pl.read_parquet(part)["query"].n_unique())
    session.stop()
    server.stop()
    return np.average(means, axis=0, weights=queries).tolist()


def measured(way: str, folder: Path) -> list[list[float]]:
    """Score in a process of its own, and print what it took."""
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.spark", "--inside", way, str(folder)]
    found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()[-1])
    print(f"  {way}: {found['cpu']:.1f} s of CPU, {found['wall']:.1f} s, {found['memory']} MB at most", flush=True)
    return found["means"]


def inside(way: str, folder: Path) -> None:
    """Do the work of such a process."""
    begin = time.perf_counter()
    means = {"alone": alone, "on Sail": on_sail}[way](folder)
    used = resource.getrusage(resource.RUSAGE_SELF)
    took = {"cpu": used.ru_utime + used.ru_stime, "wall": time.perf_counter() - begin, "memory": used.ru_maxrss >> 10}
    print(json.dumps({"means": means, **took}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--parts", type=int, default=1)
    parser.add_argument("--inside", nargs=2, metavar=("WAY", "FOLDER"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.inside:
        inside(given.inside[0], Path(given.inside[1]))
        return
    with tempfile.TemporaryDirectory() as name:
        write(Path(name), given.rows, given.parts)
        print(f"{given.rows / 1e6:g} million rows, {given.parts} part{'s' * (given.parts > 1)}", flush=True)
        np.testing.assert_allclose(*(measured(way, Path(name)) for way in ("alone", "on Sail")), atol=1e-12)


if __name__ == "__main__":
    main()
