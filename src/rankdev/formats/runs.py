"""Files ↔ runs."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import polars as pl

from rankdev.errors import DataError, FileFormatError, shown
from rankdev.formats.streams import PathLike, Source, plain_suffix
from rankdev.formats.tables import Table, encode_table, read_json, read_table
from rankdev.formats.trec import RUN, read_trec, write_trec
from rankdev.formats.writing import writing
from rankdev.runs import TREC_EVAL, Order, Ordering, Run, RunBuilder, Ties


def read_run(
    path: PathLike,
    *,
    order: Order = "score",
    ties: Ties = "trec_eval",
    depth: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Run:
    """Read a run: TREC, CSV, TSV, JSONL, JSON or Parquet, plain, gzip or zstd; ``-`` is standard input.

    ``depth`` says how many positions of each query will be used: no more are kept of a TREC file, so that memory
    stays small whatever its size.
    """
    with Source(path, progress) as source:
        return run_from_source(source, Ordering(order, ties), depth)


def run_from_source(source: Source, ordering: Ordering = TREC_EVAL, depth: int | None = None) -> Run:
    """Read a run from an open source."""
    kind = source.kind
    if kind == "trec":
        return _read_trec(source, ordering, depth)
    if kind == "json":
        return _read_json(source, ordering)
    return run_from_table(read_table(source, kind), ordering)


def run_from_table(table: Table, ordering: Ordering = TREC_EVAL) -> Run:
    """Make a run of a table that was read from a file."""
    names = set(table.frame.columns)
    if not names & {"score", "rank"} and names & {"tiers", "grade", "items"}:
        raise FileFormatError(table.name, "this looks like references; they belong before the runs")
    try:
        return Run.from_table(table.frame, order=ordering.order, ties=ordering.ties)
    except DataError as error:
        table.fail(error)


def write_run(run: Run, path: PathLike, *, tag: str = "rankdev") -> None:
    """Write a run in the format that the file's name asks for: .csv, .tsv, .jsonl, .json, .parquet, else TREC."""
    suffix = plain_suffix(path)
    if run.repeats is not None and (suffix == ".json") != (run.scores is None):
        item = shown(run.item_ids.filter(pl.Series(run.repeats))[0])
        other = "as .json" if run.scores is None else "as .csv or .jsonl"
        raise DataError(f"item {item} is returned twice for a query, which this format cannot hold; write it {other}")
    if suffix == ".json":
        content = _json(run)
    elif suffix in (".csv", ".tsv", ".jsonl", ".parquet"):
        columns = ["query", "item", "rank" if run.scores is None else "score"]
        content = encode_table(run.to_polars().select(columns), path)
    else:
        content = _trec(run, tag)
    with writing(path) as stream:
        stream.write(content)


def _read_trec(source: Source, ordering: Ordering, depth: int | None) -> Run:
    builder = RunBuilder(ordering, depth, source.name)
    for frame, line_of in read_trec(source, RUN, ordering.order):
        try:
            builder.add(frame["query"], frame["item"], frame[ordering.order].to_numpy())
        except DataError as error:
            raise FileFormatError(source.name, str(error), None if error.row is None else line_of(error.row)) from None
    try:
        return builder.finish()
    except DataError as error:
        raise FileFormatError(source.name, str(error)) from None


def _read_json(source: Source, ordering: Ordering) -> Run:
    try:
        return Run.of(read_json(source), order=ordering.order, ties=ordering.ties)
    except FileFormatError:
        raise
    except DataError as error:
        raise FileFormatError(source.name, str(error)) from None


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
    constant = [pl.Series([word]).gather(np.zeros(len(query), np.int64)) for word in ("Q0", tag)]
    columns = [query, constant[0], run.item_ids, pl.Series(run.positions + 1), score, constant[1]]
    return write_trec(columns, "the run")
