"""Watch a process and all that it starts: CPU time, and the most memory that Spark's workers and its driver held."""

import os
import re
import subprocess
from collections.abc import Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

EVERY = 0.5  # seconds
TICKS, PSS = os.sysconf("SC_CLK_TCK"), re.compile(r"^Pss:\s+(\d+) kB$", re.MULTILINE)
Stats: TypeAlias = dict[int, list[str]]


@dataclass
class Used:
    """CPU time of every process by its id, and memory in MB; without Spark's executors, the process is the worker."""

    by_process: dict[int, float] = field(default_factory=dict)
    worker: int = 0
    python: int = 0
    driver: int = 0

    @property
    def seconds(self) -> float:
        """CPU time of all processes."""
        return sum(self.by_process.values())


def watch(process: subprocess.Popen) -> Used:
    """Look until the process ends."""
    used = Used()
    while process.poll() is None:
        _look(process.pid, used)
        try:
            process.wait(EVERY)
        except subprocess.TimeoutExpired:
            continue
    return used


def _look(pid: int, used: Used) -> None:
    everybody = _family(pid, _stats())
    executors = {each for each in everybody if "CoarseGrainedExecutorBackend" in _read(Path(f"/proc/{each}/cmdline"))}
    for each, fields in everybody.items():
        used.by_process[each] = (int(fields[11]) + int(fields[12])) / TICKS
    workers = [set(_family(each, everybody)) for each in executors] or [set(everybody)]
    for worker in workers:
        used.worker = max(used.worker, _held(worker))
        if executors:
            used.python = max(used.python, _held(worker - executors))
    used.driver = max(used.driver, _held(everybody.keys() - set().union(*workers)))


def _held(processes: Set[int]) -> int:
    """Add up memory, in which pages that several processes share count once."""
    rollups = (_read(Path(f"/proc/{each}/smaps_rollup")) for each in processes)
    return sum(int(found[1]) for found in map(PSS.search, rollups) if found) >> 10


def _family(pid: int, stats: Stats) -> Stats:
    """Keep a process and its descendants."""
    found = {pid: stats[pid]} if pid in stats else {}
    for each, fields in stats.items():
        if fields[1] == str(pid):
            found |= _family(each, stats)
    return found


def _stats() -> Stats:
    """Read what the system knows of every process; field 1 is its parent (see proc(5), from the state on)."""
    processes = (entry for entry in Path("/proc").iterdir() if entry.name.isdigit())
    stats = {int(entry.name): _read(entry / "stat").rpartition(")")[2].split() for entry in processes}
    return {pid: fields for pid, fields in stats.items() if fields}


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:  # it has ended
        return ""
