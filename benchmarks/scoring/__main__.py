"""Time scoring from cold start to numbers, side by side with other libraries, on made-up TREC files.

python -m benchmarks.scoring [--size s|l|both] [--xl] [--repeats N] [--quick] [--long-ids]
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

from benchmarks.scoring.data import Files, generate

HERE = Path(__file__).parent
MEASURES = ["nDCG@10", "AP@10", "RBP(p=0.8)@10", "RDQ@10"]
SIZES = {"S": (12, 5_000), "L": (1, 100_000), "XL": (1, 1_000_000)}  # runs, queries
GOALS = {"pytrec_eval": 0.25, "ir_measures": 0.10, "ir_measures, without RBP": 0.10, "ranx": 0.07}
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
    """Give the command that scores with rankdev: values of each query and means, to a file."""
    output = str(files.qrels.with_suffix(".csv"))
    asked = [word for text in measures for word in ("-m", text)]
    call = [sys.executable, "-c", "from rankdev.cli import main; main()"]
    return [*call, "eval", str(files.qrels), *_runs(files), *asked, "-q", "--format", "csv", "-o", output]


def peer(name: str, files: Files) -> list[str]:
    """Give the command that scores with another library."""
    script = HERE / f"with_{name.partition(',')[0]}.py"
    measures = [COMPUTES[name].replace(", ", " ")] if name.startswith("ir_measures") else []
    return [sys.executable, "-W", "ignore", str(script), *measures, str(files.qrels), *_runs(files)]


def _runs(files: Files) -> list[str]:
    return [str(path) for path in files.runs]


def measure(command: list[str]) -> Cost:
    """Run a command to its end."""
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
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


def compare(files: Files, repeats: int) -> Cost:
    """Print the table of rankdev and its peers; give what rankdev took."""
    commands = {"rankdev": rankdev(files, MEASURES)} | {name: peer(name, files) for name in GOALS}
    costs = medians(commands, repeats)
    mine = costs["rankdev"]
    print(f"\n{files.name}: {len(files.runs)} run(s), {files.lines:,} lines, median of {repeats}\n")
    print("| library | computes | seconds | rankdev ÷ it | goal | CPU seconds | rankdev ÷ it | peak MB |")
    print("|---|---|--:|--:|--:|--:|--:|--:|")
    for name, cost in costs.items():
        ratio, cpu_ratio, goal = (
            ("", "", "")
            if name == "rankdev"
            else (f"{mine.seconds / cost.seconds:.3f}", f"{mine.cpu / cost.cpu:.3f}", f"≤ {GOALS[name]:.2f}")
        )
        print(
            f"| {name} | {COMPUTES[name]} | {cost.seconds:.2f} | {ratio} | {goal} | {cost.cpu:.2f} | {cpu_ratio} |"
            f" {cost.megabytes:.0f} |",
            flush=True,
        )
    return mine


def compare_configurations(files: Files, repeats: int) -> None:
    """Print what the paper's 13 configurations cost beside one."""
    names = ("RDQ@10", "paper@10")
    one, every = medians({name: rankdev(files, [name]) for name in names}, repeats).values()
    print(
        f"\n{files.name}: 13 configurations took {every.seconds:.2f} s ({every.cpu:.2f} CPU), one {one.seconds:.2f} s"
        f" ({one.cpu:.2f} CPU): {every.seconds / one.seconds:.2f} times ({every.cpu / one.cpu:.2f}); goal ≤ 1.3",
        flush=True,
    )


def compare_sizes(collections: list[Files]) -> None:
    """Print what a million lines cost in runs of different size."""
    print("\n| run | lines | seconds | per million lines | CPU seconds | per million lines | peak MB |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for files in collections:
        cost, millions = measure(rankdev(files, MEASURES)), files.lines / 1e6
        print(
            f"| {files.name} | {files.lines:,} | {cost.seconds:.2f} | {cost.seconds / millions:.3f} |"
            f" {cost.cpu:.2f} | {cost.cpu / millions:.3f} | {cost.megabytes:.0f} |",
            flush=True,
        )


def main() -> None:
    """Generate, measure, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scoring", description=__doc__)
    parser.add_argument("--size", choices=("s", "l", "both"), default="both", help="12 × 5,000 or 1 × 100,000 queries")
    parser.add_argument("--xl", action="store_true", help="also 1 × 1,000,000 queries: 100 million lines, 4 GB on disk")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="a hundredth of the queries, to try the script")
    parser.add_argument("--long-ids", action="store_true", help="ids such as msmarco_passage_7187158")
    options = parser.parse_args()
    prefix = "msmarco_passage_" if options.long_ids else ""
    share = 100 if options.quick else 1
    # made by another process: a child's peak memory is never counted lower than what its parent holds as it starts
    with tempfile.TemporaryDirectory(prefix="rankdev-scoring-") as folder, get_context("spawn").Pool(1) as maker:

        def make(name: str, runs: int, queries: int) -> Files:
            return maker.apply(generate, (Path(folder), name, runs, max(10, queries // share), prefix))

        measure(peer("ranx", make("warm", 1, 10)))  # fills numba's cache
        for files in (make(name, *SIZES[name]) for name in ("S", "L") if options.size in (name.lower(), "both")):
            compare(files, options.repeats)
            compare_configurations(files, options.repeats)
        if options.xl:
            compare_sizes([make(name, *SIZES[name]) for name in ("L", "XL")])


if __name__ == "__main__":
    main()
