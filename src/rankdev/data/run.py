"""Runs: the ranked items that a system returned for each query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from rankdev._common.arrays import Bools, Floats, Ints
from rankdev._common.lazy import pl
from rankdev.data import ids
from rankdev.data.ids import Ids
from rankdev.data.options import DEFAULT, PLAIN, Duplicates, Order, Ranks, ReadOptions, Ties, warn_of
from rankdev.data.records import RETRIEVED, answers_in, lists_of, of_listed, records_in
from rankdev.data.rows import (
    ByQuery,
    Rows,
    are_lists,
    arranged,
    climbs,
    hidden,
    of_frame,
    of_lists,
    of_numbers,
    offsets_of,
    plain_numbers,
    plain_series,
)
from rankdev.data.tables import OfRanx, TableLike, as_polars, check_mapping, is_table, table_of_records
from rankdev.data.write import PathLike
from rankdev.errors import DataError, Note, UsageError, counted

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
    queries : list of str
        Names of the queries.
    offsets : numpy.ndarray
        Where the rows of each query begin, and where the last ones end.
    item_ids : list of str or Words
        The items of all queries, in order.
    scores : numpy.ndarray or None
        Score of each item; None where the run has no scores.
    repeats : numpy.ndarray or None
        Marks rows whose item appeared higher up in the same query; None where there are none.
    read : ReadOptions
        How the run was read: what it is ordered by, how ties are broken, and to which depth.
    left_out : int
        Rows left out because another of the same item counts; see ``duplicates`` of :func:`rankdev.read_run`.
    notes : tuple of str
        What may be wrong with the run, such as items that are returned twice.
    tied : bool
        False where it is known that no two items of a query have the same score.

    Examples
    --------
    >>> run = Run.from_scores({"q1": {"d1": 0.2, "d2": 0.7}})
    >>> run["q1"]
    ['d2', 'd1']
    """

    queries: list[str]
    offsets: Ints
    item_ids: Ids
    scores: Floats | None = None
    repeats: Bools | None = None
    read: ReadOptions = DEFAULT
    left_out: int = 0
    notes: tuple[Note, ...] = ()
    tied: bool = True

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
        return cls.of_lists(lists, ReadOptions()).with_warnings()

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
        read = ReadOptions(ties=ties)
        return cls.of_rows(_scored(scores, read), read).with_warnings()

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
            The value itself where it is a Run that was read in this way; refused where it no longer has what that
            takes.

        Examples
        --------
        >>> Run.of({"q1": {"d1": 1.0, "d2": 1.0}}, ties="ascending")["q1"]
        ['d1', 'd2']
        """
        read = ReadOptions(order, ties, duplicates, columns, ranks, collapse)
        run = cls.of_value(value, read.but(notes=[]))
        read.check_met()
        warn_of(read.notes)
        return run if run is value else run.with_warnings()

    @classmethod
    def of_value(cls, value: Any, read: ReadOptions) -> Run:
        """Make a run of anything but a path; what may be wrong with it is in its notes."""
        rows = None
        if type(value) is dict and value:
            rows = None if read.order == "rank" else plain_numbers(value, "score")
            if rows is None and are_lists(value.values()):
                rows = of_lists(value)
        elif isinstance(value, Run):
            return value.read_as(read)
        return cls.of_rows(_rows_of(value, read) if rows is None else rows, read)

    @classmethod
    def of_lists(cls, lists: Any, read: ReadOptions) -> Run:
        """Make a run of ``{query: [item, …]}``, where items may be records."""
        return cls.of_rows(of_listed(check_mapping(lists, "a run", "{query: [item, …]}"), read), read)

    @classmethod
    def of_rows(cls, rows: Rows, read: ReadOptions) -> Run:
        """Make a run of its rows; only the positions that can matter are kept."""
        if not len(rows.queries):
            return cls([], np.zeros(1, np.int64), [], np.zeros(0), read=_kept(read, "score"))
        if rows.what == "score" and rows.rises is None and not (read.strict and read.order) and climbs(rows):
            read.note("rising-rows")
        rows, sizes, tied = arranged(rows, read)
        if (name := hidden(rows)) is not None:
            read.note("hidden-characters", name=name)
        if rows.repeats is not None:
            first = rows.at(int(np.argmax(rows.repeats)))
            count = int(rows.repeats.sum())
            read.note("returned-twice", count=count, item=first["item"], query=first["query"])
        if rows.rises:
            read.note("rising-scores")
        scores = rows.value if rows.what == "score" else None
        kept = _kept(read, None if rows.listed else rows.what)
        notes = tuple(read.notes)
        return cls(rows.queries, offsets_of(sizes), rows.item, scores, rows.repeats, kept, rows.left_out, notes, tied)

    @classmethod
    def joined(cls, parts: Sequence[Run]) -> Run:
        """Join runs of different queries that were read in the same way, without anything to note."""
        first = parts[0]
        return cls(
            [query for part in parts for query in part.queries],
            offsets_of(np.concatenate([part.sizes for part in parts])),
            ids.joined([part.item_ids for part in parts]),
            None if first.scores is None else np.concatenate([part.scores for part in parts]),
            read=first.read,
            left_out=sum(part.left_out for part in parts),
            tied=any(part.tied for part in parts),
        )

    def read_as(self, read: ReadOptions) -> Run:
        """Return the run as it is with these options; refused where it no longer has what that takes.

        Parameters
        ----------
        read : ReadOptions
            How to read it; what was not chosen stays as it is.

        Returns
        -------
        Run
            The run itself where nothing changes.

        Examples
        --------
        >>> Run.from_scores({"q": {"a": 1.0, "b": 1.0}}).read_as(ReadOptions(ties="ascending"))["q"]
        ['a', 'b']
        """
        own, ties = self.read, read.ties
        if self.scores is None:
            ties = None
            if (own.order, read.order) == ("rank", "score"):
                raise UsageError("read-again", name="order", value="score")
        elif read.order == "rank":
            raise UsageError("read-again", name="order", value="rank")
        changes: dict[str, Any] = {}
        if ties is not None and ties != (own.ties or "trec_eval"):
            changes["ties"] = ties
        if read.collapse is not None and read.collapse != own.collapse:
            changes["collapse"] = read.collapse
        doubtful = self.repeats is not None or self.left_out or changes.get("collapse")
        if read.duplicates is not None and read.duplicates != own.duplicates and doubtful:
            changes["duplicates"] = read.duplicates
        if not changes:
            return self
        if own.depth is not None or ties == "given" or ("duplicates" in changes and self.left_out):
            name, value = next(iter(changes.items()))
            raise UsageError("read-again", name=name, value=value)
        value = self.positions + 1.0 if self.scores is None else self.scores
        what, listed = ("score", False) if self.scores is not None else ("rank", True)
        rows = Rows(self.queries, self.codes, self.item_ids, value, what, listed=listed)  # type: ignore[arg-type]
        run = Run.of_rows(rows, own.but(notes=[], strict=read.strict, **changes))
        return replace(run, read=own.but(**changes), left_out=run.left_out + self.left_out)

    @property
    def positions(self) -> Ints:
        """Position of each row in its query, from 0."""
        return np.arange(len(self.item_ids)) - self.offsets[:-1].repeat(self.sizes)

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
            "query": ids.series(self.queries, "query").gather(self.codes),
            "item": ids.series(self.item_ids),
            "rank": pl.Series(self.positions + 1),
        }
        if self.scores is not None:
            columns["score"] = pl.Series(self.scores)
        return pl.DataFrame(columns)

    def __getitem__(self, query: str) -> list[str]:
        return ids.listed(self.item_ids[self.rows(query)])

    def __eq__(self, other: object) -> bool:
        """Runs are equal when they return the same items in the same order for the same queries."""
        return {**self} == {**other} if isinstance(other, Run) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Run({counted(len(self), 'query')}, {counted(len(self.item_ids), 'item')})"


def _rows_of(value: Any, read: ReadOptions) -> Rows:
    """Return the rows of whatever may be a run, except a path and a Run."""
    if isinstance(value, Rows):
        return value
    answers = answers_in(value)
    if answers is None and is_table(value := table_of_records(value)):
        frame = as_polars(value)
        records = records_in(frame, RETRIEVED, read)
        if records is None:
            return of_frame(frame, read)
        answers = [(None, record) for record in records]
    if answers is not None:
        return of_listed(lists_of(answers, read), read)
    if hasattr(value, "run") and hasattr(value, "to_dict"):  # of ranx
        value = value.to_dict()
    expected = "a path, a Run, a table, {query: [item, …]} or {query: {item: score}}"
    value = {query: plain_series(query, entry) for query, entry in check_mapping(value, "a run", expected).items()}
    if any(isinstance(entry, Mapping) for entry in value.values()):
        return _scored(value, read)
    return of_listed(value, read)


def _scored(scores: Any, read: ReadOptions) -> Rows:
    """Return the rows of ``{query: {item: score}}``."""
    if read.order == "rank":
        raise DataError("no-ranks")
    return of_numbers(check_mapping(scores, "a run", "{query: {item: score}}"), "score", "{item: score}")


def _kept(read: ReadOptions, order: Any) -> ReadOptions:
    """Return what a run remembers of how it was read; lists have no ties to break."""
    ties = None if order is None else read.ties
    return read.but(order=order, ties=ties, strict=False, columns=None, grades=None, dialect=PLAIN, notes=[], met=set())
