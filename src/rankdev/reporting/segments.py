"""One report of several: all queries, then each segment of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from rankdev.reporting.report import Report


def report_by_segment(parts: Mapping[str, Report], remarks: Sequence[str] = ()) -> Report:
    """Put the reports of segments one after the other; rows, summaries and further tables tell the segment.

    So do lines that the first report, of all queries, does not have.
    """
    first = next(iter(parts.values()))
    tables = [
        replace(table, title=f"{name}: {table.title}" if table.title else name)
        for name, part in parts.items()
        for table in part.tables
    ]
    summaries = {name: part.summary for name, part in parts.items() if part.summary is not None}
    opening = [f"{name}: {text}" for name, part in parts.items() for text in part.opening]
    return replace(
        first,
        rows=_with_segment({name: part.rows for name, part in parts.items()}),
        tables=tables,
        opening=opening,
        closing=_labelled({name: part.closing for name, part in parts.items()}),
        remarks=(*_labelled({name: part.remarks for name, part in parts.items()}), *remarks),
        summary=_with_segment(summaries) if summaries else None,
        more={
            table: _with_segment({name: part.more[table] for name, part in parts.items() if table in part.more})
            for table in first.more
        },
    )


def _labelled(lines: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    known = next(iter(lines.values()))
    others = (f"{name}: {text}" for name, texts in lines.items() for text in texts if text not in known)
    return (*known, *others)


def _with_segment(frames: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    named = [frame.select(pl.lit(name).alias("segment"), pl.all()) for name, frame in frames.items()]
    return pl.concat(named, how="diagonal_relaxed")
