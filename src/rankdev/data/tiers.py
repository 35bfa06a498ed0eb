"""Records of references, each with the tiers of a query: as rows of items, and back."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from rankdev._common.checks import is_number
from rankdev._common.columns import number_series, text_column
from rankdev._common.ids import as_id, text_series
from rankdev._common.lazy import pl
from rankdev.data import ids
from rankdev.data.formats.base import Table
from rankdev.data.references import References, check_once
from rankdev.errors import DataError


def tier_rows(table: Table) -> Table:
    """Turn records of query and tiers (or items, each a tier) into rows of query, item and rank."""
    graded, judged = ("grades" in table.frame.columns, "nonrelevant" in table.frame.columns)
    found: list[tuple[str, Any, int | None, float | None, bool]] = []
    records: list[int] = []
    try:
        queries = text_column(table.frame, "query", "references")
        check_once(queries)
        for at, (query, record) in enumerate(zip(queries, table.frame.to_dicts(), strict=True)):
            try:
                found += ((query, *row) for row in _rows(record, graded))
            except DataError as error:
                raise error.at(row=at) from None
            records += [at] * (len(found) - len(records))
    except DataError as error:
        table.fail(error)
    query, item, rank, grade, poor = zip(*found, strict=True)
    columns: dict[str, Any] = {
        "query": query,
        "item": text_series("item", item),
        "rank": pl.Series(rank, dtype=pl.Int64),
    }
    columns |= {"grade": number_series("grade", list(grade))} if graded else {"nonrelevant": poor} if judged else {}
    return Table(table.name, pl.DataFrame(columns), lambda row: table.line_of(records[row]))


def _rows(record: dict[str, Any], graded: bool) -> Iterator[tuple[Any, int | None, float | None, bool]]:
    """Yield the items of a record, with rank, grade and whether they are nonrelevant."""
    name = "tiers" if "tiers" in record else "items"
    tiers, poor = record[name] or [], _listed(record, "nonrelevant", "[item, …]")
    nested = name == "tiers"
    if not isinstance(tiers, list) or any(isinstance(tier, list) != nested for tier in tiers if tier is not None):
        form = "[[item, …], …]" if nested else "[item, …]"
        raise DataError("wrong-form", role=name, expected=form, value=tiers)
    if not tiers and not poor:
        raise DataError("empty-tier", tier=1)
    grades = _listed(record, "grades", "[number, …]") if graded else [None] * len(tiers)
    falling = graded and [*grades, 0.0] == sorted({*grades, 0.0}, reverse=True)
    if graded and (len(grades) != len(tiers) or not falling):
        raise DataError("tier-grades")
    for rank, (tier, grade) in enumerate(zip(tiers, grades, strict=True), 1):
        items = tier if nested else [tier]
        if not any(item is not None for item in items or ()):
            raise DataError("empty-tier", tier=rank)
        yield from ((_name(item), rank, grade, False) for item in items)
    below = _listed(record, "nonrelevant_grades", "[number, …]") or [0.0] * len(poor)
    if graded and (len(below) != len(poor) or any(grade > 0 for grade in below)):
        raise DataError("nonrelevant-grades")
    yield from ((_name(item), None, grade, True) for item, grade in zip(poor, below, strict=False))


def _listed(record: dict[str, Any], name: str, form: str) -> list[Any]:
    value = [] if record.get(name) is None else record[name]
    numbers = "grades" in name
    if not isinstance(value, list) or any(isinstance(entry, list) or numbers > is_number(entry) for entry in value):
        raise DataError("wrong-form", role=name, expected=form, value=value)
    return value


def _name(item: Any) -> str | None:
    return None if item is None else as_id(item)


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
