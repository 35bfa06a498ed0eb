"""How do time and memory of every command grow with its input? python -m benchmarks.growth [COMMAND...] [--keep]

Each command runs on three inputs, each ten times as large as the one before. CPU time counts, of all threads.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.growth import data
from benchmarks.history import Row, report

CALL = [sys.executable, "-W", "ignore", "-c", "from rankdev.cli import main; main()"]
FASTER = 1.5  # times as much as the work grew
REPEATS = (2, 2, 1)
NOISE = 0.1  # seconds of CPU


@dataclass(frozen=True)
class Growth:
    """A command, what of its input grows, to which sizes, and its arguments for each.

    ``work`` is how much there is to read or to write at a size; none should take longer in proportion.
    """

    command: str
    grows: str
    sizes: tuple[int, int, int]
    arguments: Callable[[Path, int], list[str]]
    work: Callable[[int], float] = float


def _pairs(systems: int) -> float:
    return systems * (systems - 1) / 2


def _measures(count: int) -> list[str]:
    return [word for k in range(1, count + 1) for word in ("-m", f"RDQ@{k}")]


EXPLAINED = ["--query", "q0", "-m", "RDQ@1000000"]
GATE = ["--baseline", "s0", "--candidate", "s1", "--margin", "0.01"]
SMALL = ["--sizes", "25,50", "--subsamples", "50", "--permutations", "200"]
GRID = ["--grid", "alpha=1,4", "-n", "25", "--subsamples", "50"]


def _ppi(folder: Path, queries: int) -> list[str]:
    few, many = folder / "few", folder / "many"
    few.mkdir()
    many.mkdir()
    human = data.scores(few, 3, max(queries // 10, 20), 1)[1]
    return [human, data.scores(many, 3, queries, 1)[1]]


GROWTHS = (
    Growth(
        "eval",
        "queries",
        (2_000, 20_000, 200_000),
        lambda d, n: [*data.collection(d, 1, n, 10), "-q", "-o", f"{d}/x.csv"],
    ),
    Growth("eval", "items of a list", (100, 1_000, 10_000), lambda d, n: [*data.collection(d, 1, 50, n), "-m", "AP"]),
    Growth("eval", "systems", (10, 100, 1_000), lambda d, n: data.collection(d, n, 50, 20)),
    Growth("eval", "measures", (1, 10, 100), lambda d, n: [*data.collection(d, 1, 2_000, 100), *_measures(n)]),
    Growth(
        "eval --like trec_eval-10",
        "queries",
        (1_000, 10_000, 100_000),
        lambda d, n: [*data.collection(d, 1, n, 10), "-m", "AP"],
    ),
    Growth("compare", "queries", (1_000, 10_000, 100_000), lambda d, n: data.scores(d, 2, n, 1)),
    Growth("compare", "pairs of systems", (5, 15, 46), lambda d, n: data.scores(d, n, 200, 1), _pairs),
    Growth("compare", "measures", (1, 10, 100), lambda d, n: data.scores(d, 5, 200, n)),
    Growth("leaderboard", "queries", (100, 1_000, 10_000), lambda d, n: data.scores(d, 5, n, 1)),
    Growth("leaderboard", "pairs of systems", (5, 50, 500), lambda d, n: data.scores(d, n, 100, 1), _pairs),
    Growth("table", "pairs of systems", (3, 8, 26), lambda d, n: data.scores(d, n, 200, 1), _pairs),
    Growth("gate", "queries", (1_000, 10_000, 100_000), lambda d, n: [*data.scores(d, 2, n, 1), *GATE]),
    Growth("explain", "items of a list", (30, 300, 3_000), lambda d, n: [*data.collection(d, 1, 20, n), *EXPLAINED]),
    Growth("report", "queries", (20, 200, 2_000), lambda d, n: [*data.collection(d, 3, n, 20), "-o", f"{d}/r.html"]),
    Growth(
        "report",
        "pairs of systems",
        (5, 15, 46),
        lambda d, n: [*data.collection(d, n, 50, 20), "-o", f"{d}/r.html"],
        _pairs,
    ),
    Growth(
        "pool", "queries", (500, 5_000, 50_000), lambda d, n: [*data.collection(d, 2, n, 10)[1:], "-o", f"{d}/i.jsonl"]
    ),
    Growth(
        "refs grades",
        "queries",
        (500, 5_000, 50_000),
        lambda d, n: [data.collection(d, 0, n, 10)[0], "-o", f"{d}/r.jsonl"],
    ),
    Growth(
        "refs lists",
        "queries",
        (500, 5_000, 50_000),
        lambda d, n: [data.collection(d, 1, n, 10)[1], "-o", f"{d}/r.jsonl"],
    ),
    Growth("refs merge", "items", (10, 100, 1_000), lambda d, n: [*data.lists(d, 5, n), "-o", f"{d}/r.jsonl"]),
    Growth("refs merge", "rankings", (5, 50, 500), lambda d, n: [*data.lists(d, n, 20), "-o", f"{d}/r.jsonl"]),
    Growth(
        "refs preferences",
        "queries",
        (5, 50, 500),
        lambda d, n: [data.preferences(d, 100 * n, n, 10), "-o", f"{d}/r.jsonl"],
    ),
    Growth(
        "refs preferences",
        "judgments",
        (1_000, 10_000, 100_000),
        lambda d, n: [data.preferences(d, n, 5, 10), "-o", f"{d}/r.jsonl"],
    ),
    Growth(
        "refs preferences",
        "items of one query, 50 judgments each",
        (20, 200, 2_000),
        lambda d, n: [data.preferences(d, 50 * n, 1, n), "-o", f"{d}/r.jsonl"],
    ),
    Growth(
        "refs agreement",
        "judgments",
        (1_000, 10_000, 100_000),
        lambda d, n: [data.preferences(d, n, 10, 20)],
    ),
    Growth("power", "queries", (100, 1_000, 10_000), lambda d, n: [*data.scores(d, 3, n, 1), *SMALL]),
    Growth("power", "pairs of systems", (5, 15, 46), lambda d, n: [*data.scores(d, n, 200, 1), *SMALL], _pairs),
    Growth("plan", "queries", (1_000, 10_000, 100_000), lambda d, n: [*data.scores(d, 2, n, 1), "-m", "m0"]),
    Growth("stability", "queries", (100, 1_000, 10_000), lambda d, n: [*data.scores(d, 10, n, 1), "--sizes", "25,50"]),
    Growth("stability", "systems", (5, 50, 500), lambda d, n: [*data.scores(d, n, 100, 1), "--sizes", "25,50"]),
    Growth("agreement", "measures", (3, 30, 300), lambda d, n: data.scores(d, 10, 100, n), _pairs),
    Growth("agreement", "systems", (5, 50, 500), lambda d, n: data.scores(d, n, 100, 2)),
    Growth(
        "agreement",
        "people's verdicts",
        (500, 5_000, 50_000),
        lambda d, n: [*data.scores(d, 4, 100, 2), "--people", data.people(d, 4, n, 100)],
    ),
    Growth("bounds", "queries", (10, 100, 1_000), lambda d, n: [*data.collection(d, 2, n, 10), "-m", "RDQ@5"]),
    Growth("bounds", "items of a list", (5, 50, 500), lambda d, n: [*data.collection(d, 2, 5, n), "-m", "RDQ@5"]),
    Growth("ppi", "queries", (200, 2_000, 20_000), _ppi),
    Growth("sensitivity", "queries", (100, 1_000, 10_000), lambda d, n: [*data.collection(d, 2, n, 10), *GRID]),
    Growth("weights", "impressions", (5_000, 50_000, 500_000), lambda d, n: [data.clicks(d, n)]),
)


# run by a process of its own: a child's peak of memory is never below that of its parent, which makes the data
LAUNCHER = """
import json, resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([done.returncode, done.stderr[-500:], used.ru_utime + used.ru_stime, used.ru_maxrss / 1000]))
"""


def measure(arguments: Sequence[str]) -> tuple[float, float]:
    """Run a command to its end; return seconds of CPU, of all its threads, and the peak of its memory in MB."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-S", "-c", LAUNCHER, *CALL, *arguments]
    done = subprocess.run(command, capture_output=True, check=True, env=environment, text=True)
    status, told, seconds, megabytes = json.loads(done.stdout)
    if status:
        raise SystemExit(f"rankdev {' '.join(arguments[:3])} … failed: {told.strip()}")
    return seconds, megabytes


def grown(one: Growth) -> Row:
    """Measure a command at its three sizes; the smaller ones several times, of which the quickest counts."""
    seconds, megabytes = [], []
    for size, repeats in zip(one.sizes, REPEATS, strict=True):
        with tempfile.TemporaryDirectory() as folder:
            arguments = [*one.command.split(), *one.arguments(Path(folder), size)]
            found = [measure(arguments) for _ in range(repeats)]
        seconds.append(min(cpu for cpu, _ in found))
        megabytes.append(max(peak for _, peak in found))
    amounts = [one.work(size) for size in one.sizes]
    # what does not grow is that of the smallest input, less the share that does
    fixed = seconds[0] - max(0.0, seconds[1] - seconds[0]) / (amounts[1] / amounts[0] - 1)
    work, grew = amounts[2] / amounts[1], max(seconds[2] - fixed, 0.0) / max(seconds[1] - fixed, NOISE)
    return {
        "command": one.command,
        "what grows": f"{one.grows}: {', '.join(f'{size:,}' for size in one.sizes)}",
        "CPU seconds": ", ".join(f"{value:.2f}" for value in seconds),
        "peak MB": ", ".join(f"{value:,.0f}" for value in megabytes),
        "last step, work": work,
        "last step, CPU": grew,
        "exponent": math.log(max(grew, 1.0)) / math.log(work),
        "faster": "yes" if grew > FASTER * work else "",
    }


def main() -> None:
    keep = "--keep" in sys.argv
    wanted = [word for word in sys.argv[1:] if word != "--keep"]
    rows = []
    for one in GROWTHS:
        if not wanted or one.command in wanted:
            rows.append(grown(one))
            print(*rows[-1].values(), sep="  ", flush=True)
    report("Growth", rows, keep=keep)


if __name__ == "__main__":
    main()
