"""rankdev compare: is A really better than B?"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import click

from rankdev.cli.options import refuse_unused
from rankdev.cli.outputs import deliver, draw, figure_option
from rankdev.cli.score_source import collection_option, judging_options, load_collections, load_scores
from rankdev.cli.segments import judge_segments
from rankdev.errors import UsageError, counted
from rankdev.meta.corrections import CORRECTIONS
from rankdev.meta.equivalence import equivalence
from rankdev.meta.paired import TESTS
from rankdev.meta.significance import OVER, significance

if TYPE_CHECKING:
    from rankdev.evaluation.scores import Scores
    from rankdev.results import Result


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
def command(
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
    from rankdev.reporting.door import report_of
    from rankdev.reporting.plots import plot_differences

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
    from rankdev.meta.query_differences import query_differences

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
