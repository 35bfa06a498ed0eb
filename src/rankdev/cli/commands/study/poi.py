"""rankdev study poi: points of interest."""

from __future__ import annotations

import click

from rankdev.cli.options import seed_option
from rankdev.cli.outputs import deliver, figures_option, output_options
from rankdev.cli.progress_bars import working_progress


@click.command(
    "poi", short_help="Tables 2 and 3, Figure 1: points of interest.", epilog="Example: rankdev study poi --quick"
)
@click.option("--references", metavar="FILE", help="Your references, in any format that rankdev eval takes.")
@click.option("--runs", metavar="DIR", help="Their runs, one file per system; names like model-setting form a grid.")
@click.option("--quick", is_flag=True, help="Fewer queries, subsamples and flips: seconds instead of minutes.")
@seed_option
@figures_option("figure1.png (sensitivity), power.png and stability.png")
@output_options
def command(
    references: str | None,
    runs: str | None,
    quick: bool,
    seed: int,
    figures: str | None,
    form: str | None,
    output: str | None,
) -> None:
    """Tables 2 and 3, Figure 1 and the pair counts: points of interest.

    Without --references and --runs on simulated data of the published shape.
    """
    from rankdev.formats.names import runs_in
    from rankdev.studies.poi import run_poi
    from rankdev.studies.poi_report import poi_report

    systems = None if runs is None else runs_in(runs)
    with working_progress("points of interest") as progress:
        study = run_poi(references, systems, quick=quick, seed=seed, progress=progress)
    if figures is not None:
        from rankdev.studies.poi_figures import save_poi_figures

        save_poi_figures(study, figures)
    deliver(poi_report(study), form, output)
