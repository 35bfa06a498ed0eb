"""Time Spark and one process: python -m benchmarks.spark [--rows MILLIONS …] [--engines NAME …] [--keep].

Engines that are not installed are left out: Sail needs pysail, Spark needs pyspark with its jars, and Java. Each works
in processes of its own, which are watched: the most memory that they held at any time, and the CPU time that all of
them used. A worker of Spark is an executor with 1 GB of heap and one core, and its Python processes.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.history import Row, report
from benchmarks.spark.watching import watch

MEASURES = ["RDQ@10", "nDCG(gains=linear)@10"]
DEPTH, SYSTEMS, FILE_ROWS = 1000, ("a", "b"), 5_000_000
ENGINES = {"one process": 0, "Sail": 0, "Spark, 1 worker": 1, "Spark, 2 workers": 2}


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m benchmarks.spark")
    options.add_argument("--rows", type=float, nargs="+", default=[1, 10], help="millions of rows")
    options.add_argument("--engines", nargs="+", default=list(ENGINES), choices=ENGINES)
    options.add_argument("--keep", action="store_true", help="add the table to the history")
    options.add_argument("--inside", nargs=2, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.inside:
        engine, folder = chosen.inside
        np.save(Path(folder) / "values", score(engine, Path(folder)))
        return
    rows = [row for million in chosen.rows for row in compared(int(million * 1e6), chosen.engines)]
    report("Spark", rows, keep=chosen.keep)


def compared(rows: int, engines: list[str]) -> Iterator[Row]:
    """Score as many rows on each engine; all must return the same values, bit for bit."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, rows)
        expected = None
        for engine in engines:
            if not is_here(engine):
                continue
            begin = time.perf_counter()
            command = [sys.executable, "-W", "ignore", "-m", "benchmarks.spark", "--inside", engine, name]
            process = subprocess.Popen(command, env={**os.environ, "SPARK_LOCAL_DIRS": name})
            used = watch(process)
            seconds = time.perf_counter() - begin
            if process.returncode:
                sys.exit(f"{engine} failed with {rows:,} rows")
            values = np.load(folder / "values.npy")
            assert expected is None or np.array_equal(values, expected), engine
            expected = values
            row = {
                "rows": rows,
                "engine": engine,
                "seconds": seconds,
                "CPU seconds": used.seconds,
                "CPU per million rows": used.seconds / rows * 1e6,
                "MB of a worker": used.worker,
                "of them Python": used.python or None,
                "MB of the driver": used.driver or None,
            }
            print(row, flush=True)
            yield row


def write(folder: Path, rows: int) -> None:
    """Write Parquet: references of 20 items per query, and for each system 1,000 items per query."""
    rng = np.random.default_rng(0)
    for name in ("references", *SYSTEMS):
        (folder / name).mkdir()
    files = -(-rows // FILE_ROWS)
    for part, queries in enumerate(np.array_split(np.arange(rows // DEPTH // len(SYSTEMS)), files)):
        ranks = {
            "query": np.repeat(queries, 20),
            "item": np.tile(np.arange(20) * 50, len(queries)),
            "rank": np.tile(np.arange(20) // 2 + 1, len(queries)),
        }
        _save(pl.DataFrame(ranks), folder / "references" / f"{part}.parquet")
        query, item = np.repeat(queries, DEPTH), np.tile(np.arange(DEPTH), len(queries))
        for system in SYSTEMS:
            found = {"query": query, "item": item, "score": rng.random(len(query))}
            _save(pl.DataFrame(found).with_columns(system=pl.lit(system)), folder / system / f"{part}.parquet")


def _save(frame: pl.DataFrame, path: Path) -> None:
    frame.with_columns(pl.col("query", "item").cast(pl.String)).write_parquet(path)


def is_here(engine: str) -> bool:
    """Tell whether an engine can be used."""
    pyspark = find_spec("pyspark")
    if pyspark is None or pyspark.origin is None:
        return engine == "one process"
    jars = (Path(pyspark.origin).parent / "jars").exists() and shutil.which("java")
    return {"one process": True, "Sail": bool(find_spec("pysail"))}.get(engine, bool(jars))


def score(engine: str, folder: Path) -> np.ndarray:
    """Return the values of every system, query and measure, all in the order of their names."""
    if engine == "one process":
        import rankdev as rd

        runs = {system: str(folder / system) for system in SYSTEMS}
        scores = rd.evaluate(pl.read_parquet(folder / "references" / "*.parquet"), runs, MEASURES)
        return scores.values[:, np.argsort(scores.queries)]

    from rankdev.integrations import spark

    with_session = on_sail() if engine == "Sail" else on_spark(ENGINES[engine])
    session = next(with_session)
    runs = session.read.parquet(*(str(folder / system) for system in SYSTEMS))
    scores = spark.evaluate(session.read.parquet(str(folder / "references")), runs, MEASURES, systems=SYSTEMS)
    values = spark.collect(scores).values
    next(with_session, None)
    return values


def on_sail() -> Iterator:
    """Start Sail, whose server and workers are threads of this process."""
    from pysail.spark import SparkConnectServer
    from pyspark.sql import SparkSession

    server = SparkConnectServer(port=0)
    server.start(background=True)
    session = SparkSession.builder.remote(f"sc://localhost:{server.listening_address[1]}").create()
    yield session
    session.stop()
    server.stop()


def on_spark(workers: int) -> Iterator:
    """Start Spark with executors of their own, which keep what does not fit into their heap on disk."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(f"local-cluster[{workers},1,1024]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.executor.memory", "1g").config("spark.ui.showConsoleProgress", "false")
    session = builder.config("spark.executorEnv.PYTHONPATH", os.pathsep.join(sys.path)).getOrCreate()
    yield session
    session.stop()


if __name__ == "__main__":
    main()
