"""The commands that order systems: ``leaderboard``, and ``table`` for papers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankdev.cli.commands.compare import correction_option, test_option
from rankdev.cli.designs import clusters_option, matching_runs, read_clusters, replicates_option
from rankdev.cli.help import Command
from rankdev.cli.inputs import analyse_source, collection_option, score_options
from rankdev.cli.options import refuse_unused
from rankdev.cli.outputs import deliver, draw, figure_option

if TYPE_CHECKING:
    from rankdev.statistics.paper_table import PaperTable


@click.command(
    "leaderboard",
    cls=Command,
    epilog="Example: rankdev leaderboard places.jsonl nearest.run popular.run blended.run -m RDQ@5",
)
@score_options
@collection_option
@figure_option
@click.option(
    "--rule",
    type=click.Choice(["mean", "borda", "wins"]),
    default="mean",
    metavar="RULE",
    help="Over several collections: mean (default), borda, wins.",
)
@click.option("--alpha", default=0.05, show_default=True, help="Level of tests and intervals.")
@clusters_option
@replicates_option
@click.option("--resamples", default=2000, show_default=True, metavar="N", help="For the probability of being best.")
def leaderboard_command(
    collections: tuple[str, ...],
    rule: Any,
    alpha: float,
    clusters: str | None,
    replicates: tuple[str, ...],
    resamples: int,
    seed: int,
    form: str | None,
    output: str | None,
    figure: str | None,
    segments: str | None,
    **source: Any,
) -> None:
    """Rank systems, with intervals of means and ranks, and groups without a significant difference.

    Give REFERENCES and RUNs, or --scores, or several --collection: tasks over which systems are ordered.
    """
    from rankdev.statistics.leaderboard import Leaderboard, leaderboard

    if collections:
        refuse_unused("clusters", "replicates", beside="collections")
    options: dict[str, Any] = {"rule": rule, "alpha": alpha, "resamples": resamples, "seed": seed}

    def analyse(scores: Any) -> Leaderboard:
        repeated = matching_runs(replicates, scores.systems) if replicates else None
        return leaderboard(scores, clusters=read_clusters(clusters), replicates=repeated, **options)

    found, report = analyse_source(analyse, collections, segments, **source)
    deliver(report, form, output)
    draw(figure, found.plot)


@click.command(
    "table",
    cls=Command,
    epilog="Example: rankdev table places.jsonl nearest.run popular.run blended.run -m RDQ@5 --baseline nearest",
)
@score_options
@collection_option
@click.option("--baseline", "baselines", multiple=True, help="Mark differences from this system; repeat.")
@test_option
@correction_option
@click.option("--alpha", default=0.05, show_default=True, help="Level of the tests.")
@clusters_option
@click.option("--intervals", is_flag=True, help="Show the interval of each mean over queries.")
@replicates_option
@click.option("--digits", default=4, show_default=True, type=click.IntRange(min=0, max=15), help="Decimals.")
def table_command(
    collections: tuple[str, ...],
    baselines: tuple[str, ...],
    form: str | None,
    output: str | None,
    segments: str | None,
    test: str | None,
    correction: str | None,
    alpha: float,
    clusters: str | None,
    intervals: bool,
    replicates: tuple[str, ...],
    digits: int,
    seed: int,
    **source: Any,
) -> None:
    """Tabulate systems and measures: the best in bold, significant differences marked, with a caption.

    With --baseline, daggers mark differences from it; else letters name the systems that a value exceeds. Use
    --format latex or -o table.tex for LaTeX.
    """
    from rankdev.statistics.paper_table import table

    testing: dict[str, Any] = {"alpha": alpha, "digits": digits, "seed": seed, "intervals": intervals}
    testing |= {"test": test, "correction": correction or "holm", "clusters": read_clusters(clusters)}

    def analyse(scores: Any) -> PaperTable:
        first = next(iter(scores.values())) if isinstance(scores, dict) else scores
        repeated = matching_runs(replicates, first.systems)
        return table(scores, baselines=baselines or None, replicates=repeated, **testing)

    _, report = analyse_source(analyse, collections, segments, **source)
    deliver(report, form, output)
