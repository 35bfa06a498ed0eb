"""Items of many queries, kept as columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TypeVar

import numpy as np

from rankdev._common.arrays import Ints
from rankdev._common.ids import is_integer
from rankdev._common.tables import Tabular

Value = TypeVar("Value")


class ByQuery(Tabular, Mapping[str, Value]):
    """Items of many queries kept as columns: query ``i`` owns the rows ``offsets[i]:offsets[i + 1]``."""

    queries: list[str]
    offsets: Ints

    @property
    def sizes(self) -> Ints:
        """Number of items of each query."""
        return np.diff(self.offsets)

    @property
    def codes(self) -> Ints:
        """Query index of each row."""
        return np.repeat(np.arange(len(self.queries)), self.sizes)

    @cached_property
    def places(self) -> dict[str, int]:
        """Index of each query."""
        return {name: place for place, name in enumerate(self.queries)}

    def place_of(self, query: str) -> int:
        """Return the index of a query; one that is named by a whole number is found by its text."""
        return self.places[str(query) if is_integer(query) else query]

    def rows(self, query: str) -> slice:
        """Return the rows of one query.

        Parameters
        ----------
        query : str
            Name of the query.

        Returns
        -------
        slice
            Its first row, and the one after its last.

        Examples
        --------
        >>> import rankdev as rd
        >>> rd.Run.from_lists({"q1": ["d1"], "q2": ["d2", "d3"]}).rows("q2")
        slice(1, 3, None)
        """
        place = self.place_of(query)
        return slice(int(self.offsets[place]), int(self.offsets[place + 1]))

    def __iter__(self) -> Iterator[str]:
        return iter(self.queries)

    def __len__(self) -> int:
        return len(self.queries)


def last_of_each(offsets: Ints, values: Ints) -> Ints:
    """Return the last value of each query's rows; 0 where there are none."""
    result = np.zeros(len(offsets) - 1, np.int64)
    filled = np.diff(offsets) > 0
    result[filled] = values[offsets[1:][filled] - 1]
    return result
