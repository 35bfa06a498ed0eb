"""Everything that the page shows, computed: scores, tests, losses, lists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from rankdev._common.arrays import Floats, Ints
from rankdev._common.work import Progress
from rankdev.core.ordering import Order, Ties
from rankdev.core.references import References, ReferencesLike
from rankdev.core.runs import Run, RunLike
from rankdev.errors import UsageError
from rankdev.evaluation.evaluate import Empty, evaluate
from rankdev.evaluation.first_positions import Lists, first_positions
from rankdev.evaluation.health import Check, health
from rankdev.evaluation.losses import Losses, losses
from rankdev.evaluation.scores import Scores
from rankdev.io.loading import load_references, load_runs, named_systems
from rankdev.measures import parse_all
from rankdev.measures.base import MeasureLike
from rankdev.measures.rdq import RDQ
from rankdev.statistics.agreement import Agreement, agreement
from rankdev.statistics.equivalence import Equivalence, equivalence
from rankdev.statistics.groups import Places, groups, places
from rankdev.statistics.means import mean_intervals
from rankdev.statistics.planning import Plan
from rankdev.statistics.replicates import replicated
from rankdev.statistics.segments import named_segments
from rankdev.statistics.significance import significance
from rankdev.statistics.significance.result import Significance
from rankdev.statistics.verdict import Verdict, queries_needed, same_as_best, verdicts
from rankdev.statistics.worst_cases import weighed

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
    references: References
    all_references: References
    significance: Significance | None = None
    equivalence: Equivalence | None = None
    agreement: Agreement | None = None
    segments: Mapping[str, Ints] = field(default_factory=dict)
    clusters: Mapping[str, Any] | None = None
    checks: Sequence[Sequence[Check]] = ()  # of the data, for each measure
    single: Scores | None = None  # of the runs, where systems have several
    replicates: Mapping[str, Sequence[str]] | None = None
    by_segment: Significance | None = None
    averaged: bool = False  # over all orders of ties; losses and lists are of one

    @property
    def headline(self) -> str:
        """The measure that the sentences are about: the first."""
        return self.scores.measures[0]

    @cached_property
    def mean_intervals(self) -> tuple[Floats, Floats]:
        """Limits of the intervals of the means, ``[system, measure]``."""
        return mean_intervals(self.single or self.scores, self.alpha, self.clusters, self.replicates)

    @cached_property
    def groups(self) -> list[list[tuple[str, ...]]]:
        """For each measure, the groups of systems without a significant difference."""
        if self.significance is None:
            return [[self.scores.systems] for _ in self.scores.measures]
        return [groups(self.scores, self.significance, measure) for measure in self.scores.measures]

    @cached_property
    def places(self) -> list[Places]:
        """For each measure, ranks with intervals, and the letters of groups."""
        return [places(self.scores, self.significance, measure) for measure in self.scores.measures]

    @cached_property
    def orders(self) -> list[tuple[str, ...]]:
        """For each measure, the systems by their means, best first."""
        return [self.scores.sorted_by(measure).systems for measure in self.scores.measures]

    @cached_property
    def verdicts(self) -> list[Verdict]:
        """What each measure shows."""
        return verdicts(self.scores, self.significance, self.checks, self.clusters)

    @property
    def best(self) -> str:
        """The system with the best mean in the first measure."""
        return self.verdicts[0].best

    @property
    def has_problems(self) -> bool:
        """Whether the data allow no conclusion about the first measure."""
        return self.verdicts[0].level == "problem"

    @cached_property
    def plan(self) -> Plan | str | None:
        """Queries needed to confirm that the best system is best in the first measure, or why that is undetermined."""
        if self.replicates is not None:  # whether more runs or more queries, is a choice
            return None
        return queries_needed(self.scores, self.verdicts[0], self.clusters, self.alpha, self.seed)

    @cached_property
    def same_as_best(self) -> list[str]:
        """Systems with the scores of the best one on every query, in the first measure."""
        return same_as_best(self.scores, self.headline, self.best)


def compare(
    references: ReferencesLike,
    runs: Mapping[str, RunLike],
    measures: MeasureLike | Iterable[MeasureLike],
    *,
    order: Order | None,
    ties: Ties | None,
    empty: Empty,
    margin: float | None,
    segments: Mapping[str, Any] | None,
    clusters: Mapping[str, Any] | None,
    replicates: Mapping[str, Sequence[str]] | None,
    alpha: float,
    seed: int,
    progress: Progress | None,
) -> Comparison:
    """Score the runs, test all pairs, and collect what the page shows."""
    wanted = parse_all(measures)
    explained = next((entry for entry in wanted if isinstance(entry, RDQ) and not entry.judged_only), RDQ(cutoff=10))
    known = load_references(references)
    systems = named_systems(runs, order)
    if len(systems) > MOST_SYSTEMS:
        raise UsageError("many-systems", systems=len(systems), place="one page", most=MOST_SYSTEMS)
    if len(systems) * len(known) > MOST_LISTS:
        raise UsageError("many-lists", systems=len(systems), queries=len(known), most=MOST_LISTS)
    loaded = load_runs(systems, order, ties, progress=progress)  # whole: losses ask for what is below the cutoff
    scores = evaluate(known, loaded, wanted, empty=empty)
    if empty == "skip" and known.empty:
        known = known.without_empty()
    positions = min(explained.cutoff or MOST_POSITIONS, MOST_POSITIONS)
    sampled = _shown(scores, positions, seed)
    held = known if len(sampled) == len(known) else known.of_queries(sampled)
    checks = health(known, loaded, scores, wanted, empty=empty, k=positions)
    averaged = any(run.ordering.leaves_ties_open for run in loaded.values())
    loaded = {name: _in_one_order(run) for name, run in loaded.items()}
    single, lost = scores, losses(known, loaded, explained, empty=empty)
    if replicates is not None:
        repeated = replicated(scores, replicates)
        scores, lost = repeated.averaged, replace(lost, scores=replicated(lost.scores, replicates).averaged)
        loaded = {name: loaded[single.systems[first]] for name, (first, *_) in repeated.members.items()}
    several = len(scores.systems) > 1
    none = segments is None or (isinstance(segments, Mapping) and not segments)
    named = {} if none else named_segments(segments)
    test = partial(significance, clusters=clusters, replicates=replicates, alpha=alpha, seed=seed)
    tested = test(single) if several else None
    alike = None
    if several and margin is not None:
        alike = equivalence(scores, margin=margin, alpha=alpha, clusters=clusters)
    return Comparison(
        scores=scores,
        alpha=alpha,
        seed=seed,
        explained=explained,
        losses=lost,
        shown=sampled,
        lists=first_positions(held, loaded, explained, positions),
        references=held,
        all_references=known,
        checks=weighed(single, checks, tested, test, clusters, replicates),
        significance=tested,
        equivalence=alike,
        agreement=agreement(scores) if several and len(wanted) > 1 else None,
        segments=_segments(scores, named),
        by_segment=test(single, segments=named) if several and _segments(scores, named) else None,
        clusters=clusters,
        single=None if replicates is None else single,
        replicates=replicates,
        averaged=averaged,
    )


def _in_one_order(run: Run) -> Run:
    """Take the order in which tied items are shown, where scores are means over all orders: by id."""
    return replace(run, ordering=replace(run.ordering, ties=SHOWN_TIES)) if run.ordering.leaves_ties_open else run


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
