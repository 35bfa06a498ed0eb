"""The commands of ``study``: the paper's experiments and others like them; those about tracks are in ``tracks``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankdev.cli.commands.tracks import trec_command, trec_dl_command
from rankdev.cli.help import Group
from rankdev.cli.options import each_once, fractions, measure_option, read_pairs, seed_option, whole_numbers
from rankdev.cli.outputs import (
    deliver,
    draw,
    encoded_table,
    figure_option,
    figures_option,
    output_options,
    table_option,
    working_progress,
)
from rankdev.errors import UsageError

if TYPE_CHECKING:
    from rankdev._common.result import Result

BUILT_IN = "<built-in city>"


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
    "leave-out",
    short_help="Compare rankings of systems with and without some judgments.",
    epilog="Example: rankdev study leave-out qrels.txt runs/ --teams teams.csv",
)
@click.argument("references", metavar="REFERENCES")
@click.argument("runs", metavar="RUNS")
@measure_option(())
@click.option("--teams", metavar="FILE", help="A table with system and team. Default: one team per system.")
@click.option("--pool-depth", type=click.IntRange(min=1), default=10, show_default=True, help="Depth of the pool.")
@click.option(
    "--shares", metavar="X,X,...", default="0.1,0.3,0.5", show_default=True, help="Fractions removed at random."
)
@click.option("--quick", is_flag=True, help="Fewer draws and resamples.")
@seed_option
@figure_option
@output_options
def leave_out_command(
    references: str,
    runs: str,
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
    """Compare scores and rankings of systems with and without some judgments.

    RUNS is a folder with one file per system. Items that only one team's runs brought into the pool are removed, team
    by team; then fractions of all judgments, at random. Default measures: RDQ, nDCG, AP, RBP and Compat at 10, Bpref
    and judged-only variants.
    """
    from rankdev.display.dispatch import report_of
    from rankdev.io.tables import runs_in
    from rankdev.studies.missing_judgments import leave_out

    less: dict[str, Any] = {"draws": 2, "resamples": 50} if quick else {}
    options = {
        "teams": _teams(teams),
        "shares": fractions(shares, "--shares"),
        "pool_depth": pool_depth,
        "seed": seed,
        **less,
    }
    with working_progress("leaving out") as progress:
        found = leave_out(references, runs_in(runs), measures or None, progress=progress, **options)
    deliver(report_of(found), form, output)
    draw(figure, found.plot)


def _teams(path: str | None) -> dict[str, str] | None:
    """Read which team each system belongs to."""
    return None if path is None else each_once(read_pairs(path, "system", "team", "teams"), path)


@study_command.command("map", epilog="Example: rankdev study map --quick")
@click.option("-n", "n", type=click.IntRange(min=2), help="Queries. Default: 100, or 25 with --runs.")
@click.option("--tie-share", metavar="X,X,...", help="Fractions of tied neighbours in a reference; a map each.")
@click.option("--reference-size", metavar="N,N,...", help="Items in every reference; a map each.")
@click.option("--references", metavar="FILE", help="References of your own runs, to place on the map.")
@click.option("--runs", metavar="DIR", help="The runs, one file per system.")
@click.option(
    "-k", "--cutoff", type=click.IntRange(min=1), default=5, show_default=True, help="Cutoff of the measures."
)
@click.option("--quick", is_flag=True, help="A coarser grid, fewer seeds: seconds, not a minute.")
@seed_option
@figure_option
@output_options
def map_command(
    n: int | None,
    tie_share: str | None,
    reference_size: str | None,
    references: str | None,
    runs: str | None,
    cutoff: int,
    quick: bool,
    seed: int,
    figure: str | None,
    form: str | None,
    output: str | None,
) -> None:
    """Show which measure has the most power, by how systems differ.

    In simulated pairs of systems, one finds reference items better (retrieval), orders them better (order), or both.
    The map shows the power of the paper's configurations at every point of that grid. With --references and --runs, it
    shows where your own pairs lie, and whether that predicts which measure has more power for them.
    """
    from rankdev.display.dispatch import report_of
    from rankdev.io.tables import runs_in
    from rankdev.studies.maps.real_pairs import place_runs
    from rankdev.studies.maps.simulated import power_map, power_maps

    shares, sizes = fractions(tie_share or "", "--tie-share"), whole_numbers(reference_size, "--reference-size") or []
    if (references is None) != (runs is None):
        raise UsageError("--references and --runs belong together; give both, or neither for the simulated map")
    if runs is not None and (shares or sizes):
        raise UsageError("--tie-share and --reference-size are for the simulated map; your references have their own")
    options: dict[str, Any] = {"n": n or (100 if runs is None else 25), "quick": quick, "seed": seed}
    measures = f"paper@{cutoff}"
    with working_progress("the map") as progress:
        if runs is not None:
            found: Result = place_runs(references, runs_in(runs), measures, progress=progress, **options)
        elif shares or sizes:
            found = power_maps(measures, ties=shares, reference_sizes=sizes, progress=progress, **options)
        else:
            found = power_map(measures, progress=progress, **options)
    deliver(report_of(found), form, output)
    draw(figure, found.plot)


@study_command.command(
    "poi", short_help="Tables 2 and 3, Figure 1: points of interest.", epilog="Example: rankdev study poi --quick"
)
@click.option("--references", metavar="FILE", help="Your references, in any format; see help files.")
@click.option("--runs", metavar="DIR", help="Your runs, one file per system.")
@click.option(
    "--real",
    is_flag=False,
    flag_value=BUILT_IN,
    metavar="[PLACES]",
    help="Train rerankers for a city's places: a table or GeoJSON with name, category, address, lat and lon."
    " Without a file, for a built-in city. Needs LightGBM; 15 minutes.",
)
@click.option("--world", "worlds", multiple=True, metavar="NAME", help="With --real: A, B, AC or C. Default: all.")
@click.option(
    "--cross-encoder", metavar="FOLDER", help="With --real: train this model on texts, not LightGBM on features."
)
@table_option("--pairs", help="With --real: write how each pair of systems differs.")
@click.option("--quick", is_flag=True, help="Smaller simulations: seconds, not minutes.")
@seed_option
@figures_option("figure1.png (sensitivity), power.png and stability.png")
@output_options
def poi_command(
    references: str | None,
    runs: str | None,
    real: str | None,
    worlds: tuple[str, ...],
    cross_encoder: str | None,
    pairs: str | None,
    quick: bool,
    seed: int,
    figures: str | None,
    form: str | None,
    output: str | None,
) -> None:
    """Tables 2 and 3, Figure 1 and the pair counts: points of interest.

    Without --references and --runs, the data are simulated to resemble those of the paper. Runs named MODEL-SETTING
    form a grid. With --real, rerankers are trained and tested on queries about a city's places, in several worlds.
    """
    if real is not None:
        if references is not None or runs is not None:
            raise UsageError("--real makes references and runs of its own; leave out --references and --runs")
        places = None if real == BUILT_IN else real
        _city(places, worlds, cross_encoder, pairs, quick, seed, figures, form, output)
        return
    if worlds or cross_encoder is not None or pairs is not None:
        raise UsageError("--world, --cross-encoder and --pairs belong to --real; add it, or leave them out")
    from rankdev.io.tables import runs_in
    from rankdev.studies.poi.output import poi_report
    from rankdev.studies.poi.study import run_poi

    systems = None if runs is None else runs_in(runs)
    with working_progress("points of interest") as progress:
        study = run_poi(references, systems, quick=quick, seed=seed, progress=progress)
    if figures is not None:
        from rankdev.studies.poi.output import save_poi_figures

        save_poi_figures(study, figures)
    deliver(poi_report(study), form, output)


def _city(
    places: str | None,
    worlds: tuple[str, ...],
    cross_encoder: str | None,
    pairs: str | None,
    quick: bool,
    seed: int,
    figures: str | None,
    form: str | None,
    output: str | None,
) -> None:
    from rankdev.io.writing import writing
    from rankdev.studies.city.output import save_worlds_figures, worlds_report
    from rankdev.studies.city.worlds import run_worlds

    with working_progress("points of interest") as progress:
        found = run_worlds(places, worlds, cross_encoder=cross_encoder, quick=quick, seed=seed, progress=progress)
    if pairs is not None:
        content = encoded_table(found.pairs, pairs)
        with writing(pairs) as stream:
            stream.write(content)
    if figures is not None:
        save_worlds_figures(found, figures)
    deliver(worlds_report(found), form, output)
    if not found.complete:
        raise KeyboardInterrupt("only what was finished is shown")


for command in (trec_command, trec_dl_command):
    study_command.add_command(command)
