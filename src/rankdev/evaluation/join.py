"""The one join: a run's items, found among the references, as measures see them; and their scores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any, NamedTuple, Protocol

import numpy as np

from rankdev._common.arrays import Floats, Ints
from rankdev.data import ids
from rankdev.data.ids import folded
from rankdev.data.references import References
from rankdev.data.rows import LONGEST_TIE
from rankdev.data.run import Run
from rankdev.errors import DataError, MeasureError, Note, UsageError
from rankdev.evaluation.coverage import Coverage, difference, lookalikes, nothing_shared, strangers
from rankdev.evaluation.scores import each_once
from rankdev.measures import REGISTRY
from rankdev.measures.match import JUDGED, UNJUDGED, Ideals, Match, MixedTies, TiedMatch

LOOKED_AT = 100  # positions in which items that look like others are searched for
TOP = 20  # positions at most in which unjudged items are counted: few collections were judged further down
BLOCK_CELLS = 100_000  # dense tables of a block stay in the cache


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
    return None if None in reaches else max(reaches, default=None)  # type: ignore[type-var]


class Known(NamedTuple):
    """References that runs are joined with; ``skipped`` queries are left out on purpose."""

    references: References
    queries: tuple[str, ...]
    ideals: Ideals
    empty: int
    skipped: frozenset[str]

    @classmethod
    def of(cls, references: References, *, skip_empty: bool = False, highest_grade: float = 0.0) -> Known:
        """Prepare references; ``skip_empty`` leaves out the queries without any reference item.

        Where the references are a part of more, ``highest_grade`` is that of all: a measure may depend on it.
        """
        empty = references.empty
        skipped: frozenset[str] = frozenset()
        if skip_empty and empty:
            if empty == len(references):
                raise DataError("all-empty")
            skipped = frozenset(references.queries[place] for place in np.flatnonzero(references.sizes == 0))
            if "filled" not in references.kept:
                references.kept["filled"] = references.without_empty()
            references = references.kept["filled"]
        kept, poor = references.kept, references.nonrelevant
        if highest_grade not in kept:
            queries = each_once("query", ids.as_ids(references.queries))
            kept[highest_grade] = (
                queries,
                Ideals(
                    references.offsets,
                    references.ranks,
                    references.grades,
                    None if poor is None else poor.offsets,
                    None if poor is None else poor.grades,
                    0.0 if references.grades is None else float(references.grades.max(initial=highest_grade)),
                ),
            )
        queries, ideals = kept[highest_grade]
        return cls(references, queries, ideals, empty, skipped)


def join(known: Known, run: Run, measures: Sequence[Scorer], system: str = "") -> tuple[Match, Coverage, list[Note]]:
    """Find the items of a run among the references: first occurrences as deep as the measures look, and their ties.

    The coverage counts the queries in which ties can change one of the measures; notes name ids that look alike.
    """
    depth = deepest(measures)
    if (cut := run.read.depth) not in (None, depth):
        for measure in measures:
            if measure.reach is None or measure.reach > cut:
                raise UsageError("truncated-run", depth=cut, measure=str(measure))
    open_ties = run.read.rule.open
    if open_ties:
        check_averages(measures)
    references, sizes, count = known.references, run.sizes, len(known.queries)
    owner, unknown, notes = _owners(references, run)
    query, items = owner.repeat(sizes), run.item_ids
    position = np.arange(len(query)) - run.offsets[:-1].repeat(sizes)
    tie = _ties(run, position) if run.tied else None
    wanted = [] if run.repeats is None else [~run.repeats]
    if unknown:
        wanted.append(query >= 0)
    if depth not in (None, run.read.depth):  # to which a run may have been cut
        wanted.append((position if tie is None else position[tie]) < depth)
    if wanted:
        rows = np.logical_and.reduce(wanted).nonzero()[0]
        query, position, items = query[rows], position[rows], ids.take(items, rows)
        tie = None if tie is None else tie[rows]
    place = references.index.places(query, items)
    lengths = np.zeros(count + 1, np.int64)  # the last is of queries without a reference
    lengths[owner] = sizes if depth is None else np.minimum(sizes, depth)
    lengths = lengths[:-1]
    found = (place >= 0).nonzero()[0]
    answered = np.zeros(count, bool)
    answered[query[found]] = True
    if 2 * len(answered.nonzero()[0]) < len(lengths.nonzero()[0]):
        strange = np.flatnonzero(~answered[query] & (position < min(LOOKED_AT, depth or LOOKED_AT)))
        alike = lookalikes(references, query[strange], ids.take(items, strange))
        notes += alike or ([] if answered.any() else nothing_shared(references, run))
    if depth is not None and tie is not None and not open_ties:  # some are only here for being tied
        found = found[position[found] < depth]
    if run.queries != references.queries:
        found = found[query[found].argsort(kind="stable")]
    relevant, many = place[found] < len(references.ranks), len(references.ranks)
    hits, poor = found[relevant], found[~relevant]
    grades = np.zeros(0) if references.nonrelevant is None else references.nonrelevant.grades[place[poor] - many]
    match = Match(known.ideals, query[hits], position[hits], place[hits], lengths, query[poor], position[poor], grades)
    if open_ties:
        begin, size = _extents(run, position, np.arange(len(position)) if tie is None else tie)
        match = TiedMatch(
            **vars(match),
            tie_begin=begin[hits],
            tie_size=size[hits],
            nonrelevant_tie_begin=begin[poor],
            nonrelevant_tie_size=size[poor],
        )
    tied_by = {str(measure): 0 for measure in measures if hasattr(measure, "decided_by")}
    tied = 0 if tie is None else _deciding(query, position, place, tie, match, measures, tied_by)
    coverage = Coverage(
        system,
        count,
        count - len(owner) + unknown,
        unknown and unknown - len(known.skipped.intersection(run.queries)),
        tied,
        run.read.ties or "trec_eval",
        known.empty,
        tied_by,
        run.left_out,
        None if len(hits) else strangers(references, run, depth),
        **_judged(references, place, position, depth),
    )
    return match, coverage, notes


def _owners(references: References, run: Run) -> tuple[Ints, int, list[Note]]:
    """Return the index of each of the run's queries among the references, -1 for the unknown, and how many these are.

    Notes name those that look alike.
    """
    if not run.queries:
        raise DataError("no-rows", what="run")
    if run.queries == references.queries:
        return np.arange(len(run)), 0, []
    owner = np.fromiter(map(references.places.get, run.queries, repeat(-1)), np.int64, len(run))
    if owner.min() >= 0:
        return owner, 0, []
    strange = owner < 0
    unknown = int(np.count_nonzero(strange))
    if unknown == len(run):
        raise DataError("no-shared-query", one=run.queries[0], other=references.queries[0])
    lost: dict[str, str] = {}
    for place in np.setdiff1d(np.arange(len(references)), owner).tolist():
        lost.setdefault(folded(references.queries[place]), references.queries[place])
    pairs = [
        (name, lost[key])
        for row in np.flatnonzero(strange).tolist()
        if (key := folded(name := run.queries[row])) in lost
    ]
    if not pairs:
        return owner, unknown, []
    one, other = pairs[0]
    return owner, unknown, [Note("queries-differ", count=len(pairs), by=difference(one, other), one=one, other=other)]


def _judged(references: References, place: Ints, position: Ints, depth: int | None) -> dict[str, Any]:
    """Count the items that measures look at, and those of them that were not judged."""
    if references.nonrelevant is None or not len(references.nonrelevant.item_ids):
        return {}
    top = min(TOP, depth or TOP)
    seen = position < top
    unjudged = int(np.count_nonzero(seen & (place < 0)))
    return {"looked_at": int(np.count_nonzero(seen)), "unjudged": unjudged, "depth": top}


def _ties(run: Run, position: Ints) -> Ints | None:
    """Return, for each row, the row where its tie begins; None where no two are tied."""
    if run.scores is None:
        return None
    keys = run.read.keys(run.scores)
    same = keys[1:] == keys[:-1]
    if not same.any() or not (same := same & (position[1:] > 0)).any():
        return None
    tie = np.arange(len(position))
    tie[1:][same] = 0
    return np.maximum.accumulate(tie)


def _extents(run: Run, position: Ints, tie: Ints) -> tuple[Ints, Ints]:
    """Return the first position and the size of each row's tie."""
    if run.repeats is not None and run.scores is not None:
        row = int(np.argmax(run.repeats))
        raise DataError("tied-repeat", query=run.queries[int(run.codes[row])], item=run.item_ids[row])
    begins = np.flatnonzero(np.diff(tie, prepend=-1))
    sizes = np.diff(begins, append=len(tie))
    return np.repeat(position[begins], sizes), np.repeat(sizes, sizes)


def _deciding(
    query: Ints,
    position: Ints,
    place: Ints,
    tie: Ints,
    match: Match,
    measures: Sequence[Scorer],
    counts: dict[str, int],
) -> int:
    """Count the queries in which ties can change any of the measures, and in ``counts`` those of each."""
    shared = tie[1:] == tie[:-1]
    tied = np.flatnonzero(np.append(shared, False) | np.append(False, shared))
    query, position, place, tie = (column[tied] for column in (query, position, place, tie))
    ranks = np.append(match.ideals.ranks, [JUDGED, UNJUDGED])  # the last are for items without a rank
    rank = ranks[np.where(place < 0, -1, np.minimum(place, len(ranks) - 2))]
    ties = MixedTies.among(query, position, rank, tie, LONGEST_TIE)  # also those that are not all there
    decided = {str(measure): measure.decided_by(ties, match) for measure in measures if hasattr(measure, "decided_by")}
    any_of_them = np.any(list(decided.values()), axis=0) if decided else ties.ranks_differ
    counts |= {name: len(np.unique(ties.query[part])) for name, part in decided.items()}
    return len(np.unique(ties.query[any_of_them]))


def _blocks(width: Ints) -> Iterator[slice]:
    """Cut a sequence of rows so that no block is larger than BLOCK_CELLS, number of rows times the widest of them."""
    begin, total = 0, len(width)
    if total * width.max(initial=1) <= BLOCK_CELLS:
        yield slice(0, total)
        return
    while begin < total:
        window, end = 64, begin
        while end == begin or (end - begin == window // 2 and end < total):  # look further while all of it fits
            widest = np.maximum.accumulate(width[begin : begin + window])
            cells = np.maximum(widest, 1) * np.arange(1, len(widest) + 1)
            end = begin + max(1, int(np.searchsorted(cells, BLOCK_CELLS, side="right")))
            window *= 2
        yield slice(begin, end)
        begin = end


def score_match(match: Match, measures: Sequence[Scorer]) -> Floats:
    """Score a run that is joined: ``values[query, measure]``."""
    queries, depth = match.queries, deepest(measures)
    values = np.zeros((queries, len(measures)))
    if depth is not None and queries * depth <= BLOCK_CELLS:
        blocks: Iterable[slice] = [slice(0, queries)]
    else:
        width = np.maximum(match.lengths, match.ideals.sizes)
        blocks = _blocks(width if depth is None else np.maximum(match.lengths, np.minimum(width, depth)))
    for rows in blocks:
        block = match.between(rows.start, rows.stop)
        for m, measure in enumerate(measures):
            try:
                values[rows, m] = measure.score(block)
            except MeasureError as error:
                raise error.at(measure=str(measure)) from None
    return values


def check_averages(measures: Iterable[Scorer]) -> None:
    """Refuse measures that cannot be averaged over all orders of ties."""
    for measure in measures:
        if not getattr(measure, "averages_ties", False) or getattr(measure, "judged_only", False):
            known = [name for name, kind in REGISTRY.items() if kind.averages_ties]
            raise MeasureError("no-mean-of-ties", measure=str(measure), known=known)
