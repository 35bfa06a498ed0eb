"""rankdev design: how many queries does a new collection need?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankdev.cli.options import refuse_unused
from rankdev.cli.outputs import deliver, draw, figure_option
from rankdev.cli.score_source import collection_option, judge_source, judging_options
from rankdev.errors import UsageError

if TYPE_CHECKING:
    from rankdev.meta.design import Design


@click.command(
    "design",
    short_help="Say how many queries a new collection needs.",
    epilog="Example: rankdev design --variance 0.05 --difference 0.1 --systems 2 --systems 10",
)
@judging_options
@figure_option
@collection_option
@click.option("--variance", type=float, help="Variance of a system's scores over queries, instead of scores.")
@click.option("--difference", type=float, multiple=True, help="A difference to detect; repeat for more.")
@click.option("--width", type=float, multiple=True, help="Or how wide the interval of a difference may be.")
@click.option("--systems", type=int, multiple=True, help="How many systems are compared; repeat for more. Default: 2.")
@click.option("--correlation", type=float, help="Of two systems' scores. Default: the scores' own; for --variance, 0.")
@click.option("--power", default=0.8, show_default=True, help="How often a difference should be detected.")
@click.option("--alpha", default=0.05, show_default=True, help="Level at which the test rejects.")
def command(
    collections: tuple[str, ...],
    variance: float | None,
    systems: tuple[int, ...],
    seed: int,
    form: str | None,
    output: str | None,
    figure: str | None,
    by: str | None,
    references: str | None,
    table: str | None,
    difference: tuple[float, ...],
    width: tuple[float, ...],
    correlation: float | None,
    power: float,
    alpha: float,
    **source: Any,
) -> None:
    """Say how many queries a new collection needs, from the variance of scores alone.

    Give --variance; or scores to estimate it from: REFERENCES and RUNs, --scores, or a --collection for each.
    """
    from rankdev.meta.design import design
    from rankdev.reporting.door import report_of

    def judge(pilot: Any) -> Design:
        asked: Any = {"difference": difference, "width": width, "systems": systems or 2, "correlation": correlation}
        return design(pilot, **asked, power=power, alpha=alpha)

    source |= {"references": references, "table": table}
    if variance is not None:
        if references is not None or table is not None or collections or by is not None:
            raise UsageError("give either --variance or scores to estimate it from, not both")
        unused = ("measures", "names", "order", "ties", "empty")
        refuse_unused(*unused, why="is for scores, and there are none with --variance")
        found = judge(variance)
        report = report_of(found)
    elif references is None and table is None and not collections:
        raise UsageError(
            "give --variance, or scores to estimate it from: REFERENCES and RUNs, --scores or --collection"
        )
    else:
        found, report = judge_source(judge, collections, by, **source)
    deliver(report, form, output)
    draw(figure, found.plot)
