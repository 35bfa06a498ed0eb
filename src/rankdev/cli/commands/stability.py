"""rankdev stability: do fewer queries give the same order of systems?"""

from __future__ import annotations

from typing import Any

import click

from rankdev.cli.options import whole_numbers
from rankdev.cli.outputs import deliver, draw, figure_option
from rankdev.cli.score_source import judging_options, load_scores
from rankdev.cli.segments import judge_segments


@click.command(
    "stability",
    short_help="Say how well n queries give the order of systems.",
    epilog="Example: rankdev stability places.jsonl nearest.run popular.run blended.run -m RDQ@5 --sizes 5,8",
)
@judging_options
@figure_option
@click.option("--sizes", metavar="N,N,...", help="Numbers of queries. Default: the paper's grid, 25 to 2000.")
@click.option("--subsamples", default=300, show_default=True, help="Subsamples per size.")
@click.option("--intervals", default=0, show_default=True, help="How often to resample the pool, for intervals of tau.")
def command(
    sizes: str | None,
    subsamples: int,
    intervals: int,
    seed: int,
    form: str | None,
    output: str | None,
    figure: str | None,
    by: str | None,
    **source: Any,
) -> None:
    """Compare the order of systems on n queries with their order on all, measure by measure.

    Give REFERENCES and RUNs, or --scores.
    """
    from rankdev.meta.sizes import PAPER_SIZES
    from rankdev.meta.stability import stability
    from rankdev.reporting.plots import plot_stability

    scores = load_scores(**source)
    options: dict[str, Any] = {"subsamples": subsamples, "intervals": intervals, "seed": seed}
    chosen = whole_numbers(sizes, "--sizes") or PAPER_SIZES
    found, report = judge_segments(scores, by, lambda part: stability(part, sizes=chosen, **options))
    deliver(report, form, output)
    draw(figure, plot_stability, found)
