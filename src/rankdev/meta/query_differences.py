"""Which queries got worse? Two systems, query by query."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from rankdev.arrays import Floats
from rankdev.errors import UsageError
from rankdev.meta.common_queries import as_scores
from rankdev.results import Result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankdev.evaluation.scores import ScoresLike


@dataclass(frozen=True, eq=False)
class QueryDifferences(Result):
    """The scores of systems ``a`` and ``b`` for every query: ``values[system, query, measure]``."""

    made_with: ClassVar = ("a", "b")

    a: str
    b: str
    queries: tuple[str, ...] = field(repr=False)
    measures: tuple[str, ...]
    values: Floats = field(repr=False)
    remarks: tuple[str, ...] = ()

    def to_polars(self) -> pl.DataFrame:
        """One row per measure and query: measure, query, a, b, difference (a − b), where a did worst first.

        Queries for which a system has no value come last, without a difference.
        """
        tables = []
        for m, measure in enumerate(self.measures):
            a, b = self.values[:, :, m]
            order = np.argsort(a - b, kind="stable")  # NaN is sorted last
            columns = {"a": a[order], "b": b[order], "difference": (a - b)[order]}
            names = pl.DataFrame({"measure": measure, "query": [self.queries[i] for i in order]})
            tables.append(names.with_columns(**{name: pl.Series(values) for name, values in columns.items()}))
        return pl.concat(tables).fill_nan(None)


def query_differences(
    scores: ScoresLike, a: str | None = None, b: str | None = None, *, measures: Sequence[str] | None = None
) -> QueryDifferences:
    """Compare two systems query by query; names may be left out where there are only two.

    >>> from rankdev.evaluation.scores import Scores
    >>> scores = Scores(("old", "new"), ("q1", "q2"), ("P@1",), np.array([[[0.0], [1.0]], [[1.0], [1.0]]]))
    >>> query_differences(scores, "new", "old").to_polars().rows()
    [('P@1', 'q2', 1.0, 1.0, 0.0), ('P@1', 'q1', 1.0, 0.0, 1.0)]
    """
    known = as_scores(scores, measures)
    names = [name for name in (a, b) if name is not None] or list(known.systems)
    if len(names) != 2:
        raise UsageError(f"differences are between two systems; got {len(names)}: name two as a and b")
    pair = known.select(systems=names)
    if len(pair.systems) != 2:
        raise UsageError(f"a and b are both {names[0]!r}; name two systems")
    return QueryDifferences(*pair.systems, pair.queries, pair.measures, pair.values, pair.remarks)
