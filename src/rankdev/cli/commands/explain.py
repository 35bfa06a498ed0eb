"""rankdev explain: where one query's score was lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rankdev.cli.options import deliver, order_options, output_options
from rankdev.errors import DataError, suggestion

if TYPE_CHECKING:
    from rankdev.ordering import Order, Ties


@click.command("explain", short_help="Show where one query's score was lost.")
@click.argument("references")
@click.argument("run")
@click.option("--query", required=True, help="The query to explain.")
@click.option("-m", "--measure", default="RDQ@10", show_default=True, help="An RDQ measure.")
@order_options
@output_options
def command(
    references: str,
    run: str,
    query: str,
    measure: str,
    order: Order,
    ties: Ties,
    form: str | None,
    output: str | None,
) -> None:
    """Show, position by position, what RUN earned and lost for one query, and why."""
    from rankdev.evaluation.explain import explain
    from rankdev.formats import read_references, read_run
    from rankdev.reporting.door import report_of

    known = read_references(references)
    if query not in known:
        raise DataError(f"{references}: there is no query {query!r}{suggestion(query, known)}")
    returned = read_run(run, order=order, ties=ties)
    explanation = explain(known[query], returned.get(query, []), measure=measure)
    deliver(report_of(explanation, query=query), form, output)
