"""Rows of items, checked: each once, with ranks that follow each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rankdev._common.arrays import Floats, Ints
from rankdev._common.lazy import pl
from rankdev._common.reading import Duplicates
from rankdev.core.columns import Groups
from rankdev.errors import DataError


def repeated_rows(codes: Ints, item: pl.Series) -> npt.NDArray[np.bool_]:
    """Mark rows whose (query, item) was in an earlier row."""
    keys = item.hash().to_numpy() ^ (codes.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15))
    suspects = _repeated_keys(codes, keys)
    repeated = np.zeros(len(item), bool)
    if len(suspects):  # equal hashes are only a suspicion: compare the names themselves
        rows = np.flatnonzero(np.isin(keys, suspects))
        pairs = pl.DataFrame({"code": codes[rows], "item": item.gather(rows)})
        repeated[rows] = ~pairs.select(pl.struct("code", "item").is_first_distinct()).to_series().to_numpy()
    return repeated


def documents_of(item: pl.Series, separator: str) -> pl.Series:
    """Return the document of each chunk: what is before the last separator, or all of it where there is none."""
    parts = pl.col("item").str.split(separator)
    cut = parts.list.head(parts.list.len() - 1).list.join(separator)
    return pl.DataFrame({"item": item}).select(pl.when(cut == "").then("item").otherwise(cut).alias("item"))["item"]


def kept_once(codes: Ints, item: pl.Series, value: Floats, duplicates: Duplicates) -> npt.NDArray[np.bool_]:
    """Mark the one row of each (query, item) that counts; of equally good ones, the first."""
    repeated = repeated_rows(codes, item)
    if duplicates == "first" or not repeated.any():
        return ~repeated
    if duplicates == "last":
        return ~repeated_rows(codes[::-1], item.reverse())[::-1]
    order = np.argsort(-value, kind="stable")
    kept = np.empty(len(order), bool)
    kept[order] = ~repeated_rows(codes[order], item.gather(order))
    return kept


def _repeated_keys(codes: Ints, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Find keys that a query has twice, among others; far faster where queries are adjacent and about as long."""
    sizes = np.bincount(codes)
    width = int(sizes.max(initial=0))
    if len(sizes) * width <= 2 * len(keys) and (codes[1:] >= codes[:-1]).all():
        column = np.arange(width)
        ordered = np.tile(~column.astype(np.uint64), (len(sizes), 1))  # all different, where a query is shorter
        ordered[column < sizes[:, None]] = keys
        ordered.sort(axis=1)
    else:
        ordered = np.sort(keys)
    return np.asarray(ordered[..., 1:][ordered[..., 1:] == ordered[..., :-1]])


def check_once(names: pl.Series, kind: str) -> None:
    """Refuse a query that appears twice, with an error of this kind."""
    repeated = ~names.is_first_distinct()
    if repeated.any():
        row = int(repeated.arg_max() or 0)
        raise DataError(kind, query=names[row], row=row)


def check_ranks(groups: Groups, item: pl.Series, rank: Floats, rows: Ints) -> None:
    """Refuse ranks that are not whole, do not start at 1 or have gaps; ``rows`` sorts them by query and rank."""
    fractional = np.flatnonzero(rank != np.floor(rank))
    if len(fractional):
        row = int(fractional[0])
        raise DataError("not-a-rank", **_row_at(groups, row), item=item[row], rank=rank[row])
    codes, ordered = groups.codes[rows], rank[rows]
    first = np.diff(codes, prepend=-1) != 0
    low = np.flatnonzero(first & (ordered != 1))
    if len(low):
        row = int(rows[low[0]])
        if rank[row] < 1:
            raise DataError("not-a-rank", **_row_at(groups, row), item=item[row], rank=rank[row])
        raise DataError("rank-missing", **_row_at(groups, row), rank=1)
    gaps = np.flatnonzero(~first & (np.diff(ordered, prepend=0) > 1))
    if len(gaps):
        kind = "rank-skipped" if (np.diff(ordered) == 0).any() else "rank-missing"
        raise DataError(kind, **_row_at(groups, int(rows[gaps[0]])), rank=ordered[gaps[0] - 1] + 1)


def dense_ranks(groups: Groups, rank: Floats, rows: Ints) -> Floats:
    """Make 1, 2, 2, 3 of 1, 2, 2, 4; ``rows`` sorts them by query and rank. Refuse ranks that count otherwise."""
    codes, ordered = groups.codes[rows], rank[rows]
    first = np.diff(codes, prepend=-1) != 0
    new = first | (np.diff(ordered, prepend=0) != 0)
    place = np.arange(len(rows)) - np.maximum.accumulate(np.where(first, np.arange(len(rows)), 0)) + 1
    wrong = np.flatnonzero(new & (ordered != place))
    if len(wrong):
        row = int(rows[wrong[0]])
        raise DataError("not-competition", **_row_at(groups, row), rank=rank[row], expected=place[wrong[0]])
    tier = np.cumsum(new)
    dense = np.empty(len(rank))
    dense[:] = rank
    dense[rows] = tier - np.maximum.accumulate(np.where(first, tier, 0)) + 1
    return dense


def check_unique(
    groups: Groups, item: pl.Series, value: Floats, name: str, kind: str = "two-values"
) -> npt.NDArray[np.bool_]:
    """Mark rows that repeat an earlier one; refuse an item to which two rows give different values."""
    repeated = repeated_rows(groups.codes, item)
    rows = np.flatnonzero(repeated)
    if len(rows):
        frame = pl.DataFrame({"code": groups.codes, "item": item, "value": value})
        spread = frame.with_columns(pl.col("value").first().over("code", "item").alias("first"))
        clash = np.flatnonzero((spread["first"] != spread["value"]).to_numpy())
        if len(clash):
            row = int(clash[0])
            raise DataError(
                kind, **_row_at(groups, row), item=item[row], what=name, a=spread["first"][row], b=value[row]
            )
    return repeated


def tier_ranks(codes: Ints, grade: Floats) -> Floats:
    """Ranks of rows sorted by query and falling grade: one tier for each distinct grade."""
    if not len(codes):
        return np.zeros(0)
    new_query = np.diff(codes, prepend=-1) != 0
    new_tier = new_query | (np.diff(grade, prepend=np.inf) != 0)
    count = np.cumsum(new_tier)
    starts = np.maximum.accumulate(np.where(new_query, count, 0))
    return (count - starts + 1).astype(np.float64)


def _row_at(groups: Groups, row: int) -> dict[str, Any]:
    return {"query": groups.names[int(groups.codes[row])], "row": row}
