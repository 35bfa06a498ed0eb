"""Everything that the page shows, computed: scores, tests, losses, lists."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import polars as pl

from rankdev._common.arrays import Floats, Ints
from rankdev._common.work import Progress
from rankdev.data.files import load_inputs, named_systems
from rankdev.data.options import ReadOptions, Ties
from rankdev.data.references import References, ReferencesLike
from rankdev.data.run import Run, RunLike
from rankdev.errors import DataError, Note, UsageError
from rankdev.evaluation.coverage import Check, health, problems
from rankdev.evaluation.evaluate import Empty, evaluate
from rankdev.evaluation.explain import Lists, first_positions
from rankdev.evaluation.losses import Losses, losses
from rankdev.evaluation.scores import Scores, WeightsLike
from rankdev.measures import parse_all
from rankdev.measures.base import MeasureLike
from rankdev.measures.rdq import RDQ
from rankdev.statistics.agreement import Agreement, agreement
from rankdev.statistics.design import Design, replicated
from rankdev.statistics.inputs import complete, named_segments
from rankdev.statistics.significance import Significance, significance

MOST_SYSTEMS = 150  # on one page: it shows all their pairs
MOST_LISTS = 2_000_000  # systems × queries of one page
MOST_NUMBERS = 1_000_000  # scores and positions that one page holds; with more queries it holds a sample
MOST_POSITIONS = 20
SHOWN_TIES: Ties = "descending"  # the order in which runs hold tied items that are averaged


@dataclass(frozen=True, eq=False, kw_only=True)
class Comparison:
    """Systems compared on the same queries: scores, tests, losses, and the lists they come from.

    ``shown`` are the queries that a page can hold, all of them or a sample; ``lists`` and ``references`` are theirs.
    """

    scores: Scores
    alpha: float
    seed: int
    explained: RDQ  # the measure of losses and lists
    losses: Losses
    shown: Ints
    lists: Lists
    runs: Mapping[str, Run]  # that the lists are of
    references: References
    all_references: References
    significance: Significance | None = None
    agreement: Agreement | None = None
    segments: Mapping[str, Ints] = field(default_factory=dict)
    clusters: Mapping[str, Any] | None = None
    checks: Sequence[Sequence[Check]] = ()  # of the data, for each measure
    single: Scores | None = None  # of the runs, where systems have several
    replicates: Mapping[str, Sequence[str]] | None = None
    averaged: bool = False  # over all orders of ties; losses and lists are of one

    @cached_property
    def means(self) -> Floats:
        """Means over the queries that are tested, ``[system, measure]``."""
        return complete(self.scores).averages

    @cached_property
    def mean_intervals(self) -> tuple[Floats, Floats]:
        """Limits of the intervals of the means, ``[system, measure]``."""
        parts: dict[str, Any] = {"clusters": self.clusters, "replicates": self.replicates}
        return Design.of(self.single or self.scores, **parts, weighted=True, least=1).mean_limits(self.alpha)

    @cached_property
    def standings(self) -> list[pl.DataFrame]:
        """For each measure, the systems, best first, with the ranks that the decisions leave them."""
        if self.significance is None:
            alone = {"rank": 1, "system": self.scores.systems[0], "rank_low": 1, "rank_high": 1, "may_be_best": True}
            return [pl.DataFrame([alone])] * len(self.scores.measures)
        return [self.significance.standing(measure) for measure in self.scores.measures]

    @cached_property
    def problems(self) -> tuple[Note, ...]:
        """What is wrong with the data, so that nothing is decided."""
        return problems(self.single or self.scores)


def compare(
    references: ReferencesLike,
    runs: Mapping[str, RunLike],
    measures: MeasureLike | Iterable[MeasureLike],
    *,
    empty: Empty,
    margin: float | None,
    segments: Mapping[str, Any] | None,
    clusters: Mapping[str, Any] | None,
    replicates: Mapping[str, Sequence[str]] | None,
    weights: WeightsLike | None,
    alpha: float,
    seed: int,
    progress: Progress | None,
    **read: Any,
) -> Comparison:
    """Score the runs, test all pairs, and collect what the page shows."""
    wanted = parse_all(measures)
    explained = next((entry for entry in wanted if isinstance(entry, RDQ) and not entry.judged_only), RDQ(cutoff=10))
    systems = named_systems(runs, ReadOptions(**read))
    if len(systems) > MOST_SYSTEMS:
        raise UsageError("many-systems", systems=len(systems), place="one page", most=MOST_SYSTEMS)
    # whole: losses ask for what is below the cutoff
    known, loaded = load_inputs(references, systems, progress, **read)
    if len(systems) * len(known) > MOST_LISTS:
        raise UsageError("many-lists", systems=len(systems), queries=len(known), most=MOST_LISTS)
    scores = evaluate(known, loaded, wanted, empty=empty, strict=read.get("strict", False))
    if empty == "skip" and known.empty:
        known = known.without_empty()
    least = min(explained.cutoff or MOST_POSITIONS, MOST_POSITIONS)
    sampled = _shown(scores, least, seed)
    roomy = len(systems) * len(known) * (len(wanted) + MOST_POSITIONS) <= MOST_NUMBERS
    positions = MOST_POSITIONS if roomy else least  # below the cutoff too
    held = known if len(sampled) == len(known) else known.of_queries(sampled)
    checks = health(known, loaded, scores, wanted)
    averaged = any(run.read.rule.open for run in loaded.values())
    loaded = {name: _in_one_order(run) for name, run in loaded.items()}
    lost = losses(known, loaded, explained, empty=empty)
    if weights is not None:
        weights = ReadOptions(**read).of_queries(weights)
        scores, lost = scores.weighted(weights), replace(lost, scores=lost.scores.weighted(weights))
    single = scores
    if replicates is not None:
        repeated = replicated(scores, replicates)
        scores, lost = repeated.averaged, replace(lost, scores=replicated(lost.scores, replicates).averaged)
        loaded = {name: loaded[single.systems[first]] for name, (first, *_) in repeated.members.items()}
    several = len(scores.systems) > 1
    named = {} if segments is None or segments == {} else named_segments(segments)
    test = partial(significance, single, margin=margin, clusters=clusters, replicates=replicates, alpha=alpha)
    return Comparison(
        scores=scores,
        alpha=alpha,
        seed=seed,
        explained=explained,
        losses=lost,
        shown=sampled,
        lists=first_positions(held, loaded, explained, positions),
        runs=loaded,
        references=held,
        all_references=known,
        checks=checks,
        significance=_tested(test, named) if several else None,
        agreement=agreement(scores) if len(scores.systems) > 2 and len(wanted) > 1 and weights is None else None,
        segments=_segments(scores, named),
        clusters=clusters,
        single=None if replicates is None else single,
        replicates=replicates,
        averaged=averaged,
    )


def _tested(test: Callable[..., Significance], segments: Mapping[str, Any]) -> Significance:
    """Test the segments too, unless none of them can be."""
    try:
        return test(segments=segments or None)
    except DataError as error:
        if error.kind != "untestable-segments":
            raise
        return test()


def _in_one_order(run: Run) -> Run:
    """Take the order in which tied items are shown, where scores are means over all orders: by id."""
    return replace(run, read=replace(run.read, ties=SHOWN_TIES)) if run.read.rule.open else run


def _shown(scores: Scores, positions: int, seed: int) -> Ints:
    """Choose the queries that a page holds: all, or a sample in their order."""
    systems, queries, measures = scores.values.shape
    most = max(1, MOST_NUMBERS // (systems * (measures + positions)))
    if queries <= most:
        return np.arange(queries)
    return np.sort(np.random.default_rng(seed).choice(queries, most, replace=False))


def _segments(scores: Scores, segments: Mapping[str, Iterable[str]]) -> dict[str, Ints]:
    """Locate the queries of each segment among the scores; segments without any are left out."""
    place = {query: i for i, query in enumerate(scores.queries)}
    found = {name: sorted(place[query] for query in set(queries) & place.keys()) for name, queries in segments.items()}
    return {name: np.array(places) for name, places in found.items() if places}
