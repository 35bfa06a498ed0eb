"""Scores standardized query by query, so that easy and hard queries, and collections, weigh the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from rankdev._common.arrays import Floats
from rankdev._common.checks import check_choice
from rankdev.errors import DataError, UsageError, counted, shown
from rankdev.evaluation.coverage import coverage_remarks, empty_remarks
from rankdev.evaluation.scores import Scores
from rankdev.measures.base import MeasureInfo

if TYPE_CHECKING:
    from rankdev.evaluation.scores import ScoresLike

FEWEST = 3  # systems: of two, one always has z = 1/√2 and the other the opposite
SLOPE, MIDDLE = 0.15, 0.5  # A and B of Sakai (2016)
ROUNDING = 1e-12  # of scores that are equal


def _by_normal(z: Floats) -> Floats:
    from scipy import special

    found: Floats = special.ndtr(z)
    return found


def _by_line(z: Floats) -> Floats:
    return np.clip(SLOPE * z + MIDDLE, 0.0, 1.0)


METHODS: dict[str, tuple[str, Callable[[Floats], Floats]]] = {
    "normal": ("std", _by_normal),
    "linear": ("std-AB", _by_line),
}


def standardized(scores: Scores, reference: ScoresLike | None, method: str) -> Scores:
    """Return scores by query in standard deviations of reference systems, mapped to 0 … 1."""
    check_choice("method", method, METHODS)
    prefix, mapped = METHODS[method]
    _check(scores)
    by = scores if reference is None else _aligned(scores, reference)
    known = np.isfinite(by.values)
    counts = known.sum(axis=0)
    if len(by.systems) < FEWEST:
        raise UsageError(
            f"standardization needs the scores of {FEWEST} systems or more; got {', '.join(by.systems)}: give reference"
            " systems, or compare raw scores"
        )
    enough = counts >= FEWEST
    means = np.where(known, by.values, 0.0).sum(axis=0) / np.maximum(counts, 1)
    apart = np.where(known, by.values - means, 0.0)
    deviations = np.sqrt((apart**2).sum(axis=0) / np.maximum(counts - 1, 1))
    flat = np.abs(apart).max(axis=0) <= ROUNDING * np.maximum(np.abs(means), 1.0)
    off = scores.values - means
    z = np.where(flat, np.where(np.abs(off) <= ROUNDING, 0.0, np.nan), off / np.where(flat, 1.0, deviations))
    values = np.where(enough & np.isfinite(scores.values), mapped(z), np.nan)
    kinds = tuple(
        MeasureInfo(f"{prefix}({kind.label})", "mean", kind.higher_is_better, (0.0, 1.0)) for kind in scores.kinds
    )
    which = "these systems" if reference is None else counted(len(by.systems), "reference system")
    notes = [
        f"standardized by query ({method}) with mean and standard deviation of {which}: scores are comparable only with"
        " those standardized in the same way"
    ]
    for m, kind in enumerate(scores.kinds):
        if equal := int((flat & enough)[:, m].sum()):
            lost = int((np.isfinite(scores.values) & np.isnan(values) & flat)[:, :, m].sum())
            other = f"; {counted(lost, 'other score')} cannot be standardized there" if lost else ""
            notes.append(f"{kind.label}: {counted(equal, 'query')} on which all of them are equal, set to .5{other}")
    empty = empty_remarks(scores.coverage, scores.empty, scores.reference_sizes)
    return replace(
        scores,
        measures=tuple(kind.label for kind in kinds),
        kinds=kinds,
        values=values,
        reference_sizes=None,
        coverage=(),
        notes=(*scores.notes, *empty, *coverage_remarks(scores.coverage), *notes),
    )


def _check(scores: Scores) -> None:
    for kind in scores.kinds:
        if kind.aggregate != "mean":
            what = "added up" if kind.aggregate == "sum" else "summarized by a geometric mean"
            raise UsageError(f"{kind.label} is {what} over queries, and standardized scores are averaged; leave it out")
        if kind.label.startswith(tuple(f"{prefix}(" for prefix, _ in METHODS.values())):
            raise UsageError(f"{kind.label} is standardized already; start from the raw scores")


def _aligned(scores: Scores, given: ScoresLike) -> Scores:
    """Return reference systems' scores of the same queries and measures."""
    if isinstance(given, str | PathLike):
        from rankdev.evaluation.files import read_scores

        given = read_scores(given)
    reference = given if isinstance(given, Scores) else Scores.from_table(given)
    known = set(reference.queries)
    if missing := [query for query in scores.queries if query not in known]:
        some = counted(len(missing), "query", "is", of=len(scores.queries))
        raise DataError(f"{some} not among those of the reference systems, such as {shown(missing[0])}")
    if others := [name for name in scores.measures if name not in reference.measures]:
        theirs = ", ".join(reference.measures)
        raise DataError(f"the reference systems have no scores of {others[0]}, only of {theirs}; score them by it")
    return reference.select(measures=scores.measures, queries=list(scores.queries))
