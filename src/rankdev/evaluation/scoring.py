"""evaluate: any number of systems and measures, one join per run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event
from typing import Literal, TypeVar, get_args

import numpy as np

from rankdev.arguments import check_choice
from rankdev.arrays import Floats
from rankdev.errors import DataError, MeasureError, UsageError, shown
from rankdev.evaluation.coverage import Coverage
from rankdev.evaluation.file_matching import FileMatcher, joins
from rankdev.evaluation.matched import MatchedRuns
from rankdev.evaluation.matching import Matcher
from rankdev.evaluation.run_scoring import THREADS, Scorer, check_averages, deepest, match_run, score_matched
from rankdev.evaluation.scores import Scores
from rankdev.forks import refuse_lost_threads
from rankdev.formats import read_run, references_of
from rankdev.formats.opening import size_of
from rankdev.measures import parse_all
from rankdev.measures.base import MeasureLike
from rankdev.ordering import Order, Ordering, Ties, leaves_open
from rankdev.progress import Progress, Together
from rankdev.references.references import ReferencesLike
from rankdev.runs import Run, RunLike

Result = TypeVar("Result")
Empty = Literal["zero", "skip"]
SYSTEMS_TOGETHER, QUERIES_TOGETHER = 64, 10_000  # small runs are scored together, until there are so many


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
    if leaves_open(ties):
        check_averages(wanted)
    check_choice("empty", empty, get_args(Empty))
    return _Evaluation(references, systems, wanted, order, ties, empty, progress).scores()


@dataclass(frozen=True)
class _Prepared:
    """References ready to be matched, and room for the values."""

    matcher: Matcher
    files: FileMatcher
    values: Floats


class _Evaluation:
    """Systems that are read, matched and scored in threads, one of which prepares the references first."""

    def __init__(
        self,
        references: ReferencesLike,
        systems: Mapping[str, RunLike],
        wanted: Sequence[Scorer],
        order: Order | None,
        ties: Ties | None,
        empty: Empty,
        progress: Progress | None,
    ) -> None:
        self._references, self._systems, self._wanted = references, systems, wanted
        self._order, self._ties, self._empty = order, ties, empty
        sizes = {name: size_of(run) for name, run in systems.items()}
        self._together = None if progress is None else Together(progress, sizes)
        self._stopped = Event()
        self._prepared: Future[_Prepared] = Future()

    def scores(self) -> Scores:
        """Do it all."""
        with ThreadPoolExecutor(min(len(self._systems) + 1, THREADS)) as pool:
            try:
                self._prepared = pool.submit(self._prepare)
                tasks = [pool.submit(self._score, *part) for part in _parts(list(self._systems.items()))]
                prepared = _awaited(self._prepared)
                coverage = tuple(met for task in tasks for met in _awaited(task))
            except BaseException:
                self._stopped.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        known = prepared.matcher.references
        return Scores(
            tuple(self._systems),
            tuple(known.queries.to_list()),
            tuple(str(measure) for measure in self._wanted),
            prepared.values,
            known.sizes,
            coverage,
            self._order,
            self._ties,
            self._empty,
        )

    def _prepare(self) -> _Prepared:
        stopped = self._stopped

        def watch(done: float, total: float, note: str) -> None:
            if stopped.is_set():
                raise _StoppedError

        known = references_of(self._references, progress=watch)
        matcher = Matcher.of(known, skip_empty=self._empty == "skip")
        shape = (len(self._systems), len(matcher.references), len(self._wanted))
        return _Prepared(matcher, FileMatcher(matcher), np.zeros(shape))

    def _score(self, first: int, entries: Sequence[tuple[str, RunLike]]) -> list[Coverage]:
        """Score some systems, of which the first has this place."""
        waiting: list[MatchedRuns] = []
        coverage = []
        for end, (system, source) in enumerate(entries, first + 1):
            matched, met = self._match(system, source)
            waiting.append(matched)
            coverage.append(replace(met, system=system))
            if len(waiting) * len(matched.lengths) > QUERIES_TOGETHER or len(coverage) == len(entries):
                self._prepared.result().values[end - len(waiting) : end] = score_matched(waiting, self._wanted)
                waiting.clear()
        return coverage

    def _match(self, system: str, source: RunLike) -> tuple[MatchedRuns, Coverage]:
        def watch(done: float, total: float, note: str) -> None:
            if self._stopped.is_set() or (self._prepared.done() and self._prepared.exception() is not None):
                raise _StoppedError  # something else went wrong: what this run says does not matter any more
            if self._together is not None:
                self._together.tell(system, done)

        if isinstance(source, str | Path):
            where, depth = str(source), deepest(self._wanted)
            ordering = Ordering(self._order or "score", self._ties or "trec_eval")
            if joins(ordering):  # which takes the references first
                matched = self._prepared.result().files.match(source, ordering, depth, watch)
                if matched is not None:
                    return matched
            run = read_run(source, order=ordering.order, ties=ordering.ties, depth=depth, progress=watch)
        else:
            where = f"system {shown(system)}"
            with blamed(where):
                run = Run.of(source, order=self._order, ties=self._ties)
        with blamed(where):
            return match_run(self._prepared.result().matcher, run, self._wanted)


def _parts(entries: list[tuple[str, RunLike]]) -> Iterator[tuple[int, list[tuple[str, RunLike]]]]:
    """Cut systems into parts that are worked on one by one, each with the place of its first."""
    size = max(1, min(SYSTEMS_TOGETHER, len(entries) // (4 * THREADS)))
    for first in range(0, len(entries), size):
        yield first, entries[first : first + size]


def _awaited(task: Future[Result]) -> Result:
    """Wait a little at a time: Ctrl-C does not end a longer wait once polars is loaded."""
    while not task.done():
        wait([task], timeout=0.2)
    return task.result()


class _StoppedError(Exception):
    """Raised in a thread whose result is not wanted any more."""


@contextmanager
def blamed(where: str) -> Iterator[None]:
    """Say which run an error is about."""
    try:
        yield
    except MeasureError:
        raise
    except (DataError, UsageError) as error:
        raise type(error)(f"{where}: {error}") from None


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
