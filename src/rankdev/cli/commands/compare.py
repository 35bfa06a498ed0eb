"""rankdev compare: is A really better than B?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankdev.cli.options import deliver, draw, figure_option
from rankdev.cli.score_source import judging_options, load_scores
from rankdev.cli.segments import by_option, judge_segments
from rankdev.errors import UsageError
from rankdev.meta.corrections import CORRECTIONS
from rankdev.meta.paired import TESTS
from rankdev.meta.significance import OVER, Significance, significance

if TYPE_CHECKING:
    from rankdev.evaluation.scores import Scores
    from rankdev.meta.query_differences import QueryDifferences


@click.command("compare", short_help="Test which differences between systems can be believed.")
@judging_options
@figure_option
@by_option
@click.option("--queries", is_flag=True, help="Show the difference for every query instead, where A did worst first.")
@click.option("--baseline", "baselines", multiple=True, help="Compare with this system only; again for more.")
@click.option(
    "--test",
    type=click.Choice(list(TESTS)),
    default="randomization",
    show_default=True,
)
@click.option("--correction", type=click.Choice(list(CORRECTIONS)), default="holm", show_default=True)
@click.option(
    "--over",
    "correction_over",
    type=click.Choice(OVER),
    default="measure",
    show_default=True,
    help="Correct over the pairs of each measure, or over all measures too.",
)
@click.option(
    "--permutations", type=int, help="Sign flips or resamples per test. Default: 100000, or as many as are needed."
)
def command(
    baselines: tuple[str, ...],
    test: Any,
    correction: Any,
    correction_over: Any,
    permutations: int | None,
    seed: int,
    form: str | None,
    output: str | None,
    figure: str | None,
    queries: bool,
    by: str | None,
    **source: Any,
) -> None:
    """Test all pairs of systems, or all against baselines, for each measure.

    Give REFERENCES and RUNs, or --scores. The figure shows the differences of two systems, query by query.

    Example: rankdev compare places.jsonl popular.run blended.run -m RDQ@5 --queries
    """
    from rankdev.meta.query_differences import query_differences
    from rankdev.reporting.plots import plot_differences

    scores = load_scores(**source)
    if figure is not None and (len(scores.systems) != 2 or len(scores.measures) != 1):
        raise UsageError("--figure shows two systems under one measure; give two runs and one -m")
    if queries and len(scores.systems) != 2:
        raise UsageError(f"--queries shows two systems query by query; got {len(scores.systems)} runs")

    def judge(part: Scores) -> Significance | QueryDifferences:
        if queries:
            return query_differences(part)
        return significance(
            part,
            baselines=baselines or None,
            test=test,
            correction=correction,
            correction_over=correction_over,
            permutations=permutations,
            seed=seed,
        )

    deliver(judge_segments(scores, by, judge)[1], form, output)
    draw(figure, plot_differences, scores, *scores.systems, *scores.measures)
