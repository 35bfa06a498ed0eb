"""Evaluation of runs: each is read, matched with the references and scored, in threads and in blocks."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from threading import Event
from typing import Literal, TypeVar, get_args

import numpy as np

from rankdev._common.arrays import Floats
from rankdev._common.checks import check_choice, check_flag
from rankdev._common.reading import (
    Caution,
    Duplicates,
    Ranks,
    caution,
    held_cautions,
    reading_with,
    strict_input,
    warn_of_unmet,
)
from rankdev._common.work import Progress, Together, refuse_lost_threads
from rankdev.core.ordering import TIE_RULES, Order, Ties, leaves_open
from rankdev.core.references import ReferencesLike
from rankdev.core.runs import RunLike, RunsLike
from rankdev.evaluation._strictness import order_notes
from rankdev.evaluation.conventions import Choices, choose
from rankdev.evaluation.coverage import Coverage, check_coverage
from rankdev.evaluation.hits import MatchedRuns
from rankdev.evaluation.matching import Matcher
from rankdev.evaluation.measuring import THREADS, Scorer, check_averages, deepest, match_run, score_matched
from rankdev.evaluation.scores import Scores
from rankdev.io.loading import Faults, error_context, load_references, load_run, named_systems, where
from rankdev.io.streams import size_of
from rankdev.measures.base import MeasureLike
from rankdev.measures.syntax import info_of

Result = TypeVar("Result")
Empty = Literal["zero", "skip"]
SYSTEMS_TOGETHER, QUERIES_TOGETHER = 64, 10_000  # small runs are scored together, until there are so many


def evaluate(
    references: ReferencesLike,
    runs: RunsLike,
    measures: MeasureLike | Iterable[MeasureLike],
    *,
    order: Order | None = None,
    ties: Ties | None = None,
    empty: Empty | None = None,
    like: str | None = None,
    duplicates: Duplicates | None = None,
    columns: Mapping[str, str] | None = None,
    ranks: Ranks | None = None,
    collapse: str | None = None,
    strict: bool = False,
    progress: Progress | None = None,
) -> Scores:
    """Score systems against references.

    A query missing from a run scores 0; queries without a reference are skipped. Both are counted in ``coverage``, and
    noted. If references that were not made from grades have little order, a note states what a reversed ranking would
    score.

    Parameters
    ----------
    references : References, path, table or dict
        Ideal order of each query: lists, tiers or grades.
    runs : dict of str to Run, path, table or dict
        Each system's ranking. As a dict, ``{query: [item, …]}`` or ``{query: {item: score}}``. Or one file or table
        with the rankings of several systems, which its tags name, or a column: system, tag, run_id, run or name.
    measures : str, Measure or list of them
        Such as ``"RDQ@5"``; see ``rankdev measures``.
    order : {"score", "rank"}, optional
        What orders a run. Default: score; a Run keeps its own.
    ties : {"trec_eval", "descending", "ascending", "given", "expected"}, optional
        How equal scores are ordered. Default: as in pytrec_eval; a Run keeps its own. With "expected", values are means
        over all orders of equal scores, for the measures that have them in closed form.
    empty : {"zero", "skip"}, optional
        Queries without any relevant item score 0, or are left out. Default: zero, or as ``like`` does.
    like : {"trec_eval-10", "trec_eval-9", "pytrec_eval", "ir_measures", "gdeval", "ranx"}, optional
        Follow another program: its order of equal scores, its rounding of IPrec, what it reads, and its names of
        measures. An option that contradicts it is refused. See docs/conformance.md.
    duplicates : {"first", "last", "best"}, optional
        Which row of an item counts where a run has several for a query: the first or the last, or that with the highest
        score (the lowest rank). The others are left out, and counted in ``coverage``. A Run keeps what it has. Default:
        two scores of an item are refused.
    columns : dict of str to str, optional
        Names of the columns of tables, or of the fields of responses, by ours: ``{"item": "sku"}``.
    ranks : {"consecutive", "competition"}, optional
        Whether ranks in tables are consecutive, or skip as many as are tied: 1, 1, 1, 4. Default: consecutive.
    collapse : str, optional
        What separates a document from its chunk, as in ``d7#3``: each document has the position of its best chunk.
    strict : bool, default False
        Refuse what is otherwise a warning or a note and could make a number wrong: queries that only one side has,
        ids that differ by case, blanks or Unicode form only, scores that rise with the ranks, repeated items.
    progress : callable, optional
        Called as ``progress(done, total, system)`` while files are read, in bytes.

    Returns
    -------
    Scores
        One value per system, query and measure.

    Examples
    --------
    >>> scores = evaluate({"q": ["d1", "d2"]}, {"mine": {"q": ["d2", "d1"]}}, ["RDQ@5", "AP@5"])
    >>> scores.means.round(4).tolist()
    [[0.5255, 1.0]]
    """
    wanted, choices = choose(like, measures, order, ties, empty)
    with (
        strict_input(check_flag("strict", strict)),
        reading_with(duplicates=duplicates, columns=columns, ranks=ranks, collapse=collapse),
    ):
        return _evaluate(references, runs, wanted, choices, progress)


def evaluate_all(
    references: ReferencesLike,
    runs: RunsLike,
    wanted: Sequence[Scorer],
    *,
    order: Order | None,
    ties: Ties | None,
    empty: Empty,
    progress: Progress | None,
) -> Scores:
    """Score systems as :func:`evaluate` does, by measures that are parsed."""
    return _evaluate(references, runs, wanted, Choices(order, ties, empty), progress)


def _evaluate(
    references: ReferencesLike,
    runs: RunsLike,
    wanted: Sequence[Scorer],
    choices: Choices,
    progress: Progress | None,
) -> Scores:
    refuse_lost_threads()
    if choices.ties is not None:
        check_choice("ties", choices.ties, tuple(TIE_RULES))
    systems = named_systems(runs, choices.order)
    if leaves_open(choices.ties):
        check_averages(wanted)
    check_choice("empty", choices.empty, get_args(Empty))
    return _Evaluation(references, systems, wanted, choices, progress).scores()


@dataclass(frozen=True)
class _Prepared:
    """References ready to be matched, and an array for the values."""

    matcher: Matcher
    values: Floats
    cautions: Sequence[Caution]


class _Evaluation:
    """Systems that are read, matched and scored in threads, one of which prepares the references first."""

    def __init__(
        self,
        references: ReferencesLike,
        systems: Mapping[str, RunLike],
        wanted: Sequence[Scorer],
        choices: Choices,
        progress: Progress | None,
    ) -> None:
        self._references, self._systems, self._wanted = references, systems, wanted
        self._choices = choices
        sizes = {name: size_of(run) for name, run in systems.items()}
        self._together = None if progress is None else Together(progress, sizes)
        self._cautions: dict[str, list[Caution]] = {name: [] for name in systems}
        self._stopped = Event()
        self._faults = Faults()
        self._prepared: Future[_Prepared] = Future()

    def scores(self) -> Scores:
        """Do it all."""
        with ThreadPoolExecutor(min(len(self._systems) + 1, THREADS)) as pool:
            try:
                self._prepared = pool.submit(copy_context().run, self._prepare)
                parts = _parts(list(self._systems.items()))
                tasks = [pool.submit(copy_context().run, self._score, first, part) for first, part in parts]
                with suppress(_StoppedError), self._faults.noted():
                    _awaited(self._prepared)
                coverage = tuple(met for task in tasks for met in _awaited(task))
                self._faults.check()
                prepared = self._prepared.result()
                for kind, fields in chain(prepared.cautions, *self._cautions.values()):
                    caution(kind, **fields)
                warn_of_unmet()
                check_coverage(coverage)
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
            reference_sizes=known.sizes,
            coverage=coverage,
            order=self._choices.order,
            ties=self._choices.ties,
            empty=self._choices.empty,
            notes=order_notes(known, self._wanted),
            kinds=tuple(info_of(measure) for measure in self._wanted),
        )

    def _prepare(self) -> _Prepared:
        def watch(done: float, total: float, note: str) -> None:
            self._go_on(self._references)

        with held_cautions() as cautions:
            known = load_references(self._references, progress=watch, dialect=self._choices.dialect)
        self._choices.check(known)
        matcher = Matcher.of(known, skip_empty=self._choices.empty == "skip")
        shape = (len(self._systems), len(matcher.references), len(self._wanted))
        return _Prepared(matcher, np.zeros(shape), cautions)

    def _score(self, first: int, entries: Sequence[tuple[str, RunLike]]) -> list[Coverage]:
        """Score some systems, of which the first has this place; none any more once an input is wrong."""
        waiting: list[MatchedRuns] = []
        coverage: list[Coverage] = []
        for end, (system, source) in enumerate(entries, first + 1):
            with suppress(_StoppedError), held_cautions() as self._cautions[system], self._faults.noted(end):
                found = self._match(system, source)
                if found is not None:
                    waiting.append(found[0])
                    coverage.append(replace(found[1], system=system))
            if self._faults or not waiting:
                waiting.clear()
            elif len(waiting) * len(waiting[0].lengths) > QUERIES_TOGETHER or len(coverage) == len(entries):
                self._prepared.result().values[end - len(waiting) : end] = score_matched(waiting, self._wanted)
                waiting.clear()
        return coverage

    def _go_on(self, source: object) -> None:
        """Stop where something else went wrong: files are still read for what is wrong there, pipes may never end."""
        hopeless = self._faults or (self._prepared.done() and self._prepared.exception() is not None)
        if self._stopped.is_set() or (hopeless and not (isinstance(source, str | Path) and os.path.isfile(source))):
            raise _StoppedError

    def _ready(self) -> _Prepared | None:
        """Wait for the references; None where they are wrong, and the runs are only read for what is wrong there."""
        with suppress(_StoppedError), Faults().noted():
            return self._prepared.result()
        return None

    def _match(self, system: str, source: RunLike) -> tuple[MatchedRuns, Coverage] | None:
        def watch(done: float, total: float, note: str) -> None:
            self._go_on(source)
            if self._together is not None:
                self._together.tell(system, done)

        depth, choices = deepest(self._wanted), self._choices
        run = load_run(system, source, choices.order, choices.ties, depth, watch, choices.dialect)
        ready = self._ready()
        if ready is None:
            return None
        with error_context(**where(system, source)):
            return match_run(ready.matcher, run, self._wanted)


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
