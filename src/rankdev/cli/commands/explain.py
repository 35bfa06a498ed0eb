"""rankdev explain: where one query's score was lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rankdev.cli.options import name_option, named_runs, one_measure_option, order_options
from rankdev.cli.outputs import deliver, output_options
from rankdev.errors import DataError, UsageError, suggestion
from rankdev.ordering import check_one_order

if TYPE_CHECKING:
    from rankdev.ordering import Order, Ties


@click.command(
    "explain",
    short_help="Show where one query's score was lost.",
    epilog="Example: rankdev explain places.jsonl nearest.run blended.run --query museums -m RDQ@5",
)
@click.argument("references", type=click.Path())
@click.argument("runs", nargs=-1, required=True, metavar="A [B]", type=click.Path())
@click.option("--query", required=True, help="The query to explain.")
@one_measure_option("RDQ@10", "RDQ, nDCG, AP, RBP, P, RR or the like, with a cutoff.")
@name_option
@order_options
@output_options
def command(
    references: str,
    runs: tuple[str, ...],
    query: str,
    measure: str,
    names: tuple[str, ...],
    order: Order,
    ties: Ties,
    form: str | None,
    output: str | None,
) -> None:
    """Show, position by position, what a run earned and lost for one query, and why; two runs side by side."""
    from rankdev.evaluation.explain import explain
    from rankdev.formats import read_references, read_run
    from rankdev.reporting.door import report_of
    from rankdev.reporting.explanation import side_by_side

    check_one_order(ties, "an explanation")
    if len(runs) > 2:
        raise UsageError(f"explain shows one run, or two side by side; got {len(runs)}")
    systems = named_runs(references, runs, names)
    known = read_references(references)
    if query not in known:
        raise DataError(f"{references}: there is no query {query!r}{suggestion(query, known)}")
    found = {
        name: explain(known[query], read_run(path, order=order, ties=ties).get(query, []), measure=measure)
        for name, path in systems.items()
    }
    single = report_of(next(iter(found.values())), query=query)
    deliver(single if len(found) == 1 else side_by_side(found, query), form, output)
