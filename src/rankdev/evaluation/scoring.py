"""evaluate: any number of systems and measures, one join per run."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any, Literal, Protocol, TypeVar, get_args

import numpy as np

from rankdev.arguments import check_choice
from rankdev.arrays import Floats
from rankdev.errors import DataError, MeasureError, UsageError, shown
from rankdev.evaluation.coverage import Coverage
from rankdev.evaluation.file_matching import FileMatcher, joins
from rankdev.evaluation.matching import MatchedRun, Matcher
from rankdev.evaluation.scores import Scores
from rankdev.forks import refuse_lost_threads
from rankdev.formats import read_references, read_run
from rankdev.formats.opening import size_of
from rankdev.measures import REGISTRY, parse_all
from rankdev.measures.base import MeasureLike
from rankdev.measures.match import Match
from rankdev.ordering import Order, Ordering, Ties, leaves_open
from rankdev.progress import Progress, Together
from rankdev.references.references import References, ReferencesLike
from rankdev.runs import Run, RunLike

Result = TypeVar("Result")
Empty = Literal["zero", "skip"]
THREADS = min(4, os.cpu_count() or 1)  # runs read at once; each holds its own part of memory


def evaluate(
    references: ReferencesLike,
    runs: Mapping[str, RunLike],
    measures: MeasureLike | Iterable[MeasureLike],
    *,
    order: Order | None = None,
    ties: Ties | None = None,
    empty: Empty = "zero",
    progress: Progress | None = None,
) -> Scores:
    """Score systems against references.

    ``references`` are References, a path, a table or a dict of lists or tiers. ``runs`` maps each system's name to a
    run: a path, a Run, a table, ``{query: [item, …]}`` or ``{query: {item: score}}``. A query missing from a run scores
    0; queries without a reference are skipped; both are counted in ``coverage``. Queries without any reference item,
    because all that was judged is worthless, score 0, or are left out with ``empty="skip"``.

    ``order`` and ``ties`` say how runs are ordered: by score and as trec_eval 9 breaks ties, unless said; a Run keeps
    its own order, unless said. With ``ties="expected"`` values are means over all orders of equal scores, for the
    measures that have them in closed form. ``progress(done, total, system)`` is called as files are read, in bytes.

    >>> scores = evaluate({"q": ["d1", "d2"]}, {"mine": {"q": ["d2", "d1"]}}, ["RDQ@5", "AP@5"])
    >>> scores.means.round(4).tolist()
    [[0.5255, 1.0]]
    """
    wanted = parse_all(measures)
    return evaluate_all(references, runs, wanted, order=order, ties=ties, empty=empty, progress=progress)


class Scorer(Protocol):
    """What can be scored: a measure, or what looks like one."""

    @property
    def reach(self) -> int | None:
        """How many positions of a run it looks at; None for all."""

    def score(self, match: Match) -> Floats:
        """Score every query."""


def evaluate_all(
    references: ReferencesLike,
    runs: Mapping[str, RunLike],
    wanted: Sequence[Scorer],
    *,
    order: Order | None,
    ties: Ties | None,
    empty: Empty,
    progress: Progress | None,
) -> Scores:
    """Score systems as :func:`evaluate` does, by measures that are no text any more."""
    refuse_lost_threads()
    systems = named_systems(runs)
    depth = deepest(wanted)
    if leaves_open(ties):
        _check_averages(wanted)
    check_choice("empty", empty, get_args(Empty))

    def watch_stop(*told: float | str) -> None:
        if stopped.is_set():
            raise _StoppedError

    def prepare() -> tuple[Matcher, FileMatcher, Floats]:
        matcher = Matcher.of(_references(references, watch_stop), skip_empty=empty == "skip")
        return matcher, FileMatcher(matcher), np.zeros((len(systems), len(matcher.references), len(wanted)))

    def score_system(s: int, system: str, source: RunLike) -> Coverage:
        def watch(done: float, total: float, note: str) -> None:
            if stopped.is_set() or (prepared.done() and prepared.exception() is not None):
                raise _StoppedError  # something else went wrong: what this run says does not matter any more
            if together is not None:
                together.tell(system, done)

        if isinstance(source, str | Path):
            where, ordering = str(source), Ordering(order or "score", ties or "trec_eval")
            if joins(ordering):  # which takes the references first
                matcher, files, values = prepared.result()
                matched = files.match(source, ordering, depth, watch)
                if matched is not None:
                    values[s], coverage = score_match(matcher, matched, ordering, wanted)
                    return replace(coverage, system=system)
            run = read_run(source, order=ordering.order, ties=ordering.ties, depth=depth, progress=watch)
        else:
            where = f"system {shown(system)}"
            with blamed(where):
                run = Run.of(source, order=order, ties=ties)
        matcher, _, values = prepared.result()
        with blamed(where):
            values[s], coverage = score_run(matcher, run, wanted)
        return replace(coverage, system=system)

    stopped = Event()
    together = None if progress is None else Together(progress, {name: size_of(run) for name, run in systems.items()})
    with ThreadPoolExecutor(min(len(systems) + 1, THREADS)) as pool:
        try:
            prepared = pool.submit(prepare)
            tasks = [pool.submit(score_system, s, *entry) for s, entry in enumerate(systems.items())]
            matcher, _, values = _awaited(prepared)
            coverage = tuple(_awaited(task) for task in tasks)
        except BaseException:
            stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    known = matcher.references
    labels = tuple(str(measure) for measure in wanted)
    return Scores(
        tuple(systems), tuple(known.queries.to_list()), labels, values, known.sizes, coverage, order, ties, empty
    )


def _awaited(task: Future[Result]) -> Result:
    """Wait a little at a time: Ctrl-C does not end a longer wait once polars is loaded."""
    while not task.done():
        wait([task], timeout=0.2)
    return task.result()


class _StoppedError(Exception):
    """Raised in a thread whose result is not wanted any more."""


def deepest(measures: Iterable[Scorer]) -> int | None:
    """Find how many positions of a run can matter; None for all."""
    reaches = [measure.reach for measure in measures]
    return None if None in reaches else max(reach for reach in reaches if reach is not None)


def score_run(matcher: Matcher, run: Run, measures: Sequence[Scorer]) -> tuple[Floats, Coverage]:
    """Score one run: ``values[query, measure]`` and how the run and the references met.

    A pure function of what it is given, which can be pickled: threads share it, and so can other engines.
    """
    for measure in measures:
        if run.depth is not None and (measure.reach is None or measure.reach > run.depth):
            raise UsageError(f"the run was cut at {run.depth}; read it whole to score {measure}")
    if run.ordering.leaves_ties_open:
        _check_averages(measures)
    return score_match(matcher, matcher.match(run, deepest(measures)), run.ordering, measures)


def score_match(
    matcher: Matcher, matched: MatchedRun, ordering: Ordering, measures: Sequence[Scorer]
) -> tuple[Floats, Coverage]:
    """Score a run that is matched already, as :func:`score_run` does."""
    values = np.zeros((len(matcher.references), len(measures)))
    for rows, block in matched.blocks():
        for m, measure in enumerate(measures):
            values[rows, m] = _score(measure, block)
    return values, Coverage(
        system="",
        queries=len(matcher.references),
        missing=matched.missing,
        unreferenced=matched.unreferenced,
        tied=matched.tied,
        ties=ordering.ties,
        empty=len(matcher.skipped) or matcher.references.empty,
    )


def _check_averages(measures: Iterable[Scorer]) -> None:
    for measure in measures:
        if not getattr(measure, "averages_ties", False):
            known = ", ".join(name for name, kind in REGISTRY.items() if kind.averages_ties)
            raise MeasureError(f"{measure} has no mean over all orders of ties here; ties='expected' is for {known}")


@contextmanager
def blamed(where: str) -> Iterator[None]:
    """Say which run an error is about."""
    try:
        yield
    except MeasureError:
        raise
    except (DataError, UsageError) as error:
        raise type(error)(f"{where}: {error}") from None


def _score(measure: Scorer, block: Match) -> Any:
    try:
        return measure.score(block)
    except MeasureError as error:
        raise MeasureError(str(error) if str(measure) in str(error) else f"{measure}: {error}") from None


def _references(source: ReferencesLike, watch: Progress) -> References:
    return read_references(source, progress=watch) if isinstance(source, str | Path) else References.of(source)


def named_systems(runs: Mapping[str, RunLike]) -> Mapping[str, RunLike]:
    """Refuse what is no mapping of names to runs."""
    if isinstance(runs, Run | str | Path):
        raise UsageError("runs must be named: {system: run}")
    if not isinstance(runs, Mapping):
        raise UsageError(f"runs must be a mapping {{system: run}}; got {type(runs).__name__}")
    if not runs:
        raise UsageError("no run was given; give at least one")
    for name in runs:
        if not isinstance(name, str) or not name:
            raise UsageError(f"a system is named by text; got {shown(name)}")
    return runs
