"""Grouped items of many queries, checked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from rankdev._common.arrays import Floats, Ints, offsets_of
from rankdev._common.ids import as_id, is_integer, text_series
from rankdev._common.lazy import pl
from rankdev._common.tables import Tabular
from rankdev.errors import errors_at

BYTE_ORDER_MARK = "\ufeff".encode()


Value = TypeVar("Value")


class ByQuery(Tabular, Mapping[str, Value]):
    """Items of many queries kept as columns: query ``i`` owns the rows ``offsets[i]:offsets[i + 1]``."""

    queries: pl.Series
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


@dataclass(frozen=True)
class Groups:
    """Rows grouped by query: ``names`` in order of appearance, and each row's ``codes`` into them."""

    names: pl.Series
    codes: Ints

    @property
    def sizes(self) -> Ints:
        """Number of rows of each query."""
        return np.bincount(self.codes, minlength=len(self.names))

    @property
    def offsets(self) -> Ints:
        """Where each query's rows begin and end once the rows are sorted by code."""
        return offsets_of(self.sizes)

    def take(self, rows: Ints | slice) -> Groups:
        """Keep some rows; a query may remain without any."""
        return Groups(self.names, self.codes[rows])


@dataclass(frozen=True, eq=False)
class Nonrelevant:
    """Items judged nonrelevant: query ``i`` owns the rows ``offsets[i]:offsets[i + 1]``; grades are 0 or less.

    A grade below 0 is kept as it is: trec_eval takes −1 and −2 for items that were not judged after all.
    """

    offsets: Ints
    item_ids: pl.Series
    grades: Floats

    @property
    def codes(self) -> Ints:
        """Query index of each row."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    def of_query(self, place: int) -> dict[str, float]:
        """Items of one query and their grades."""
        rows = slice(int(self.offsets[place]), int(self.offsets[place + 1]))
        return dict(zip(self.item_ids[rows].to_list(), self.grades[rows].tolist(), strict=True))

    def of_queries(self, places: Ints) -> Nonrelevant:
        """Keep some queries, in order."""
        sizes = np.diff(self.offsets)
        rows = np.flatnonzero(np.isin(self.codes, places))
        return Nonrelevant(offsets_of(sizes[places]), self.item_ids.gather(rows), self.grades[rows])

    def added_to(self, frame: pl.DataFrame, queries: pl.Series, codes: Ints) -> pl.DataFrame:
        """Add rows to a table of relevant items, after those of their query; ``codes`` are the queries of its rows."""
        others = pl.DataFrame({"query": queries.gather(self.codes), "item": self.item_ids})
        others = others.with_columns(rank=pl.lit(None, pl.Int64))
        if "grade" in frame.columns:
            others = others.with_columns(grade=pl.Series(self.grades))
        else:
            frame, others = (part.with_columns(nonrelevant=pl.lit(part is others)) for part in (frame, others))
        rows = np.argsort(np.concatenate([codes, self.codes]), kind="stable")
        return pl.concat([frame, others])[rows]


def last_of_each(offsets: Ints, values: Ints) -> Ints:
    """Return the last value of each query's rows; 0 where there are none."""
    result = np.zeros(len(offsets) - 1, np.int64)
    filled = np.diff(offsets) > 0
    result[filled] = values[offsets[1:][filled] - 1]
    return result


def group(query: pl.Series) -> Groups:
    """Number the queries in order of appearance; cheap where the rows of a query are adjacent."""
    if not len(query):
        return Groups(query, np.zeros(0, np.int64))
    starts = np.flatnonzero(query.ne_missing(query.shift()).to_numpy())
    block = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(query)))
    heads = query.gather(starts)
    names = heads.unique(maintain_order=True)
    if len(names) == len(heads):
        return Groups(names, block)
    lookup = pl.DataFrame({"query": names, "code": np.arange(len(names))})
    codes = pl.DataFrame({"query": heads}).join(lookup, on="query", how="left", maintain_order="left")["code"]
    return Groups(names, codes.to_numpy()[block])


def item_names(lists: Mapping[Any, Iterable[Any]]) -> list[str]:
    """Return the ids of the items of all queries, one query after the other."""
    names: list[str] = []
    for query, items in lists.items():
        with errors_at(query=query):
            names += [as_id(item) for item in items]
    return names


def item_series(lists: Mapping[Any, Iterable[Any]]) -> pl.Series:
    """Return the items of all queries, one query after the other, as text."""
    return text_series("item", item_names(lists))


def folded(names: pl.Series) -> pl.Series:
    """Return names without what may differ by accident: case, blanks and Unicode form."""
    return names.str.normalize("NFC").str.to_lowercase().str.normalize("NFC").str.replace_all(r"\s", "")
