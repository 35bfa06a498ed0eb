"""The commands ``measures`` (what there is) and ``weights`` (from clicks)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankdev.cli.help import Command, RegisteredChoice
from rankdev.cli.options import import_option, names_and_values, read_named_table, seed_option
from rankdev.cli.outputs import deliver, draw, figure_option, output_options
from rankdev.errors import DataError

if TYPE_CHECKING:
    from rankdev.measures import Measure


@click.command("measures", cls=Command, epilog="Example: rankdev measures --format csv")
@import_option
@output_options
def measures_command(form: str | None, output: str | None) -> None:
    """List every measure with its parameters, their defaults and their possible values."""
    import polars as pl

    from rankdev.display.report import Report
    from rankdev.measures import REGISTRY, load_installed

    load_installed()
    table = pl.DataFrame([row for kind in REGISTRY.values() for row in _rows(kind)])
    deliver(Report.of_table(table, prose=("meaning",)), form, output)


def _rows(kind: type[Measure]) -> list[dict[str, str]]:
    source = f" ({kind.source})" if kind.source else ""
    first = {"measure": kind.name, "parameter": "", "default": "", "meaning": f"{kind.meaning()}{source}"}
    return [first, *({"measure": "", **_row(entry)} for entry in kind.parameters())]


def _row(entry: Any) -> dict[str, str]:
    default = (
        "" if entry.default is None else f"{entry.default:g}" if isinstance(entry.default, float) else entry.default
    )
    rule = {"help": "", "number": None, "choices": (), **entry.metadata}
    allowed = ", ".join(rule["choices"]) or (rule["number"].text if rule["number"] else "")
    meaning = f"{rule['help']} ({allowed})" if allowed else rule["help"]
    return {"parameter": entry.name, "default": str(default), "meaning": meaning}


@click.command("weights", cls=Command, epilog="Example: rankdev weights clicks.csv")
@click.argument("clicks", type=click.Path())
@click.option(
    "--method",
    type=RegisteredChoice("rankdev.learning.position_weights:METHODS"),
    default="harvesting",
    help="harvesting (default), em or rates.",
)
@click.option("--columns", metavar="NAME=COLUMN,...", help="Column names of the log, such as clicked=click.")
@click.option(
    "--resamples", type=click.IntRange(min=20), default=200, show_default=True, help="Resamples of the sessions."
)
@click.option("--alpha", default=0.05, show_default=True, help="Level of the intervals.")
@seed_option
@figure_option
@output_options
def weights_command(
    clicks: str,
    method: str,
    columns: str | None,
    resamples: int,
    alpha: float,
    seed: int,
    figure: str | None,
    form: str | None,
    output: str | None,
) -> None:
    """Estimate from CLICKS how much each position is examined, relative to the first.

    CLICKS is a table with one row per impression and the columns item, position and clicked (0 or 1), optionally query,
    session and propensity; row and column instead of position for a grid; or with the counts shown and clicked.
    The methods harvesting and em need items shown at several positions; rates is for randomised positions.
    """
    from rankdev.display.dispatch import report_of
    from rankdev.learning.position_weights import plot_click_weights, weights_from_clicks

    table = read_named_table(clicks, "item, position, clicked")
    try:
        found = weights_from_clicks(
            table.frame,
            method,
            columns=names_and_values(columns, "--columns"),
            resamples=resamples,
            alpha=alpha,
            seed=seed,
        )
    except DataError as error:
        table.fail(error)
    deliver(report_of(found), form, output)
    draw(figure, plot_click_weights, found)
