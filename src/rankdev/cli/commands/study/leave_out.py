"""rankdev study leave-out: judgments taken away."""

from __future__ import annotations

from typing import Any

import click

from rankdev.cli.options import each_once, measure_option, read_pairs, seed_option, shares_of
from rankdev.cli.outputs import deliver, draw, figure_option, output_options
from rankdev.cli.progress_bars import working_progress


@click.command(
    "leave-out",
    short_help="How scores and orders move without some judgments.",
    epilog="Example: rankdev study leave-out runs/ qrels.txt --teams teams.csv",
)
@click.argument("runs", metavar="RUNS")
@click.argument("qrels", metavar="QRELS")
@measure_option(())
@click.option("--teams", metavar="FILE", help="A table with columns system, team. Default: every system is a team.")
@click.option("--pool-depth", type=click.IntRange(min=1), default=10, show_default=True, help="What runs put in.")
@click.option("--shares", metavar="X,X,...", default="0.1,0.3,0.5", show_default=True, help="Judgments taken away.")
@click.option("--quick", is_flag=True, help="Fewer draws and resamples.")
@seed_option
@figure_option
@output_options
def command(
    runs: str,
    qrels: str,
    measures: tuple[str, ...],
    teams: str | None,
    pool_depth: int,
    shares: str,
    quick: bool,
    seed: int,
    figure: str | None,
    form: str | None,
    output: str | None,
) -> None:
    """How scores and orders of systems move had some judgments not been made.

    RUNS is a folder with one file per system. What a team alone brought into the pool is taken away, team by team, and
    shares of all judgments at random. Without -m: RDQ, nDCG, AP, RBP and Compat at 10, Bpref and judged-only variants.
    """
    from rankdev.formats.names import runs_in
    from rankdev.meta.leave_out import leave_out
    from rankdev.reporting.door import report_of

    less: dict[str, Any] = {"draws": 2, "resamples": 50} if quick else {}
    options = {
        "teams": _teams(teams),
        "shares": shares_of(shares, "--shares"),
        "pool_depth": pool_depth,
        "seed": seed,
        **less,
    }
    with working_progress("leaving out") as progress:
        found = leave_out(qrels, runs_in(runs), measures or None, progress=progress, **options)
    deliver(report_of(found), form, output)
    draw(figure, found.plot)


def _teams(path: str | None) -> dict[str, str] | None:
    """Read whose system is whose."""
    return None if path is None else each_once(read_pairs(path, "system", "team", "teams"), path)
