"""What statistics are computed on: the queries for which every compared system has a value."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from rankdev.arrays import Floats
from rankdev.errors import DataError, RankdevWarning, UsageError
from rankdev.evaluation.scores import Scores


@dataclass(frozen=True, eq=False)
class Panel:
    """Measures that are available for the same queries: ``values[query, system, measure]``."""

    measures: tuple[str, ...]
    places: tuple[int, ...]  # where these measures stand among all that were asked for
    queries: npt.NDArray[np.int64] = field(repr=False)  # indices into the scores' queries
    values: Floats = field(repr=False)


def as_scores(scores: Any, measures: Sequence[str] | None = None) -> Scores:
    """Take ``Scores`` or a plain table with the columns system, query, measure, value."""
    found = scores if isinstance(scores, Scores) else Scores.from_table(scores)
    chosen = found if measures is None else found.select(measures=measures)
    if not chosen.measures:
        raise UsageError("measures is an empty list; name at least one, or leave it out for all")
    return chosen


def panels(scores: Scores, at_least: int = 2) -> list[Panel]:
    """Group the measures by the queries for which every system has a value.

    Queries that lack a value are left out for that measure, with a warning that counts them.
    """
    if len(scores.systems) < at_least:
        raise UsageError(f"a comparison needs at least {at_least} systems; got {', '.join(scores.systems) or 'none'}")
    if np.isinf(scores.values).any():
        system, query, measure = np.argwhere(np.isinf(scores.values))[0]
        raise DataError(
            f"{scores.measures[measure]} of system {scores.systems[system]!r} for query"
            f" {scores.queries[query]!r} is infinite; expected a finite number"
        )
    known: npt.NDArray[np.bool_] = np.logical_not(np.isnan(scores.values).any(axis=0))
    _remark_on_gaps(scores, known)
    groups: dict[bytes, list[int]] = {}
    for place in range(len(scores.measures)):
        groups.setdefault(known[:, place].tobytes(), []).append(place)
    return [_panel(scores, places, np.flatnonzero(known[:, places[0]])) for places in groups.values()]


def _panel(scores: Scores, places: list[int], queries: npt.NDArray[np.int64]) -> Panel:
    values = scores.values.transpose(1, 0, 2)
    if len(places) < len(scores.measures):
        values = values[:, :, places]
    if len(queries) < len(scores.queries):
        values = values[queries]
    return Panel(tuple(scores.measures[place] for place in places), tuple(places), queries, values)


def _remark_on_gaps(scores: Scores, known: npt.NDArray[np.bool_]) -> None:
    if not len(scores.queries):
        raise DataError("the scores hold no queries")
    gaps = (~known).sum(axis=0)
    for measure, missing in zip(scores.measures, gaps, strict=True):
        if missing == len(scores.queries):
            raise DataError(f"{measure} has no query with a value for every system; leave the measure or a system out")
    for remark in _gaps(scores):
        warnings.warn(remark, RankdevWarning, stacklevel=4)


def _gaps(scores: Scores) -> list[str]:
    gaps = np.isnan(scores.values).any(axis=0).sum(axis=0)
    counts = ", ".join(f"{gap} for {name}" for name, gap in zip(scores.measures, gaps, strict=True) if gap)
    left_out = f"queries for which a system has no value are left out: {counts} of {len(scores.queries)}"
    return [left_out] if counts else []


def carried(scores: Scores) -> tuple[str, ...]:
    """Give the remarks that a verdict passes on: the queries it leaves out, and what its scores say of themselves."""
    return (*_gaps(scores), *scores.remarks)


def pairs_of(systems: Sequence[str]) -> list[tuple[str, str]]:
    """Give all pairs of systems in their order.

    >>> pairs_of(["a", "b", "c"])
    [('a', 'b'), ('a', 'c'), ('b', 'c')]
    """
    first, second = np.triu_indices(len(systems), 1)
    return [(systems[i], systems[j]) for i, j in zip(first.tolist(), second.tolist(), strict=True)]
