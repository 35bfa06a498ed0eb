"""The commands of ``study``: the paper's experiments."""

from __future__ import annotations

from typing import Any

import click

from rankdev.cli.app import Group, argument, command, option
from rankdev.cli.from_function import OWN, values_of
from rankdev.cli.inputs import each_once, import_option, measure_option, whole_numbers
from rankdev.cli.outputs import OUTPUT, Output, figures_option, working_progress
from rankdev.errors import UsageError

study_command = Group(
    "study",
    help="Rerun the paper's experiments and show its published numbers next to the new ones.",
    epilog="Example: rankdev study poi --quick",
)
quick_option = option("--quick", is_flag=True, help="Smaller simulations: seconds, not minutes.")


@command("controlled", OUTPUT, group=study_command, example="rankdev study controlled")
def controlled_command(output: Output) -> None:
    """Table 1: 13 controlled examples under 11 measures."""
    from rankdev.studies.controlled import controlled_report, run_controlled

    output.deliver(controlled_report(run_controlled()))


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

    Without --references and --runs, the data are simulated to resemble those of the paper.
    """
    from rankdev.data.files import runs_in
    from rankdev.studies.poi import poi_report, run_poi, save_poi_figures

    systems = None if runs is None else runs_in(runs)
    with working_progress("points of interest") as progress:
        study = run_poi(references, systems, quick=quick, seed=seed, progress=progress)
    if figures is not None:
        save_poi_figures(study, figures)
    output.deliver(poi_report(study))


@command(
    "track",
    argument("files", metavar="REFERENCES RUNS [REFERENCES RUNS]...", nargs=-1, required=True),
    measure_option("For example RDQ@5; repeat, or use commas. Default: the paper's."),
    import_option,
    option(
        "-k", "--cutoff", type=click.IntRange(min=1), default=10, show_default=True, help="Of the paper's measures."
    ),
    option("-n", type=click.IntRange(min=6), default=25, show_default=True, help="Queries of a comparison."),
    option("--sizes", metavar="N,N,...", help="Numbers of queries of the curves. Default: the paper's, from 10."),
    option("--grid", metavar="NAME=V,V,...", multiple=True, help="Figure 1 varies this of the first measure; repeat."),
    option("--replacement", is_flag=True, help="Draw queries with replacement, as new ones."),
    quick_option,
    OWN["seed"],
    figures_option("figure1.png (sensitivity), figure2.png (agreement), power.png and stability.png"),
    OUTPUT,
    group=study_command,
    example="rankdev study track qrels.txt runs/ -m RDQ@10,nDCG@10 --quick --figures figures/",
)
def track_command(
    files: tuple[str, ...],
    measures: tuple[str, ...],
    sizes: str | None,
    grid: tuple[str, ...],
    figures: str | None,
    output: Output,
    **options: Any,
) -> None:
    """Tables 2 to 4, Figures 1 and 2: any track, any measures.

    REFERENCES are grades or any other references, whose file names a collection; RUNS is a folder with one file per
    system. Several collections with the same systems are pooled; Figure 2 shows them side by side. It compares the
    measures named as the first one with all others.
    """
    from rankdev.data.files import runs_in, system_name
    from rankdev.studies.track import run_track
    from rankdev.studies.track_output import save_track_figures, track_report

    references, folders = files[::2], files[1::2]
    if len(references) != len(folders):
        raise UsageError("unequal", names=["REFERENCES", "RUNS"], counts=[len(references), len(folders)])
    files_of = zip(references, map(runs_in, folders), strict=True)
    collections = each_once(zip(map(system_name, references), files_of, strict=True))
    options |= {"sizes": whole_numbers(sizes, "--sizes") or (), "grid": each_once(map(values_of, grid)) or None}
    with working_progress("the track") as progress:
        study = run_track(collections, measures, progress=progress, **options)
    if figures is not None:
        save_track_figures(study, figures)
    output.deliver(track_report(study))
