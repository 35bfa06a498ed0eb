"""How runs and references match: what is missing, unjudged, tied or repeated, and what is too wrong to decide."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal
from unicodedata import normalize

import numpy as np

from rankdev._common.arrays import Bools, Ints
from rankdev.data import ids
from rankdev.data.ids import Ids, folded
from rankdev.errors import Note, counted, printable
from rankdev.measures.base import Measure

if TYPE_CHECKING:
    from rankdev.data.references import References
    from rankdev.data.run import Run
    from rankdev.evaluation.scores import Scores

FEW = 3  # queries: on fewer, a run may well return no relevant item
MANY = 10  # queries: on fewer, a system may well score 0
ANSWERED = 0.5  # of the queries
UNJUDGED = 0.9  # of the items looked at
MANY_UNJUDGED = 0.1
MANY_TIED = 0.5  # of the pairs of items of a query
SHALLOW = 5  # positions: in fewer, a run may well return no relevant item
STRANGERS = 1000  # ids of a run that are compared with those of the references
ALIKE: dict[str, Callable[[str], str]] = {  # what ids may differ by, and what makes them the same
    "Unicode form": lambda name: normalize("NFC", name),
    "case": str.lower,
    "blanks": lambda name: "".join(name.split()),
    "'.0' at the end": lambda name: name.removesuffix(".0"),
    "zeros at the beginning": lambda name: name.lstrip("0"),
    "case, blanks, zeros or Unicode form": folded,
    "what stands before the last '/', ':' or '#'": lambda name: re.sub(r"^.*[/:#]", "", name),
    "what stands after the last '.'": lambda name: re.sub(r"\.\w+$", "", name),
}


Level = Literal["good", "unknown", "caution", "problem"]


@dataclass(frozen=True)
class Coverage:
    """How one system's run and the references match.

    Attributes
    ----------
    system : str
        Name of the system.
    queries : int
        Number of queries of the references.
    missing : int
        Queries of the references that are not in the run; they score 0.
    unreferenced : int
        Queries of the run that have no reference; they are skipped.
    tied : int
        Queries that tied scores affect: another rule than the run's ``ties`` could change the value of one of the
        measures (or, with ``ties="expected"``, values are means over all orders).
    ties : str
        The run's rule for ties.
    empty : int
        Queries of the references without a relevant item: all that was judged there is nonrelevant.
    tied_by : dict of str to int
        The same as ``tied`` for each measure alone.
    left_out : int
        Rows of the run that do not count because another of the same item does, with ``duplicates``.
    ids : tuple of str, optional
        An id of the run, one of the references and how they differ ("" where that is not known), where the run returns
        no relevant item for any query.
    looked_at, unjudged : int
        Items that measures look at in the first 20 positions, and those of them that were not judged; 0 where the
        references state no nonrelevant items, so that this is not known.
    depth : int
        Positions that were looked at for these.

    See Also
    --------
    rankdev.evaluate : Its Scores have the coverage of each system.
    """

    system: str
    queries: int
    missing: int = 0
    unreferenced: int = 0
    tied: int = 0
    ties: str = "trec_eval"
    empty: int = 0
    tied_by: Mapping[str, int] = field(default_factory=dict, repr=False, hash=False)
    left_out: int = 0
    ids: tuple[str, str, str] | None = field(default=None, repr=False)
    looked_at: int = field(default=0, repr=False)
    unjudged: int = field(default=0, repr=False)
    depth: int = field(default=0, repr=False)

    @property
    def decided(self) -> int:
        """Number of queries that the rule for ties decides."""
        return self.tied - self.averaged

    @property
    def averaged(self) -> int:
        """Number of queries whose values are means over all orders of ties."""
        return self.tied if self.ties == "expected" else 0


def for_measures(coverage: Coverage, measures: Sequence[str]) -> Coverage:
    """Count the ties that decide some of the measures; of several, those of the one with most queries."""
    kept = {name: count for name, count in coverage.tied_by.items() if name in measures}
    if len(kept) == len(coverage.tied_by):
        return coverage
    return replace(coverage, tied=max(kept.values(), default=0), tied_by=kept)


def coverage_remarks(coverage: Sequence[Coverage]) -> Iterator[Note]:
    """Yield notes on what the runs lack, what they have in excess, and where ties decide; one for all systems."""
    for kind, count in (
        ("left-out", "left_out"),
        ("missing", "missing"),
        ("unreferenced", "unreferenced"),
        ("tied", "decided"),
        ("tied-means", "averaged"),
    ):
        concerned = [entry for entry in coverage if getattr(entry, count)]
        rules = sorted({entry.ties for entry in concerned})
        counts = {entry.system: getattr(entry, count) for entry in concerned}
        yield from _of_runs(kind, counts, coverage[0].queries if coverage else 0, rules=rules)


def gap_remarks(systems: Sequence[str], available: Mapping[str, Bools]) -> Iterator[Note]:
    """Name the measures that are not available for every query; ``available[measure]`` is by system and query."""
    for measure, known in available.items():
        lacking = zip(systems, (~known).sum(axis=1).tolist(), strict=True)
        yield from _of_runs("unavailable", {name: n for name, n in lacking if n}, known.shape[1], measure=measure)


def _of_runs(kind: str, counts: Mapping[str, int], queries: int, **fields: Any) -> Iterator[Note]:
    """Yield a note on the runs that it concerns, if any; it states the highest of their counts."""
    if counts:
        yield Note(kind, runs=list(counts.items()), count=max(counts.values()), queries=queries, **fields)


def empty_remarks(coverage: Sequence[Coverage], empty: str | None, sizes: Ints | None) -> Iterator[Note]:
    """Count the queries without any reference item; ``sizes`` counts those of each query."""
    if empty == "skip" and (left := max((entry.empty for entry in coverage), default=0)):
        yield Note("empty-skipped", count=left, queries=coverage[0].queries + left)
    elif sizes is not None and (kept := int((sizes == 0).sum())):
        yield Note("empty-zero", count=kept, queries=len(sizes))


def problems(scores: Scores) -> tuple[Note, ...]:
    """Return what is wrong with the runs that were scored, a note each.

    Of scores from elsewhere, whose runs are not known, a system that scores 0 everywhere while others do not.
    """
    if scores.coverage:
        return tuple(note for entry in scores.coverage for note in [_problem(entry)] if note is not None)
    silent = ~np.nan_to_num(scores.values).any(axis=(1, 2))
    bounded = all(kind.higher_is_better is not False and np.isfinite(kind.range).all() for kind in scores.kinds)
    if len(scores.queries) < MANY or not bounded or silent.all():
        return ()
    return tuple(Note("zero-everywhere", system=scores.systems[place]) for place in np.flatnonzero(silent).tolist())


def _problem(entry: Coverage) -> Note | None:
    if entry.queries >= FEW and (strange := strange_ids(entry)):
        return strange
    answered = entry.queries - entry.missing
    if answered < ANSWERED * entry.queries:
        return Note("few-answered", system=entry.system, count=answered, queries=entry.queries)
    if entry.looked_at and entry.unjudged >= UNJUDGED * entry.looked_at:
        return Note("mostly-unjudged", system=entry.system, share=entry.unjudged / entry.looked_at)
    return None


def strange_ids(entry: Coverage) -> Note | None:
    """Note that a run returns no relevant item at all, with ids from both sides and how they differ."""
    if entry.ids is None:
        return None
    run_id, reference_id, how = entry.ids
    return Note("no-relevant-item", system=entry.system, run_id=run_id, reference_id=reference_id, how=how)


def unjudged_share(scores: Scores) -> str:
    """State how much of what measures look at nobody judged; nothing where that is not known, or all was.

    >>> from rankdev import References, evaluate
    >>> references = References.from_grades({"q": {"a": 1, "b": 0}})
    >>> unjudged_share(evaluate(references, {"s": {"q": ["a", "x"]}}, "nDCG@2"))
    '50% of the top 2 unjudged'
    """
    known = [entry for entry in scores.coverage if entry.looked_at]
    if not any(entry.unjudged for entry in known):
        return ""
    shares = [f"{entry.unjudged / entry.looked_at:.0%}" for entry in known]
    most = max(shares, key=lambda share: int(share[:-1]))
    return f"{'up to ' if len(set(shares)) > 1 else ''}{most} of the top {known[0].depth} unjudged"


def troubled(parts: Iterable[Scores]) -> tuple[Coverage, ...]:
    """Return what is known of the runs with a problem, of several collections."""
    return tuple(entry for part in parts for entry in part.coverage if _problem(entry) is not None)


def lookalikes(references: References, query: Ints, items: Ids) -> list[Note]:
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
    return [Note("items-differ", count=count, by=difference(one, other), **fields)]


def nothing_shared(references: References, run: Run) -> list[Note]:
    """Note where a run and the references have no item in common: one of them may have ids of another kind."""
    known = references.judged[1]
    if not len(known) or not set(ids.listed(known)).isdisjoint(ids.listed(run.item_ids)):
        return []
    return [Note("no-shared-item", one=run.item_ids[0], other=known[0])]


def strangers(references: References, run: Run, depth: int | None) -> tuple[str, str, str] | None:
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


def difference(one: str, other: str) -> str:
    """Name by what a name of a run differs from one in the references, which may be an accident."""
    return next((how for how, like in ALIKE.items() if like(one) == like(other)), "")


@dataclass(frozen=True)
class Check:
    """One thing that was looked at: what it is, how it is, a number or a few words, and a sentence."""

    name: str
    level: Level
    value: str
    text: str


def health(
    references: References, runs: Mapping[str, Run], scores: Scores, measures: Sequence[Measure]
) -> list[list[Check]]:
    """Check the data of a comparison, for each of the measures."""
    wrong = {note.kind for note in problems(scores)}
    strange = [note for entry in scores.coverage if (note := strange_ids(entry))]
    unmatched = [
        _check(
            "Runs without a relevant item",
            note,
            level="problem" if "no-relevant-item" in wrong else "caution",
            value=f"{len(strange):,} of {len(scores.coverage):,}",
        )
        for note in strange[:1]
    ]
    shared = [_unjudged(scores, "mostly-unjudged" in wrong), _repeated(runs, scores)]
    without = empty_remarks(scores.coverage, "zero", scores.reference_sizes)
    empty = [_check("Queries without a relevant item", note) for note in without]
    found = []
    for measure in measures:
        coverage = [for_measures(entry, [str(measure)]) for entry in scores.coverage]
        notes = {note.kind: note for note in coverage_remarks(coverage)}
        level: Level = "problem" if "few-answered" in wrong else "caution"
        lacking = notes.get("missing")
        missing = _check("Queries missing from runs", lacking, "Every run answers every query.", level=level)
        tied = _check("Tied scores", notes.get("tied"), "No tie affects a score.")
        if "tied" not in notes and "tied-means" in notes:
            tied = _check("Tied scores", notes["tied-means"], level="good", value="averaged")
        found.append([missing, *unmatched, tied, *shared, _order(references, measure), *empty])
    return found


def _check(name: str, note: Note | None, none: str = "", *, level: Level = "caution", value: str = "") -> Check:
    """State what a note says, by default in how many queries it is so, and in how many runs; or that there is none."""
    if note is None:
        return Check(name, "good", "none", none)
    if not value:
        runs = len(note.fields.get("runs", ()))
        several = f", {counted(runs, 'run')}" if runs > 1 else ""
        value = f"{note.fields['count']:,} of {note.fields['queries']:,}{several}"
    return Check(name, level, value, f"{note}.")


def _unjudged(scores: Scores, problem: bool) -> Check:
    name = "Unjudged items"
    known = [entry for entry in scores.coverage if entry.looked_at]
    if not known:
        text = "The references list relevant items only; all others count as nonrelevant."
        return Check(name, "unknown", "unknown", text)
    worst = max(known, key=lambda entry: entry.unjudged / entry.looked_at)
    share = worst.unjudged / worst.looked_at
    if share < 0.0005:
        return Check(name, "good", "none", "Every item looked at was judged.")
    level: Level = "problem" if problem else "caution" if share >= MANY_UNJUDGED else "good"
    note = Note("unjudged-items", system=worst.system, share=share, depth=worst.depth)
    return _check(name, note, level=level, value=f"{share:.1%}{' at most' if len(known) > 1 else ''}")


def _repeated(runs: Mapping[str, Run], scores: Scores) -> Check:
    counts = {name: 0 if run.repeats is None else int(run.repeats.sum()) for name, run in runs.items()}
    for entry in scores.coverage:
        counts[entry.system] = counts.get(entry.system, 0) + entry.left_out
    having = [(printable(name), count) for name, count in counts.items() if count]
    note = Note("counted-once", counts=having) if having else None
    none = "No run returns an item twice for a query."
    return _check("Repeated items", note, none, value=f"{sum(counts.values()):,}")


def _order(references: References, measure: Measure) -> Check:
    if references.grades is not None:
        grades = f"{references.tier_counts.max(initial=0)}"
        return Check("Grades of the references", "good", grades, "Items of the same grade are equally good.")
    share = _tied(references)
    name, value = "Ties in the references", f"{share:.0%} of pairs" if share else "none"
    for note in order_notes(references, [measure]):
        return _check(name, note, value=value)
    return Check(name, "good", value, "Relevant items that are tied are equally good.")


def order_notes(references: References, measures: Sequence[object]) -> tuple[Note, ...]:
    """Note where references that were not made from grades have little order, for the first measure that looks at it.

    Grades are few by nature, and a set of relevant items is a set. But an order that was asked for and did not come
    out, as where pairs were judged too rarely, would go unnoticed: every ranking of one tier is perfect.
    """
    if references.grades is not None:
        return ()
    concerned = [measure for measure in measures if isinstance(measure, Measure) and measure.ordinal]
    share = _tied(references) if concerned else 0.0
    if share < MANY_TIED:
        return ()
    several = references.sizes > 1
    one = int((several & (references.tier_counts == 1)).sum())
    return (Note("little-order", measure=str(concerned[0]), share=share, one=one, several=int(several.sum())),)


def _tied(references: References) -> float:
    """Fraction of the pairs of items of a query that are tied, on average over the queries with several."""
    if "tied" not in references.kept:
        several, above = references.sizes > 1, len(references.ranks) + 1
        tiers, length = np.unique(references.codes * above + references.ranks, return_counts=True)
        tied = np.bincount(tiers // above, length * (length - 1.0), len(several))[several]
        pairs = (references.sizes * (references.sizes - 1.0))[several]
        references.kept["tied"] = float((tied / pairs).mean()) if len(pairs) else 0.0
    return float(references.kept["tied"])
