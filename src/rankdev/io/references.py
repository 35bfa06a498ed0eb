"""Reference and qrels files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import polars as pl

from rankdev._common.cautions import caution
from rankdev._common.checks import check_kind
from rankdev._common.reading import Ranks, reading, reading_with
from rankdev._common.tables import (
    is_interactions,
    known_names,
    listed,
    ranked_names,
    text_column,
    unrated,
    unrated_note,
)
from rankdev._common.work import Progress
from rankdev.core.columns import check_once
from rankdev.core.rag import RETRIEVED, RIGHT
from rankdev.core.ratings import grades_of
from rankdev.core.references import References
from rankdev.core.responses import is_answer
from rankdev.core.runs import Run
from rankdev.errors import DataError, FileFormatError, shown
from rankdev.io.given_grades import references_from_database
from rankdev.io.json_documents import read_json
from rankdev.io.native_qrels import read_qrels_natively
from rankdev.io.responses import ratings_in, ratings_in_array
from rankdev.io.runs import run_from_source, run_from_table
from rankdev.io.streams import PathLike, Source, plain_suffix
from rankdev.io.table_formats.base import Table, joined
from rankdev.io.tables import ENDINGS, check_trec_name, encode_table, parse_table, read_table
from rankdev.io.trec import PLAIN, QRELS, Dialect, read_trec, write_trec
from rankdev.io.writing import writing

Made = TypeVar("Made")


def read_references(
    path: PathLike,
    *,
    columns: Mapping[str, str] | None = None,
    ranks: Ranks | None = None,
    progress: Progress | None = None,
) -> References:
    """Read references: JSONL or JSON with tiers, tables with rank or grade, or TREC qrels.

    Files may be compressed with gzip or zstd. In a table, ``rank`` falls with relevance and ``grade`` grows with it.

    Parameters
    ----------
    path : str or path
        Name of the file; ``-`` is standard input.
    columns : dict of str to str, optional
        Names of the file's columns, by ours: ``{"item": "sku", "grade": "stars"}``.
    ranks : {"consecutive", "competition"}, optional
        Whether ranks are consecutive, or leave out as many as are tied: 1, 1, 1, 4. Default: consecutive.
    progress : callable, optional
        ``progress(done, total, name)``, called as the file is read, in bytes.

    Returns
    -------
    References
        With grades where the file has them.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "qrels.txt"
    ...     _ = path.write_text("q1 0 d1 2\\nq1 0 d2 1\\nq1 0 d3 0\\n")
    ...     read_references(path)
    References(1 query, 2 items, graded)
    """
    with reading_with(columns=columns, ranks=ranks):
        return references_from_path(path, progress)


def references_from_path(path: PathLike, progress: Progress | None = None, dialect: Dialect = PLAIN) -> References:
    """Read references from a file."""
    references = read_qrels_natively(path, progress) if dialect == PLAIN else None
    if references is not None:
        return references
    with Source(path, progress) as source:
        return _read(source, dialect)


def read_grades(path: PathLike) -> References:
    """Read grades as references: TREC qrels, tables with grade, JSON ``{query: {item: grade}}``, or a database."""
    from rankdev.io.preferences import is_database  # it loads the fits of preferences

    if is_database(path):
        return references_from_database(path)
    with Source(path) as source:
        if source.kind == "json":
            value = read_json(source)
            rated = _from_mapping(source, grades_of, value)
            return _from_mapping(source, References.from_grades, value if rated is None else rated)
        references = _read(source)
    if references.grades is None:
        raise FileFormatError(source.name, "this file has ranks, not grades; it already is a reference")
    return references


def read_lists(path: PathLike) -> References:
    """Read strict orders as references: lists of items, best first, or the order of a run."""
    with Source(path) as source:
        if source.kind == "json":
            return _from_json(source)
        if source.kind == "trec":
            return _from_run(source.name, run_from_source(source))
        table = read_table(source, source.kind)
    table = replace(table, frame=ranked_names(table.frame))
    names = set(table.frame.columns)
    if {"tiers", "items"} & names:
        references = _build(_tier_rows(table))
        return references if "nonrelevant" in names else replace(references, nonrelevant=None)
    if "rank" in names and reading().ranks == "competition":
        return _guarded(table, References.from_ranks)
    if {"score", "rank"} & names:
        return _from_run(table.name, run_from_table(table))
    return _guarded(table, References.from_lists)


def write_references(references: References, path: PathLike) -> None:
    """Write references in the format that the file's name asks for.

    .jsonl and .json hold tiers; .csv, .tsv and .parquet hold ranks (and grades); anything else is TREC qrels. A name
    that ends in .gz or .zst is compressed.

    Parameters
    ----------
    references : References
        What to write.
    path : str or path
        Name of the file; ``-`` is standard output, as .jsonl.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> references = References.from_tiers({"q1": [["d1", "d3"], ["d2"]]})
    >>> with TemporaryDirectory() as folder:
    ...     write_references(references, f"{folder}/references.jsonl")
    ...     read_references(f"{folder}/references.jsonl") == references
    True
    """
    content = encode_references(references, path)
    with writing(path) as stream:
        stream.write(content)


def encode_references(references: References, path: PathLike) -> bytes:
    """Return the bytes that :func:`write_references` writes under this name."""
    check_kind("references", references, References, "make them with References.from_lists and its like")
    suffix = plain_suffix(path)
    if suffix == ".json":
        return _json(references)
    if suffix == ".jsonl" or str(path) == "-":
        return b"".join(json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in _records(references))
    if suffix in ENDINGS:
        return encode_table(references.to_polars(nonrelevant=True), path)
    check_trec_name(path)
    return _qrels(references)


def _read(source: Source, dialect: Dialect = PLAIN) -> References:
    kind = source.kind
    if kind == "json":
        return _from_json(source)
    if kind == "trec":
        return _build(joined(source.name, read_trec(source, QRELS, "grade", dialect)))
    rated = ratings_in(source) if kind == "jsonl" else None
    if rated is not None:
        return _from_mapping(source, References.from_grades, rated)
    table = _rated(parse_table(source.name, source.read(), kind))
    chosen = is_interactions(table.frame.columns)
    table = replace(table, frame=known_names(table.frame))
    if chosen:
        table = replace(table, frame=table.frame.with_columns(rank=pl.lit(1)))
    if "tiers" not in table.frame.columns:
        return _build(table)
    references = _build(_tier_rows(table))
    return references if "nonrelevant" in table.frame.columns else replace(references, nonrelevant=None)


def _rated(table: Table) -> Table:
    """Leave out rows without a rating."""
    missing = unrated(table.frame)
    if missing is None:
        return table
    caution(f"{table.name}: {unrated_note(missing)}")
    kept = (~missing).arg_true()
    return Table(table.name, table.frame.filter(~missing), lambda row: table.line_of(kept[row]))


def _build(table: Table) -> References:
    names = set(table.frame.columns)
    if not names & {"rank", "grade"}:
        expected = "expected the columns query, item and rank (or grade), or query and tiers"
        raise FileFormatError(table.name, f"{expected}; found {listed(table.frame.columns)}; {_advice(names)}")
    return _guarded(table, References.from_table)


def _advice(names: set[str]) -> str:
    """Return what to do with a table that holds no references."""
    if names & {*RIGHT}:
        return "records with lists of contexts are read from JSON and JSONL"
    if names & {*RETRIEVED}:
        return "references also need the contexts that are right (reference_contexts)"
    if names & {"score", "response", "hits"}:
        return "it looks like a run: give it as a run"
    return "if they have other names, name them: columns={'grade': …}"


def _guarded(table: Table, build: Callable[[Any], References]) -> References:
    try:
        return build(table.frame)
    except DataError as error:
        table.fail(error)


def _from_mapping(source: Source, build: Callable[[Any], Made], value: Any) -> Made:
    try:
        return build(value)
    except DataError as error:
        raise FileFormatError(source.name, str(error)) from None


def _from_json(source: Source) -> References:
    if source.first_line().lstrip().startswith(b"["):
        return _from_mapping(source, References.from_grades, ratings_in_array(source))
    value = read_json(source)
    rated = _from_mapping(source, grades_of, value)
    if rated is not None:
        return _from_mapping(source, References.from_grades, rated)
    if is_answer(value):
        raise FileFormatError(source.name, "these are answers of a search engine: a run; references come before runs")
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
        raise FileFormatError(name, "an item appears twice in the list of a query; a reference needs each item once")
    return References.from_ranks(run.to_polars())


def _tier_rows(table: Table) -> Table:
    """Turn records of query and tiers (or items, each a tier) into rows of query, item and rank."""
    try:
        query = text_column(table.frame, "query", "references")
        check_once(query, "query {} appears on two lines; give all its tiers on one")
    except DataError as error:
        table.fail(error)
    kept = ~_without_tiers(table)
    record = kept.arg_true()
    ranked = Table(table.name, table.frame.filter(kept), lambda row: table.line_of(record[row]))
    tiers = pl.DataFrame({"record": record, "query": query.filter(kept), "item": _tiers(ranked)})
    tiers = tiers.with_columns(rank=pl.int_ranges(1, pl.col("item").list.len() + 1))
    each = ["item", "rank"]
    if "grades" in table.frame.columns:
        tiers, each = tiers.with_columns(grade=_tier_grades(ranked, tiers["item"])), [*each, "grade"]
    rows = tiers.explode(each).explode("item")
    if "nonrelevant" in table.frame.columns:
        rows = pl.concat([rows, _nonrelevant_rows(table, query)], how="diagonal_relaxed")
    records = rows["record"].to_numpy()
    return Table(table.name, rows.drop("record"), lambda row: table.line_of(int(records[row])))


def _without_tiers(table: Table) -> pl.Series:
    """Mark records that hold nonrelevant items and no tiers."""
    frame = table.frame
    nothing = pl.repeat(False, frame.height, dtype=pl.Boolean, eager=True)
    if not all(name in frame.columns and _list_depth(frame[name].dtype) for name in ("tiers", "nonrelevant")):
        return nothing
    return ((frame["tiers"].list.len() == 0) & (frame["nonrelevant"].list.len() > 0)).fill_null(False)


def _nonrelevant_rows(table: Table, query: pl.Series) -> pl.DataFrame:
    """One row per nonrelevant item: with its grade where there are grades, with a mark where there are none."""
    frame = table.frame
    rows = pl.DataFrame({"record": np.arange(len(query)), "query": query, "item": frame["nonrelevant"]})
    if _list_depth(rows["item"].dtype) != 1:
        raise FileFormatError(table.name, "nonrelevant must be [item, …] on every line")
    rows = rows.with_columns(pl.col("item").cast(pl.List(pl.String)), record=pl.col("record").cast(pl.UInt32))
    if "grades" not in frame.columns:
        return rows.explode("item").drop_nulls("item").with_columns(nonrelevant=pl.lit(True))
    zeros = pl.col("item").list.eval(pl.element().is_null().cast(pl.Float64))
    rows = rows.with_columns(grade=zeros if "nonrelevant_grades" not in frame.columns else _nonrelevant_grades(table))
    rows = rows.with_columns(pl.col("grade").fill_null(zeros)).filter(pl.col("item").list.len() > 0)
    return rows.explode("item", "grade")


def _nonrelevant_grades(table: Table) -> pl.Series:
    grades = table.frame["nonrelevant_grades"]
    if _list_depth(grades.dtype) != 1:
        raise FileFormatError(table.name, "nonrelevant_grades must be [number, …], one for each nonrelevant item")
    wrong = (grades.list.len() != table.frame["nonrelevant"].list.len()) | (grades.list.max() > 0)
    if wrong.any():
        line = table.line_of(int(wrong.arg_max() or 0))
        raise FileFormatError(table.name, "there must be one grade of 0 or less for each nonrelevant item", line)
    return grades.cast(pl.List(pl.Float64))


def _tiers(table: Table) -> pl.Series:
    """The tiers of each record; items that are listed without them are a tier each."""
    if not table.frame.height:
        return pl.Series(dtype=pl.List(pl.List(pl.String)))
    name, expected, depth = ("items", "[item, …]", 1)
    if "tiers" in table.frame.columns:
        name, expected, depth = ("tiers", "[[item, …], …]", 2)
    values = table.frame[name]
    if _list_depth(values.dtype) != depth:
        raise FileFormatError(table.name, f"{name} must be {expected} on every line")
    tiers = values if depth == 2 else pl.select(pl.lit(values).list.eval(pl.concat_list(pl.element()))).to_series()
    sizes = pl.select(pl.lit(tiers).list.eval(pl.element().list.drop_nulls().list.len().fill_null(0))).to_series()
    empty = ~(sizes.list.min() > 0).fill_null(False)  # the least of no sizes at all is null
    if empty.any():
        line = table.line_of(int(empty.arg_max() or 0))
        raise FileFormatError(table.name, "a tier is empty or missing; every rank needs an item", line)
    return tiers


def _tier_grades(table: Table, tiers: pl.Series) -> pl.Series:
    grades = table.frame["grades"]
    if not table.frame.height:
        return pl.Series(dtype=pl.List(pl.Float64))
    if not isinstance(grades.dtype, pl.List) or not grades.dtype.inner.is_numeric():
        raise FileFormatError(table.name, "grades must be [number, …] on every line, one for each tier")
    wrong = (grades.list.len() != tiers.list.len()).fill_null(True)
    wrong |= (grades.list.diff(null_behavior="drop").list.max() >= 0).fill_null(False)
    wrong |= ~(grades.list.min() > 0).fill_null(False)
    if wrong.any():
        line = table.line_of(int(wrong.arg_max() or 0))
        raise FileFormatError(table.name, "there must be one positive grade for each tier, highest first", line)
    return grades


def _list_depth(dtype: Any) -> int:
    depth = 0
    while isinstance(dtype, pl.List):
        depth, dtype = depth + 1, dtype.inner
    return depth


def _records(references: References) -> Iterator[dict[str, Any]]:
    """One record per query: its tiers, the grade of each where there are grades, and the nonrelevant items."""
    new_tier = np.append(np.diff(references.ranks) != 0, True)
    items = references.item_ids.to_list()
    bounds_of_each = zip(references.queries, references.offsets[:-1], references.offsets[1:], strict=True)
    for place, (query, begin, end) in enumerate(bounds_of_each):
        ends = begin + np.flatnonzero(new_tier[begin : end - 1]) + 1
        bounds = [int(begin), *ends.tolist(), int(end)] if end > begin else [int(begin)]
        record = {"query": query, "tiers": [items[a:b] for a, b in pairwise(bounds)]}
        if references.grades is not None:
            record["grades"] = references.grades[bounds[:-1]].tolist()
        if references.nonrelevant is not None:
            nonrelevant = references.nonrelevant.of_query(place)
            record["nonrelevant"] = list(nonrelevant)
            if any(nonrelevant.values()):
                record["nonrelevant_grades"] = list(nonrelevant.values())
        yield record


def _json(references: References) -> bytes:
    if references.grades is not None:
        raise DataError("a .json file holds tiers without their grades; write graded references as .jsonl")
    if references.nonrelevant is not None and len(references.nonrelevant.grades):
        raise DataError("a .json file holds tiers and no nonrelevant items; write these references as .jsonl")
    return json.dumps({record["query"]: record["tiers"] for record in _records(references)}).encode()


def _qrels(references: References) -> bytes:
    if references.grades is None:
        raise DataError("TREC qrels hold grades, but these references have ranks; write them as .jsonl or .csv")
    frame = references.text_table(nonrelevant=True)
    grade = frame["grade"]
    if ((grade == grade.floor()) & (grade.abs() < 2**53)).all():
        grade = grade.cast(pl.Int64)
    zero = pl.zeros(len(grade), pl.Int64, eager=True)
    return write_trec([frame["query"], zero, frame["item"], grade], "the references")
