"""evaluate: any number of systems and measures, one join per run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rankdev.errors import DataError, MeasureError, UsageError
from rankdev.evaluation.matching import Matcher
from rankdev.evaluation.scores import Coverage, Scores
from rankdev.formats import read_references, read_run
from rankdev.measures import Measure, parse_all
from rankdev.references.references import References
from rankdev.runs import Order, Run, Ties


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
    wanted = parse_all(measures)
    known = references if isinstance(references, References) else _references(references)
    systems = _systems(runs)
    depth = deepest(wanted)
    matcher = Matcher(known)
    values = np.zeros((len(systems), len(known), len(wanted)))
    coverage = []
    for s, (system, source) in enumerate(systems.items()):
        watch = None if progress is None else _watch(progress, system)
        run = _run(source, order, ties, depth, watch)
        if run.depth is not None and (depth is None or depth > run.depth):
            raise UsageError(f"system {system!r}: the run was cut at {run.depth}; read it whole to score {wanted[0]}")
        try:
            matched = matcher.match(run, depth)
        except DataError as error:
            where = source if isinstance(source, str | Path) else f"system {system!r}"
            raise DataError(f"{where}: {error}") from None
        for rows, block in matched.blocks():
            for m, measure in enumerate(wanted):
                values[s, rows, m] = _score(measure, block)
        coverage.append(Coverage(system, len(known), matched.missing, matched.unreferenced, matched.tied))
    labels = tuple(str(measure) for measure in wanted)
    return Scores(tuple(systems), tuple(known.queries.to_list()), labels, values, known.sizes, tuple(coverage))


def deepest(measures: Iterable[Measure]) -> int | None:
    """Find how many positions of a run can matter; None for all."""
    reaches = [measure.reach for measure in measures]
    return None if None in reaches else max(reach for reach in reaches if reach is not None)


def remarks(scores: Scores, ties: Ties = "trec_eval") -> list[str]:
    """Say in a line each what was missing on either side, and where ties decide."""
    lines = []
    for entry in scores.coverage:
        of = f"of {entry.queries} queries"
        if entry.missing:
            lines.append(f"{entry.system}: {entry.missing} {of} are not in the run; they score 0")
        if entry.unreferenced:
            lines.append(f"{entry.system}: {entry.unreferenced} queries of the run have no reference; they are skipped")
        if entry.tied:
            lines.append(f"{entry.system}: equal scores decide in {entry.tied} {of}; ties are broken by {ties!r}")
    return lines


def _score(measure: Measure, block: Any) -> Any:
    try:
        return measure.score(block)
    except MeasureError as error:
        raise MeasureError(str(error) if str(measure) in str(error) else f"{measure}: {error}") from None


def _references(source: Any) -> References:
    return read_references(source) if isinstance(source, str | Path) else References.of(source)


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


def _watch(progress: Callable[[str, int], None], system: str) -> Callable[[int], None]:
    return lambda size: progress(system, size)
