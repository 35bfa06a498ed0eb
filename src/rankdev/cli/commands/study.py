"""The commands of ``study``: the paper's experiments."""

from __future__ import annotations

from typing import Any

import click

from rankdev.cli.help import Group
from rankdev.cli.options import seed_option, whole_numbers
from rankdev.cli.outputs import deliver, figure_option, figures_option, output_options, working_progress


@click.group("study", cls=Group, epilog="Example: rankdev study poi --quick")
def study_command() -> None:
    """Rerun the paper's experiments and show its published numbers next to the new ones."""


@study_command.command("controlled", epilog="Example: rankdev study controlled")
@figure_option
@output_options
def controlled_command(figure: str | None, form: str | None, output: str | None) -> None:
    """Table 1: 13 controlled examples under 11 measures."""
    from rankdev.studies.controlled import controlled_figure, controlled_report, run_controlled

    study = run_controlled()
    if figure is not None:
        controlled_figure(study, figure)
    deliver(controlled_report(study), form, output)


@study_command.command(
    "poi", short_help="Tables 2 and 3, Figure 1: points of interest.", epilog="Example: rankdev study poi --quick"
)
@click.option("--references", metavar="FILE", help="Your references, in any format; see help files.")
@click.option("--runs", metavar="DIR", help="Your runs, one file per system.")
@click.option("--quick", is_flag=True, help="Smaller simulations: seconds, not minutes.")
@seed_option
@figures_option("figure1.png (sensitivity), power.png and stability.png")
@output_options
def poi_command(
    references: str | None,
    runs: str | None,
    quick: bool,
    seed: int,
    figures: str | None,
    form: str | None,
    output: str | None,
) -> None:
    """Tables 2 and 3, Figure 1 and the pair counts: points of interest.

    Without --references and --runs, the data are simulated to resemble those of the paper. Runs named MODEL-SETTING
    form a grid.
    """
    from rankdev.data.tables import runs_in
    from rankdev.studies.poi import poi_report, run_poi, save_poi_figures

    systems = None if runs is None else runs_in(runs)
    with working_progress("points of interest") as progress:
        study = run_poi(references, systems, quick=quick, seed=seed, progress=progress)
    if figures is not None:
        save_poi_figures(study, figures)
    deliver(poi_report(study), form, output)


@study_command.command(
    "track",
    short_help="Tables 2 to 4, Figures 1 and 2: any track.",
    epilog="Example: rankdev study track qrels.txt runs/ --quick --figures figures/",
)
@click.argument("references", metavar="REFERENCES")
@click.argument("runs", metavar="RUNS")
@click.option(
    "-k", "--cutoff", type=click.IntRange(min=1), default=10, show_default=True, help="Cutoff of the measures."
)
@click.option("-n", "n", type=click.IntRange(min=6), default=25, show_default=True, help="Queries of a comparison.")
@click.option("--reference-sizes", metavar="N,N,...", help="Upper limits of buckets by size. Default: thirds.")
@click.option("--tier-sizes", metavar="N,N,...", help="The same by items per tier.")
@click.option("--quick", is_flag=True, help="Smaller simulations: seconds, not minutes.")
@seed_option
@figures_option("figure1.png (sensitivity), figure2.png (agreement), power.png, stability.png and buckets.png")
@output_options
def track_command(
    references: str,
    runs: str,
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

    REFERENCES are grades or any other references, such as those made from preferences; RUNS is a folder with one file
    per system. Ctrl-C shows the tables that are finished.
    """
    from rankdev.data.tables import runs_in
    from rankdev.studies._track_output import save_track_figures, track_report
    from rankdev.studies.track import run_track

    edges: dict[str, Any] = {
        "reference_sizes": whole_numbers(reference_sizes, "--reference-sizes"),
        "tier_sizes": whole_numbers(tier_sizes, "--tier-sizes"),
    }
    with working_progress("the track") as progress:
        study = run_track(
            runs_in(runs), references, cutoff=cutoff, n=n, **edges, quick=quick, seed=seed, progress=progress
        )
    if figures is not None:
        save_track_figures(study, figures)
    deliver(track_report(study), form, output)
    if not study.complete:
        raise KeyboardInterrupt("only what was finished is shown")
