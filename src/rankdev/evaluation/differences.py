"""Two systems compared query by query."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rankdev._common.arrays import Floats
from rankdev._common.lazy import pl
from rankdev._common.result import Result
from rankdev.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankdev.evaluation.scores import Scores


@dataclass(frozen=True, eq=False)
class QueryDifferences(Result):
    """The scores of two systems for every query.

    Attributes
    ----------
    a, b : str
        Names of the systems.
    queries, measures : tuple of str
        What was compared.
    values : array of float, 2 × queries × measures
        Scores of a, then of b.
    remarks : tuple of str
        Notes on the scores.
    lower_is_better : tuple of str
        Measures for which lower is better.

    See Also
    --------
    Scores.differences
    """

    made_with: ClassVar = ("a", "b")
    display: ClassVar = "rankdev.display.differences"

    a: str
    b: str
    queries: tuple[str, ...] = field(repr=False)
    measures: tuple[str, ...]
    values: Floats = field(repr=False)
    remarks: tuple[str, ...] = ()
    lower_is_better: tuple[str, ...] = field(default=(), repr=False)

    def to_polars(self) -> pl.DataFrame:
        """Return the differences as a table.

        Returns
        -------
        polars.DataFrame
            One row per measure and query: measure, query, a, b, difference (a − b), where a did worst first.
            Queries for which a system has no value come last, without a difference.
        """
        tables = []
        for m, measure in enumerate(self.measures):
            a, b = self.values[:, :, m]
            order = np.argsort(b - a if measure in self.lower_is_better else a - b, kind="stable")  # NaN is sorted last
            columns = {"a": a[order], "b": b[order], "difference": (a - b)[order]}
            names = pl.DataFrame({"measure": measure, "query": [self.queries[i] for i in order]})
            tables.append(names.with_columns(**{name: pl.Series(values) for name, values in columns.items()}))
        return pl.concat(tables).fill_nan(None)


def differences_of(scores: Scores, a: str | None, b: str | None, measures: Sequence[str] | None) -> QueryDifferences:
    """Compare two systems, or the only two, of which the first is the baseline b, query by query."""
    names = [name for name in (a, b) if name is not None] or list(reversed(scores.systems))
    pair = scores.select(systems=names, measures=measures)
    if len(pair.systems) != 2:
        raise UsageError("not-two-systems", count=len(pair.systems))
    return QueryDifferences(
        *pair.systems,
        pair.queries,
        pair.measures,
        pair.values,
        pair.remarks,
        pair.lower_is_better,
    )
