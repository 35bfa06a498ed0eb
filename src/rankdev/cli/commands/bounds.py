"""rankdev bounds: how far do unjudged items leave scores and verdicts open?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rankdev.cli.options import measure_option, name_option, named_runs, order_options
from rankdev.cli.outputs import deliver, draw, figure_option, output_options

if TYPE_CHECKING:
    from rankdev.ordering import Order, Ties


@click.command(
    "bounds",
    short_help="Say how far unjudged items leave scores and verdicts open.",
    epilog="Example: rankdev bounds judged.jsonl nearest.run popular.run blended.run -m RDQ@5",
)
@click.argument("references", type=click.Path())
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=click.Path())
@measure_option(["RDQ@10"])
@click.option("--next", "count", type=click.IntRange(min=1), default=5, show_default=True, help="Items to judge next.")
@name_option
@order_options
@figure_option
@output_options
def command(
    references: str,
    runs: tuple[str, ...],
    measures: tuple[str, ...],
    count: int,
    names: tuple[str, ...],
    order: Order,
    ties: Ties,
    figure: str | None,
    form: str | None,
    output: str | None,
) -> None:
    """Give the lowest and highest score over all ranks that returned unjudged items could have.

    REFERENCES must say which items were judged worthless: grades with 0 for them, or "worthless" beside the tiers.
    A verdict between two RUNs is safe where no completion of the judgments can overturn it. For RDQ, nDCG, RBP, AP,
    P and R.
    """
    from rankdev.evaluation.bounds import bounds
    from rankdev.reporting.door import report_of

    found = bounds(references, named_runs(references, runs, names), measures, order=order, ties=ties)
    deliver(report_of(found, count=count), form, output)
    draw(figure, found.plot)
