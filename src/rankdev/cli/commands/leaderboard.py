"""The commands that order systems: ``leaderboard``, and ``table`` for papers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankdev.cli.commands.compare import correction_option, permutations_option, test_option
from rankdev.cli.help import Command
from rankdev.cli.inputs import (
    analyse_source,
    clusters_option,
    collection_option,
    matching_runs,
    read_clusters,
    replicates_option,
    score_options,
)
from rankdev.cli.options import refuse_unused
from rankdev.cli.outputs import deliver, draw, end, figure_option

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
@test_option
@correction_option
@permutations_option
@click.option("--alpha", default=0.05, show_default=True, help="Level of tests and intervals.")
@clusters_option
@replicates_option
def leaderboard_command(
    collections: tuple[str, ...],
    test: Any,
    correction: str | None,
    permutations: int,
    alpha: float,
    clusters: str | None,
    replicates: tuple[str, ...],
    seed: int,
    form: str | None,
    output: str | None,
    figure: str | None,
    segments: str | None,
    **source: Any,
) -> None:
    """Rank systems, with intervals of means, and the ranks that the decisions about pairs leave them.

    Give REFERENCES and RUNs, or --scores, or several --collection: then systems are ordered by their mean over these.
    """
    from rankdev.statistics.leaderboard import Leaderboard, leaderboard

    if collections:
        refuse_unused("clusters", "replicates", beside="collections")
    if test != "randomization":
        refuse_unused("permutations", needs="test='randomization'")
    options: dict[str, Any] = {"test": test or "t", "correction": correction or "holm", "alpha": alpha}
    options |= {"permutations": permutations, "seed": seed}

    def analyse(scores: Any) -> Leaderboard:
        repeated = matching_runs(replicates, scores.systems) if replicates else None
        return leaderboard(scores, clusters=read_clusters(clusters), replicates=repeated, **options)

    found, report = analyse_source(analyse, collections, segments, **source)
    deliver(report, form, output)
    draw(figure, found.plot)
    end(found)


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
@permutations_option
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
    test: Any,
    permutations: int,
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

    if test != "randomization":
        refuse_unused("permutations", needs="test='randomization'")
    testing: dict[str, Any] = {"alpha": alpha, "digits": digits, "seed": seed, "intervals": intervals}
    testing |= {
        "test": test or "t",
        "correction": correction or "holm",
        "clusters": read_clusters(clusters),
        "permutations": permutations,
    }

    def analyse(scores: Any) -> PaperTable:
        first = next(iter(scores.values())) if isinstance(scores, dict) else scores
        repeated = matching_runs(replicates, first.systems)
        return table(scores, baselines=baselines or None, replicates=repeated, **testing)

    found, report = analyse_source(analyse, collections, segments, **source)
    deliver(report, form, output)
    end(found)
