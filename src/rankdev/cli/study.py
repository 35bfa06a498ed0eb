"""The commands of ``study``: the paper's experiments."""

from __future__ import annotations

import click

from rankdev.cli.app import Group, argument, command, option
from rankdev.cli.from_function import OWN
from rankdev.cli.outputs import DRAWN, OUTPUT, Output, figures_option, working_progress

study_command = Group(
    "study",
    help="Rerun the paper's experiments and show its published numbers next to the new ones.",
    epilog="Example: rankdev study poi --quick",
)
quick_option = option("--quick", is_flag=True, help="Smaller simulations: seconds, not minutes.")


@command("controlled", DRAWN, group=study_command, example="rankdev study controlled")
def controlled_command(output: Output) -> None:
    """Table 1: 13 controlled examples under 11 measures."""
    from rankdev.studies.controlled import controlled_figure, controlled_report, run_controlled

    study = run_controlled()
    if output.figure is not None:
        controlled_figure(study, output.figure)
    output.deliver(controlled_report(study))


@command(
    "poi",
    option("--references", metavar="FILE", help="Your references, in any format; see help files."),
    option("--runs", metavar="DIR", help="Your runs, one file per system."),
    quick_option,
    OWN["seed"],
    figures_option("figure1.png (sensitivity), power.png and stability.png"),
    OUTPUT,
    group=study_command,
    example="rankdev study poi --quick",
)
def poi_command(
    references: str | None, runs: str | None, quick: bool, seed: int, figures: str | None, output: Output
) -> None:
    """Tables 2 and 3, Figure 1: points of interest.

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
    output.deliver(poi_report(study))


@command(
    "track",
    argument("references"),
    argument("runs"),
    option("-k", "--cutoff", type=click.IntRange(min=1), default=10, show_default=True, help="Cutoff of the measures."),
    option("-n", type=click.IntRange(min=6), default=25, show_default=True, help="Queries of a comparison."),
    quick_option,
    OWN["seed"],
    figures_option("figure1.png (sensitivity), figure2.png (agreement), power.png, stability.png and buckets.png"),
    OUTPUT,
    group=study_command,
    example="rankdev study track qrels.txt runs/ --quick --figures figures/",
)
def track_command(
    references: str, runs: str, cutoff: int, n: int, quick: bool, seed: int, figures: str | None, output: Output
) -> None:
    """Tables 2 to 4, Figures 1 and 2: any track.

    REFERENCES are grades or any other references, such as those made from preferences; RUNS is a folder with one file
    per system. Ctrl-C shows the tables that are finished.
    """
    from rankdev.data.tables import runs_in
    from rankdev.studies._track_output import save_track_figures, track_report
    from rankdev.studies.track import run_track

    with working_progress("the track") as progress:
        study = run_track(runs_in(runs), references, cutoff=cutoff, n=n, quick=quick, seed=seed, progress=progress)
    if figures is not None:
        save_track_figures(study, figures)
    output.deliver(track_report(study))
    if not study.complete:
        raise KeyboardInterrupt("only what was finished is shown")
