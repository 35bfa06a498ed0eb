"""Threads: how many can work at once, and what becomes of them in a fork.

A process that was forked after polars began to work left its threads behind, and waiting for them never ends.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

from rankdev.errors import RankdevError

_WORKER = re.compile(r"polars-\d+")


class ForkedProcessError(RankdevError, RuntimeError):
    """Work was asked for in a process in which it would hang."""


class _Threads:
    parent_has = False  # seen before a fork
    lost = False  # seen in the child


def refuse_lost_threads() -> None:
    """Refuse to work where polars would wait for ever."""
    if _Threads.lost:
        raise ForkedProcessError(
            "this process was forked after its parent had used rankdev, and would hang; start processes with"
            " multiprocessing.get_context('spawn') or 'forkserver', or fork before the first use"
        )


def cores() -> int:
    """Count the processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _look() -> None:
    _Threads.parent_has = False
    with suppress(OSError):  # only Linux shows the names of threads, and only there are processes forked by default
        tasks = Path("/proc/self/task").glob("*/comm")
        _Threads.parent_has = any(_WORKER.fullmatch(task.read_text().strip()) for task in tasks)


def _remember() -> None:
    _Threads.lost = _Threads.lost or _Threads.parent_has


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_look, after_in_child=_remember)
