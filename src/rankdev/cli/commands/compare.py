"""Compare, table, gate, ppi."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import click

from rankdev.cli.inputs import (
    chosen_scores,
    collection_option,
    judging_options,
    load_collections,
    load_scores,
    score_runs,
)
from rankdev.cli.options import empty_option, judge_segments, measure_option, name_option, order_options, refuse_unused
from rankdev.cli.outputs import deliver, draw, figure_option, output_options
from rankdev.errors import UsageError, counted
from rankdev.statistics.corrections import CORRECTIONS
from rankdev.statistics.equivalence import equivalence
from rankdev.statistics.paired import TESTS
from rankdev.statistics.significance import OVER, significance

if TYPE_CHECKING:
    from rankdev._common.result import Result
    from rankdev.evaluation.scores import Scores


@click.command(
    "compare",
    short_help="Test which differences between systems can be believed.",
    epilog="Example: rankdev compare places.jsonl nearest.run popular.run blended.run -m RDQ@5",
)
@judging_options
@figure_option
@click.option("--queries", is_flag=True, help="Show the difference for every query instead, the worst for A first.")
@collection_option
@click.option("--pooled", is_flag=True, help="Test the queries of all collections together; large ones dominate.")
@click.option(
    "--margin", type=float, help="The smallest difference that matters; say what is the same, better or worse."
)
@click.option("--baseline", "baselines", multiple=True, help="Compare with this system only; repeat for more.")
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
def compare_command(
    collections: tuple[str, ...],
    pooled: bool,
    margin: float | None,
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

    Give REFERENCES and RUNs, or --scores. The figure shows two systems under one measure query by query, and otherwise
    every pair's interval, or which systems are not told apart where the pairs are too many.
    """
    from rankdev.display.dispatch import report_of
    from rankdev.display.significance import plot_differences

    _check(bool(collections), pooled, margin, queries, correction)
    testing = {
        "baselines": baselines or None,
        "test": test,
        "correction": correction,
        "correction_over": correction_over,
        "permutations": permutations,
        "seed": seed,
    }
    if collections:
        several = load_collections(collections, by=by, **source)
        combined: Result = significance(several, pooled=pooled, **testing)
        deliver(report_of(combined), form, output)
        draw(figure, combined.plot)
        return
    scores = load_scores(**source)
    if queries and len(scores.systems) != 2:
        raise UsageError(f"--queries shows two systems query by query; got {counted(len(scores.systems), 'run')}")
    found, report = judge_segments(scores, by, partial(_judge, queries=queries, margin=margin, testing=testing))
    deliver(report, form, output)
    if margin is None and len(scores.systems) == 2 and len(scores.measures) == 1:
        draw(figure, plot_differences, scores, *scores.systems, *scores.measures)
        return
    draw(figure, found.plot)


def _judge(part: Scores, queries: bool, margin: float | None, testing: dict[str, Any]) -> Result:
    from rankdev.statistics.paired import query_differences

    if queries:
        return query_differences(part)
    if margin is not None:
        chosen: Literal["bonferroni", "none"] = "none" if testing["correction"] == "none" else "bonferroni"
        return equivalence(part, margin=margin, baselines=testing["baselines"], correction=chosen)
    return significance(part, **testing)


def _check(several: bool, pooled: bool, margin: float | None, queries: bool, correction: str) -> None:
    """Refuse options that do not go together."""
    if pooled and not several:
        raise UsageError("--pooled is for several collections; give each with --collection")
    if several:
        refuse_unused("margin", "queries", why="is for one collection, and --collection uses its own test")
        if not pooled:
            own = "is for --pooled, and --collection uses its own test"
            refuse_unused("test", "correction_over", "permutations", why=own)
    if queries:
        tests = ("margin", "baselines", "test", "correction", "correction_over", "permutations")
        refuse_unused(*tests, why="is for tests, and --queries shows differences as they are")
    if margin is not None:
        refuse_unused("test", "correction_over", "permutations", why="is for tests, and --margin uses its own interval")
        if correction != "none":
            refuse_unused("correction", why="can only be none with --margin, which uses its own interval")


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
def discrimination_command(
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
    from rankdev.statistics.significance import discrimination

    options: dict[str, Any] = {"alpha": alpha, "test": test, "correction": correction, "permutations": permutations}
    found, report = judge_segments(load_scores(**source), by, lambda part: discrimination(part, **options, seed=seed))
    deliver(report, form, output)
    draw(figure, found.plot)


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
def rectify_command(
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
    from rankdev.display.dispatch import report_of
    from rankdev.statistics.prediction_powered import rectify

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
