"""rankdev tune: choose a measure's parameters from people's verdicts."""

from __future__ import annotations

from typing import Any

import click

from rankdev.cli.commands.sensitivity import grid_values
from rankdev.cli.options import (
    each_once,
    import_option,
    name_option,
    named_runs,
    order_options,
    read_named_table,
    seed_option,
)
from rankdev.cli.outputs import deliver, draw, figure_option, output_options
from rankdev.errors import DataError


@click.command(
    "tune",
    short_help="Choose a measure's parameters from people's verdicts.",
    epilog="Example: rankdev tune places.jsonl nearest.run popular.run blended.run --people verdicts.csv",
)
@click.argument("references", type=click.Path())
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=click.Path())
@click.option(
    "--people",
    metavar="FILE",
    type=click.Path(),
    required=True,
    help="People's verdicts: a table with query, a, b, winner.",
)
@click.option("-m", "--measure", default="RDQ@5", show_default=True, help="The measure whose parameters are chosen.")
@import_option
@click.option("--grid", multiple=True, metavar="NAME=V,V,...", help="Values of a parameter; repeat for more.")
@click.option(
    "--folds",
    type=click.IntRange(min=2),
    default=5,
    show_default=True,
    help="Parts held out in turn.",
)
@click.option("--resamples", type=click.IntRange(min=20), default=1000, show_default=True, help="Resampled queries.")
@click.option("--confidence", default=0.95, show_default=True, help="Level of the intervals.")
@name_option
@order_options
@seed_option
@figure_option
@output_options
def command(
    references: str,
    runs: tuple[str, ...],
    people: str,
    measure: str,
    grid: tuple[str, ...],
    names: tuple[str, ...],
    figure: str | None,
    form: str | None,
    output: str | None,
    **options: Any,
) -> None:
    """Say which parameters predict people's verdicts best on held-out queries, and whether the data can choose."""
    from rankdev.meta.tuning import tune
    from rankdev.reporting.door import report_of

    verdicts = read_named_table(people, "query, a, b, winner")
    systems = named_runs(references, runs, names)
    try:
        values = each_once(map(grid_values, grid), "--grid") or None
        found = tune(measure, references, systems, verdicts.frame, grid=values, **options)
    except DataError as error:
        verdicts.fail(error)
    deliver(report_of(found), form, output)
    draw(figure, found.plot)
