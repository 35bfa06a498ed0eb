"""Records of references, each with the tiers of a query: as rows of items, and back."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from rankdev._common.columns import text_column
from rankdev._common.lazy import pl
from rankdev.data import ids
from rankdev.data.formats.base import Table
from rankdev.data.references import References, check_once
from rankdev.errors import DataError


def tier_rows(table: Table) -> Table:
    """Turn records of query and tiers (or items, each a tier) into rows of query, item and rank."""
    try:
        query = text_column(table.frame, "query", "references")
        check_once(query)
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
    _check_lists(rows["item"].dtype, 1, "nonrelevant", "[item, …]")
    rows = rows.with_columns(pl.col("item").cast(pl.List(pl.String)), record=pl.col("record").cast(pl.UInt32))
    if "grades" not in frame.columns:
        return rows.explode("item").drop_nulls("item").with_columns(nonrelevant=pl.lit(True))
    zeros = pl.col("item").list.eval(pl.element().is_null().cast(pl.Float64))
    rows = rows.with_columns(grade=zeros if "nonrelevant_grades" not in frame.columns else _nonrelevant_grades(table))
    rows = rows.with_columns(pl.col("grade").fill_null(zeros)).filter(pl.col("item").list.len() > 0)
    return rows.explode("item", "grade")


def _nonrelevant_grades(table: Table) -> pl.Series:
    grades = table.frame["nonrelevant_grades"]
    _check_lists(grades.dtype, 1, "nonrelevant_grades", "[number, …]")
    wrong = (grades.list.len() != table.frame["nonrelevant"].list.len()) | (grades.list.max() > 0)
    if wrong.any():
        table.fail(DataError("nonrelevant-grades", row=int(wrong.arg_max() or 0)))
    return grades.cast(pl.List(pl.Float64))


def _tiers(table: Table) -> pl.Series:
    """The tiers of each record; items that are listed without them are a tier each."""
    if not table.frame.height:
        return pl.Series(dtype=pl.List(pl.List(pl.String)))
    name, expected, depth = ("items", "[item, …]", 1)
    if "tiers" in table.frame.columns:
        name, expected, depth = ("tiers", "[[item, …], …]", 2)
    values = table.frame[name]
    _check_lists(values.dtype, depth, name, expected)
    tiers = values if depth == 2 else pl.select(pl.lit(values).list.eval(pl.concat_list(pl.element()))).to_series()
    sizes = pl.select(pl.lit(tiers).list.eval(pl.element().list.drop_nulls().list.len().fill_null(0))).to_series()
    empty = ~(sizes.list.min() > 0).fill_null(False)  # the least of no sizes at all is null
    if empty.any():
        row = int(empty.arg_max() or 0)
        tier = next((place for place, size in enumerate(() if sizes[row] is None else sizes[row], 1) if not size), 1)
        table.fail(DataError("empty-tier", tier=tier, row=row))
    return tiers


def _tier_grades(table: Table, tiers: pl.Series) -> pl.Series:
    grades = table.frame["grades"]
    if not table.frame.height:
        return pl.Series(dtype=pl.List(pl.Float64))
    if not isinstance(grades.dtype, pl.List) or not grades.dtype.inner.is_numeric():
        raise DataError("wrong-form", role="grades", expected="[number, …]", value=grades.dtype)
    wrong = (grades.list.len() != tiers.list.len()).fill_null(True)
    wrong |= (grades.list.diff(null_behavior="drop").list.max() >= 0).fill_null(False)
    wrong |= ~(grades.list.min() > 0).fill_null(False)
    if wrong.any():
        table.fail(DataError("tier-grades", row=int(wrong.arg_max() or 0)))
    return grades


def _check_lists(dtype: Any, depth: int, name: str, expected: str) -> None:
    if _list_depth(dtype) != depth:
        raise DataError("wrong-form", role=name, expected=expected, value=dtype)


def _list_depth(dtype: Any) -> int:
    depth = 0
    while isinstance(dtype, pl.List):
        depth, dtype = depth + 1, dtype.inner
    return depth


def tier_records(references: References) -> Iterator[dict[str, Any]]:
    """One record per query: its tiers, the grade of each where there are grades, and the nonrelevant items."""
    new_tier = np.append(np.diff(references.ranks) != 0, True)
    items = ids.listed(references.item_ids)
    bounds_of_each = zip(references.queries, references.offsets[:-1], references.offsets[1:], strict=True)
    for place, (query, begin, end) in enumerate(bounds_of_each):
        ends = begin + np.flatnonzero(new_tier[begin : end - 1]) + 1
        bounds = [int(begin), *ends.tolist(), int(end)] if end > begin else [int(begin)]
        record: dict[str, Any] = {"query": query, "tiers": [items[a:b] for a, b in pairwise(bounds)]}
        if references.grades is not None:
            record["grades"] = references.grades[bounds[:-1]].tolist()
        if references.nonrelevant is not None:
            nonrelevant = references.nonrelevant.of_query(place)
            record["nonrelevant"] = list(nonrelevant)
            if any(nonrelevant.values()):
                record["nonrelevant_grades"] = list(nonrelevant.values())
        yield record
