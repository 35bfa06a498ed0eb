"""The command that shows means over time: ``history``."""

from __future__ import annotations

import click

from rankdev.cli.help import Command
from rankdev.cli.outputs import deliver, draw, figure_option, output_options


@click.command(
    "history",
    cls=Command,
    epilog="Example: rankdev history quality.jsonl -m nDCG@10 --figure quality.svg",
)
@click.argument("path", metavar="FILE", type=click.Path())
@click.option("-m", "--measure", "measures", multiple=True, metavar="TEXT", help="Show this measure only; repeat.")
@click.option("--system", "systems", multiple=True, metavar="NAME", help="Show this system only; repeat.")
@output_options
@figure_option
def history_command(
    path: str,
    measures: tuple[str, ...],
    systems: tuple[str, ...],
    form: str | None,
    output: str | None,
    figure: str | None,
) -> None:
    """Show means over time, with intervals, what gates decided, and where references or parameters changed.

    FILE is what rankdev eval --history FILE and rankdev gate --history FILE append to.
    """
    from rankdev.display.dispatch import report_of
    from rankdev.display.history import plot_history
    from rankdev.statistics.history import history

    found = history(path, measures=measures, systems=systems)
    deliver(report_of(found), form, output)
    draw(figure, plot_history, found)
