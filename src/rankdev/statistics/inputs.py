"""What analyses accept: scores, collections of them, pairs of systems, segments of queries."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from os import PathLike
from typing import Any, TypeGuard

import numpy as np

from rankdev._common.arrays import Ints
from rankdev._common.checks import is_list
from rankdev.data.ids import by_id
from rankdev.data.tables import as_dict
from rankdev.errors import DataError, Note, UsageError
from rankdev.evaluation.files import read_scores
from rankdev.evaluation.scores import Scores, ScoresLike

ALL = "all"  # the name of all queries
LARGEST = 1e100  # squares of larger scores are no numbers, those of smaller ones than 1 ÷ this are 0
SEGMENTS = "{query: segment} or {segment: [query, …]}"


def as_scores(scores: Any, measures: Sequence[str] | None = None, weighted: bool = False) -> Scores:
    """Accept ``Scores``, a table with the columns system, query, measure, value, or the path of a file of scores.

    Weights of queries are refused but where the caller says that they may be ``weighted``; and scores whose squares are
    no numbers.
    """
    if isinstance(scores, str | PathLike):
        scores = read_scores(scores)
    found = scores if isinstance(scores, Scores) else Scores.from_table(scores)
    chosen = found if measures is None else found.select(measures=measures)
    if not chosen.measures:
        raise UsageError("empty", name="measures", expected="at least one, or leave it out for all")
    if chosen.geometric:
        raise UsageError("geometric", measure=chosen.geometric[0])
    if chosen.weights is not None and not weighted:
        raise UsageError("weights-unknown")
    sizes = np.abs(chosen.values)
    tiny = np.fmax.reduce(sizes, axis=(0, 1), initial=0.0) < 1 / LARGEST
    wrong = np.argwhere((sizes > LARGEST) | (tiny & (sizes > 0)))
    if len(wrong):
        s, q, m = wrong[0]
        where = {"system": chosen.systems[s], "query": chosen.queries[q], "measure": chosen.measures[m]}
        expected = f"0, or a measure whose largest score is between {1 / LARGEST:g} and {LARGEST:g}"
        raise DataError("bad-value", **where, name="score", value=chosen.values[s, q, m], expected=expected)
    return chosen


def is_several(scores: Any) -> TypeGuard[Mapping[str, Any]]:
    """Check whether scores are those of several collections; a dict of columns is a table of one."""
    return isinstance(scores, Mapping) and not {"system", "query", "measure", "value"} <= set(scores)


def complete(scores: Scores) -> Scores:
    """Keep, under each measure, the queries for which every system has a value: those that are tested.

    >>> scores = Scores(("s", "t"), ("q", "r"), ("Tau@5",), np.array([[[0.5], [np.nan]], [[0.1], [0.9]]]))
    >>> complete(scores).averages.tolist()
    [[0.5], [0.1]]
    """
    return replace(scores, values=np.where(np.isnan(scores.values).any(axis=0), np.nan, scores.values))


def alike(collections: Mapping[str, ScoresLike], measures: Sequence[str] | None) -> dict[str, Scores]:
    """Bring collections to the same systems and measures, in the same order; refuse differing ones."""
    parts = {str(name): as_scores(part, measures) for name, part in collections.items()}
    if not parts:
        raise UsageError("none-given", what="collections")
    first = next(iter(parts.values()))
    for name, part in parts.items():
        if set(part.systems) != set(first.systems) or set(part.measures) != set(first.measures):
            raise DataError("unlike-collection", collection=name)
    aligned = {name: part.select(systems=first.systems, measures=first.measures) for name, part in parts.items()}
    for name, part in aligned.items():
        if (part.sums, part.lower_is_better) != (first.sums, first.lower_is_better):
            label = min({*part.sums} ^ {*first.sums} | {*part.lower_is_better} ^ {*first.lower_is_better})
            raise DataError("unlike-measure", collection=name, measure=label)
    return aligned


def check_reach(name: str, size: float, scores: Scores) -> None:
    """Refuse a difference that no two means exceed, such as 5 for 5%: every system would be within it."""
    for kind in scores.kinds:
        low, high = kind.range
        if kind.aggregate == "mean" and size >= high - low:
            expected = f"between 0 and {high - low:g}"
            raise UsageError("not-a-number", measure=kind.label, name=name, expected=expected, value=size)


def wanted_pairs(scores: Scores, baselines: str | Sequence[str] | None) -> tuple[Ints, Ints]:
    """Return the requested pairs (a, b) as indices; b is a baseline, or the earlier of two systems."""
    if baselines is None:
        earlier, later = np.triu_indices(len(scores.systems), 1)
        return later, earlier
    names = [baselines] if isinstance(baselines, str) else baselines
    # select refuses unknown names, and takes repeated ones once
    targets = [scores.systems.index(name) for name in scores.select(systems=names).systems]
    if not targets:
        raise UsageError("empty", name="baselines", expected="at least one, or leave it out to compare all pairs")
    others = [i for i in range(len(scores.systems)) if i not in targets]
    if not others:
        raise UsageError("only-baselines")
    return np.tile(others, len(targets)), np.repeat(targets, len(others))


def named_segments(segments: Any) -> dict[str, frozenset[str]]:
    """Accept the segment of each query, ``{query: segment}``, or the queries of each, ``{segment: [query, …]}``.

    >>> named_segments({"q1": "head", "q2": "tail"}) == named_segments({"head": ["q1"], "tail": ["q2"]})
    True
    """
    segments = as_dict(segments)
    if not isinstance(segments, Mapping) or not segments:
        raise UsageError("bad-value", name="segments", value=segments, expected=SEGMENTS)
    found: dict[str, frozenset[str]] = {}
    if all(isinstance(value, str | Integral) and not isinstance(value, bool) for value in segments.values()):
        known = {query: str(name) for query, name in by_id(segments).items()}
        for name in dict.fromkeys(known.values()):
            found[name] = frozenset(query for query, its in known.items() if its == name)
    else:
        for name, queries in by_id(segments).items():
            listed = is_list(queries) and all(isinstance(one, str | int) for one in queries)
            if not isinstance(name, str) or not listed:
                raise UsageError("bad-value", segment=name, name="segments", value=queries, expected=SEGMENTS)
            found[name] = frozenset(by_id(dict.fromkeys(queries)))
    if ALL in found:
        raise UsageError("bad-value", name="a segment", value=ALL, expected="another name: this means all queries")
    return found


def places(queries: Sequence[str], segments: Mapping[str, Collection[str]]) -> tuple[dict[str, Ints], list[Note]]:
    """Locate the queries of each segment, and note segments without any and queries without one."""
    found = {name: np.array([i for i, query in enumerate(queries) if query in own]) for name, own in segments.items()}
    notes = [Note("unscored-segment", segment=name) for name, own in found.items() if not len(own)]
    outside = len(set(queries).difference(*segments.values()))
    if outside:
        notes.append(Note("no-segment", count=outside, queries=len(queries)))
    return {name: own for name, own in found.items() if len(own)}, notes
