"""How much order references have: what an exactly reversed ranking would score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rankdev._common.arrays import Floats
from rankdev.data.references import References
from rankdev.data.run import Run
from rankdev.errors import Note
from rankdev.evaluation.join import Known, Scorer, score_run
from rankdev.measures.syntax import info_of

LITTLE = 0.5  # of what reversing a strict reference of the same length costs
ONE_TIER = 0.2  # of the queries
MOST = 500  # queries that are reversed, if there are more
MANY_TIES = 0.25  # of the pairs of items: with fewer, references have order enough


@dataclass(frozen=True)
class LittleOrder:
    """References with little order: ``one`` of the ``several`` queries with several items are a single tier."""

    measure: str
    one: int
    several: int
    reversed_score: float


def order_notes(references: References, measures: Sequence[Scorer]) -> tuple[Note, ...]:
    """Note where references have little order."""
    found = little_order(references, measures)
    return () if found is None else (Note("little-order", **vars(found)),)


def little_order(references: References, measures: Sequence[Scorer]) -> LittleOrder | None:
    """Find whether references that were not made from grades have little order, by the first measure that looks at it.

    Grades are few by nature, and a set of relevant items is a set. But an order that was asked for and did not come
    out, as where pairs were judged too rarely, would go unnoticed: every ranking of one tier is perfect.
    """
    if references.grades is not None:
        return None
    several = references.sizes > 1
    one = several & (references.tier_counts == 1)
    if not several.any() or (one.sum() <= ONE_TIER * several.sum() and _tied(references)[several].mean() < MANY_TIES):
        return None
    step = 1 + int(several.sum()) // MOST
    sample = references.of_queries(np.flatnonzero(several)[::step])
    for measure in measures:
        lost, strictly, reversed_score = _lost(sample, measure)
        if strictly < 0.1:
            continue  # the order hardly matters to it
        if lost >= LITTLE * strictly and one.sum() <= ONE_TIER * several.sum():
            return None
        return LittleOrder(str(measure), int(one.sum()), int(several.sum()), reversed_score)
    return None


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
