"""rankdev sensitivity: how much do a measure's parameters matter?"""

from __future__ import annotations

from typing import Any

import click

from rankdev.cli.options import each_once, name_option, named_runs, one_measure_option, order_options, seed_option
from rankdev.cli.outputs import deliver, draw, figure_option, output_options
from rankdev.cli.progress_bars import working_progress
from rankdev.cli.score_source import simulation_options
from rankdev.errors import UsageError

PAPER_CELLS = [(1, 0.2), (4, 0.2)]


@click.command(
    "sensitivity",
    short_help="Say how a measure's parameters change its power.",
    epilog="Example: rankdev sensitivity places.jsonl popular.run blended.run --grid alpha=1,4 -n 5 --subsamples 50",
)
@click.argument("references", type=click.Path())
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=click.Path())
@one_measure_option("RDQ@5", "The measure whose parameters vary.")
@click.option("--grid", multiple=True, metavar="NAME=V,V,...", help="Values of a parameter. Default: the paper's 25.")
@click.option("-n", default=100, show_default=True, help="Number of queries.")
@name_option
@order_options
@simulation_options
@seed_option
@output_options
@figure_option
@click.option("--mark", multiple=True, metavar="V,V", help="Frame a cell in the picture. Default: the paper's two.")
def command(
    references: str,
    runs: tuple[str, ...],
    names: tuple[str, ...],
    grid: tuple[str, ...],
    form: str | None,
    output: str | None,
    figure: str | None,
    mark: tuple[str, ...],
    **options: Any,
) -> None:
    """Give the median power at n queries for every combination of a measure's parameters."""
    from rankdev.meta.sensitivity import PAPER_GRID, sensitivity
    from rankdev.reporting.door import report_of
    from rankdev.reporting.plots import plot_sensitivity

    with working_progress() as progress:
        found = sensitivity(
            references,
            named_runs(references, runs, names),
            grid=each_once(map(grid_values, grid), "--grid") or PAPER_GRID,
            progress=progress,
            **options,
        )
    deliver(report_of(found), form, output)
    chosen = [tuple(map(_value, cell.split(","))) for cell in mark] or ([] if grid else PAPER_CELLS)
    draw(figure, plot_sensitivity, found, chosen)


def grid_values(text: str) -> tuple[str, list[Any]]:
    """Read a parameter and its values, such as alpha=0.5,1,2."""
    name, mark, values = text.partition("=")
    if not mark or not values:
        raise UsageError(f"--grid is {text!r}; expected a parameter and its values, such as alpha=0.5,1,2")
    return name.strip(), [_value(part.strip()) for part in values.split(",")]


def _value(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
