"""One report of several: all queries, then each segment of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from rankdev.reporting.report import Report


def report_by_segment(parts: Mapping[str, Report], remarks: Sequence[str] = ()) -> Report:
    """Put the reports of segments one after the other; rows and summaries tell the segment."""
    first = next(iter(parts.values()))
    tables = [
        replace(table, title=f"{name}: {table.title}" if table.title else name)
        for name, part in parts.items()
        for table in part.tables
    ]
    summaries = {name: part.summary for name, part in parts.items() if part.summary is not None}
    opening = [f"{name}: {text}" for name, part in parts.items() for text in part.opening]
    closing = dict.fromkeys(text for part in parts.values() for text in part.closing)
    return replace(
        first,
        rows=_with_segment({name: part.rows for name, part in parts.items()}),
        tables=tables,
        opening=opening,
        closing=tuple(closing),
        remarks=tuple(dict.fromkeys([*(remark for part in parts.values() for remark in part.remarks), *remarks])),
        summary=_with_segment(summaries) if summaries else None,
    )


def _with_segment(frames: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    named = [frame.select(pl.lit(name).alias("segment"), pl.all()) for name, frame in frames.items()]
    return pl.concat(named, how="diagonal_relaxed")
