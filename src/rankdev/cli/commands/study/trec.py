"""rankdev study trec: the paper's protocol for any track."""

from __future__ import annotations

from typing import Any

import click

from rankdev.cli.options import seed_option, whole_numbers
from rankdev.cli.outputs import deliver, figures_option, output_options
from rankdev.cli.progress_bars import working_progress


@click.command("trec", epilog="Example: rankdev study trec runs/ qrels.txt --quick --figures pictures/")
@click.argument("runs", metavar="RUNS")
@click.argument("qrels", metavar="QRELS")
@click.option("-k", "--cutoff", type=click.IntRange(min=1), default=10, show_default=True, help="Depth of measures.")
@click.option("-n", "n", type=click.IntRange(min=6), default=25, show_default=True, help="Queries of a comparison.")
@click.option("--reference-sizes", metavar="N,N,...", help="Upper edges of buckets by reference size. Default: thirds.")
@click.option("--tier-sizes", metavar="N,N,...", help="The same by items per tier.")
@click.option("--quick", is_flag=True, help="Fewer subsamples, flips and resamples: seconds instead of minutes.")
@seed_option
@figures_option("figure1.png (sensitivity), figure2.png (agreement), power.png, stability.png and buckets.png")
@output_options
def command(
    runs: str,
    qrels: str,
    cutoff: int,
    n: int,
    reference_sizes: str | None,
    tier_sizes: str | None,
    quick: bool,
    seed: int,
    figures: str | None,
    form: str | None,
    output: str | None,
) -> None:
    """The paper's Tables 2 to 4 and Figures 1 and 2 for any track.

    RUNS is a folder with one file per system; QRELS are grades or any other references, such as those made from
    preferences. Interrupting it (Ctrl-C) shows the tables that are finished.
    """
    from rankdev.formats.names import runs_in
    from rankdev.studies.trec import run_trec
    from rankdev.studies.trec_report import trec_report

    edges: dict[str, Any] = {
        "reference_sizes": whole_numbers(reference_sizes, "--reference-sizes"),
        "tier_sizes": whole_numbers(tier_sizes, "--tier-sizes"),
    }
    with working_progress("the track") as progress:
        study = run_trec(runs_in(runs), qrels, cutoff=cutoff, n=n, **edges, quick=quick, seed=seed, progress=progress)
    if figures is not None:
        from rankdev.studies.trec_figures import save_trec_figures

        save_trec_figures(study, figures)
    deliver(trec_report(study), form, output)
    if not study.complete:
        raise KeyboardInterrupt("only what was finished is shown")
