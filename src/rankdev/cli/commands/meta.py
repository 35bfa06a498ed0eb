"""The commands that study measures: ``agreement`` and ``sensitivity``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from rankdev.cli.help import Command
from rankdev.cli.inputs import (
    analyse_segments,
    clusters_option,
    load_scores,
    read_clusters,
    score_options,
    simulation_options,
)
from rankdev.cli.options import (
    each_once,
    name_option,
    named_runs,
    one_measure_option,
    order_options,
    read_named_table,
    read_options,
    refuse_unused,
    seed_option,
)
from rankdev.cli.outputs import deliver, draw, figure_option, output_options, working_progress
from rankdev.errors import DataError, UsageError

if TYPE_CHECKING:
    from rankdev._common.result import Result
    from rankdev.evaluation.scores import Scores


@click.command(
    "agreement",
    cls=Command,
    epilog="Example: rankdev agreement places.jsonl nearest.run popular.run blended.run -m RDQ@5 -m AP@5",
)
@score_options
@figure_option
@click.option("--resamples", default=0, show_default=True, help="Resamples of the queries, for intervals of tau.")
@click.option(
    "--people",
    metavar="FILE",
    type=click.Path(),
    help="Agreement with users instead: a table with query, a, b, winner and optionally judge.",
)
@clusters_option
def agreement_command(
    seed: int,
    form: str | None,
    output: str | None,
    figure: str | None,
    segments: str | None,
    people: str | None,
    resamples: int,
    clusters: str | None,
    **source: Any,
) -> None:
    """Compute Kendall's τ, Pearson's r and τ_ap between measures over the systems' means.

    Give REFERENCES and RUNs, or --scores, and at least two measures. With --people, report how often each measure
    prefers the list that users prefer.
    """
    from rankdev.statistics.agreement import agreement
    from rankdev.statistics.agreement_with_people import agreement_with_people

    scores = load_scores(**source)
    together = read_clusters(clusters)
    if people is None:
        analyse: Callable[[Scores], Result] = partial(agreement, resamples=resamples, clusters=together, seed=seed)
    else:
        refuse_unused("resamples", beside="people")
        verdicts = read_named_table(people, "query", "a", "b", "winner")

        def analyse(part: Scores) -> Result:
            try:
                return agreement_with_people(part, verdicts.frame, clusters=together)
            except DataError as error:
                verdicts.fail(error)

    found, report = analyse_segments(scores, segments, analyse)
    deliver(report, form, output)
    draw(figure, found.plot)


PAPER_CELLS = [(1, 0.2), (4, 0.2)]


@click.command(
    "sensitivity",
    cls=Command,
    epilog="Example: rankdev sensitivity places.jsonl popular.run blended.run --grid alpha=1,4 -n 8 --subsamples 50",
)
@click.argument("references", type=click.Path())
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=click.Path())
@one_measure_option("RDQ@5", "The measure whose parameters vary.")
@click.option("--grid", multiple=True, metavar="NAME=V,V,...", help="Values of a parameter. Default: the paper's 25.")
@click.option("-n", default=100, show_default=True, help="Number of queries.")
@clusters_option
@name_option
@order_options
@simulation_options
@seed_option
@output_options
@figure_option
@click.option("--mark", multiple=True, metavar="V,V", help="Frame a cell in the figure. Default: the paper's two.")
def sensitivity_command(
    references: str,
    runs: tuple[str, ...],
    names: tuple[str, ...],
    grid: tuple[str, ...],
    form: str | None,
    output: str | None,
    figure: str | None,
    mark: tuple[str, ...],
    clusters: str | None,
    **options: Any,
) -> None:
    """Estimate the median power at n queries for every combination of a measure's parameters."""
    from rankdev.display.agreement import plot_sensitivity
    from rankdev.display.dispatch import report_of
    from rankdev.statistics.sensitivity import PAPER_GRID, sensitivity

    with working_progress() as progress:
        found = sensitivity(
            references,
            named_runs(references, runs, names),
            grid=each_once(map(grid_values, grid)) or PAPER_GRID,
            clusters=read_clusters(clusters),
            progress=progress,
            **options,
            **read_options(),
        )
    deliver(report_of(found), form, output)
    chosen = [tuple(map(_value, cell.split(","))) for cell in mark] or ([] if grid else PAPER_CELLS)
    draw(figure, plot_sensitivity, found, chosen)


def grid_values(text: str) -> tuple[str, list[Any]]:
    """Read a parameter and its values, such as alpha=0.5,1,2."""
    name, mark, values = text.partition("=")
    if not mark or not values:
        expected = "a parameter and its values, such as alpha=0.5,1,2"
        raise UsageError("bad-value", name="--grid", value=text, expected=expected)
    return name.strip(), [_value(part.strip()) for part in values.split(",")]


def _value(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
