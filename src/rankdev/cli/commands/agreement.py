"""rankdev agreement: do measures order the systems alike?"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from rankdev.cli.options import read_named_table, refuse_unused
from rankdev.cli.outputs import deliver, draw, figure_option
from rankdev.cli.score_source import judging_options, load_scores
from rankdev.cli.segments import judge_segments
from rankdev.errors import DataError

if TYPE_CHECKING:
    from rankdev.evaluation.scores import Scores
    from rankdev.results import Result


@click.command(
    "agreement",
    short_help="Say how far measures agree on the order of systems.",
    epilog="Example: rankdev agreement places.jsonl nearest.run popular.run blended.run -m RDQ@5 -m AP@5",
)
@judging_options
@figure_option
@click.option(
    "--intervals", default=0, show_default=True, help="How often to resample the queries, for intervals of tau."
)
@click.option(
    "--people",
    metavar="FILE",
    type=click.Path(),
    help="Agreement with people instead: their verdicts, a table with query, a, b, winner and perhaps judge.",
)
def command(
    seed: int,
    form: str | None,
    output: str | None,
    figure: str | None,
    by: str | None,
    people: str | None,
    intervals: int,
    **source: Any,
) -> None:
    """Give Kendall's τ, Pearson's r and τ_ap between measures over the systems' means.

    Give REFERENCES and RUNs, or --scores, and at least two measures. With --people, say how often each measure
    prefers the list that people prefer.
    """
    from rankdev.meta.agreement import agreement
    from rankdev.meta.agreement_with_people import agreement_with_people

    scores = load_scores(**source)
    if people is None:
        judge: Callable[[Scores], Result] = partial(agreement, intervals=intervals, seed=seed)
    else:
        refuse_unused("intervals", why="is for agreement between measures, and that with people has its own")
        verdicts = read_named_table(people, "query, a, b, winner")

        def judge(part: Scores) -> Result:
            try:
                return agreement_with_people(part, verdicts.frame, seed=seed)
            except DataError as error:
                verdicts.fail(error)

    found, report = judge_segments(scores, by, judge)
    deliver(report, form, output)
    draw(figure, found.plot)
