"""rankdev variance: where do differences between scores come from?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankdev.cli.outputs import deliver, draw, figure_option
from rankdev.cli.score_source import collection_option, judge_source, judging_options

if TYPE_CHECKING:
    from rankdev.meta.variance import Variance


@click.command(
    "variance",
    short_help="Say where the variance of scores comes from.",
    epilog="Example: rankdev variance places.jsonl nearest.run popular.run blended.run -m RDQ@5",
)
@judging_options
@figure_option
@collection_option
@click.option("--reliability", default=0.95, show_default=True, help="What the order of systems should reach (Eρ²).")
def command(
    collections: tuple[str, ...],
    reliability: float,
    seed: int,
    form: str | None,
    output: str | None,
    figure: str | None,
    by: str | None,
    **source: Any,
) -> None:
    """Split the variance of scores into systems, queries and their interaction, and say what new queries would give.

    Give REFERENCES and RUNs, or --scores, or a --collection for each of several.
    """
    from rankdev.meta.variance import variance

    def judge(scores: Any) -> Variance:
        return variance(scores, reliability=reliability)

    found, report = judge_source(judge, collections, by, **source)
    deliver(report, form, output)
    draw(figure, found.plot)
