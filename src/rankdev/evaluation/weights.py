"""Weights of queries, such as their traffic: means over queries, and their tests, take them into account."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from rankdev._common.arrays import Floats
from rankdev._common.checks import is_number
from rankdev.data.ids import by_id
from rankdev.data.tables import as_frame, number_column, text_column
from rankdev.errors import DataError

if TYPE_CHECKING:
    from rankdev.data.tables import TableLike

WeightsLike: TypeAlias = "Mapping[str, float] | TableLike"
"""``{query: weight}``, or a table with the columns query and weight."""


def weights_of(weights: Any, queries: Sequence[str]) -> Floats:
    """Return the weight of each query, 1 on average; those of other queries are left out.

    >>> weights_of({"a": 3, "b": 1, "c": 5}, ["a", "b"]).tolist()
    [1.5, 0.5]
    """
    if not isinstance(weights, Mapping):
        frame = as_frame(weights)
        names = text_column(frame, "query", "weights")
        if names.is_duplicated().any():
            raise DataError("appears-twice", role="weights", what="query", value=names.filter(names.is_duplicated())[0])
        weights = dict(zip(names, number_column(frame, "weight", "weights"), strict=True))
    known = by_id(weights)
    without = [query for query in queries if query not in known]
    if without:
        raise DataError("no-weight", count=len(without), queries=len(queries), example=without[0])
    for query in queries:
        if not (is_number(known[query]) and 0 < known[query] < np.inf):
            expected = "more than 0, and finite"
            raise DataError("not-a-number", query=query, name="weight", value=known[query], expected=expected)
    found = np.array([known[query] for query in queries], np.float64)
    return found / found.mean()
