"""rankdev agreement: do measures order the systems alike?"""

from __future__ import annotations

from typing import Any

import click

from rankdev.cli.options import deliver, draw, figure_option
from rankdev.cli.score_source import judging_options, load_scores
from rankdev.cli.segments import judge_segments


@click.command(
    "agreement",
    short_help="Say how far measures agree on the order of systems.",
    epilog="Example: rankdev agreement places.jsonl nearest.run popular.run blended.run -m RDQ@5 -m AP@5",
)
@judging_options
@figure_option
def command(seed: int, form: str | None, output: str | None, figure: str | None, by: str | None, **source: Any) -> None:
    """Give Kendall's τ and Pearson's r between measures over the systems' means.

    Give REFERENCES and RUNs, or --scores, and at least two measures.
    """
    from rankdev.meta.agreement import agreement
    from rankdev.reporting.plots import plot_agreement

    found, report = judge_segments(load_scores(**source), by, agreement)
    deliver(report, form, output)
    draw(figure, plot_agreement, found)
