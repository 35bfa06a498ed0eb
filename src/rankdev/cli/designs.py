"""Options for the design of an experiment: segments and clusters of queries, replicates of systems."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from rankdev.cli.options import each_once, read_pairs
from rankdev.errors import DataError, FileFormatError, UsageError, counted, shown

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

    named = read_segments(segments)
    parts, remarks = {ALL: report}, []
    for segment, queries in named.items():
        chosen = [i for i, query in enumerate(scores.queries) if query in queries]
        if not chosen:
            remarks.append(f"segment {segment!r} has none of the queries that were scored")
            continue
        try:
            parts[segment] = report_of(analyse(scores.select(queries=chosen)), **look)
        except (DataError, UsageError) as error:
            remarks.append(f"segment {segment!r} is left out: {error}")
    outside = len(set(scores.queries) - set().union(*named.values()))
    if outside:
        remarks.append(f"{counted(outside, 'query', 'has', of=len(scores.queries))} no segment in {segments}")
    return found, report_by_segment(parts, remarks)


def read_segments(path: str) -> dict[str, set[str]]:
    """Read which queries belong to which segment."""
    segments: dict[str, set[str]] = {}
    for query, name in read_pairs(path, "query", "segment", "segments"):
        segments.setdefault(name, set()).add(query)
    if ALL in segments:
        raise FileFormatError(path, f"a segment is called {ALL!r}, which denotes all queries; rename it")
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
            raise FileFormatError(path, f"query {shown(query)} is in two clusters, {clusters[query]!r} and {name!r}")
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
    for name, pattern in each_once((_split(text) for text in patterns), "--replicates").items():
        found[name] = [run for run in known if fnmatchcase(run, pattern)]
        if not found[name]:
            names = ", ".join(known[:8])
            raise UsageError(f"--replicates {name}={pattern}: no run matches; the runs are {names}")
    return found


def _split(text: str) -> tuple[str, str]:
    name, _, pattern = (part.strip() for part in text.partition("="))
    if not name or not pattern:
        raise UsageError(f"--replicates is {text!r}; expected a system and its runs, such as bert=bert-*")
    return name, pattern
