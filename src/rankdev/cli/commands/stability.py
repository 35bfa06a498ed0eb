"""rankdev stability: do fewer queries give the same order of systems?"""

from __future__ import annotations

from typing import Any

import click

from rankdev.cli.options import deliver, draw, figure_option
from rankdev.cli.score_source import judging_options, load_scores, whole_numbers


@click.command("stability", short_help="Say how well n queries give the order of systems.")
@judging_options
@figure_option
@click.option("--sizes", metavar="N,N,...", help="Numbers of queries. Default: the paper's grid, 25 to 2000.")
@click.option("--subsamples", default=300, show_default=True, help="Subsamples per size.")
@click.option("--intervals", default=0, show_default=True, help="Resample the pool so often, for intervals of tau.")
def command(
    sizes: str | None,
    subsamples: int,
    intervals: int,
    seed: int,
    form: str | None,
    output: str | None,
    figure: str | None,
    **source: Any,
) -> None:
    """Compare the order of systems on n queries with their order on all, measure by measure.

    Give REFERENCES and RUNs, or --scores.
    """
    from rankdev.meta.sizes import PAPER_SIZES
    from rankdev.meta.stability import stability
    from rankdev.reporting.door import report_of
    from rankdev.reporting.plots import plot_stability

    scores = load_scores(**source)
    found = stability(
        scores,
        sizes=whole_numbers(sizes, "--sizes") or PAPER_SIZES,
        subsamples=subsamples,
        intervals=intervals,
        seed=seed,
    )
    deliver(report_of(found), form, output)
    draw(figure, plot_stability, found)
