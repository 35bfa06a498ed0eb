"""Files ↔ references."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from rankdev.errors import DataError, FileFormatError
from rankdev.formats.runs import run_from_source, run_from_table
from rankdev.formats.streams import PathLike, Source, plain_suffix, writing
from rankdev.formats.tables import Table, encode_table, joined, read_json, read_table
from rankdev.formats.trec import QRELS, read_trec, write_trec
from rankdev.references.references import References
from rankdev.runs import Run


def read_references(path: PathLike) -> References:
    """Read references: JSONL or JSON with tiers, tables with rank or grade, TREC qrels; plain, gzip or zstd.

    In a table, ``rank`` falls with quality and ``grade`` grows with it. ``-`` is standard input.
    """
    with Source(path) as source:
        return _read(source)


def read_grades(path: PathLike) -> References:
    """Read grades as references: TREC qrels, tables with grade, or JSON ``{query: {item: grade}}``."""
    with Source(path) as source:
        if source.kind == "json":
            return _guarded(source, References.from_grades, read_json(source))
        references = _read(source)
    if references.grades is None:
        raise FileFormatError(path, "there are ranks here and no grades; this file is a reference already")
    return references


def read_lists(path: PathLike) -> References:
    """Read strict orders as references: lists of items, best first, or the order of a run."""
    with Source(path) as source:
        if source.kind == "json":
            return _from_json(source)
        if source.kind == "trec":
            return _from_run(source.name, run_from_source(source))
        table = read_table(source, source.kind)
    if {"tiers", "items"} & set(table.frame.columns):
        return _build(_tier_rows(table))
    return _from_run(table.name, run_from_table(table))


def write_references(references: References, path: PathLike) -> None:
    """Write references in the format that the file's name asks for.

    .jsonl and .json hold tiers; .csv, .tsv and .parquet hold ranks (and grades); anything else is TREC qrels.
    """
    suffix = plain_suffix(path)
    if suffix in (".csv", ".tsv", ".parquet"):
        content = encode_table(references.to_polars(), path)
    elif suffix == ".json":
        content = _json(references)
    elif suffix == ".jsonl" or str(path) == "-":
        content = b"".join(json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in _records(references))
    else:
        content = _qrels(references)
    with writing(path) as stream:
        stream.write(content)


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
        found = ", ".join(table.frame.columns)
        raise FileFormatError(
            table.name,
            f"expected the columns query, item and rank (or grade), or query and tiers; found {found}{looks}",
        )
    try:
        return References.from_grades(table.frame) if "grade" in names else References.from_ranks(table.frame)
    except DataError as error:
        table.fail(error)


def _guarded(source: Source, build: Any, value: Any) -> References:
    try:
        references: References = build(value)
    except DataError as error:
        raise FileFormatError(source.name, str(error)) from None
    return references


def _from_json(source: Source) -> References:
    value = read_json(source)
    for query, entry in value.items():
        if not isinstance(entry, list):
            raise FileFormatError(
                source.name,
                f"query {query!r} holds {type(entry).__name__}; a JSON reference maps a query to its items or"
                " tiers, best first. For {query: {item: grade}} use `rankdev refs grades`",
            )
    tiers = {query: [tier if isinstance(tier, list) else [tier] for tier in entry] for query, entry in value.items()}
    return _guarded(source, References.from_tiers, tiers)


def _from_run(name: str, run: Run) -> References:
    if run.repeats is not None:
        raise FileFormatError(name, "an item stands twice in the list of a query; a reference needs each item once")
    return References.from_ranks(run.to_polars())


def _tier_rows(table: Table) -> Table:
    """Turn records of query and tiers (or items, each a tier) into rows of query, item and rank."""
    frame = table.frame.with_row_index("record")
    name = "tiers" if "tiers" in frame.columns else "items"
    depth = _list_depth(frame[name].dtype)
    if depth != (2 if name == "tiers" else 1):
        shape = "[[item, …], …]" if name == "tiers" else "[item, …]"
        raise FileFormatError(table.name, f"{name} must be {shape} on every line")
    tiers = frame.select("record", "query", *({"grades"} & set(frame.columns)), tier=name)
    tiers = tiers.with_columns(rank=pl.int_ranges(1, pl.col("tier").list.len() + 1))
    if "grades" in tiers.columns:
        uneven = (tiers["grades"].list.len() != tiers["tier"].list.len()).fill_null(True)
        if uneven.any():
            line = table.line_of(int(uneven.arg_max() or 0))
            raise FileFormatError(table.name, "there must be one grade for each tier", line)
    each = [column for column in ("tier", "rank", "grades") if column in tiers.columns]
    rows = tiers.explode(each)
    if name == "tiers":
        rows = rows.explode("tier")
    empty = rows["tier"].is_null()
    if empty.any():
        line = table.line_of(int(rows["record"][int(empty.arg_max() or 0)]))
        raise FileFormatError(table.name, "a tier is empty; every rank needs an item", line)
    record = rows["record"].to_numpy()
    named = rows.drop("record").rename({"tier": "item", "grades": "grade"}, strict=False)
    return Table(table.name, named, lambda row: table.line_of(int(record[row])))


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
    whole = bool((grades == np.floor(grades)).all())
    grade = pl.Series(grades.astype(np.int64) if whole else grades)
    zero = pl.Series(np.zeros(len(grades), np.int64))
    return write_trec([references.queries.gather(references.codes), zero, references.item_ids, grade], "the references")
