"""rankdev eval: score runs against references."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rankdev.cli.options import (
    deliver,
    measure_option,
    order_options,
    output_options,
    score_runs,
)

if TYPE_CHECKING:
    from rankdev.runs import Order, Ties


@click.command("eval", short_help="Score runs against references.")
@click.argument("references")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@measure_option(["RDQ@10"])
@click.option("-q", "--per-query", is_flag=True, help="Add each query's values.")
@click.option("--name", "names", multiple=True, help="Name a run; once for each, in order.")
@order_options
@output_options
def command(
    references: str,
    runs: tuple[str, ...],
    measures: tuple[str, ...],
    per_query: bool,
    names: tuple[str, ...],
    order: Order,
    ties: Ties,
    form: str | None,
    output: str | None,
) -> None:
    """Score each RUN against REFERENCES, per query and on average.

    REFERENCES: TREC qrels, JSONL with tiers, or a table with rank or grade. RUN: TREC, JSONL, JSON, CSV or
    Parquet. Both may be .gz or .zst; - is standard input.
    """
    from rankdev.reporting.door import report_of

    scores = score_runs(references, runs, names, measures, order=order, ties=ties)
    deliver(report_of(scores, per_query=per_query), form, output)
