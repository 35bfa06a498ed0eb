"""rankdev rectify: what would people say of the queries that a model judged?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from rankdev.cli.options import empty_option, measure_option, name_option, order_options
from rankdev.cli.outputs import deliver, draw, figure_option, output_options
from rankdev.cli.score_source import chosen_scores, score_runs

if TYPE_CHECKING:
    from rankdev.evaluation.scores import Scores


@click.command(
    "rectify",
    short_help="Estimate from few queries judged by people and many by a model.",
    epilog="Example: rankdev rectify people.qrels model.qrels a.run b.run -m nDCG@10",
)
@click.argument("people", type=click.Path())
@click.argument("model", type=click.Path())
@click.argument("runs", nargs=-1, metavar="[RUN]...", type=click.Path())
@name_option
@click.option("--confidence", default=0.95, show_default=True, help="Confidence of the intervals.")
@measure_option(())
@order_options
@empty_option
@output_options
@figure_option
def command(
    people: str,
    model: str,
    runs: tuple[str, ...],
    names: tuple[str, ...],
    confidence: float,
    measures: tuple[str, ...],
    form: str | None,
    output: str | None,
    figure: str | None,
    **options: Any,
) -> None:
    """Estimate what people would say about all queries, from a few that they judged and many that a model judged.

    PEOPLE and MODEL are references, with RUNs to score against both; or, without RUNs, scores of both kinds, with the
    columns system, query, measure, value. Intervals hold however wrong the model is.
    """
    from rankdev.meta.rectify import rectify
    from rankdev.reporting.door import report_of

    told, said = (_scores(source, runs, names, measures, options) for source in (people, model))
    found = rectify(told, said, confidence=confidence)
    deliver(report_of(found), form, output)
    draw(figure, found.plot)


def _scores(
    source: str, runs: Sequence[str], names: Sequence[str], measures: Sequence[str], options: dict[str, Any]
) -> Scores:
    if runs:
        return score_runs(source, runs, names, measures or ["RDQ@10"], **options)
    return chosen_scores(source, measures)
