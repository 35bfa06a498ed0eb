"""The health of a comparison's data: what is missing, unjudged, tied or repeated, and whether references have order.

With a problem nothing is decided; which those are, :func:`rankdev.evaluation.coverage.problems` says. A caution is
worth a look. How much order references have shows in what an exactly reversed ranking would score.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rankdev._common.arrays import Floats
from rankdev.data.references import References
from rankdev.data.run import Run
from rankdev.errors import Note, counted, printable
from rankdev.evaluation.coverage import coverage_remarks, empty_remarks, for_measures, problems, strange_ids
from rankdev.evaluation.join import Known, Scorer, score_run
from rankdev.evaluation.scores import Scores
from rankdev.measures import Measure
from rankdev.measures.syntax import info_of

LITTLE = 0.5  # of what reversing a strict reference of the same length costs
ONE_TIER = 0.2  # of the queries
MOST = 500  # queries that are reversed, if there are more
MANY_TIES = 0.25  # of the pairs of items: with fewer, references have order enough
UNJUDGED = 0.1  # of the items looked at

Level = Literal["good", "unknown", "caution", "problem"]


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
    shared = [_unjudged(scores, "mostly-unjudged" in wrong), _repeated(runs, scores)]
    unmatched, empty = [*_unmatched(scores, "no-relevant-item" in wrong)], [*_empty(scores)]
    found = []
    for measure in measures:
        coverage = [for_measures(entry, [str(measure)]) for entry in scores.coverage]
        notes = {note.kind: note for note in coverage_remarks(coverage)}
        missing = _of_runs("Queries missing from runs", notes.get("missing"), "Every run answers every query.")
        if "few-answered" in wrong:
            missing = Check(missing.name, "problem", missing.value, missing.text)
        tied = _of_runs("Tied scores", notes.get("tied"), "No tie affects a score.")
        if "tied" not in notes and "tied-means" in notes:
            tied = Check(tied.name, "good", "averaged", f"{notes['tied-means']}.")
        found.append([missing, *unmatched, tied, *shared, _order(references, measure), *empty])
    return found


def _of_runs(name: str, note: Note | None, none: str) -> Check:
    """State in how many queries something is so, and in how many runs."""
    if note is None:
        return Check(name, "good", "none", none)
    count, queries, runs = (note.fields[field] for field in ("count", "queries", "runs"))
    several = f", {counted(len(runs), 'run')}" if len(runs) > 1 else ""
    return Check(name, "caution", f"{count:,} of {queries:,}{several}", f"{note}.")


def _unmatched(scores: Scores, problem: bool) -> Iterator[Check]:
    notes = [note for entry in scores.coverage if (note := strange_ids(entry))]
    if notes:
        value = f"{len(notes):,} of {len(scores.coverage):,}"
        yield Check("Runs without a relevant item", "problem" if problem else "caution", value, f"{notes[0]}.")


def _unjudged(scores: Scores, problem: bool) -> Check:
    name = "Unjudged items"
    known = [entry for entry in scores.coverage if entry.looked_at]
    if not known:
        return Check(
            name, "unknown", "unknown", "The references list relevant items only; all others count as nonrelevant."
        )
    worst = max(known, key=lambda entry: entry.unjudged / entry.looked_at)
    share = worst.unjudged / worst.looked_at
    if share < 0.0005:
        return Check(name, "good", "none", "Every item looked at was judged.")
    level: Level = "problem" if problem else "caution" if share >= UNJUDGED else "good"
    value = f"{share:.1%}{' at most' if len(known) > 1 else ''}"
    note = Note("unjudged-items", system=worst.system, share=share, depth=worst.depth)
    return Check(name, level, value, f"{note}.")


def _repeated(runs: Mapping[str, Run], scores: Scores) -> Check:
    left = {entry.system: entry.left_out for entry in scores.coverage}
    repeated = {
        name: left.get(name, 0) + (0 if run.repeats is None else int(run.repeats.sum())) for name, run in runs.items()
    }
    having = [(printable(name), count) for name, count in repeated.items() if count]
    if not having:
        return Check("Repeated items", "good", "none", "No run returns an item twice for a query.")
    note = Note("counted-once", counts=having)
    return Check("Repeated items", "caution", f"{sum(count for _, count in having):,}", f"{note}.")


def _order(references: References, measure: Measure) -> Check:
    name = "Order of the references"
    for note in order_notes(references, [measure]):
        return Check(name, "caution", "none" if note.fields["one"] == note.fields["several"] else "little", f"{note}.")
    if references.grades is not None:
        grades = counted(int(references.tier_counts.max(initial=0)), "grade")
        return Check(name, "good", grades, "The references are graded.")
    return Check(name, "good", "enough", "The references have enough order.")


def _empty(scores: Scores) -> Iterator[Check]:
    for note in empty_remarks(scores.coverage, "zero", scores.reference_sizes):
        value = f"{note.fields['count']:,} of {note.fields['queries']:,}"
        yield Check("Queries without a relevant item", "caution", value, f"{note}.")


def order_notes(references: References, measures: Sequence[Scorer]) -> tuple[Note, ...]:
    """Note where references that were not made from grades have little order, by the first measure that looks at it.

    Grades are few by nature, and a set of relevant items is a set. But an order that was asked for and did not come
    out, as where pairs were judged too rarely, would go unnoticed: every ranking of one tier is perfect. The note has
    how many (``one``) of the ``several`` queries with several items are a single tier.
    """
    if references.grades is not None:
        return ()
    several = references.sizes > 1
    one = several & (references.tier_counts == 1)
    flat = one.sum() > ONE_TIER * several.sum()
    if not several.any() or (not flat and _tied(references)[several].mean() < MANY_TIES):
        return ()
    step = 1 + int(several.sum()) // MOST
    sample = references.of_queries(np.flatnonzero(several)[::step])
    for measure in measures:
        lost, strictly, reversed_score = _lost(sample, measure)
        if strictly < 0.1:
            continue  # the order hardly matters to it
        if lost >= LITTLE * strictly and not flat:
            return ()
        counts = {"one": int(one.sum()), "several": int(several.sum())}
        return (Note("little-order", measure=str(measure), **counts, reversed_score=reversed_score),)
    return ()


def _tied(references: References) -> Floats:
    """Fraction of the pairs of items of each query that are tied."""
    starts = np.diff(references.ranks, prepend=0) != 0
    starts[references.offsets[:-1][references.sizes > 0]] = True
    at = np.flatnonzero(starts)
    length = np.diff(np.append(at, len(references.ranks)))
    query = np.searchsorted(references.offsets, at, side="right") - 1
    tied = np.bincount(query, length * (length - 1.0), len(references.sizes))
    return np.asarray(tied / np.maximum(references.sizes * (references.sizes - 1.0), 1.0))


def _lost(references: References, measure: Scorer) -> tuple[float, float, float]:
    """Compute what reversing costs, as a fraction, with the references and with strict ones; and the reversed score."""
    if not info_of(measure).higher_is_better:
        return 0.0, 0.0, 0.0
    lists = {query: list(references[query]) for query in references}
    right, wrong = (Run.from_lists({query: items[::way] for query, items in lists.items()}) for way in (1, -1))
    found = []
    for known in (references, References.from_lists(lists)):
        ready = Known.of(known)
        best, worst = (float(score_run(ready, run, [measure])[:, 0].mean()) for run in (right, wrong))
        found.append(((best - worst) / best if best > 0 else 0.0, worst))
    return found[0][0], found[1][0], found[0][1]
