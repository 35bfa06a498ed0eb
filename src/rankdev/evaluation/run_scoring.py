"""One run, or several small ones at once: matched with the references, and scored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np

from rankdev.arrays import Floats
from rankdev.errors import MeasureError, UsageError
from rankdev.evaluation.coverage import Coverage
from rankdev.evaluation.matched import MatchedRuns
from rankdev.evaluation.matching import Matcher
from rankdev.forks import cores
from rankdev.measures import REGISTRY
from rankdev.measures.match import Match
from rankdev.runs import Run

THREADS = min(4, cores())
FEW_BLOCKS = 8  # which are not worth a thread


class Scorer(Protocol):
    """What can be scored: a measure, or what looks like one."""

    @property
    def reach(self) -> int | None:
        """How many positions of a run it looks at; None for all."""

    def score(self, match: Match) -> Floats:
        """Score every query."""


def deepest(measures: Iterable[Scorer]) -> int | None:
    """Find how many positions of a run can matter; None for all."""
    reaches = [measure.reach for measure in measures]
    return None if None in reaches else max(reach for reach in reaches if reach is not None)


def score_run(matcher: Matcher, run: Run, measures: Sequence[Scorer]) -> tuple[Floats, Coverage]:
    """Score one run: ``values[query, measure]`` and how the run and the references met.

    A pure function of what it is given, which can be pickled: threads share it, and so can other engines.
    """
    matched, coverage = match_run(matcher, run, measures)
    return score_matched([matched], measures)[0], coverage


def match_run(matcher: Matcher, run: Run, measures: Sequence[Scorer]) -> tuple[MatchedRuns, Coverage]:
    """Match a run as deep as the measures look."""
    for measure in measures:
        if run.depth is not None and (measure.reach is None or measure.reach > run.depth):
            raise UsageError(f"the run was cut at {run.depth}; read it whole to score {measure}")
    if run.ordering.leaves_ties_open:
        check_averages(measures)
    return matcher.match(run, deepest(measures))


def score_matched(runs: Sequence[MatchedRuns], measures: Sequence[Scorer]) -> Floats:
    """Score runs that are matched already: ``values[run, query, measure]``."""
    if any(run.ties_are_open for run in runs):
        return np.stack([_score_all(run, measures) for run in runs])
    return _score_all(MatchedRuns.together(runs), measures).reshape(len(runs), -1, len(measures))


def _score_all(matched: MatchedRuns, measures: Sequence[Scorer]) -> Floats:
    values = np.zeros((len(matched.lengths), len(measures)))

    def score_block(rows: slice) -> None:
        block = matched.block(rows)
        for m, measure in enumerate(measures):
            values[rows, m] = _score(measure, block)

    blocks = matched.blocks()
    if len(blocks) <= FEW_BLOCKS:
        list(map(score_block, blocks))
    else:
        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(score_block, blocks))
    return values


def check_averages(measures: Iterable[Scorer]) -> None:
    """Refuse measures that cannot be averaged over all orders of ties."""
    for measure in measures:
        if not getattr(measure, "averages_ties", False):
            known = ", ".join(name for name, kind in REGISTRY.items() if kind.averages_ties)
            raise MeasureError(f"{measure} has no mean over all orders of ties here; ties='expected' is for {known}")


def _score(measure: Scorer, block: Match) -> Any:
    try:
        return measure.score(block)
    except MeasureError as error:
        raise MeasureError(str(error) if str(measure) in str(error) else f"{measure}: {error}") from None
