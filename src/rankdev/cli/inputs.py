"""What a command analyses: where its scores come from, and their segments, clusters and replicates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from rankdev.cli.help import SharedOption
from rankdev.cli.options import (
    each_once,
    empty_option,
    like_option,
    measure_option,
    name_option,
    named_runs,
    order_options,
    read_options,
    read_pairs,
    refuse_unused,
    seed_option,
    with_like,
)
from rankdev.cli.outputs import output_options, reading_progress
from rankdev.cli.terminal import write_notes
from rankdev.errors import DataError, Note, UsageError

if TYPE_CHECKING:
    from rankdev._common.result import Result
    from rankdev.data.options import Order, Ties
    from rankdev.display.report import Report
    from rankdev.evaluation.evaluate import Empty
    from rankdev.evaluation.losses import Losses
    from rankdev.evaluation.scores import Scores

Found = TypeVar("Found", bound="Result")
ALL = "all"
segments_option = click.option(
    "--segments", metavar="FILE", type=click.Path(), help="Also by segment: a table with query and segment."
)


def score_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add what source_options does, --segments and --seed."""
    return source_options(segments_option(seed_option(command)))


def source_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add REFERENCES RUN... or --scores, how they are scored, all for load_scores, and where results go."""
    for add in (
        output_options,
        order_options,
        like_option,
        empty_option,
        name_option,
        click.option(
            "--scores",
            "table",
            metavar="FILE",
            type=click.Path(),
            help="Or a table of system, query, measure, value.",
        ),
        measure_option(()),
        click.argument("runs", nargs=-1, metavar="[RUN]...", type=click.Path()),
        click.argument("references", required=False, type=click.Path()),
    ):
        command = add(command)
    return command


collection_option = click.option(
    "--collection",
    "collections",
    metavar="FILE",
    type=click.Path(),
    multiple=True,
    help="Or the scores of one of several collections; repeat.",
)


def analyse_source(
    analyse: Callable[[Any], Found], collections: Sequence[str], segments: str | None, **source: Any
) -> tuple[Found, Report]:
    """Analyse several collections together, or one source of scores and its segments."""
    from rankdev.display.dispatch import report_of

    if not collections:
        return analyse_segments(load_scores(**source), segments, analyse)
    found = analyse(load_collections(collections, segments=segments, **source))
    return found, report_of(found)


def load_collections(paths: Sequence[str], measures: Sequence[str], **unused: Any) -> dict[str, Scores]:
    """Read the scores of several collections, named by their files."""
    from rankdev.data.tables import system_name

    refuse_unused("references", "table", "segments", beside="collections")
    found: dict[str, Scores] = {}
    for path in paths:
        name = system_name(path)
        if name in found:
            same = [one for one in paths if system_name(one) == name]
            raise UsageError("same-name", what="collections", name=name, paths=same)
        found[name] = read_chosen_scores(path, measures)
    return found


def simulation_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add what all simulations of the randomization test take; the values are passed on unchanged."""
    for add in (
        click.option("--alpha", default=0.05, show_default=True, help="Level of the test."),
        click.option("--permutations", cls=SharedOption, default=1000, show_default=True, help="Sign flips per test."),
        click.option("--subsamples", default=300, show_default=True, help="Subsamples per size."),
    ):
        command = add(command)
    return command


def load_scores(
    references: str | None,
    runs: Sequence[str],
    table: str | None,
    measures: Sequence[str],
    names: Sequence[str],
    order: Order,
    ties: Ties,
    empty: Empty,
    like: str | None = None,
) -> Scores:
    """Score runs against references, or read scores that were computed elsewhere."""
    if table is not None:
        refuse_unused("references", beside="table")
        return read_chosen_scores(table, measures)
    if references is None or not runs:
        params = click.get_current_context().command.params
        known = [one.opts[0] for one in params if one.name in ("table", "collections", "variance")]
        raise UsageError("no-source", known=known)
    options = with_like(like, order=order, ties=ties, empty=empty)
    return score_runs(references, runs, names, measures or ["RDQ@10"], **options)


def read_chosen_scores(path: str, measures: Sequence[str]) -> Scores:
    """Read scores that were computed elsewhere, all or those of some measures."""
    from rankdev.evaluation.files import read_scores

    unused = ("names", "order", "ties", "duplicates", "empty", "like")
    refuse_unused(*unused, needs="runs")
    scores = read_scores(path, **read_options("columns"))
    write_notes(scores.remarks)
    return scores.select(measures=_labels(measures, scores.measures)) if measures else scores


def _labels(texts: Sequence[str], known: Sequence[str]) -> list[str]:
    """Name measures by their labels; scores computed elsewhere may have labels that are not measures of rankdev."""
    from rankdev.measures import parse_all

    return [label for text in texts for label in ([text] if text in known else map(str, parse_all(text)))]


def score_runs(
    references: str, runs: Sequence[str], names: Sequence[str], measures: Sequence[str], **options: Any
) -> Scores:
    """Score runs, with progress on a terminal, and note what was missing and where ties decide."""
    from rankdev.evaluation.evaluate import evaluate

    systems = named_runs(references, runs, names)
    with reading_progress(runs) as progress:
        scores = evaluate(references, systems, measures, **options, progress=progress)
    write_notes(scores.remarks)
    return scores


def losses_of_runs(references: str, runs: Sequence[str], names: Sequence[str], measure: str, **options: Any) -> Losses:
    """Split what runs lost into its causes, with the same progress and notes."""
    from rankdev.evaluation.losses import losses

    systems = named_runs(references, runs, names)
    with reading_progress(runs) as progress:
        found = losses(references, systems, measure, **options, progress=progress)
    write_notes(found.remarks)
    return found


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
    from rankdev.statistics.inputs import places

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
