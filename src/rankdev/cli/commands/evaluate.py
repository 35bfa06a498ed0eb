"""The commands that score runs: ``eval``, ``explain`` and ``bounds``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankdev.cli.help import Command
from rankdev.cli.inputs import (
    analyse_segments,
    clusters_option,
    losses_of_runs,
    read_clusters,
    score_runs,
    segments_option,
)
from rankdev.cli.options import (
    empty_option,
    like_option,
    measure_option,
    name_option,
    named_runs,
    one_measure_option,
    order_options,
    read_options,
    refuse_unused,
    seed_option,
    with_like,
)
from rankdev.cli.outputs import deliver, draw, figure_option, output_options
from rankdev.data.options import check_one_order
from rankdev.errors import DataError, UsageError, nearest

if TYPE_CHECKING:
    from rankdev.data.options import Order, Ties
    from rankdev.evaluation.evaluate import Empty
    from rankdev.statistics.judgment_uncertainty import UncertainScores


@click.command(
    "eval",
    cls=Command,
    epilog="Example: rankdev eval places.jsonl nearest.run blended.run -m RDQ@5 -m AP@5 --sort RDQ@5",
)
@click.argument("references", type=click.Path())
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=click.Path())
@measure_option(["RDQ@10"])
@click.option("-q", "--per-query", is_flag=True, help="Show each query's values too.")
@click.option("--losses", is_flag=True, help="Split the loss: retrieval, cutoff, order.")
@click.option("--sort", metavar="MEASURE", help="Sort the systems by this measure, best first.")
@click.option("--uncertainty", is_flag=True, help="REFERENCES are judgments: score against their true order.")
@clusters_option
@segments_option
@name_option
@order_options
@empty_option
@like_option
@seed_option
@output_options
def eval_command(
    references: str,
    runs: tuple[str, ...],
    measures: tuple[str, ...],
    per_query: bool,
    losses: bool,
    sort: str | None,
    uncertainty: bool,
    clusters: str | None,
    segments: str | None,
    names: tuple[str, ...],
    order: Order,
    ties: Ties,
    empty: Empty,
    like: str | None,
    seed: int,
    form: str | None,
    output: str | None,
) -> None:
    """Score each RUN against REFERENCES, per query and on average.

    REFERENCES: TREC qrels, JSONL with tiers, or a table with rank or grade. RUN: TREC, JSONL, JSON, CSV or Parquet.
    Both may be .gz or .zst; - is standard input. See rankdev help files.
    """
    from rankdev.display.dispatch import report_of

    if uncertainty:
        refuse_unused("per_query", "segments", "sort", "losses", "like", beside="uncertainty")
        together = read_clusters(clusters)
        found = _with_uncertainty(references, runs, names, measures, order, ties, clusters=together, seed=seed)
        deliver(report_of(found), form, output)
        return
    refuse_unused("clusters", "seed", needs="uncertainty")
    options = with_like(like, order=order, ties=ties, empty=empty)
    if losses:
        refuse_unused("per_query", "segments", "sort", "like", beside="losses")
        if len(measures) != 1:
            raise UsageError("not-one-measure", measures=measures)
        deliver(report_of(losses_of_runs(references, runs, names, measures[0], **options)), form, output)
        return
    scores = score_runs(references, runs, names, measures, **options)
    if sort is not None:
        scores = scores.sorted_by(sort)
    deliver(analyse_segments(scores, segments, lambda part: part, per_query=per_query)[1], form, output)


def _with_uncertainty(
    judgments: str,
    runs: tuple[str, ...],
    names: tuple[str, ...],
    measures: tuple[str, ...],
    order: Order,
    ties: Ties,
    **options: Any,
) -> UncertainScores:
    """Score runs against the true order behind a file of preferences."""
    import warnings

    from rankdev.data.files import load_runs
    from rankdev.errors import RankdevWarning
    from rankdev.preferences.files import read_preferences
    from rankdev.statistics.judgment_uncertainty import evaluate_with_uncertainty

    check_one_order(ties, "the uncertainty of judgments")
    systems = named_runs(judgments, runs, names)
    judged = read_preferences(judgments)
    read = load_runs(systems, order=order, ties=ties, **read_options())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankdevWarning)  # the report has them as notes
        return evaluate_with_uncertainty(judged, read, list(measures), disconnected="largest", **options)


@click.command(
    "explain",
    cls=Command,
    epilog="Example: rankdev explain places.jsonl nearest.run blended.run --query museums -m RDQ@5",
)
@click.argument("references", type=click.Path())
@click.argument("runs", nargs=-1, required=True, metavar="A [B]", type=click.Path())
@click.option("--query", required=True, help="The query to explain.")
@one_measure_option("RDQ@10", "RDQ, nDCG, AP, RBP, P, RR or similar, with a cutoff.")
@name_option
@order_options
@output_options
def explain_command(
    references: str,
    runs: tuple[str, ...],
    query: str,
    measure: str,
    names: tuple[str, ...],
    order: Order,
    ties: Ties,
    form: str | None,
    output: str | None,
) -> None:
    """Show what a run gained and lost at each position for one query, and why; two runs side by side."""
    from rankdev.data.files import load_references, load_runs
    from rankdev.display.dispatch import report_of
    from rankdev.display.scores import explanations_report as side_by_side
    from rankdev.evaluation.explain import explain

    check_one_order(ties, "an explanation")
    systems = named_runs(references, runs, names)
    if len(systems) > 2:
        raise UsageError("too-large", name="runs", high=2, value=len(systems))
    known = load_references(references, **read_options("columns", "ranks", "strict"))
    if query not in known:
        raise DataError("unknown-query", path=references, query=query, near=nearest(query, known))
    loaded = load_runs(systems, order=order, ties=ties, **read_options())
    found = {name: explain(known[query], run.get(query, []), measure=measure) for name, run in loaded.items()}
    single = report_of(next(iter(found.values())), query=query)
    deliver(single if len(found) == 1 else side_by_side(found, query), form, output)


@click.command(
    "bounds",
    cls=Command,
    epilog="Example: rankdev bounds judged.jsonl nearest.run popular.run blended.run -m RDQ@5",
)
@click.argument("references", type=click.Path())
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=click.Path())
@measure_option(["RDQ@10"])
@name_option
@order_options
@figure_option
@output_options
def bounds_command(
    references: str,
    runs: tuple[str, ...],
    measures: tuple[str, ...],
    names: tuple[str, ...],
    order: Order,
    ties: Ties,
    figure: str | None,
    form: str | None,
    output: str | None,
) -> None:
    """Compute each score with unjudged items all nonrelevant, and all as good as can be.

    REFERENCES must state which items were judged nonrelevant: by grade 0, or by "nonrelevant" next to the tiers.
    """
    from rankdev.display.dispatch import report_of
    from rankdev.evaluation.bounds import bounds

    found = bounds(references, named_runs(references, runs, names), measures, order=order, ties=ties, **read_options())
    deliver(report_of(found), form, output)
    draw(figure, found.plot)
