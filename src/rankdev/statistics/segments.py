"""Segments of queries."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from rankdev._common.arrays import Ints
from rankdev._common.checks import is_list
from rankdev._common.ids import by_id
from rankdev.errors import Note, UsageError

ALL = "all"  # the name of all queries
EXPECTED = "{query: segment} or {segment: [query, …]}"


def named_segments(segments: Any) -> dict[str, frozenset[str]]:
    """Accept the segment of each query, ``{query: segment}``, or the queries of each, ``{segment: [query, …]}``.

    >>> named_segments({"q1": "head", "q2": "tail"}) == named_segments({"head": ["q1"], "tail": ["q2"]})
    True
    """
    if not isinstance(segments, Mapping) or not segments:
        raise UsageError("bad-value", name="segments", value=segments, expected=EXPECTED)
    found: dict[str, frozenset[str]] = {}
    if all(isinstance(value, str | Integral) and not isinstance(value, bool) for value in segments.values()):
        known = {query: str(name) for query, name in by_id(segments).items()}
        for name in dict.fromkeys(known.values()):
            found[name] = frozenset(query for query, its in known.items() if its == name)
    else:
        for name, queries in by_id(segments).items():
            listed = is_list(queries) and all(isinstance(one, str | int) for one in queries)
            if not isinstance(name, str) or not listed:
                raise UsageError("bad-value", segment=name, name="segments", value=queries, expected=EXPECTED)
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
