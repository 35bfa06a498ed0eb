"""The command that decides about a release: ``gate``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankdev.cli.help import Command
from rankdev.cli.inputs import load_scores, source_options
from rankdev.cli.options import clusters_option, read_clusters, read_segments, refuse_unused
from rankdev.cli.outputs import deliver, file_option
from rankdev.errors import UsageError

if TYPE_CHECKING:
    from rankdev.evaluation.scores import Scores

FAILED, UNDECIDED = 3, 4  # exit codes


@click.command(
    "gate",
    cls=Command,
    epilog="Example: rankdev gate places.jsonl popular.run blended.run -m RDQ@5 --margin 0.02",
)
@source_options
@click.option("--margin", default=0.0, help="Loss of the mean that is acceptable. Default: none.")
@click.option("--query-margin", type=float, help="Fail where one query loses more than this.")
@click.option("--require", "required", metavar="QUERY", multiple=True, help="This query must not lose; repeat.")
@click.option("--segments", metavar="FILE", type=click.Path(), help="Segments that must pass: query, segment.")
@click.option("--baseline", help="With --scores: the system that is in use.")
@click.option("--candidate", help="With --scores: the system that may replace it.")
@click.option("--alpha", default=0.05, show_default=True, help="Chance of a wrong decision.")
@clusters_option
@click.option(
    "--undecided", type=click.Choice(["pass", "fail"]), default="pass", help="If it cannot tell. Default: pass."
)
@file_option("--junit", help="Also write a test case per measure (XML).")
@file_option("--comment", help="Also write the report as Markdown.")
def gate_command(
    margin: float,
    query_margin: float | None,
    required: tuple[str, ...],
    segments: str | None,
    baseline: str | None,
    candidate: str | None,
    alpha: float,
    clusters: str | None,
    undecided: str,
    junit: str | None,
    comment: str | None,
    form: str | None,
    output: str | None,
    **source: Any,
) -> None:
    """Decide whether a candidate may replace a baseline: whether it is no worse.

    Give REFERENCES, the RUN of the baseline and that of the candidate. Exit status: 0 it passes, or one cannot tell; 3
    it fails; 4 one cannot tell, with --undecided fail.
    """
    from rankdev.display.dispatch import report_of
    from rankdev.display.encodings import FORMATS
    from rankdev.display.gate import junit_of
    from rankdev.io.tables import system_name
    from rankdev.io.writing import writing
    from rankdev.statistics.gate import gate

    if source["table"] is None:
        refuse_unused("baseline", "candidate", why="is for --scores: the first RUN is the baseline")
        if len(source["runs"]) != 2:
            raise UsageError("give REFERENCES, the RUN of the baseline and that of the candidate; or --scores")
        if not source["names"] and len({system_name(path) for path in source["runs"]}) == 1:
            source["names"] = ("baseline", "candidate")
    elif baseline is None:
        raise UsageError("name the --baseline of --scores")
    scores = load_scores(**source)
    names = scores.systems if source["table"] is None else (baseline or "", candidate)
    found = gate(
        scores,
        baseline=names[0] or "",
        candidate=names[1],
        margin=margin,
        query_margin=query_margin,
        required=required,
        segments=None if segments is None else read_segments(segments),
        unchanged=source["table"] is None and _unchanged(scores, source),
        alpha=alpha,
        clusters=read_clusters(clusters),
    )
    report = report_of(found)
    for path, content in ((junit, junit_of(found)), (comment, FORMATS["markdown"].encode(report))):
        if path is not None:
            with writing(path) as stream:
                stream.write(content)
    deliver(report, form, output)
    if found.verdict != "pass" and (found.verdict == "fail" or undecided == "fail"):
        click.get_current_context().exit(FAILED if found.verdict == "fail" else UNDECIDED)


def _unchanged(scores: Scores, source: dict[str, Any]) -> bool:
    """Check whether both runs have the same items on every position that a measure looks at."""
    import numpy as np
    import polars as pl

    from rankdev.evaluation.evaluate import deepest
    from rankdev.io.loading import load_run
    from rankdev.measures.syntax import parse_all

    if not np.array_equal(scores.values[0], scores.values[1], equal_nan=True):
        return False
    depth = deepest(parse_all(scores.measures))
    lists = [
        load_run(path, path, source["order"], source["ties"], depth).to_polars().select("query", "item", "rank")
        for path in source["runs"]
    ]
    first, second = (
        (frame if depth is None else frame.filter(pl.col("rank") <= depth)).sort("query", "rank") for frame in lists
    )
    return first.equals(second)
