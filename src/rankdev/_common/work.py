"""Thread counts, fork safety, progress callbacks.

A process that was forked after polars began to work has lost its threads, and waiting for them never ends.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from rankdev.errors import RankdevError

_WORKER = re.compile(r"polars-\d+")
_TASKS = Path("/proc/self/task")  # the threads; on Linux only, where processes are forked by default


class ForkedProcessError(RankdevError, RuntimeError):
    """Work was asked for in a process in which it would hang."""


class _Threads:
    parent_has = False  # seen before a fork
    lost = False  # seen in the child


def refuse_lost_threads() -> None:
    """Refuse to work where polars would wait for ever."""
    if _Threads.lost:
        raise ForkedProcessError("forked")


def cores() -> int:
    """Count the processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _look() -> None:
    _Threads.parent_has = any(map(_is_worker, _TASKS.glob("*/comm")))


def _is_worker(name: Path) -> bool:
    with suppress(OSError):  # the thread has ended since it was listed; others may be workers
        return _WORKER.fullmatch(name.read_text().strip()) is not None
    return False


def _remember() -> None:
    _Threads.lost = _Threads.lost or _Threads.parent_has


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_look, after_in_child=_remember)


Progress = Callable[[float, float, str], None]
"""Called as ``progress(done, total, note)`` during long work: bytes of files, or steps of a simulation.

``done`` never falls and never passes ``total``; where the end is not known, as of a pipe, ``total`` is what is done.
"""


def part_of(progress: Progress | None, begin: float, end: float, whole: float = 1.0, name: str = "") -> Progress | None:
    """Return the callback of a step that is one part of a progress bar, from ``begin`` to ``end`` of ``whole``.

    ``name`` is put before the step's own note.

    >>> step = part_of(lambda done, total, note: print(done, total, note), 2, 3, 4, "third")
    >>> step(5, 10, "half way")
    2.5 4 third, half way
    """
    if progress is None:
        return None

    def tell(done: float, total: float, note: str) -> None:
        fraction = done / total if total > 0 else 0.0
        progress(begin + (end - begin) * fraction, whole, f"{name}, {note}" if name else note)

    return tell
