"""Scores from files: a table of system, query, measure, value, such as `rankdev eval -q` writes."""

from __future__ import annotations

import json

import polars as pl

from rankdev.errors import DataError, FileFormatError
from rankdev.evaluation.scores import Scores
from rankdev.io.streams import PathLike, Source
from rankdev.io.table_formats.base import Table
from rankdev.io.tables import read_table


def read_scores(path: PathLike) -> Scores:
    """Read CSV, TSV, JSONL, JSON (a list of records) or Parquet; rows without a query are means and left out."""
    with Source(path) as source:
        kind = source.kind
        if kind == "trec":
            raise FileFormatError(source.name, "expected a table with the columns system, query, measure, value")
        table = _records(source) if kind == "json" else read_table(source, kind)
    frame = table.frame
    if "query" in frame.columns:
        frame = frame.filter(pl.col("query").is_not_null() & (pl.col("query").cast(pl.String) != ""))
    if "value" in frame.columns and frame["value"].dtype == pl.String:  # CSV writes what is missing as nothing
        frame = frame.with_columns(pl.col("value").replace("", None))
    try:
        return Scores.from_table(frame)
    except DataError as error:
        raise FileFormatError(table.name, str(error)) from None


def _records(source: Source) -> Table:
    try:
        records = json.loads(source.read())
        frame: pl.DataFrame = pl.DataFrame(records, infer_schema_length=None)
    except (ValueError, TypeError, RecursionError, pl.exceptions.PolarsError) as error:
        raise FileFormatError(source.name, f"this is not a list of JSON records ({error})") from None
    return Table(source.name, frame, lambda row: None)
