"""Run files."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rankdev._common.checks import check_kind, check_path, check_whole
from rankdev._common.columns import by_system, check_one_system, number_column, number_series, text_column
from rankdev._common.ids import as_id, text_series
from rankdev._common.names import POSITIONS, SYSTEMS, ranked_names
from rankdev._common.reading import Duplicates, Ranks, reading, reading_with
from rankdev._common.work import Progress
from rankdev.core.batches import RunBuilder
from rankdev.core.columns import item_series
from rankdev.core.ordering import TREC_EVAL, Order, Ordering, Ties
from rankdev.core.runs import Run
from rankdev.errors import DataError, errors_at
from rankdev.io._json_documents import json_entries
from rankdev.io._responses import holds_responses, lists_in_array, lists_in_entries, lists_in_lines
from rankdev.io.formats.base import Table
from rankdev.io.streams import PathLike, Source, plain_suffix
from rankdev.io.tables import ENDINGS, check_trec_name, encode_table, folder_batches, table_batches
from rankdev.io.trec import PLAIN, RUN, Dialect, read_trec, write_trec
from rankdev.io.writing import writing

_COLUMNS = {"query", "item", "score", "rank", "tiers", "grade", "items", *SYSTEMS, *POSITIONS}
_ROWS = 200_000  # of a JSON run, made a table at once


def read_run(
    path: PathLike,
    *,
    order: Order = "score",
    ties: Ties = "trec_eval",
    duplicates: Duplicates | None = None,
    columns: Mapping[str, str] | None = None,
    ranks: Ranks | None = None,
    collapse: str | None = None,
    depth: int | None = None,
    progress: Progress | None = None,
) -> Run:
    """Read a run: TREC, CSV, TSV, JSONL, JSON or Parquet, also compressed with gzip or zstd.

    A folder of Parquet files, as Spark and DuckDB write them, is one run; columns may be in the names of its folders.

    Parameters
    ----------
    path : str or path
        Name of the file or folder; ``-`` is standard input.
    order : {"score", "rank"}, default "score"
        What orders the run.
    ties : {"trec_eval", "descending", "ascending", "given", "expected"}, default "trec_eval"
        How ties are broken; see docs/files.md#ties.
    duplicates : {"first", "last", "best"}, optional
        Which row of an item counts where a query has several: the first or the last in the file, or that with the
        highest score (the lowest rank). The others are left out, and counted. Default: two scores of an item are
        refused.
    columns : dict of str to str, optional
        Names of the file's columns, by ours: ``{"item": "sku", "score": "points"}``.
    ranks : {"consecutive", "competition"}, optional
        Ranks of a run without scores differ, or are tied as in 1, 1, 1, 4; ties are then broken by ``ties``.
    collapse : str, optional
        What separates a document from its chunk, as in ``d7#3``: each document has the position of its best chunk.
    depth : int, optional
        How many positions of each query will be used: no more are kept, so that memory stays small whatever the size
        of the file. Default: all.
    progress : callable, optional
        ``progress(done, total, name)``, called as the file is read, in bytes.

    Returns
    -------
    Run
        Ordered as asked.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "bm25.run"
    ...     _ = path.write_text("q1 Q0 d1 1 9.5 bm25\\nq1 Q0 d2 2 11 bm25\\nq1 Q0 d3 3 7 bm25\\n")
    ...     read_run(path)["q1"]
    ['d2', 'd1', 'd3']
    """
    depth = None if depth is None else check_whole("depth", depth, 1)
    with reading_with(duplicates=duplicates, columns=columns, ranks=ranks, collapse=collapse):
        return run_from_path(path, Ordering(order, ties), depth, progress)


def run_from_path(
    path: PathLike,
    ordering: Ordering = TREC_EVAL,
    depth: int | None = None,
    progress: Progress | None = None,
    dialect: Dialect = PLAIN,
) -> Run:
    """Read a run from a file or a folder."""
    if os.path.isdir(check_path(path)):  # False, not an error, for names that no file can have
        with errors_at(path=path):
            return _run_of(str(path), folder_batches(Path(path), _COLUMNS), ordering, depth)
    with Source(path, progress) as source:
        return run_from_source(source, ordering, depth, dialect)


def run_from_source(
    source: Source, ordering: Ordering = TREC_EVAL, depth: int | None = None, dialect: Dialect = PLAIN
) -> Run:
    """Read a run from an open source."""
    kind = source.kind
    if kind == "trec":
        builder = RunBuilder(_by_ties(ordering), depth, source.name)
        parts = read_trec(source, RUN, ordering.order, dialect, builder.wants_ranks)
        return _run_of(source.name, (Table(source.name, *part) for part in parts), ordering, depth, builder)
    if kind == "json":
        return _read_json(source, ordering, depth)
    if kind == "jsonl" and holds_responses(source):
        return _listed(lists_in_lines(source), depth)
    return _run_of(source.name, table_batches(source, kind, _COLUMNS), ordering, depth)


def read_systems(path: PathLike, order: Order = "score") -> dict[str, pl.DataFrame]:
    """Read the rows of several systems from one file, by the tag or the column that names them."""
    if os.path.isdir(check_path(path)):
        with errors_at(path=path):
            return _by_system(folder_batches(Path(path), _COLUMNS))
    with Source(path) as source:
        if source.kind == "json":
            raise DataError("no-systems", known=SYSTEMS)
        if source.kind == "trec":
            parts = read_trec(source, RUN, order, with_rank=lambda: order == "score")
            return _by_system(Table(source.name, *part) for part in parts)
        return _by_system(table_batches(source, source.kind, _COLUMNS))


def _by_system(tables: Iterable[Table]) -> dict[str, pl.DataFrame]:
    return by_system(pl.concat([table.frame for table in tables], how="diagonal_relaxed", rechunk=True))


def run_from_table(table: Table) -> Run:
    """Make a run of a table that was read from a file."""
    return _run_of(table.name, [table], TREC_EVAL)


def _run_of(
    name: str,
    tables: Iterable[Table],
    ordering: Ordering,
    depth: int | None = None,
    builder: RunBuilder | None = None,
) -> Run:
    """Make a run of its batches; where there is a ``builder``, columns are known to hold ids and finite numbers."""
    checked = builder is not None
    systems: dict[str, str] = {}
    for table in tables:
        if not checked:
            table = replace(table, frame=ranked_names(table.frame))  # noqa: PLW2901 (the same, by our names)
        names = set(table.frame.columns)
        if builder is None:
            if not names & {"score", "rank"} and names & {"tiers", "grade", "items"}:
                raise DataError("looks-like-references")
            if "score" not in names and "rank" in names:
                ordering = Ordering("rank", ordering.ties)
            builder = RunBuilder(_by_ties(ordering), depth, name)
        try:
            check_one_system(table.frame, systems)
            frame = table.frame if checked else _columns(table.frame, ordering.order)
            rank = table.frame["rank"] if "rank" in names else None
            value = frame[ordering.order].to_numpy()
            tied = _by_ties(ordering) != ordering
            builder.add(frame["query"], frame["item"], -value if tied else value, None if tied else rank)
        except DataError as error:
            table.fail(error)
    return Run(*(builder or RunBuilder(ordering, depth, name)).finish())


def _by_ties(ordering: Ordering) -> Ordering:
    """Order ranks that may be tied as scores are, the lowest first, so that ties are broken and counted."""
    tied = ordering.order == "rank" and reading().ranks == "competition"
    return Ordering("score", ordering.ties) if tied else ordering


def _columns(frame: pl.DataFrame, number: Order) -> pl.DataFrame:
    ids = [text_column(frame, name, "a run") for name in ("query", "item")]
    return pl.DataFrame([*ids, number_column(frame, number, "a run")])


def write_run(run: Run, path: PathLike, *, tag: str = "rankdev") -> None:
    """Write a run in the format of the file's extension: .csv, .tsv, .jsonl, .json, .parquet, else TREC.

    Parameters
    ----------
    run : Run
        What to write.
    path : str or path
        Name of the file; ``-`` is standard output. One that ends in .gz or .zst is compressed.
    tag : str, default "rankdev"
        The last column of a TREC file.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> run = Run.from_scores({"q1": {"d1": 9.5, "d2": 11.0}})
    >>> with TemporaryDirectory() as folder:
    ...     write_run(run, f"{folder}/bm25.run.gz")
    ...     read_run(f"{folder}/bm25.run.gz") == run
    True
    """
    check_kind("run", run, Run, "make one with Run.from_lists, Run.from_scores or read_run")
    suffix = plain_suffix(path)
    if run.repeats is not None and (suffix == ".json") != (run.scores is None):
        raise DataError("cannot-hold", what="an item twice", instead=".json" if run.scores is None else ".jsonl")
    if suffix == ".json":
        content = _json(run)
    elif suffix in ENDINGS:
        columns = ["query", "item", "rank" if run.scores is None else "score"]
        content = encode_table(run.to_polars().select(columns), path)
    else:
        check_trec_name(path)
        content = _trec(run, tag)
    with writing(path) as stream:
        stream.write(content)


def _read_json(source: Source, ordering: Ordering, depth: int | None) -> Run:
    if source.first_line().lstrip().startswith(b"["):
        return _listed(lists_in_array(source), depth)
    entries = lists_in_entries(json_entries(source))
    if isinstance(entries, dict):
        return _listed(entries, depth)
    first = next(entries)
    entries = chain([first], entries)
    if isinstance(first[1], dict):
        if ordering.order == "rank":
            raise DataError("no-ranks")
        return _run_of(source.name, _score_tables(source.name, entries), ordering, depth)
    return _listed(entries, depth)


def _listed(lists: Any, depth: int | None) -> Run:
    """Make a run of lists, as a mapping or as pairs that are still read."""
    if reading().duplicates is not None:  # one of an item's places may be below the cut, and count
        depth = None
    pairs = lists.items() if isinstance(lists, dict) else lists
    run = Run.from_lists({query: items[:depth] if isinstance(items, list) else items for query, items in pairs})
    return replace(run, depth=depth)


def _score_tables(name: str, entries: Iterator[tuple[str, Any]]) -> Iterator[Table]:
    """Make tables of about ``_ROWS`` rows of ``query, {item: score}``."""
    held: dict[str, dict[str, Any]] = {}
    rows = 0
    for query, scores in entries:
        if not isinstance(scores, dict):
            raise DataError("wrong-form", query=query, expected="{item: score}", value=scores)
        held[query] = scores
        rows += len(scores)
        if rows >= _ROWS:
            yield _score_table(name, held)
            held, rows = {}, 0
    yield _score_table(name, held)


def _score_table(name: str, scores: dict[str, dict[str, Any]]) -> Table:
    columns = {
        "query": text_series("query", [as_id(query) for query, values in scores.items() for _ in values]),
        "item": item_series(scores),
        "score": number_series("score", [value for values in scores.values() for value in values.values()]),
    }
    return Table(name, pl.DataFrame(columns), lambda row: None)


def _json(run: Run) -> bytes:
    if run.scores is None:
        return json.dumps(dict(run.items())).encode()
    scores, offsets = run.scores, run.offsets
    return json.dumps(
        {
            query: dict(zip(items, scores[offsets[i] : offsets[i + 1]].tolist(), strict=True))
            for i, (query, items) in enumerate(run.items())
        }
    ).encode()


def _trec(run: Run, tag: str) -> bytes:
    query = run.queries.gather(run.codes)
    falling = run.sizes[run.codes] - run.positions
    score = pl.Series(falling if run.scores is None else run.scores)
    constant = [text_series("tag", [as_id(word)]).gather(np.zeros(len(query), np.int64)) for word in ("Q0", tag)]
    columns = [query, constant[0], run.item_ids, pl.Series(run.positions + 1), score, constant[1]]
    return write_trec(columns)
