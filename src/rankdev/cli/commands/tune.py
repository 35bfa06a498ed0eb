"""rankdev tune: choose a measure's parameters from people's verdicts or clicks."""

from __future__ import annotations

from typing import Any

import click

from rankdev.cli.commands.sensitivity import grid_values
from rankdev.cli.options import (
    each_once,
    name_option,
    named_runs,
    names_and_values,
    one_measure_option,
    order_options,
    read_named_table,
    refuse_unused,
    seed_option,
)
from rankdev.cli.outputs import deliver, draw, figure_option, output_options
from rankdev.errors import DataError, FileFormatError, UsageError


@click.command(
    "tune",
    short_help="Choose a measure's parameters from people's verdicts or clicks.",
    epilog="Example: rankdev tune places.jsonl nearest.run popular.run blended.run --people verdicts.csv",
)
@click.argument("references", type=click.Path())
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=click.Path())
@click.option(
    "--people",
    metavar="FILE",
    type=click.Path(),
    help="People's verdicts: a table with query, a, b, winner.",
)
@click.option(
    "--clicks",
    metavar="FILE",
    type=click.Path(),
    help="Or clicks: a table with query, session, system, clicked (0 or 1), of interleaved lists or split traffic.",
)
@click.option(
    "--outcome",
    type=click.Choice(["clicks", "any", "first"]),
    default="clicks",
    show_default=True,
    help="Of two lists the better one has more clicks, any, or the first one higher up.",
)
@click.option("--columns", metavar="NAME=COLUMN,...", help="What the log of clicks calls its columns.")
@one_measure_option("RDQ@5", "The measure whose parameters are chosen.")
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
    people: str | None,
    clicks: str | None,
    outcome: str,
    columns: str | None,
    measure: str,
    grid: tuple[str, ...],
    names: tuple[str, ...],
    figure: str | None,
    form: str | None,
    output: str | None,
    **options: Any,
) -> None:
    """Say which parameters predict people's verdicts or clicks best on held-out queries, and if data can choose."""
    from rankdev.learning.verdicts_from_clicks import verdicts_from_clicks
    from rankdev.meta.tuning import tune
    from rankdev.reporting.door import report_of

    if (people is None) == (clicks is None):
        raise UsageError("give people's verdicts with --people, or clicks with --clicks, and not both")
    if people is not None:
        refuse_unused("outcome", "columns", why="is for --clicks")
    source = read_named_table(people, "query, a, b, winner") if people else None
    source = source or read_named_table(str(clicks), "query, session, system, clicked")
    systems = named_runs(references, runs, names)
    try:
        verdicts: Any = source.frame
        if clicks is not None:
            named = names_and_values(columns, "--columns")
            verdicts = verdicts_from_clicks(source.frame, outcome=outcome, columns=named, seed=options["seed"])
        values = each_once(map(grid_values, grid), "--grid") or None
        found = tune(measure, references, systems, verdicts, grid=values, **options)
    except FileFormatError:
        raise  # about the references or a run
    except DataError as error:
        source.fail(error)
    deliver(report_of(found), form, output)
    draw(figure, found.plot)
