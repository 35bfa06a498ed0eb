"""Measuring: runs that are matched with the references are scored, or one ranking against its reference."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from rankdev._common.arrays import Floats
from rankdev._common.checks import check_choice, is_list
from rankdev._common.ids import as_id
from rankdev._common.work import cores
from rankdev.core.single import Reference
from rankdev.errors import DataError, MeasureError, UsageError
from rankdev.evaluation.coverage import Coverage
from rankdev.evaluation.hits import MatchedRuns
from rankdev.measures import REGISTRY, Measure, parse
from rankdev.measures.match import Ideals, Match
from rankdev.measures.rdq import RDQ

if TYPE_CHECKING:
    from rankdev.core.runs import Run
    from rankdev.evaluation.matching import Matcher

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
    """Score one run: ``values[query, measure]`` and how the run and the references matched.

    A pure function of what it is given, which can be pickled: threads share it, and so can other engines.
    """
    matched, coverage = match_run(matcher, run, measures)
    return score_matched([matched], measures)[0], coverage


def match_run(matcher: Matcher, run: Run, measures: Sequence[Scorer]) -> tuple[MatchedRuns, Coverage]:
    """Match a run as deep as the measures look."""
    for measure in measures:
        if run.depth is not None and (measure.reach is None or measure.reach > run.depth):
            raise UsageError("truncated-run", depth=run.depth, measure=str(measure))
    if run.ordering.leaves_ties_open:
        check_averages(measures)
    return matcher.match(run, deepest(measures), measures)


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
            known = [name for name, kind in REGISTRY.items() if kind.averages_ties]
            raise MeasureError("no-mean-of-ties", measure=str(measure), known=known)


def _score(measure: Scorer, block: Match) -> Any:
    try:
        return measure.score(block)
    except MeasureError as error:
        raise error.at(measure=str(measure)) from None


def score(reference: Any, ranking: Iterable[Any], measure: str | Measure = "RDQ@10") -> float:
    """Score one ranking.

    Parameters
    ----------
    reference : Reference, list of str or list of lists of str
        Relevant items or tiers, best first.
    ranking : iterable of str, or dict of str to float
        Items, best first, or the score of each item.
    measure : str or Measure, default "RDQ@10"
        Such as ``"nDCG(gains=binary)@5"``.

    Returns
    -------
    float
        NaN where the measure is not available.

    Examples
    --------
    >>> score(["d1", "d2"], ["d2", "d1"], "AP@5"), round(score(["d1", "d2"], ["d2", "d1"]), 4)
    (1.0, 0.5255)
    """
    return float(parse(measure).score(match_one(Reference.of(reference), items_of(ranking)))[0])


def match_one(reference: Reference, ranking: Sequence[str]) -> Match:
    """Match one ranking with its reference: first occurrences of reference items."""
    place = {item: i for i, item in enumerate(reference)}
    first = {item: position for position, item in reversed(list(enumerate(ranking)))}
    hits = sorted((position, place[item]) for item, position in first.items() if item in place)
    nonrelevant = reference.nonrelevant or {}
    judged = sorted((position, nonrelevant[item]) for item, position in first.items() if item in nonrelevant)
    known = reference.nonrelevant is not None
    ideals = Ideals(
        np.array([0, len(reference)]),
        np.array(list(reference.values()), np.int64),
        None if reference.grades is None else np.array([reference.grades[item] for item in reference]),
        np.array([0, len(nonrelevant)]) if known else None,
        np.array(list(nonrelevant.values()), np.float64) if known else None,
    )
    return Match(
        ideals,
        np.zeros(len(hits), np.int64),
        np.array([position for position, _ in hits], np.int64),
        np.array([index for _, index in hits], np.int64),
        np.array([len(ranking)]),
        np.zeros(len(judged), np.int64),
        np.array([position for position, _ in judged], np.int64),
        np.array([grade for _, grade in judged], np.float64),
    )


def items_of(ranking: Iterable[Any]) -> list[str]:
    """Return the ids of a ranking, best first."""
    if isinstance(ranking, Mapping):  # item → score, as in a run
        from rankdev.core.runs import Run

        return Run.from_scores({"ranking": ranking}).get("ranking", [])
    if isinstance(ranking, Set) or not is_list(ranking):
        raise DataError("not-a-ranking", value=ranking)
    return [as_id(item) for item in ranking]


def rdq_with(k: int | None, parameters: dict[str, Any]) -> RDQ:
    """Make RDQ@k; refuse parameters that it does not have."""
    known = [entry.name for entry in RDQ.parameters()]
    for name in parameters:
        check_choice("parameter", name, known)
    return RDQ(cutoff=k, **parameters)
