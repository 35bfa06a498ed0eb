"""rankdev eval: score runs against references."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankdev.cli.options import empty_option, measure_option, name_option, order_options
from rankdev.cli.outputs import deliver, output_options
from rankdev.cli.score_source import lost_by_runs, score_runs
from rankdev.cli.segments import by_option, judge_segments
from rankdev.errors import UsageError

if TYPE_CHECKING:
    from rankdev.evaluation.scoring import Empty
    from rankdev.ordering import Order, Ties


@click.command(
    "eval",
    short_help="Score runs against references.",
    epilog="Example: rankdev eval places.jsonl nearest.run blended.run -m RDQ@5 -m AP@5 --sort RDQ@5",
)
@click.argument("references", type=click.Path())
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=click.Path())
@measure_option(["RDQ@10"])
@click.option("-q", "--per-query", is_flag=True, help="Show each query's values too.")
@click.option("--losses", is_flag=True, help="Show what was lost by retrieval and what by order; for one RDQ measure.")
@click.option("--sort", metavar="MEASURE", help="Show the systems by this measure, best first.")
@by_option
@name_option
@order_options
@empty_option
@output_options
def command(
    references: str,
    runs: tuple[str, ...],
    measures: tuple[str, ...],
    per_query: bool,
    losses: bool,
    sort: str | None,
    by: str | None,
    names: tuple[str, ...],
    order: Order,
    ties: Ties,
    empty: Empty,
    form: str | None,
    output: str | None,
) -> None:
    """Score each RUN against REFERENCES, per query and on average.

    REFERENCES: TREC qrels, JSONL with tiers, or a table with rank or grade. RUN: TREC, JSONL, JSON, CSV or
    Parquet. Both may be .gz or .zst; - is standard input.
    """
    from rankdev.reporting.door import report_of

    options: dict[str, Any] = {"order": order, "ties": ties, "empty": empty}
    if losses:
        if per_query or by or sort or len(measures) != 1:
            raise UsageError("--losses takes one measure such as -m RDQ@5, and no -q, --by or --sort")
        deliver(report_of(lost_by_runs(references, runs, names, measures[0], **options)), form, output)
        return
    scores = score_runs(references, runs, names, measures, **options)
    if sort is not None:
        scores = scores.sorted_by(sort)
    deliver(judge_segments(scores, by, lambda part: part, per_query=per_query)[1], form, output)
