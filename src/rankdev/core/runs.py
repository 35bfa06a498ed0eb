"""Runs: the ranked items that a system returned for each query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from rankdev._common.arrays import Bools, Floats, Ints
from rankdev._common.columns import check_one_system, number_column, number_series, text_column
from rankdev._common.files_in_use import PathLike
from rankdev._common.ids import as_id, text_series
from rankdev._common.names import ranked_names
from rankdev._common.reading import Duplicates, Ranks, reading, reading_with
from rankdev._common.tables import OfRanx, TableLike, as_frame, as_polars, check_mapping, from_ranx, is_table, tabled
from rankdev.core._input_formats import listed_columns
from rankdev.core.batches import RunBuilder
from rankdev.core.columns import ByQuery, item_series
from rankdev.core.ordering import TREC_EVAL, Order, Ordering, Ties
from rankdev.core.records import RETRIEVED, records_in
from rankdev.core.responses import is_answer, lists_of
from rankdev.errors import DataError, UsageError, counted

RunsLike: TypeAlias = "Mapping[str, RunLike] | PathLike | TableLike"
"""Runs by the name of their system, or a file or table of several, which a column such as tag or system names."""
RunLike: TypeAlias = "Run | PathLike | TableLike | OfRanx | Mapping[Any, Iterable[Any]]"
"""A run: its file, a Run, a table, a Run of ranx, ``{query: [item, …]}``, ``{query: {item: score}}`` or
``{query: response}`` of a search engine."""


@dataclass(frozen=True, eq=False, repr=False)
class Run(ByQuery[list[str]]):
    """One system's run: a mapping query → items, best first.

    Query ``i`` owns the rows ``offsets[i]:offsets[i + 1]`` of ``item_ids``.

    Attributes
    ----------
    queries : polars.Series
        Names of the queries.
    offsets : numpy.ndarray
        Where the rows of each query begin, and where the last ones end.
    item_ids : polars.Series
        The items of all queries, in order.
    scores : numpy.ndarray or None
        Score of each item; None where the run has no scores.
    repeats : numpy.ndarray or None
        Marks rows whose item appeared higher up in the same query; None where there are none.
    ordering : Ordering
        What the run is ordered by, and how ties are broken.
    depth : int or None
        Number of positions kept, if the run was truncated.
    left_out : int
        Rows left out because another of the same item counts; see ``duplicates`` of :func:`rankdev.read_run`.

    Examples
    --------
    >>> run = Run.from_scores({"q1": {"d1": 0.2, "d2": 0.7}})
    >>> run["q1"]
    ['d2', 'd1']
    """

    queries: pl.Series
    offsets: Ints
    item_ids: pl.Series
    scores: Floats | None = None
    repeats: Bools | None = None
    ordering: Ordering = TREC_EVAL
    depth: int | None = None
    left_out: int = 0

    @classmethod
    def from_lists(cls, lists: Any) -> Run:
        """Make a run from lists that are already in order.

        Parameters
        ----------
        lists : dict of str to list of str
            Items of each query, best first.

        Returns
        -------
        Run
            Without scores.

        Examples
        --------
        >>> Run.from_lists({"q1": ["d2", "d1"]})["q1"]
        ['d2', 'd1']
        """
        return cls(*listed_columns(lists))

    @classmethod
    def from_scores(cls, scores: Any, *, ties: Ties = "trec_eval") -> Run:
        """Make a run from scores.

        Parameters
        ----------
        scores : dict of str to dict of str to float
            Score of each item, by query; higher is better.
        ties : {"trec_eval", "descending", "ascending", "given", "expected"}, default "trec_eval"
            How ties are broken; see docs/files.md#ties.

        Returns
        -------
        Run
            Ordered by score.

        Examples
        --------
        >>> Run.from_scores({"q1": {"d1": 0.2, "d2": 0.7}})["q1"]
        ['d2', 'd1']
        """
        scores = check_mapping(scores, "a run", "{query: {item: score}}")
        for query, values in scores.items():
            check_mapping(values, None, "{item: score}", query=query)
        queries = text_series("query", [as_id(query) for query, values in scores.items() for _ in values])
        frame = pl.DataFrame(
            {
                "query": queries,
                "item": item_series(scores),
                "score": number_series("score", [value for values in scores.values() for value in values.values()]),
            }
        )
        return cls.from_table(frame, ties=ties)

    @classmethod
    def from_table(
        cls, table: Any, *, order: Order = "score", ties: Ties = "trec_eval", duplicates: Duplicates | None = None
    ) -> Run:
        """Make a run from a table.

        Parameters
        ----------
        table : table
            Columns query, item and score or rank.
        order : {"score", "rank"}, default "score"
            What orders the run. A table without scores is ordered by rank.
        ties : {"trec_eval", "descending", "ascending", "given", "expected"}, default "trec_eval"
            How ties are broken; see docs/files.md#ties.
        duplicates : {"first", "last", "best"}, optional
            Which row of an item counts where a query has several. Default: two scores of an item are refused.

        Returns
        -------
        Run
            Ordered as asked.

        Examples
        --------
        >>> Run.from_table(pl.DataFrame({"query": ["q", "q"], "item": ["d1", "d2"], "rank": [2, 1]}))["q"]
        ['d2', 'd1']
        """
        with reading_with(duplicates=duplicates):
            return cls._from_table(table, order, ties)

    @classmethod
    def _from_table(cls, table: Any, order: Order, ties: Ties) -> Run:
        frame = ranked_names(as_frame(table))
        check_one_system(frame)
        if "grade" in frame.columns and not {"score", "rank"} & {*frame.columns}:
            raise DataError("looks-like-references")
        if order == "score" and "score" not in frame.columns and "rank" in frame.columns:
            order = "rank"
        value = number_column(frame, order, "a run").to_numpy()
        rank = frame["rank"] if "rank" in frame.columns else None
        if order == "rank" and reading().ranks == "competition":
            order, value, rank = "score", -value, None
        builder = RunBuilder(Ordering(order, ties))
        builder.add(text_column(frame, "query", "a run"), text_column(frame, "item", "a run"), value, rank)
        return cls(*builder.finish())

    @classmethod
    def of(
        cls,
        value: RunLike,
        *,
        order: Order | None = None,
        ties: Ties | None = None,
        duplicates: Duplicates | None = None,
        columns: Mapping[str, str] | None = None,
        ranks: Ranks | None = None,
        collapse: str | None = None,
    ) -> Run:
        """Make a run from whatever the functions of rankdev accept as a run, except a path.

        Parameters
        ----------
        value : Run, table, list of records, ranx.Run or dict
            A dict is ``{query: [item, …]}``, ``{query: {item: score}}`` or ``{query: response}``, with the responses of
            a search engine (see docs/files.md#search-engines).
        order : {"score", "rank"}, optional
            What orders the run. Default: a Run keeps its own order, all else is ordered by score.
        ties : {"trec_eval", "descending", "ascending", "given", "expected"}, optional
            How ties are broken; see docs/files.md#ties. Default: a Run keeps its own rule, all else as pytrec_eval.
        duplicates : {"first", "last", "best"}, optional
            Which row of an item counts where a query has several. Default: two scores of an item are refused.
        columns : dict of str to str, optional
            Names of the columns of a table, or of the fields of a response, by ours: ``{"item": "sku"}``.
        ranks : {"consecutive", "competition"}, optional
            Ranks of a run without scores differ, or are tied as in 1, 1, 1, 4; ties are then broken by ``ties``.
        collapse : str, optional
            What separates a document from its chunk, as in ``d7#3``: each document has the position of its best chunk.

        Returns
        -------
        Run
            The value itself where it is a Run in the order asked for.

        Examples
        --------
        >>> Run.of({"q1": {"d1": 1.0, "d2": 1.0}}, ties="ascending")["q1"]
        ['d1', 'd2']
        """
        if isinstance(value, Run):
            return value.reordered(order, ties)
        with reading_with(duplicates=duplicates, columns=columns, ranks=ranks, collapse=collapse):
            return cls._of(value, order, ties)

    @classmethod
    def _of(cls, value: Any, order: Order | None, ties: Ties | None) -> Run:
        ordering = Ordering("score" if order is None else order, "trec_eval" if ties is None else ties)
        if is_answer(value):
            return cls.from_lists(lists_of(value))
        value = tabled(value)
        if is_table(value):
            value = as_polars(value)
            if (records := records_in(value, RETRIEVED)) is not None:
                return cls.from_lists(lists_of(records))
            return cls.from_table(value, order=ordering.order, ties=ordering.ties)
        value = from_ranx(value, "run")
        value = check_mapping(value, "a run", "a path, a Run, a table, {query: [item, …]} or {query: {item: score}}")
        if any(isinstance(entry, Mapping) for entry in value.values()):
            if order == "rank":
                raise DataError("no-ranks")
            return cls.from_scores(value, ties=ordering.ties)
        return cls.from_lists(value)

    def reordered(self, order: Order | None = None, ties: Ties | None = None) -> Run:
        """Return the run in another order; refused if it no longer has the scores or ranks for that.

        Parameters
        ----------
        order : {"score", "rank"}, optional
            What orders the run. Default: as it is.
        ties : {"trec_eval", "descending", "ascending", "given", "expected"}, optional
            How ties are broken; see docs/files.md#ties. Default: as they are.

        Returns
        -------
        Run
            The run itself where it already has this order.

        Examples
        --------
        >>> Run.from_scores({"q": {"a": 1.0, "b": 1.0}}).reordered(ties="ascending")["q"]
        ['a', 'b']
        """
        wanted = Ordering(order or self.ordering.order, ties or self.ordering.ties)
        if self.scores is None:
            if (self.ordering.order, order) == ("rank", "score"):
                raise UsageError("read-again", name="order", value="score")
            return self
        if wanted == self.ordering:
            return self
        if wanted.order == "rank":
            raise UsageError("read-again", name="order", value="rank")
        if self.depth is not None or wanted.ties == "given":
            raise UsageError("read-again", name="ties", value=wanted.ties)
        return Run.from_table(self.to_polars(), ties=wanted.ties)

    def top(self, depth: int | None) -> Top:
        """Return the rows that can matter in the first positions.

        Parameters
        ----------
        depth : int or None
            Number of positions; None for all.

        Returns
        -------
        Top
            First occurrences of items within the depth, and the items tied with them.

        Examples
        --------
        >>> Run.from_lists({"q1": ["d1", "d2", "d3"]}).top(2).rows.tolist()
        [0, 1]
        """
        positions = self.positions
        tie = np.arange(len(positions))  # of each row, the row where its tie begins
        if self.scores is not None:
            keys = self.ordering.keys(self.scores)
            same = (keys[1:] == keys[:-1]) & (positions[1:] > 0)
            tie[1:][same] = 0
            tie = np.maximum.accumulate(tie)
        wanted = np.ones(len(positions), bool) if self.repeats is None else ~self.repeats
        if depth is not None:
            wanted &= positions[tie] < depth
        rows = np.flatnonzero(wanted)
        lengths = self.sizes if depth is None else np.minimum(self.sizes, depth)
        within = positions[rows] < (depth or np.inf)
        return Top(rows, self.codes[rows], positions[rows], tie[rows], within, lengths)

    @property
    def positions(self) -> Ints:
        """Position of each row in its query, from 0."""
        return np.arange(len(self.item_ids)) - np.repeat(self.offsets[:-1], self.sizes)

    def to_polars(self) -> pl.DataFrame:
        """Return one row per item, in order.

        Returns
        -------
        polars.DataFrame
            Columns query, item, rank, and score where there are scores.

        Examples
        --------
        >>> Run.from_lists({"q1": ["d2", "d1"]}).to_polars().rows()
        [('q1', 'd2', 1), ('q1', 'd1', 2)]
        """
        columns = {
            "query": self.queries.gather(self.codes),
            "item": self.item_ids,
            "rank": pl.Series(self.positions + 1),
        }
        if self.scores is not None:
            columns["score"] = pl.Series(self.scores)
        return pl.DataFrame(columns)

    def __getitem__(self, query: str) -> list[str]:
        return self.item_ids[self.rows(query)].to_list()

    def __eq__(self, other: object) -> bool:
        """Runs are equal when they return the same items in the same order for the same queries."""
        if not isinstance(other, Run):
            return NotImplemented
        columns = ["query", "rank", "item"]
        mine, theirs = (run.to_polars().select(columns).sort("query", "rank") for run in (self, other))
        return mine.equals(theirs)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Run({counted(len(self), 'query')}, {counted(len(self.item_ids), 'item')})"


@dataclass(frozen=True, eq=False)
class Top:
    """The first positions of a run; this is the one place where a run is truncated.

    ``rows`` do not repeat an item; those that are not ``within`` the cut are there because they share the score
    (``tie``) of one that is. ``lengths`` counts the positions of each query, repeated items included.
    """

    rows: Ints
    query: Ints
    position: Ints
    tie: Ints
    within: Bools
    lengths: Ints
