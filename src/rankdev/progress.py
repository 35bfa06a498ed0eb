"""The one way in which long work says how far it has come."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Lock

Progress = Callable[[float, float, str], None]
"""Called as ``progress(done, total, note)`` while long work goes on: bytes of files, or steps of a simulation.

``done`` never falls and never passes ``total``; where the end is not known, as of a pipe, ``total`` is what is done.
"""


def part_of(progress: Progress | None, begin: float, end: float, whole: float = 1.0, name: str = "") -> Progress | None:
    """Give a step its part of one bar, from ``begin`` to ``end`` of ``whole``; ``name`` goes before what it says.

    >>> step = part_of(lambda done, total, note: print(done, total, note), 2, 3, 4, "third")
    >>> step(5, 10, "half way")
    2.5 4 third, half way
    """
    if progress is None:
        return None

    def tell(done: float, total: float, note: str) -> None:
        share = done / total if total > 0 else 0.0
        progress(begin + (end - begin) * share, whole, f"{name}, {note}" if name else note)

    return tell


class Together:
    """Pieces of work that go on at once, in threads, told as one; ``sizes`` says how long each seems to be."""

    def __init__(self, progress: Progress, sizes: Mapping[str, float]) -> None:
        self._progress = progress
        self._total = sum(sizes.values())
        self._done = dict.fromkeys(sizes, 0.0)
        self._so_far = 0.0
        self._lock = Lock()

    def tell(self, name: str, done: float) -> None:
        """Say how much of one piece is done."""
        with self._lock:
            self._so_far += done - self._done[name]
            self._done[name] = done
            self._total = max(self._total, self._so_far)
            self._progress(self._so_far, self._total, name)
