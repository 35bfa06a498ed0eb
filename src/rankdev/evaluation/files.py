"""Scores in files: a table of system, query, measure, value, with how they were made.

Parquet files hold the provenance in their metadata. Text formats hold it in a column of that name, as JSON in the first
row, and only where there is something to be known: queries that were missing or empty, ties that decided, a measure of
one's own, digests of what a baseline was made from. A file without it is read as scores from elsewhere.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import polars as pl

from rankdev import __version__
from rankdev.data.formats import TABLE_FORMATS
from rankdev.data.formats.base import Table, joined
from rankdev.data.tables import read_table
from rankdev.data.text import PathLike, Source
from rankdev.errors import DataError, Note
from rankdev.evaluation.coverage import Coverage
from rankdev.evaluation.origin import USUAL, Origin
from rankdev.evaluation.scores import Scores
from rankdev.measures.base import MeasureInfo
from rankdev.measures.syntax import known_measure

PROVENANCE = "provenance"
METADATA = "rankdev"  # key in Parquet files


def read_scores(path: PathLike, *, columns: Mapping[str, str] | None = None) -> Scores:
    """Read scores from a file.

    Parameters
    ----------
    path : path
        CSV, TSV, JSONL, JSON (a list of records) or Parquet with the columns system, query, measure, value, such as
        ``rankdev eval -q -o FILE`` writes. Rows without a query are means and left out.
    columns : dict of str to str, optional
        Names of the file's columns, by ours: ``{"value": "score"}``.

    Returns
    -------
    Scores
        With how they were made, where the file holds that.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> file = Path(mkdtemp(), "scores.csv")
    >>> _ = file.write_text("system,query,measure,value\\nbm25,q1,AP@5,0.5\\nbm25,q2,AP@5,1.0\\n")
    >>> read_scores(file).means.tolist()
    [[0.75]]
    """
    with Source(path, columns=columns) as source:
        kind = source.kind
        if kind == "trec":
            raise DataError("no-score-table", path=source.name)
        table, provenance = _parquet(source) if kind == "parquet" else (_text(source, kind), None)
    frame = table.frame
    if PROVENANCE in frame.columns:
        provenance = next((text for text in frame[PROVENANCE] if text), None)
        frame = frame.drop(PROVENANCE)
    if "query" in frame.columns:
        of_queries = frame.filter(pl.col("query").is_not_null() & (pl.col("query").cast(pl.String) != ""))
        if len(frame) and not len(of_queries):
            raise DataError("means-only", path=table.name)
        frame = of_queries
    if "value" in frame.columns and frame["value"].dtype == pl.String:  # CSV writes what is missing as nothing
        frame = frame.with_columns(pl.col("value").replace("", None))
    try:
        scores = Scores.from_table(frame)
        return scores if provenance is None else _with_provenance(scores, provenance)
    except DataError as error:
        raise error.at(path=table.name) from None


def provenance_of(scores: Scores) -> str:
    """Write down how scores were made, as JSON."""
    sizes = scores.reference_sizes
    content = {
        "version": __version__,
        **{name: getattr(scores, name) for name in USUAL},
        "measures": [{**asdict(kind), "range": [_written(limit) for limit in kind.range]} for kind in scores.kinds],
        "coverage": [asdict(entry) for entry in scores.coverage],
        "reference_sizes": None if sizes is None else dict(zip(scores.queries, sizes.tolist(), strict=True)),
        "notes": [(note.kind, note.fields) for note in scores.notes],
        "origin": None if scores.origin is None else _origin(scores.origin, scores.systems),
    }
    return json.dumps(content, ensure_ascii=False, allow_nan=False)


def _origin(origin: Origin, systems: tuple[str, ...]) -> dict[str, Any]:
    return asdict(replace(origin, lists={name: text for name, text in origin.lists.items() if name in systems}))


def is_noteworthy(scores: Scores) -> bool:
    """Tell whether a reader must know how scores were made, and could not from their labels."""
    unusual = any(getattr(scores, name) not in (None, usual) for name, usual in USUAL.items())
    marked = scores.origin is not None or bool(scores.remarks)
    return unusual or marked or not all(map(_is_built_in, scores.kinds))


def _is_built_in(kind: MeasureInfo) -> bool:
    """Tell whether a label means the same wherever rankdev is installed; labels from elsewhere mean nothing anyway."""
    known = known_measure(kind.label)
    return kind == MeasureInfo(kind.label) if known is None else type(known).__module__.startswith("rankdev.")


def _written(limit: float) -> float | None:
    return limit if np.isfinite(limit) else None


def _with_provenance(scores: Scores, text: str) -> Scores:
    """Add to scores how they were made; systems, queries and measures may have been left out since."""
    try:
        content: dict[str, Any] = json.loads(text)
        kinds = {entry["label"]: _kind(entry) for entry in content["measures"]}
        sizes = content["reference_sizes"]
        return replace(
            scores,
            reference_sizes=None if sizes is None else np.array([sizes[name] for name in scores.queries], np.int64),
            coverage=tuple(Coverage(**entry) for entry in content["coverage"] if entry["system"] in scores.systems),
            notes=tuple(Note(kind, **fields) for kind, fields in content["notes"]),
            kinds=tuple(kinds.get(kind.label, kind) for kind in scores.kinds),
            origin=None if content.get("origin") is None else Origin(**content["origin"]),
            **{name: content[name] for name in USUAL},
        )
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise DataError("bad-provenance", error=str(error)) from None


def _kind(entry: dict[str, Any]) -> MeasureInfo:
    low, high = entry["range"]
    limits = (-np.inf if low is None else low, np.inf if high is None else high)
    return MeasureInfo(entry["label"], entry["aggregate"], entry["higher_is_better"], limits)


def _parquet(source: Source) -> tuple[Table, str | None]:
    content = source.read()
    table = joined(source.name, TABLE_FORMATS["parquet"].parts([content], source.options))
    about = pl.read_parquet_metadata(io.BytesIO(content)).get(METADATA, "")
    return table, about if '"measures"' in about else None  # other results have other metadata


def _text(source: Source, kind: str) -> Table:
    if kind != "json":
        return read_table(source, kind)
    try:
        records = json.loads(source.read())
        if not isinstance(records, list):
            raise TypeError(type(records).__name__)
        frame: pl.DataFrame = pl.DataFrame(records, infer_schema_length=None)
    except (ValueError, TypeError, RecursionError, pl.exceptions.PolarsError) as error:
        raise DataError("not-records", path=source.name, error=str(error)) from None
    return Table(source.name, frame, lambda row: None)
