"""evaluate: any number of systems and measures, one join per run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from threading import Event
from typing import Any, TypeVar

import numpy as np

from rankdev.errors import DataError, MeasureError, UsageError
from rankdev.evaluation.matching import MatchedRun, Matcher
from rankdev.evaluation.scores import Coverage, Floats, Scores
from rankdev.forks import refuse_lost_threads
from rankdev.formats import read_references, read_run
from rankdev.measures import Measure, parse_all
from rankdev.references.references import References
from rankdev.runs import Order, Run, Ties

Result = TypeVar("Result")
THREADS = min(4, os.cpu_count() or 1)  # runs read at once; each holds its own part of memory


def evaluate(
    references: Any,
    runs: Any,
    measures: str | Measure | Iterable[str | Measure],
    *,
    order: Order = "score",
    ties: Ties = "trec_eval",
    progress: Callable[[str, int], None] | None = None,
) -> Scores:
    """Score systems against references.

    ``references`` are References, a path, a table or a dict. ``runs`` maps each system's name to a run: a path, a
    Run, a table, ``{query: [item, …]}`` or ``{query: {item: score}}``. A query missing from a run scores 0; queries
    without a reference are skipped; both are counted in ``coverage``. ``progress(system, bytes)`` is called as files
    are read.

    >>> scores = evaluate({"q": ["d1", "d2"]}, {"mine": {"q": ["d2", "d1"]}}, ["RDQ@5", "AP@5"])
    >>> scores.means.round(4).tolist()
    [[0.5255, 1.0]]
    """
    refuse_lost_threads()
    wanted = parse_all(measures)
    systems = _systems(runs)
    depth = deepest(wanted)

    def watch_stop(size: int) -> None:
        if stopped.is_set():
            raise _StoppedError

    def prepare() -> tuple[Matcher, Floats]:
        known = _references(references, watch_stop)
        return Matcher(known), np.zeros((len(systems), len(known), len(wanted)))

    def score_system(s: int, system: str, source: Any) -> Coverage:
        def watch(size: int) -> None:
            if stopped.is_set() or (prepared.done() and prepared.exception() is not None):
                raise _StoppedError  # something else went wrong: what this run says does not matter any more
            if progress is not None:
                progress(system, size)

        run = _run(source, order, ties, depth, watch)
        _check_depth(system, run.depth, wanted)
        matcher, values = prepared.result()
        matched = _match(matcher, run, depth, source if isinstance(source, str | Path) else f"system {system!r}")
        for rows, block in matched.blocks():
            for m, measure in enumerate(wanted):
                values[s, rows, m] = _score(measure, block)
        known = matcher.references
        return Coverage(
            system,
            len(known),
            matched.missing,
            matched.unreferenced,
            matched.tied,
            run.ordering.ties,
            known.empty,
        )

    stopped = Event()
    with ThreadPoolExecutor(min(len(systems) + 1, THREADS)) as pool:
        try:
            prepared = pool.submit(prepare)
            tasks = [pool.submit(score_system, s, *entry) for s, entry in enumerate(systems.items())]
            matcher, values = _awaited(prepared)
            coverage = tuple(_awaited(task) for task in tasks)
        except BaseException:
            stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    known = matcher.references
    labels = tuple(str(measure) for measure in wanted)
    return Scores(tuple(systems), tuple(known.queries.to_list()), labels, values, known.sizes, coverage)


def _awaited(task: Future[Result]) -> Result:
    """Wait a little at a time: Ctrl-C does not end a longer wait once polars is loaded."""
    while not task.done():
        wait([task], timeout=0.2)
    return task.result()


class _StoppedError(Exception):
    """Raised in a thread whose result is not wanted any more."""


def deepest(measures: Iterable[Measure]) -> int | None:
    """Find how many positions of a run can matter; None for all."""
    reaches = [measure.reach for measure in measures]
    return None if None in reaches else max(reach for reach in reaches if reach is not None)


def _check_depth(system: str, cut: int | None, measures: Iterable[Measure]) -> None:
    for measure in measures:
        if cut is not None and (measure.reach is None or measure.reach > cut):
            raise UsageError(f"system {system!r}: the run was cut at {cut}; read it whole to score {measure}")


def _match(matcher: Matcher, run: Run, depth: int | None, where: str | Path) -> MatchedRun:
    try:
        return matcher.match(run, depth)
    except DataError as error:
        raise DataError(f"{where}: {error}") from None


def _score(measure: Measure, block: Any) -> Any:
    try:
        return measure.score(block)
    except MeasureError as error:
        raise MeasureError(str(error) if str(measure) in str(error) else f"{measure}: {error}") from None


def _references(source: Any, watch: Callable[[int], None]) -> References:
    return read_references(source, progress=watch) if isinstance(source, str | Path) else References.of(source)


def _run(source: Any, order: Order, ties: Ties, depth: int | None, watch: Callable[[int], None] | None) -> Run:
    if isinstance(source, str | Path):
        return read_run(source, order=order, ties=ties, depth=depth, progress=watch)
    return Run.of(source, order=order, ties=ties)


def _systems(runs: Any) -> Mapping[str, Any]:
    if isinstance(runs, Run | str | Path):
        raise UsageError("runs must be named: {system: run}")
    if not isinstance(runs, Mapping):
        raise UsageError(f"runs must be a mapping {{system: run}}; got {type(runs).__name__}")
    if not runs:
        raise UsageError("no run was given; give at least one")
    for name in runs:
        if not isinstance(name, str) or not name:
            raise UsageError(f"a system is named by text; got {name!r}")
    return runs
