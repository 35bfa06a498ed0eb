"""Files ↔ references."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from rankdev.errors import DataError, FileFormatError, shown
from rankdev.formats.parts import Table, joined
from rankdev.formats.records import read_json
from rankdev.formats.runs import run_from_source, run_from_table
from rankdev.formats.streams import PathLike, Source, plain_suffix
from rankdev.formats.tables import encode_table, read_table
from rankdev.formats.trec import QRELS, read_trec, write_trec
from rankdev.formats.writing import writing
from rankdev.references.columns import check_once
from rankdev.references.references import References
from rankdev.runs import Run
from rankdev.tabular import listed, text_column


def read_references(path: PathLike, *, progress: Callable[[int], None] | None = None) -> References:
    """Read references: JSONL or JSON with tiers, tables with rank or grade, TREC qrels; plain, gzip or zstd.

    In a table, ``rank`` falls with quality and ``grade`` grows with it. ``-`` is standard input. ``progress(bytes)``
    is called as the file is read.
    """
    with Source(path, progress) as source:
        return _read(source)


def read_grades(path: PathLike) -> References:
    """Read grades as references: TREC qrels, tables with grade, or JSON ``{query: {item: grade}}``."""
    with Source(path) as source:
        if source.kind == "json":
            return _from_mapping(source, References.from_grades, read_json(source))
        references = _read(source)
    if references.grades is None:
        raise FileFormatError(source.name, "there are ranks here and no grades; this file is a reference already")
    return references


def read_lists(path: PathLike) -> References:
    """Read strict orders as references: lists of items, best first, or the order of a run."""
    with Source(path) as source:
        if source.kind == "json":
            return _from_json(source)
        if source.kind == "trec":
            return _from_run(source.name, run_from_source(source))
        table = read_table(source, source.kind)
    names = set(table.frame.columns)
    if {"tiers", "items"} & names:
        return _build(_tier_rows(table))
    if {"score", "rank"} & names:
        return _from_run(table.name, run_from_table(table))
    return _guarded(table, References.from_lists)


def write_references(references: References, path: PathLike) -> None:
    """Write references in the format that the file's name asks for.

    .jsonl and .json hold tiers; .csv, .tsv and .parquet hold ranks (and grades); anything else is TREC qrels.
    """
    content = encode_references(references, path)
    with writing(path) as stream:
        stream.write(content)


def encode_references(references: References, path: PathLike) -> bytes:
    """Give the bytes that :func:`write_references` writes under this name."""
    suffix = plain_suffix(path)
    if suffix in (".csv", ".tsv", ".parquet"):
        return encode_table(references.to_polars(), path)
    if suffix == ".json":
        return _json(references)
    if suffix == ".jsonl" or str(path) == "-":
        return b"".join(json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in _records(references))
    return _qrels(references)


def _read(source: Source) -> References:
    kind = source.kind
    if kind == "json":
        return _from_json(source)
    if kind == "trec":
        return _build(joined(source.name, read_trec(source, QRELS, "grade")))
    table = read_table(source, kind)
    return _build(_tier_rows(table) if "tiers" in table.frame.columns else table)


def _build(table: Table) -> References:
    names = set(table.frame.columns)
    if not names & {"rank", "grade"}:
        looks = "; it looks like a run, which belongs in the place of the runs" if "score" in names else ""
        expected = "expected the columns query, item and rank (or grade), or query and tiers"
        raise FileFormatError(table.name, f"{expected}; found {listed(table.frame.columns)}{looks}")
    return _guarded(table, References.from_table)


def _guarded(table: Table, build: Callable[[Any], References]) -> References:
    try:
        return build(table.frame)
    except DataError as error:
        table.fail(error)


def _from_mapping(source: Source, build: Callable[[Any], References], value: Any) -> References:
    try:
        return build(value)
    except DataError as error:
        raise FileFormatError(source.name, str(error)) from None


def _from_json(source: Source) -> References:
    value = read_json(source)
    for query, entry in value.items():
        if not isinstance(entry, list):
            raise FileFormatError(
                source.name,
                f"query {shown(query)} holds {type(entry).__name__}; a JSON reference maps a query to its items or"
                " tiers, best first. For {query: {item: grade}} use `rankdev refs grades`",
            )
    tiers = {query: [tier if isinstance(tier, list) else [tier] for tier in entry] for query, entry in value.items()}
    return _from_mapping(source, References.from_tiers, tiers)


def _from_run(name: str, run: Run) -> References:
    if run.repeats is not None:
        raise FileFormatError(name, "an item stands twice in the list of a query; a reference needs each item once")
    return References.from_ranks(run.to_polars())


def _tier_rows(table: Table) -> Table:
    """Turn records of query and tiers (or items, each a tier) into rows of query, item and rank."""
    try:
        query = text_column(table.frame, "query", "references")
        check_once(query, "query {} stands on two lines; give all its tiers on one")
    except DataError as error:
        table.fail(error)
    tiers = pl.DataFrame({"query": query, "item": _tiers(table)}).with_row_index("record")
    tiers = tiers.with_columns(rank=pl.int_ranges(1, pl.col("item").list.len() + 1))
    each = ["item", "rank"]
    if "grades" in table.frame.columns:
        tiers, each = tiers.with_columns(grade=_tier_grades(table, tiers["item"])), [*each, "grade"]
    rows = tiers.explode(each).explode("item")
    record = rows["record"].to_numpy()
    return Table(table.name, rows.drop("record"), lambda row: table.line_of(int(record[row])))


def _tiers(table: Table) -> pl.Series:
    """The tiers of each record; items that are listed without them are a tier each."""
    name, shape, depth = ("items", "[item, …]", 1)
    if "tiers" in table.frame.columns:
        name, shape, depth = ("tiers", "[[item, …], …]", 2)
    values = table.frame[name]
    if _list_depth(values.dtype) != depth:
        raise FileFormatError(table.name, f"{name} must be {shape} on every line")
    tiers = values if depth == 2 else pl.select(pl.lit(values).list.eval(pl.concat_list(pl.element()))).to_series()
    sizes = pl.select(pl.lit(tiers).list.eval(pl.element().list.drop_nulls().list.len().fill_null(0))).to_series()
    empty = ~(sizes.list.min() > 0).fill_null(False)  # the least of no sizes at all is null
    if empty.any():
        line = table.line_of(int(empty.arg_max() or 0))
        raise FileFormatError(table.name, "a tier is empty or missing; every rank needs an item", line)
    return tiers


def _tier_grades(table: Table, tiers: pl.Series) -> pl.Series:
    grades = table.frame["grades"]
    if not isinstance(grades.dtype, pl.List) or not grades.dtype.inner.is_numeric():
        raise FileFormatError(table.name, "grades must be [number, …] on every line, one for each tier")
    wrong = (grades.list.len() != tiers.list.len()).fill_null(True)
    wrong |= (grades.list.diff(null_behavior="drop").list.max() >= 0).fill_null(False)
    wrong |= ~(grades.list.min() > 0).fill_null(False)
    if wrong.any():
        line = table.line_of(int(wrong.arg_max() or 0))
        raise FileFormatError(table.name, "there must be one positive grade for each tier, falling", line)
    return grades


def _list_depth(dtype: Any) -> int:
    depth = 0
    while isinstance(dtype, pl.List):
        depth, dtype = depth + 1, dtype.inner
    return depth


def _records(references: References) -> Iterator[dict[str, Any]]:
    """One record a query: its tiers, and the grade of each where there are grades."""
    new_tier = np.append(np.diff(references.ranks) != 0, True)
    items = references.item_ids.to_list()
    for query, begin, end in zip(references.queries, references.offsets[:-1], references.offsets[1:], strict=True):
        ends = begin + np.flatnonzero(new_tier[begin : end - 1]) + 1
        bounds = [int(begin), *ends.tolist(), int(end)]
        record = {"query": query, "tiers": [items[a:b] for a, b in pairwise(bounds)]}
        if references.grades is not None:
            record["grades"] = references.grades[bounds[:-1]].tolist()
        yield record


def _json(references: References) -> bytes:
    if references.grades is not None:
        raise DataError("a .json file holds tiers without their grades; write graded references as .jsonl")
    return json.dumps({record["query"]: record["tiers"] for record in _records(references)}).encode()


def _qrels(references: References) -> bytes:
    if references.grades is None:
        raise DataError("TREC qrels hold grades and these references have ranks; write them as .jsonl or .csv")
    grades = references.grades
    whole = bool((grades == np.floor(grades)).all() and grades.max() < 2**53)
    grade = pl.Series(grades.astype(np.int64) if whole else grades)
    zero = pl.Series(np.zeros(len(grades), np.int64))
    return write_trec([references.queries.gather(references.codes), zero, references.item_ids, grade], "the references")
