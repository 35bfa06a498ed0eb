"""rankdev discrimination: how many pairs of systems does a measure tell apart?"""

from __future__ import annotations

from typing import Any

import click

from rankdev.cli.outputs import deliver, draw, figure_option
from rankdev.cli.score_source import judging_options, load_scores
from rankdev.cli.segments import judge_segments
from rankdev.meta.corrections import CORRECTIONS
from rankdev.meta.paired import TESTS


@click.command(
    "discrimination",
    short_help="Say how many pairs of systems each measure tells apart.",
    epilog="Example: rankdev discrimination places.jsonl nearest.run popular.run blended.run -m RDQ@5 -m AP@5",
)
@judging_options
@figure_option
@click.option("--alpha", default=0.05, show_default=True, help="Level at which a test rejects.")
@click.option("--test", type=click.Choice(list(TESTS)), default="randomization", show_default=True)
@click.option("--correction", type=click.Choice(list(CORRECTIONS)), default="none", show_default=True)
@click.option("--permutations", type=int, help="Sign flips or resamples per test.")
def command(
    alpha: float,
    test: str,
    correction: str,
    permutations: int | None,
    seed: int,
    form: str | None,
    output: str | None,
    figure: str | None,
    by: str | None,
    **source: Any,
) -> None:
    """Order the significance levels that all pairs of systems achieve, measure by measure.

    Give REFERENCES and RUNs, or --scores. The figure shows the curves.
    """
    from rankdev.meta.discrimination import discrimination

    options: dict[str, Any] = {"alpha": alpha, "test": test, "correction": correction, "permutations": permutations}
    found, report = judge_segments(load_scores(**source), by, lambda part: discrimination(part, **options, seed=seed))
    deliver(report, form, output)
    draw(figure, found.plot)
