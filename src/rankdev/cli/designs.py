"""Options for the design of an experiment: segments and clusters of queries, replicates of systems."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from rankdev.cli.options import each_once, read_pairs
from rankdev.errors import DataError, Note, UsageError

if TYPE_CHECKING:
    from rankdev._common.result import Result
    from rankdev.display.report import Report
    from rankdev.evaluation.scores import Scores


Found = TypeVar("Found", bound="Result")
ALL = "all"
segments_option = click.option(
    "--segments", metavar="FILE", type=click.Path(), help="Also by segment: a table with query and segment."
)


def analyse_segments(
    scores: Scores, segments: str | None, analyse: Callable[[Scores], Found], **look: Any
) -> tuple[Found, Report]:
    """Analyse all queries and, with --segments, each segment: return the result of all, and the report of each."""
    from rankdev.display.dispatch import report_of

    found = analyse(scores)
    report = report_of(found, **look)
    if segments is None:
        return found, report
    from rankdev.display.report import report_by_segment
    from rankdev.statistics.segments import places

    parts = {ALL: report}
    named, remarks = places(scores.queries, read_segments(segments))
    for segment, queries in named.items():
        try:
            parts[segment] = report_of(analyse(scores.select(queries=queries.tolist())), **look)
        except (DataError, UsageError) as error:
            remarks.append(Note("skipped-segment", segment=segment, error=error))
    return found, report_by_segment(parts, remarks)


def read_segments(path: str) -> dict[str, set[str]]:
    """Read which queries belong to which segment."""
    segments: dict[str, set[str]] = {}
    for query, name in read_pairs(path, "query", "segment", "segments"):
        segments.setdefault(name, set()).add(query)
    if ALL in segments:
        expected = "another name: this means all queries"
        raise DataError("bad-value", path=path, name="a segment", value=ALL, expected=expected)
    return segments


clusters_option = click.option(
    "--clusters", metavar="FILE", type=click.Path(), help="Dependent queries: a table with query and cluster."
)


def read_clusters(path: str | None) -> dict[str, str] | None:
    """Read the cluster of each query."""
    if path is None:
        return None
    clusters: dict[str, str] = {}
    for query, name in read_pairs(path, "query", "cluster", "clusters"):
        if clusters.setdefault(query, name) != name:
            raise DataError("two-clusters", path=path, query=query, one=clusters[query], other=name)
    return clusters


replicates_option = click.option(
    "--replicates",
    metavar="NAME=RUN*",
    multiple=True,
    help="A system with several runs: bert=bert-*; repeat.",
)


def matching_runs(patterns: Sequence[str], known: Sequence[str]) -> dict[str, list[str]] | None:
    """Find the runs of each system by their names."""
    if not patterns:
        return None
    from fnmatch import fnmatchcase

    found = {}
    for name, pattern in each_once(_split(text) for text in patterns).items():
        found[name] = [run for run in known if fnmatchcase(run, pattern)]
        if not found[name]:
            raise UsageError("no-such-runs", value=f"{name}={pattern}", known=known[:8])
    return found


def _split(text: str) -> tuple[str, str]:
    name, _, pattern = (part.strip() for part in text.partition("="))
    if not name or not pattern:
        expected = "a system and its runs, such as bert=bert-*"
        raise UsageError("bad-value", name="--replicates", value=text, expected=expected)
    return name, pattern
