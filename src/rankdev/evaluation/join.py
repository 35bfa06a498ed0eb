"""The one join: a run's items, found among the references, as measures see them; and their scores."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any, Protocol
from unicodedata import normalize

import numpy as np

from rankdev._common.arrays import Bools, Floats, Ints
from rankdev._common.work import refuse_lost_threads
from rankdev.data import ids
from rankdev.data.ids import Ids, folded
from rankdev.data.references import References
from rankdev.data.rows import LONGEST_TIE
from rankdev.data.run import Run
from rankdev.errors import DataError, MeasureError, Note, UsageError
from rankdev.evaluation.coverage import Coverage
from rankdev.measures import REGISTRY
from rankdev.measures.base import Measure
from rankdev.measures.match import Ideals, Match
from rankdev.measures.ties import JUDGED, UNJUDGED, MixedTies, TiedMatch, TieGroups

LOOKED_AT = 100  # positions in which items that look like others are searched for
STRANGERS = 1000  # ids of a run that are compared with those of the references
TOP = 20  # positions at most in which unjudged items are counted: few collections were judged further down
SHALLOW = 5  # positions: in fewer, a run may well return no relevant item
ALIKE: dict[str, Callable[[str], str]] = {  # what ids may differ by, and what makes them the same
    "'.0' at the end": lambda name: name.removesuffix(".0"),
    "case or blanks": folded,
    "zeros at the beginning": lambda name: name.lstrip("0"),
    "what stands before the last '/', ':' or '#'": lambda name: re.sub(r"^.*[/:#]", "", name),
    "what stands after the last '.'": lambda name: re.sub(r"\.\w+$", "", name),
}
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
    return None if None in reaches else max(reach for reach in reaches if reach is not None)


@dataclass(frozen=True, eq=False)
class Known:
    """References that runs are joined with; ``skipped`` queries are left out on purpose."""

    references: References
    ideals: Ideals
    skipped: frozenset[str] = frozenset()

    @classmethod
    def of(cls, references: References, *, skip_empty: bool = False, highest_grade: float = 0.0) -> Known:
        """Prepare references; ``skip_empty`` leaves out the queries without any reference item.

        Where the references are a part of more, ``highest_grade`` is that of all: a measure may depend on it.
        """
        skipped: frozenset[str] = frozenset()
        if skip_empty and references.empty:
            if references.empty == len(references):
                raise DataError("all-empty")
            skipped = frozenset(
                name for name, size in zip(references.queries, references.sizes.tolist(), strict=True) if not size
            )
            references = references.without_empty()
        poor = references.nonrelevant
        ideals = Ideals(
            references.offsets,
            references.ranks,
            references.grades,
            None if poor is None else poor.offsets,
            None if poor is None else poor.grades,
            0.0 if references.grades is None else float(references.grades.max(initial=highest_grade)),
        )
        return cls(references, ideals, skipped)


def join(
    known: Known, run: Run, measures: Sequence[Scorer], depth: int | None = None
) -> tuple[MatchedRuns, Coverage, list[Note]]:
    """Find the items of a run among the references: first occurrences as deep as the measures look, and their ties.

    The coverage counts the queries in which ties can change one of the measures; notes name ids that look alike.
    """
    if measures:
        depth = deepest(measures)
        for measure in measures:
            if run.read.depth is not None and (measure.reach is None or measure.reach > run.read.depth):
                raise UsageError("truncated-run", depth=run.read.depth, measure=str(measure))
    open_ties = run.read.rule.open
    if open_ties:
        check_averages(measures)
    references, sizes = known.references, run.sizes
    if not (isinstance(run.item_ids, list) and isinstance(references.item_ids, list)):
        refuse_lost_threads()
    owner, notes = _owners(references, run)
    position = run.positions
    tie = np.arange(len(position))  # of each row, the row where its tie begins
    if run.scores is not None:
        keys = run.read.keys(run.scores)
        tie[1:][(keys[1:] == keys[:-1]) & (position[1:] > 0)] = 0
        tie = np.maximum.accumulate(tie)
    query = np.repeat(owner, sizes)
    wanted = query >= 0
    if run.repeats is not None:
        wanted &= ~run.repeats
    if depth is not None:
        wanted &= position[tie] < depth
    rows = np.flatnonzero(wanted)
    items = run.item_ids
    if len(rows) < len(wanted):
        query, position, tie, items = query[rows], position[rows], tie[rows], ids.take(items, rows)
    within = np.ones(len(query), bool) if depth is None else position < depth
    place = references.index.places(query, items)
    lengths = np.zeros(len(references), np.int64)
    lengths[owner[owner >= 0]] = (sizes if depth is None else np.minimum(sizes, depth))[owner >= 0]
    answered = np.zeros(len(lengths), bool)
    answered[query[place >= 0]] = True
    if 2 * answered.sum() < (lengths > 0).sum():
        strange = np.flatnonzero(~answered[query] & within & (position < LOOKED_AT))
        alike = _lookalikes(references, query[strange], ids.take(items, strange))
        notes += alike or (_disjoint(references, run) if not answered.any() else [])
    groups = _groups(run, position, tie) if open_ties else None
    found = np.flatnonzero((place >= 0) & (within | open_ties))
    found = found[np.argsort(query[found], kind="stable")]
    relevant, count = place[found] < len(references.ranks), len(references.ranks)

    def hits(rows: Ints, first: int) -> Hits:
        tied = None if groups is None else TieGroups(query[rows], *(column[rows] for column in groups))
        return Hits(query[rows], position[rows], place[rows] - first, tied)

    matched = MatchedRuns.of(known.ideals, hits(found[relevant], 0), hits(found[~relevant], count), lengths, depth)
    coverage = Coverage(
        system="",
        queries=len(references),
        missing=len(references) - int((owner >= 0).sum()),
        unreferenced=_unreferenced(run, owner, known.skipped),
        ties=run.read.ties or "trec_eval",
        empty=len(known.skipped) or references.empty,
        left_out=run.left_out,
        ids=None if relevant.any() else _strangers(references, run, depth),
        **_judged(references, place, position, within, min(TOP, depth or TOP)),
    )
    return matched, with_ties(coverage, _mixed(references, query, position, place, tie), matched, measures), notes


def _owners(references: References, run: Run) -> tuple[Ints, list[Note]]:
    """Return the index of each of the run's queries among the references, -1 where there is none; note look-alikes."""
    if not len(run):
        raise DataError("no-rows", what="run")
    owner = np.fromiter(map(references.places.get, run.queries, repeat(-1)), np.int64, len(run))
    strange = owner < 0
    if strange.all():
        raise DataError("no-shared-query", one=run.queries[0], other=references.queries[0])
    missing = np.setdiff1d(np.arange(len(references)), owner) if strange.any() else owner[:0]
    if not len(missing):
        return owner, []
    lost: dict[str, str] = {}
    for place in missing.tolist():
        lost.setdefault(folded(references.queries[place]), references.queries[place])
    pairs = [
        (name, lost[key])
        for row in np.flatnonzero(strange).tolist()
        if (key := folded(name := run.queries[row])) in lost
    ]
    if not pairs:
        return owner, []
    one, other = pairs[0]
    return owner, [Note("queries-differ", count=len(pairs), by=_difference(one, other), one=one, other=other)]


def _unreferenced(run: Run, owner: Ints, skipped: frozenset[str]) -> int:
    """Count the run's queries without a reference; those that were skipped on purpose have one."""
    unknown = np.flatnonzero(owner < 0)
    return len(unknown) - (sum(run.queries[row] in skipped for row in unknown.tolist()) if skipped else 0)


def _lookalikes(references: References, query: Ints, items: Ids) -> list[Note]:
    """Note items that are not in the references of their query and look like one that is."""
    codes, known = references.judged
    of_queries = np.isin(codes, query)
    like: dict[tuple[int, str], str] = {}
    for code, name in zip(
        codes[of_queries].tolist(), ids.listed(ids.take(known, np.flatnonzero(of_queries))), strict=True
    ):
        like.setdefault((code, folded(name)), name)
    found = [
        (code, name, like[key])
        for code, name in zip(query.tolist(), ids.listed(items), strict=True)
        if (key := (code, folded(name))) in like
    ]
    if not found:
        return []
    code, one, other = found[0]
    count = len({(place, name) for place, name, _ in found})
    fields = {"one": one, "other": other, "query": references.queries[code]}
    return [Note("items-differ", count=count, by=_difference(one, other), **fields)]


def _disjoint(references: References, run: Run) -> list[Note]:
    """Note where a run and the references have no item in common: one of them may have ids of another kind."""
    known = references.judged[1]
    if not len(known) or not set(ids.listed(known)).isdisjoint(ids.listed(run.item_ids)):
        return []
    return [Note("no-shared-item", one=run.item_ids[0], other=known[0])]


def _strangers(references: References, run: Run, depth: int | None) -> tuple[str, str, str] | None:
    """Return an id of each side and how they differ, where a run returns no relevant item.

    It does so in as many positions as should have one.
    """
    known, own = references.item_ids, ids.listed(run.item_ids[:STRANGERS])
    if not len(known) or not own:
        return None
    names = dict.fromkeys(ids.listed(known))
    if depth is not None and depth < SHALLOW and not names.keys().isdisjoint(ids.listed(run.item_ids)):
        return None
    for how, like in ALIKE.items():
        theirs: dict[str, str] = {}
        for name in names:
            theirs.setdefault(like(name), name)
        mine: dict[str, str] = {}
        for name in own:
            mine.setdefault(like(name), name)
        for same, name in mine.items():
            if same and theirs.get(same, name) != name:
                return name, theirs[same], how
    return own[0], known[0], ""


def _judged(references: References, place: Ints, position: Ints, within: Bools, depth: int) -> dict[str, Any]:
    """Count the items that measures look at, and those of them that were not judged."""
    if references.nonrelevant is None or not len(references.nonrelevant.item_ids):
        return {}
    seen = within & (position < depth)
    return {"looked_at": int(seen.sum()), "unjudged": int((seen & (place < 0)).sum()), "depth": depth}


def _difference(one: str, other: str) -> str:
    """Name by what a name of a run differs from one in the references, which may be an accident."""
    if normalize("NFC", one) == normalize("NFC", other):
        return "Unicode form"
    if one.lower() == other.lower():
        return "case"
    return "blanks" if "".join(one.split()) == "".join(other.split()) else "case, blanks or Unicode form"


def _groups(run: Run, position: Ints, tie: Ints) -> tuple[Ints, Ints]:
    """Return the first position and the size of each row's tie."""
    if run.repeats is not None and run.scores is not None:
        row = int(np.argmax(run.repeats))
        raise DataError("tied-repeat", query=run.queries[int(run.codes[row])], item=run.item_ids[row])
    begins = np.flatnonzero(np.diff(tie, prepend=-1))
    sizes = np.diff(np.append(begins, len(tie)))
    return np.repeat(position[begins], sizes), np.repeat(sizes, sizes)


def _mixed(references: References, query: Ints, position: Ints, place: Ints, tie: Ints) -> MixedTies:
    """Find the ties of items of different rank, or of too many items to keep them all."""
    shared = np.zeros(len(tie) + 1, bool)
    shared[1:-1] = tie[1:] == tie[:-1]
    tied = np.flatnonzero(shared[1:] | shared[:-1])
    query, position, place, tie = (column[tied] for column in (query, position, place, tie))
    ranks = np.append(references.ranks, [JUDGED, UNJUDGED])  # the last are for items without a rank
    rank = ranks[np.where(place < 0, -1, np.minimum(place, len(ranks) - 2))]
    return MixedTies.among(query, position, rank, tie, LONGEST_TIE)


@dataclass(frozen=True, eq=False)
class Hits:
    """Returned items that the references know, sorted by query and position; ``place`` is where they are there."""

    query: Ints
    position: Ints
    place: Ints
    tied: TieGroups | None = None  # where ties are not broken

    def take(self, rows: Bools) -> Hits:
        """Keep some of the hits, without their ties."""
        return Hits(self.query[rows], self.position[rows], self.place[rows])

    def between(self, begin: int, end: int) -> Hits:
        """Return those of some queries, counted from the first."""
        rows = slice(*np.searchsorted(self.query, [begin, end]))
        tied = None if self.tied is None else self.tied.between(rows, begin)
        return Hits(self.query[rows] - begin, self.position[rows], self.place[rows], tied)


@dataclass(frozen=True, eq=False)
class MatchedRuns:
    """A run joined with the references, one entry per retrieved reference item, sorted by query and position.

    Items judged nonrelevant are listed apart. ``width`` is what each query takes in a dense table. Several runs
    are one in which all queries appear again and again.
    """

    ideals: Ideals
    hits: Hits
    nonrelevant: Hits
    lengths: Ints
    width: Ints

    @classmethod
    def of(cls, ideals: Ideals, hits: Hits, nonrelevant: Hits, lengths: Ints, depth: int | None) -> MatchedRuns:
        """Take one run, of which the first ``depth`` positions were looked at."""
        could_fill = np.minimum(ideals.sizes, depth or np.inf)
        return cls(ideals, hits, nonrelevant, lengths, np.maximum(lengths, could_fill).astype(np.int64))

    @classmethod
    def together(cls, runs: Sequence[MatchedRuns]) -> MatchedRuns:
        """Concatenate runs whose ties are broken: small ones are scored much faster so."""
        first = runs[0]
        if len(runs) == 1:
            return first
        queries, places = len(first.lengths), (len(first.ideals.ranks), first.ideals.nonrelevant_count)
        return cls(
            first.ideals.repeated(len(runs)),
            _after_each_other([run.hits for run in runs], queries, places[0]),
            _after_each_other([run.nonrelevant for run in runs], queries, places[1]),
            np.concatenate([run.lengths for run in runs]),
            np.concatenate([run.width for run in runs]),
        )

    @property
    def ties_are_open(self) -> bool:
        """Whether all orders of ties are to be averaged."""
        return self.hits.tied is not None

    def blocks(self) -> list[slice]:
        """Cut the queries into blocks whose dense tables stay small."""
        return list(_blocks(self.width))

    def block(self, rows: slice) -> Match:
        """Return what measures see of some queries."""
        begin, end = rows.start, rows.stop
        hits, nonrelevant = (entries.between(begin, end) for entries in (self.hits, self.nonrelevant))
        grades = self.ideals.nonrelevant_grades
        columns = (
            self.ideals.between(begin, end),
            hits.query,
            hits.position,
            hits.place - self.ideals.offsets[begin],
            self.lengths[rows],
            nonrelevant.query,
            nonrelevant.position,
            np.zeros(0) if grades is None else grades[nonrelevant.place],
        )
        if hits.tied is None or nonrelevant.tied is None:
            return Match(*columns)
        return TiedMatch(*columns, tied=hits.tied, nonrelevant_tied=nonrelevant.tied)


def with_ties(coverage: Coverage, ties: MixedTies, matched: MatchedRuns, measures: Sequence[object]) -> Coverage:
    """Add in how many queries ties can change each of the measures, and any of them."""
    wanted = [measure for measure in measures if isinstance(measure, Measure)]
    if not len(ties.query):
        return replace(coverage, tied_by={str(measure): 0 for measure in wanted})
    match = matched.block(slice(0, len(matched.lengths)))
    decided = {str(measure): measure.decided_by(ties, match) for measure in wanted}
    any_of_them = np.any(list(decided.values()), axis=0) if decided else ties.ranks_differ
    counts = {name: len(np.unique(ties.query[part])) for name, part in decided.items()}
    return replace(coverage, tied=len(np.unique(ties.query[any_of_them])), tied_by=counts)


def _after_each_other(runs: Sequence[Hits], queries: int, places: int) -> Hits:
    run = np.repeat(np.arange(len(runs)), [len(hits.query) for hits in runs])
    return Hits(
        np.concatenate([hits.query for hits in runs]) + run * queries,
        np.concatenate([hits.position for hits in runs]),
        np.concatenate([hits.place for hits in runs]) + run * places,
    )


def _blocks(width: Ints) -> Iterator[slice]:
    """Cut a sequence of rows so that no block is larger than BLOCK_CELLS, number of rows times the widest of them."""
    begin, total = 0, len(width)
    while begin < total:
        window, end = 64, begin
        while end == begin or (end - begin == window // 2 and end < total):  # look further while all of it fits
            widest = np.maximum.accumulate(width[begin : begin + window])
            cells = np.maximum(widest, 1) * np.arange(1, len(widest) + 1)
            end = begin + max(1, int(np.searchsorted(cells, BLOCK_CELLS, side="right")))
            window *= 2
        yield slice(begin, end)
        begin = end


def score_run(known: Known, run: Run, measures: Sequence[Scorer]) -> Floats:
    """Score one run: ``values[query, measure]``."""
    return np.asarray(score_matched([join(known, run, measures)[0]], measures)[0])


def score_matched(runs: Sequence[MatchedRuns], measures: Sequence[Scorer]) -> Floats:
    """Score runs that are joined already: ``values[run, query, measure]``."""
    if any(run.ties_are_open for run in runs):
        return np.stack([_score_all(run, measures) for run in runs])
    return _score_all(MatchedRuns.together(runs), measures).reshape(len(runs), -1, len(measures))


def _score_all(matched: MatchedRuns, measures: Sequence[Scorer]) -> Floats:
    values = np.zeros((len(matched.lengths), len(measures)))
    for rows in matched.blocks():
        block = matched.block(rows)
        for m, measure in enumerate(measures):
            try:
                values[rows, m] = measure.score(block)
            except MeasureError as error:
                raise error.at(measure=str(measure)) from None
    return values


def check_averages(measures: Iterable[Scorer]) -> None:
    """Refuse measures that cannot be averaged over all orders of ties."""
    for measure in measures:
        if not getattr(measure, "averages_ties", False):
            known = [name for name, kind in REGISTRY.items() if kind.averages_ties]
            raise MeasureError("no-mean-of-ties", measure=str(measure), known=known)
