"""--by FILE: every table for each segment of the queries too."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from rankdev.cli.options import read_pairs
from rankdev.errors import DataError, FileFormatError, UsageError, counted
from rankdev.results import Result

if TYPE_CHECKING:
    from rankdev.evaluation.scores import Scores
    from rankdev.reporting.report import Report

Judged = TypeVar("Judged", bound=Result)

ALL = "all"
by_option = click.option(
    "--by", metavar="FILE", type=click.Path(), help="Queries and their segments: a table with query and segment."
)


def judge_segments(
    scores: Scores, by: str | None, judge: Callable[[Scores], Judged], **look: Any
) -> tuple[Judged, Report]:
    """Judge all queries and, where --by was given, each segment of them: the first result, and the report of all."""
    from rankdev.reporting.door import report_of

    found = judge(scores)
    report = report_of(found, **look)
    if by is None:
        return found, report
    from rankdev.reporting.segments import report_by_segment

    segments = read_segments(by)
    parts, remarks = {ALL: report}, []
    for segment, queries in segments.items():
        chosen = [i for i, query in enumerate(scores.queries) if query in queries]
        if not chosen:
            remarks.append(f"segment {segment!r} has none of the queries that were scored")
            continue
        try:
            parts[segment] = report_of(judge(scores.select(queries=chosen)), **look)
        except (DataError, UsageError) as error:
            remarks.append(f"segment {segment!r} is left out: {error}")
    loose = len(set(scores.queries) - set().union(*segments.values()))
    if loose:
        remarks.append(f"{counted(loose, 'query', 'has', of=len(scores.queries))} no segment in {by}")
    return found, report_by_segment(parts, remarks)


def read_segments(path: str) -> dict[str, set[str]]:
    """Read which queries belong to which segment."""
    segments: dict[str, set[str]] = {}
    for query, name in read_pairs(path, "query", "segment", "segments"):
        segments.setdefault(name, set()).add(query)
    if ALL in segments:
        raise FileFormatError(path, f"a segment is called {ALL!r}, which stands for all queries; rename it")
    return segments
