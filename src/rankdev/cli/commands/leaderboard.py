"""The command ``leaderboard``."""

from __future__ import annotations

from typing import Any

import click

from rankdev.cli.designs import clusters_option, matching_runs, read_clusters, replicates_option
from rankdev.cli.help import Command
from rankdev.cli.inputs import analyse_source, collection_option, score_options
from rankdev.cli.options import refuse_unused
from rankdev.cli.outputs import deliver, draw, figure_option


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
@click.option("--risk", type=float, metavar="A", help="Add risk: losses count 1 + A times; 1 or 5.")
@click.option("--baseline", help="With --risk: against this system.")
@click.option("--resamples", default=2000, show_default=True, metavar="N", help="For the chance to be best.")
def leaderboard_command(
    collections: tuple[str, ...],
    rule: Any,
    alpha: float,
    clusters: str | None,
    replicates: tuple[str, ...],
    risk: float | None,
    baseline: str | None,
    resamples: int,
    seed: int,
    form: str | None,
    output: str | None,
    figure: str | None,
    segments: str | None,
    **source: Any,
) -> None:
    """Order systems, with intervals of means and ranks, and groups without a significant difference.

    Give REFERENCES and RUNs, or --scores, or several --collection: tasks over which systems are ordered.
    """
    from rankdev.statistics.leaderboard import Leaderboard, leaderboard

    if collections:
        refuse_unused("clusters", "replicates", "risk", "baseline", why="is for one collection")
    if risk is None:
        refuse_unused("baseline", why="is for --risk, and there is none")
    options: dict[str, Any] = {"rule": rule, "alpha": alpha, "resamples": resamples, "seed": seed}
    options |= {"risk": risk, "baseline": baseline}

    def analyse(scores: Any) -> Leaderboard:
        repeated = matching_runs(replicates, scores.systems) if replicates else None
        return leaderboard(scores, clusters=read_clusters(clusters), replicates=repeated, **options)

    found, report = analyse_source(analyse, collections, segments, **source)
    deliver(report, form, output)
    draw(figure, found.plot)
