"""Time scoring from cold start to numbers, side by side with other libraries, on synthetic TREC files.

python -m benchmarks.scoring [--size s|l|both] [--many] [--repeats N] [--quick] [--long-ids] [--keep]
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from benchmarks.history import report
from benchmarks.scoring.data import Files, generate

HERE = Path(__file__).parent
MEASURES = ["nDCG@10", "AP@10", "RBP(p=0.8)@10", "RDQ@10"]
SIZES = {"S": (12, 5_000), "L": (1, 100_000), "many": (5_000, 50)}  # runs, queries
GOALS = {  # what rankdev takes on S and on L, divided by what the peer takes
    "pytrec_eval": {"S": 0.22, "L": 0.22},
    "ir_measures": {"S": 0.10, "L": 0.10},
    "ir_measures, without RBP": {"S": 0.10, "L": 0.10},
    "ranx": {"S": 0.07, "L": 0.07},
}
COMPUTES = {
    "rankdev": ", ".join(MEASURES),
    "pytrec_eval": "nDCG@10, AP@10",
    "ir_measures": "nDCG@10, AP@10, RBP(p=0.8,rel=1)",
    "ir_measures, without RBP": "nDCG@10, AP@10",
    "ranx": "nDCG@10, AP@10, RBP",
}


@dataclass(frozen=True)
class Cost:
    """What one process took."""

    seconds: float
    cpu: float
    megabytes: float


def rankdev(files: Files, measures: list[str]) -> list[str]:
    """Return the command that scores with rankdev: values of each query and means, to a file."""
    output = str(files.qrels.with_suffix(".csv"))
    asked = [word for text in measures for word in ("-m", text)]
    call = [sys.executable, "-c", "from rankdev.cli import main; main()"]
    return [*call, "eval", str(files.qrels), *_runs(files), *asked, "-q", "--format", "csv", "-o", output]


def peer(name: str, files: Files) -> list[str]:
    """Return the command that scores with another library."""
    script = HERE / f"with_{name.partition(',')[0]}.py"
    measures = [COMPUTES[name].replace(", ", " ")] if name.startswith("ir_measures") else []
    return [sys.executable, "-W", "ignore", str(script), *measures, str(files.qrels), *_runs(files)]


def _runs(files: Files) -> list[str]:
    return [str(path) for path in files.runs]


def measure(command: list[str]) -> Cost:
    """Run a command to its end."""
    # as installed: modules are not compiled anew in each process
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"failed: {' '.join(command)}")
    unit = 1 if sys.platform == "darwin" else 1024  # of ru_maxrss
    return Cost(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * unit / 1e6)


def medians(commands: dict[str, list[str]], repeats: int) -> dict[str, Cost]:
    """Run commands in turn, ``repeats`` times, so that a busy moment of the machine meets all of them."""
    costs: dict[str, list[Cost]] = {name: [] for name in commands}
    for _ in range(repeats):
        for name, command in commands.items():
            costs[name].append(measure(command))
    return {
        name: Cost(
            statistics.median(cost.seconds for cost in taken),
            statistics.median(cost.cpu for cost in taken),
            max(cost.megabytes for cost in taken),
        )
        for name, taken in costs.items()
    }


def compare(files: Files, repeats: int, *, keep: bool) -> None:
    """Compare rankdev with its peers."""
    commands = {"rankdev": rankdev(files, MEASURES)}
    costs = medians(commands | {name: peer(name, files) for name in GOALS}, repeats)
    own = costs["rankdev"]
    rows = [
        {
            "library": name,
            "computes": COMPUTES[name],
            "seconds": cost.seconds,
            "rankdev ÷ it": None if name == "rankdev" else own.seconds / cost.seconds,
            "goal": GOALS.get(name, {}).get(files.name),
            "CPU seconds": cost.cpu,
            "rankdev ÷ it, CPU": None if name == "rankdev" else own.cpu / cost.cpu,
            "peak MB": cost.megabytes,
        }
        for name, cost in costs.items()
    ]
    report(f"Scoring, {files.name}", rows, keep=keep)


def measure_many(files: Files, repeats: int, *, keep: bool) -> None:
    """Score many small runs: what each of them costs in addition to its lines."""
    cost = medians({"rankdev": rankdev(files, MEASURES)}, repeats)["rankdev"]
    row = {"runs": len(files.runs), "lines": files.lines, "seconds": cost.seconds, "goal": 5.0, "CPU seconds": cost.cpu}
    report("Many small runs", [row | {"peak MB": cost.megabytes}], keep=keep)


def main() -> None:
    """Generate, measure, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scoring", description=__doc__)
    parser.add_argument("--size", choices=("s", "l", "both"), default="both", help="12 × 5,000 or 1 × 100,000 queries")
    parser.add_argument("--many", action="store_true", help="also 5,000 × 50 queries")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="a hundredth of the queries, to try the script")
    parser.add_argument("--long-ids", action="store_true", help="ids such as msmarco_passage_7187158")
    parser.add_argument("--keep", action="store_true", help="add the tables to the history")
    options = parser.parse_args()
    prefix = "msmarco_passage_" if options.long_ids else ""
    divisor = 100 if options.quick else 1
    # made by another process: a child's peak memory is never counted lower than what its parent holds as it starts
    with tempfile.TemporaryDirectory(prefix="rankdev-scoring-") as folder, get_context("spawn").Pool(1) as maker:

        def make(name: str, runs: int, queries: int) -> Files:
            files = maker.apply(generate, (Path(folder), name, runs, max(10, queries // divisor), prefix))
            os.sync()  # else the disk is busy with them while the clock runs
            return files

        measure(peer("ranx", make("warm", 1, 10)))  # fills numba's cache
        for files in (make(name, *SIZES[name]) for name in ("S", "L") if options.size in (name.lower(), "both")):
            compare(files, options.repeats, keep=options.keep)
        if options.many:
            measure_many(make("many", *SIZES["many"]), options.repeats, keep=options.keep)


if __name__ == "__main__":
    main()
