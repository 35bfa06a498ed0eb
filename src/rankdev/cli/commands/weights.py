"""rankdev weights: position weights from interaction logs."""

from __future__ import annotations

import click

from rankdev.cli.options import names_and_values, read_named_table, seed_option
from rankdev.cli.outputs import deliver, draw, figure_option, output_options
from rankdev.errors import DataError
from rankdev.learning.weights_from_clicks import METHODS, weights_from_clicks


@click.command(
    "weights", short_help="Estimate position weights from clicks.", epilog="Example: rankdev weights clicks.csv"
)
@click.argument("clicks", type=click.Path())
@click.option(
    "--method",
    type=click.Choice(list(METHODS)),
    default="harvesting",
    show_default=True,
    help="harvesting and em need items shown at several positions; rates is for randomised positions or views.",
)
@click.option("--columns", metavar="NAME=COLUMN,...", help="What the log calls its columns, such as clicked=click.")
@click.option("--features", metavar="COLUMN,...", help="Features of items, for regression-em.")
@click.option("--resamples", type=click.IntRange(min=20), default=200, show_default=True, help="Resampled sessions.")
@click.option("--confidence", default=0.95, show_default=True, help="Level of the intervals.")
@seed_option
@figure_option
@output_options
def command(
    clicks: str,
    method: str,
    columns: str | None,
    features: str | None,
    resamples: int,
    confidence: float,
    seed: int,
    figure: str | None,
    form: str | None,
    output: str | None,
) -> None:
    """Estimate from CLICKS how much each position is examined, relative to the first.

    CLICKS is a table (CSV, TSV, JSONL or Parquet) with one row per impression and the columns item, position and
    clicked (0 or 1); query, session and propensity where there are any; row and column instead of position for a grid;
    or with counts, shown and clicked of them.
    """
    from rankdev.reporting.click_weights import plot_click_weights
    from rankdev.reporting.door import report_of

    table = read_named_table(clicks, "item, position, clicked")
    try:
        found = weights_from_clicks(
            table.frame,
            method,
            columns=names_and_values(columns, "--columns"),
            features=features.split(",") if features else (),
            resamples=resamples,
            confidence=confidence,
            seed=seed,
        )
    except DataError as error:
        table.fail(error)
    deliver(report_of(found), form, output)
    draw(figure, plot_click_weights, found)
