"""rankdev agreement: do measures order the systems alike?"""

from __future__ import annotations

from typing import Any

import click

from rankdev.cli.options import deliver, draw, figure_option
from rankdev.cli.score_source import judging_options, load_scores


@click.command("agreement", short_help="Say how far measures agree on the order of systems.")
@judging_options
@figure_option
def command(seed: int, form: str | None, output: str | None, figure: str | None, **source: Any) -> None:
    """Give Kendall's τ and Pearson's r between measures over the systems' means.

    Give REFERENCES and RUNs, or --scores, and at least two measures.
    """
    from rankdev.meta.agreement import agreement
    from rankdev.reporting.door import report_of
    from rankdev.reporting.plots import plot_agreement

    found = agreement(load_scores(**source))
    deliver(report_of(found), form, output)
    draw(figure, plot_agreement, found)
