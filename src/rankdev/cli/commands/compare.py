"""The commands that test differences: ``compare`` and, with human and model judgments, ``ppi``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from rankdev.cli.help import Command, RegisteredChoice, SharedOption
from rankdev.cli.inputs import (
    analyse_segments,
    clusters_option,
    collection_option,
    load_collections,
    load_scores,
    matching_runs,
    read_chosen_scores,
    read_clusters,
    read_segments,
    replicates_option,
    score_options,
    score_runs,
)
from rankdev.cli.options import empty_option, measure_option, name_option, order_options, read_options, refuse_unused
from rankdev.cli.outputs import deliver, draw, end, figure_option, output_options
from rankdev.errors import UsageError

if TYPE_CHECKING:
    from rankdev._common.result import Result
    from rankdev.evaluation.scores import Scores


test_option = click.option(
    "--test",
    type=RegisteredChoice("rankdev.statistics.significance:TESTS"),
    help="t (default) or randomization.",
)
correction_option = click.option(
    "--correction",
    type=RegisteredChoice("rankdev.statistics.paired:CORRECTIONS"),
    help="holm (default), bh or none.",
)
permutations_option = click.option(
    "--permutations",
    cls=SharedOption,
    metavar="N",
    type=int,
    default=100_000,
    show_default=True,
    help="Sign flips that are drawn, with --test randomization.",
)


@click.command(
    "compare",
    cls=Command,
    epilog="Example: rankdev compare places.jsonl nearest.run blended.run -m RDQ@5",
)
@score_options
@collection_option
@click.option("--pooled", is_flag=True, help="Pool the queries of all collections.")
@figure_option
@click.option("-q", "--per-query", is_flag=True, help="Show two systems query by query, worst first.")
@click.option("--pairs", is_flag=True, help="Show all pairs, even of many systems.")
@click.option("--discriminative-power", is_flag=True, help="Show the p-values of all pairs, by measure.")
@click.option("--margin", type=float, help="Largest difference that does not matter.")
@click.option("--baseline", "baselines", multiple=True, help="Compare with this system only; repeat.")
@test_option
@correction_option
@click.option("--alpha", default=0.05, show_default=True, help="Level of tests and intervals.")
@permutations_option
@clusters_option
@replicates_option
def compare_command(
    collections: tuple[str, ...],
    pooled: bool,
    margin: float | None,
    baselines: tuple[str, ...],
    test: Any,
    correction: str | None,
    permutations: int,
    clusters: str | None,
    replicates: tuple[str, ...],
    alpha: float,
    seed: int,
    form: str | None,
    output: str | None,
    figure: str | None,
    per_query: bool,
    pairs: bool,
    discriminative_power: bool,
    segments: str | None,
    **source: Any,
) -> None:
    """Decide which systems are better: all pairs, or all against baselines.

    Give REFERENCES and RUNs, or --scores, or more than one --collection. Of two RUNs the first is the baseline.
    """
    from rankdev.display.differences import plot_differences
    from rankdev.display.dispatch import report_of
    from rankdev.evaluation.scores import Scores
    from rankdev.statistics.significance import significance

    _check(bool(collections), pooled, per_query, discriminative_power)
    test = test or ("randomization" if discriminative_power else "t")
    if test == "t":
        refuse_unused("permutations", needs="test='randomization'")
    correction = correction or ("none" if discriminative_power else "holm")
    testing: dict[str, Any] = {"baselines": baselines or None, "correction": correction, "alpha": alpha}
    testing["clusters"] = read_clusters(clusters)
    if collections and not pooled:
        from rankdev.statistics.meta_analysis import meta_analysis

        several = load_collections(collections, **source)
        combined = meta_analysis(several, **testing)
        deliver(report_of(combined), form, output)
        draw(figure, combined.plot)
        end(combined)
        return
    scores = Scores.pooled(load_collections(collections, **source)) if collections else load_scores(**source)
    if per_query and len(scores.systems) != 2:
        raise UsageError("not-a-pair", count=len(scores.systems), systems=scores.systems[:8])
    repeated = matching_runs(replicates, scores.systems)
    testing |= {"test": test, "permutations": permutations, "seed": seed, "replicates": repeated}
    found: Result
    if per_query:
        found, report = analyse_segments(scores, segments, lambda part: part.differences())
    elif discriminative_power:
        found, report = analyse_segments(
            scores, segments, lambda part: significance(part, **testing).discriminative_power()
        )
    else:
        parts = None if segments is None else read_segments(segments)
        found = significance(scores, **testing, margin=margin, segments=parts)
        report = report_of(found, pairs=pairs)
    deliver(report, form, output)
    if not discriminative_power and not repeated and len(scores.systems) == 2 and len(scores.measures) == 1:
        draw(figure, plot_differences, scores, *reversed(scores.systems), *scores.measures)
    else:
        draw(figure, found.plot)
    end(found)


def _check(several: bool, pooled: bool, per_query: bool, discriminative_power: bool) -> None:
    """Refuse options that do not go together."""
    if not several:
        refuse_unused("pooled", needs="collections")
    else:
        refuse_unused("per_query", "discriminative_power", beside="collections")
        if not pooled:
            refuse_unused("margin", "test", "permutations", "replicates", "pairs", needs="pooled")
    if per_query:
        tests = ("test", "correction", "permutations", "discriminative_power", "clusters", "replicates")
        refuse_unused("margin", "baselines", "pairs", *tests, beside="per_query")
    if discriminative_power:
        refuse_unused("margin", "baselines", "pairs", beside="discriminative_power")


@click.command(
    "ppi",
    cls=Command,
    epilog="Example: rankdev ppi human.qrels model.qrels a.run b.run -m nDCG@10",
)
@click.argument("human", type=click.Path())
@click.argument("model", type=click.Path())
@click.argument("runs", nargs=-1, metavar="[RUN]...", type=click.Path())
@measure_option(())
@click.option("--alpha", default=0.05, show_default=True, help="Level of the intervals.")
@name_option
@order_options
@empty_option
@output_options
@figure_option
def ppi_command(
    human: str,
    model: str,
    runs: tuple[str, ...],
    names: tuple[str, ...],
    alpha: float,
    measures: tuple[str, ...],
    form: str | None,
    output: str | None,
    figure: str | None,
    **options: Any,
) -> None:
    """Estimate human-judged scores from a few queries judged by humans and many judged by a model.

    HUMAN and MODEL are references, with RUNs to score against both; or, without RUNs, scores of both kinds, with the
    columns system, query, measure, value. Intervals are valid however
    wrong the model is, if the queries judged by humans are a random sample.
    """
    from rankdev.display.dispatch import report_of
    from rankdev.statistics.prediction_powered import prediction_powered

    by_humans, by_model = (_scores(source, runs, names, measures, options) for source in (human, model))
    found = prediction_powered(by_humans, by_model, alpha=alpha)
    deliver(report_of(found), form, output)
    draw(figure, found.plot)


def _scores(
    source: str, runs: Sequence[str], names: Sequence[str], measures: Sequence[str], options: dict[str, Any]
) -> Scores:
    if runs:
        return score_runs(source, runs, names, measures or ["RDQ@10"], **options, **read_options())
    return read_chosen_scores(source, measures)
