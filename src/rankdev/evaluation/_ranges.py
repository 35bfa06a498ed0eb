"""The lowest and the highest score of each list: over all orders of its equal scores, or of a query it lacks."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from rankdev._common.arrays import Floats, Ints
from rankdev.core.ordering import Ordering
from rankdev.core.references import References
from rankdev.core.runs import Run
from rankdev.errors import RankdevWarning
from rankdev.evaluation.coverage import Coverage
from rankdev.evaluation.matching import Matcher
from rankdev.evaluation.measuring import deepest
from rankdev.evaluation.placings import gains_at
from rankdev.evaluation.scores import Scores
from rankdev.measures.base import Measure
from rankdev.measures.incomplete import InfAP, Unjudged
from rankdev.measures.match import Match
from rankdev.measures.rdq import RDQ
from rankdev.measures.ties import TiedMatch

Ranges = tuple[Floats, Floats]


def over_orders(references: References, runs: Mapping[str, Run], measures: Sequence[Measure], scores: Scores) -> Ranges:
    """Return the lowest and highest scores over all orders of equal scores, ``[system, query, measure]``.

    They are those of the best items first and last in each tie, which no other order exceeds; of RDQ, those of the
    best and the worst assignment. Of measures that can gain from a worse item further up (:func:`is_exact`) they are
    scores of two orders. Runs whose ties are averaged have one score.
    """
    low, high = scores.values.copy(), scores.values.copy()
    matcher = Matcher.of(references)
    for s, (run, entry) in enumerate(zip(runs.values(), scores.coverage, strict=True)):
        decided = [m for m, measure in enumerate(measures) if ties_that_decide(entry, str(measure))]
        if not decided:
            continue
        with warnings.catch_warnings(action="ignore", category=RankdevWarning):  # the scores have warned
            matched, _ = matcher.match(_unbroken(run), deepest(measures))
        for rows in matched.blocks():
            block = matched.block(rows)
            assert isinstance(block, TiedMatch)
            for m in decided:
                for values in _extremes(measures[m], block):
                    low[s, rows, m] = np.fmin(low[s, rows, m], values)
                    high[s, rows, m] = np.fmax(high[s, rows, m], values)
    return low, high


def with_missing(references: References, runs: Mapping[str, Run], scores: Scores) -> Ranges:
    """Return the scores with the lowest and the highest that a measure has for queries that a run lacks."""
    low, high = scores.values.copy(), scores.values.copy()
    for s, run in enumerate(runs.values()):
        lacks = ~references.queries.is_in(run.queries.implode()).to_numpy()
        for m, kind in enumerate(scores.kinds):
            seen = scores.values[:, lacks, m]
            for limits, end, of in ((low, kind.range[0], np.fmin), (high, kind.range[1], np.fmax)):
                limits[s, lacks, m] = end if np.isfinite(end) else of.reduce(seen, axis=0)
    return low, high


def is_exact(measure: Measure) -> bool:
    """Tell whether no order leaves the range of :func:`over_orders`: not known of measures of one's own."""
    return type(measure).__module__.startswith("rankdev.") and not isinstance(measure, InfAP | Unjudged)


def ties_that_decide(entry: Coverage, measure: str) -> int:
    """Count the queries of a run on which tied scores affect the measure."""
    return 0 if entry.ties == "expected" else entry.tied_by.get(measure, entry.tied)


def _unbroken(run: Run) -> Run:
    """Do not break ties, those of the run's own rule; a repeated item is no item that anybody knows."""
    assert run.scores is not None
    names = run.item_ids
    if run.repeats is not None:
        frame = pl.DataFrame({"item": names, "again": run.repeats})
        names = frame.select(pl.when("again").then(pl.lit("\0") + "item").otherwise("item").alias("item"))["item"]
    ordering = Ordering(run.ordering.order, "expected")
    return replace(run, item_ids=names, repeats=None, scores=run.ordering.keys(run.scores), ordering=ordering)


def _extremes(measure: Measure, match: TiedMatch) -> tuple[Floats, Floats]:
    if isinstance(measure, RDQ):
        return _assigned(measure, match.judged_only if measure.judged_only else match)  # type: ignore[arg-type]
    return measure.score(_sorted(measure, match, best=True)), measure.score(_sorted(measure, match, best=False))


def _sorted(measure: Measure, match: TiedMatch, best: bool) -> Match:
    """Break ties: the best items first, then those judged nonrelevant, then all others; or the other way round."""
    hits, others = match.tied, match.nonrelevant_tied
    tie_of_hits, tie_of_others = (part.query * (2**32) + part.begin for part in (hits, others))
    order = np.lexsort((-measure.merits(match)[match.place], tie_of_hits))
    position = np.empty_like(match.position)
    position[order] = hits.begin[order] + _nth(tie_of_hits[order])
    ties, counts = np.unique(tie_of_hits, return_counts=True)
    above = (
        np.append(counts, 0)[np.searchsorted(ties, tie_of_others)] if len(ties) else np.zeros(len(others.query), int)
    )
    above = np.where(np.isin(tie_of_others, ties), above, 0)
    order = np.lexsort((-match.nonrelevant_grade, tie_of_others))
    below = np.empty_like(match.nonrelevant_position)
    below[order] = (others.begin + above)[order] + _nth(tie_of_others[order])
    if not best:
        position, below = (2 * part.begin + part.size - 1 - at for part, at in ((hits, position), (others, below)))
    first, then = np.lexsort((position, match.query)), np.lexsort((below, match.nonrelevant_query))
    return Match(
        match.ideals,
        match.query[first],
        position[first],
        match.place[first],
        match.lengths,
        match.nonrelevant_query[then],
        below[then],
        match.nonrelevant_grade[then],
    )


def _nth(group: Ints) -> Ints:
    """Number the entries of each group, which are next to each other, from 0."""
    return np.arange(len(group)) - np.searchsorted(group, group)


def _assigned(measure: RDQ, match: TiedMatch) -> tuple[Floats, Floats]:
    """Sum what each tie gains at least and at most: its items are assigned to its positions."""
    from scipy.optimize import linear_sum_assignment

    ties, totals = match.tied, np.zeros((2, match.queries))
    if not len(match.query):
        return totals[0], totals[1]
    filled = np.minimum(match.lengths, measure.cutoff or np.inf).astype(np.int64)
    gains = gains_at(match, measure, np.arange(len(match.query)), filled)
    depth = gains.shape[1]
    alone = (ties.size == 1) & (ties.begin < depth)
    totals += np.bincount(ties.query[alone], gains[alone, ties.begin[alone]], match.queries)
    ends = np.append(ties.firsts[1:], len(ties.query))
    open_ones = np.flatnonzero((ties.size[ties.firsts] > 1) & (ties.begin[ties.firsts] < depth))
    for first, end in zip(ties.firsts[open_ones], ends[open_ones], strict=True):
        begin, size = ties.begin[first], ties.size[first]
        seen = gains[first:end, begin : begin + size]
        unseen = min(size - seen.shape[1], end - first)  # below the cutoff, where nothing is gained
        table = np.concatenate([seen, np.zeros((end - first, unseen))], axis=1)
        for i in range(2):
            totals[i, ties.query[first]] += table[linear_sum_assignment(table, maximize=bool(i))].sum()
    return np.minimum(1.0, totals[0]), np.minimum(1.0, totals[1])
