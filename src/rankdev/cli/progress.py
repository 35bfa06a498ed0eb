"""A bar on a terminal while long work goes on; silent in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def working(title: str) -> Iterator[Callable[[float, float, str], None] | None]:
    """Give a function ``progress(done, total, note)`` that moves a bar with the time left; None in a pipe."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=1.0)
        yield lambda done, total, note: bar.update(
            task, completed=done / max(total, 1e-9), description=f"{title}: {note}"
        )
