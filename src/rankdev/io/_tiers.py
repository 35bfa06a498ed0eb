"""Records of references, each with the tiers of a query: as rows of items, and back."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from rankdev._common.columns import text_column
from rankdev.core.references import References
from rankdev.core.row_checks import check_once
from rankdev.errors import DataError, FileFormatError
from rankdev.io.formats.base import Table


def tier_rows(table: Table) -> Table:
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


def tier_records(references: References) -> Iterator[dict[str, Any]]:
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
