"""Reference and qrels files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from rankdev._common.checks import check_kind
from rankdev._common.names import is_interactions, known_names, ranked_names, unrated
from rankdev._common.reading import Ranks, caution, reading, reading_with
from rankdev._common.work import Progress
from rankdev.core.records import RETRIEVED, RIGHT, grades_of
from rankdev.core.references import References
from rankdev.core.responses import is_answer
from rankdev.core.runs import Run
from rankdev.errors import DataError
from rankdev.io._json_documents import read_json
from rankdev.io._responses import ratings_in, ratings_in_array
from rankdev.io._tiers import tier_records, tier_rows
from rankdev.io.formats.base import Table, joined
from rankdev.io.judgment_database import is_database, references_from_database
from rankdev.io.runs import run_from_source, run_from_table
from rankdev.io.streams import PathLike, Source, plain_suffix
from rankdev.io.tables import ENDINGS, check_trec_name, encode_table, parse_table, read_table
from rankdev.io.trec import PLAIN, QRELS, Dialect, read_trec, write_trec
from rankdev.io.writing import writing


def read_references(
    path: PathLike,
    *,
    columns: Mapping[str, str] | None = None,
    ranks: Ranks | None = None,
    progress: Progress | None = None,
) -> References:
    """Read references: JSONL or JSON with tiers, tables with rank or grade, or TREC qrels.

    Files may be compressed with gzip or zstd. In a table, a lower ``rank`` and a higher ``grade`` are better.

    Parameters
    ----------
    path : str or path
        Name of the file; ``-`` is standard input.
    columns : dict of str to str, optional
        Names of the file's columns, by ours: ``{"item": "sku", "grade": "stars"}``.
    ranks : {"consecutive", "competition"}, optional
        Whether ranks are consecutive, or skip as many as are tied: 1, 1, 1, 4. Default: consecutive.
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
    with Source(path, progress) as source:
        return _read(source, dialect)


def read_grades(path: PathLike) -> References:
    """Read grades as references: TREC qrels, tables with grade, JSON ``{query: {item: grade}}``, or a database."""
    if is_database(path):
        return references_from_database(path)
    with Source(path) as source:
        if source.kind == "json":
            value = read_json(source)
            rated = grades_of(value)
            return References.from_grades(value if rated is None else rated)
        references = _read(source)
        if references.grades is None:
            raise DataError("not-graded")
    return references


def read_lists(path: PathLike) -> References:
    """Read strict orders as references: lists of items, best first, or the order of a run."""
    with Source(path) as source:
        if source.kind == "json":
            return _from_json(source)
        if source.kind == "trec":
            return _from_run(run_from_source(source))
        return _lists_of(read_table(source, source.kind))


def _lists_of(table: Table) -> References:
    table = replace(table, frame=ranked_names(table.frame))
    names = set(table.frame.columns)
    if {"tiers", "items"} & names:
        references = _build(tier_rows(table))
        return references if "nonrelevant" in names else replace(references, nonrelevant=None)
    if "rank" in names and reading().ranks == "competition":
        return _guarded(table, References.from_ranks)
    if {"score", "rank"} & names:
        return _from_run(run_from_table(table))
    return _guarded(table, References.from_lists)


def write_references(references: References, path: PathLike) -> None:
    """Write references in the format of the file's extension.

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
        return b"".join(json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in tier_records(references))
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
        return References.from_grades(rated)
    table = _rated(parse_table(source.name, source.read(), kind))
    chosen = is_interactions(table.frame.columns)
    table = replace(table, frame=known_names(table.frame))
    if chosen:
        table = replace(table, frame=table.frame.with_columns(rank=pl.lit(1)))
    if "tiers" not in table.frame.columns:
        return _build(table)
    references = _build(tier_rows(table))
    return references if "nonrelevant" in table.frame.columns else replace(references, nonrelevant=None)


def _rated(table: Table) -> Table:
    """Leave out rows without a rating."""
    missing = unrated(table.frame)
    if missing is None:
        return table
    caution("unrated", path=table.name, count=int(missing.sum()))
    kept = (~missing).arg_true()
    return Table(table.name, table.frame.filter(~missing), lambda row: table.line_of(kept[row]))


def _build(table: Table) -> References:
    names = set(table.frame.columns)
    if not names & {"rank", "grade"}:
        raise DataError(_not_references(names), path=table.name, known=table.frame.columns)
    return _guarded(table, References.from_table)


def _not_references(names: set[str]) -> str:
    """Return the kind of error about a table that holds no references."""
    if names & {*RIGHT}:
        return "contexts-in-table"
    if names & {*RETRIEVED}:
        return "no-contexts"
    return "looks-like-run" if names & {"score", "response", "hits"} else "not-references"


def _guarded(table: Table, build: Callable[[Any], References]) -> References:
    try:
        return build(table.frame)
    except DataError as error:
        table.fail(error)


def _from_json(source: Source) -> References:
    if source.first_line().lstrip().startswith(b"["):
        return References.from_grades(ratings_in_array(source))
    value = read_json(source)
    rated = grades_of(value)
    if rated is not None:
        return References.from_grades(rated)
    if is_answer(value):
        raise DataError("looks-like-run")
    for query, entry in value.items():
        if not isinstance(entry, list):
            raise DataError("not-tiers", query=query, value=entry)
    tiers = {query: [tier if isinstance(tier, list) else [tier] for tier in entry] for query, entry in value.items()}
    return References.from_tiers(tiers)


def _from_run(run: Run) -> References:
    if run.repeats is not None:
        raise DataError("item-twice", item=run.item_ids.filter(pl.Series(run.repeats))[0])
    return References.from_ranks(run.to_polars())


def _json(references: References) -> bytes:
    if references.grades is not None:
        raise DataError("cannot-hold", what="grades", instead=".jsonl")
    if references.nonrelevant is not None and len(references.nonrelevant.grades):
        raise DataError("cannot-hold", what="nonrelevant items", instead=".jsonl")
    return json.dumps({record["query"]: record["tiers"] for record in tier_records(references)}).encode()


def _qrels(references: References) -> bytes:
    if references.grades is None:
        raise DataError("cannot-hold", what="ranks", instead=".jsonl")
    frame = references.to_polars(nonrelevant=True)
    grade = frame["grade"]
    if ((grade == grade.floor()) & (grade.abs() < 2**53)).all():
        grade = grade.cast(pl.Int64)
    zero = pl.zeros(len(grade), pl.Int64, eager=True)
    return write_trec([frame["query"], zero, frame["item"], grade])
