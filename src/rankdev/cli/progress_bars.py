"""Bars on a terminal while something takes long; nothing in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rankdev.progress import Progress

PROGRESS_BYTES = 50_000_000


@contextmanager
def reading_progress(paths: Sequence[str]) -> Iterator[Progress | None]:
    """Show a bar on a terminal while large files are read."""
    size = sum(Path(path).stat().st_size for path in paths if path != "-" and Path(path).is_file())
    if not sys.stderr.isatty() or size < PROGRESS_BYTES:
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    with Bar(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=size)
        yield lambda done, total, system: bar.update(task, completed=done, total=total, description=system)


@contextmanager
def working_progress(title: str = "simulating") -> Iterator[Progress | None]:
    """Show a bar on a terminal while long work goes on, its cost first; None in a pipe."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total, note: bar.update(task, completed=done, total=total, description=f"{title}: {note}")
