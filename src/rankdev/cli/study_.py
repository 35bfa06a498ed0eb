"""rankdev study: the paper's experiments."""

from __future__ import annotations

import click

from rankdev.cli.options import deliver, output_options
from rankdev.cli.progress import working


@click.group("study", short_help="Rerun the paper's experiments.")
def command() -> None:
    """Rerun the paper's experiments and show its published numbers beside the new ones."""


@command.command()
@click.option("--figure", metavar="FILE", help="Draw each example position by position here: .png, .pdf or .svg.")
@output_options
def controlled(figure: str | None, form: str | None, output: str | None) -> None:
    """Table 1: 13 controlled examples under 11 measures."""
    from rankdev.studies.controlled import controlled_figure, controlled_report, run_controlled

    study = run_controlled()
    if figure is not None:
        controlled_figure(study, figure)
    deliver(controlled_report(study), form, output)


@command.command()
@click.option("--references", metavar="FILE", help="Your references, in any format that rankdev eval takes.")
@click.option("--runs", metavar="DIR", help="Their runs, one file a system; names like model-setting form a grid.")
@click.option("--quick", is_flag=True, help="Fewer queries, subsamples and flips: seconds instead of minutes.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Same seed, same tables.")
@click.option("--figures", metavar="DIR", help="Write figure1.png (sensitivity), power.png and stability.png there.")
@output_options
def poi(
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
    with working("points of interest") as progress:
        study = run_poi(references, systems, quick=quick, seed=seed, progress=progress)
    if figures is not None:
        from rankdev.studies.poi_figures import save_poi_figures

        save_poi_figures(study, figures)
    deliver(poi_report(study), form, output)
