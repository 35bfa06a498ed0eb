"""Study *."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rankdev.cli.options import each_once, measure_option, read_pairs, seed_option, shares_of, whole_numbers
from rankdev.cli.outputs import deliver, draw, figure_option, figures_option, output_options, working_progress
from rankdev.cli.terminal import say
from rankdev.errors import UsageError

if TYPE_CHECKING:
    from rankdev._common.result import Result
    from rankdev.studies.trec_dl.pipeline import Pipeline


@click.group("study", short_help="Rerun the paper's experiments.", epilog="Example: rankdev study poi --quick")
def study_command() -> None:
    """Rerun the paper's experiments and show its published numbers beside the new ones."""


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
def leave_out_command(
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
    from rankdev.display.dispatch import report_of
    from rankdev.io.tables import runs_in
    from rankdev.studies.missing_judgments import leave_out

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


@study_command.command("map", epilog="Example: rankdev study map --quick")
@click.option("-n", "n", type=click.IntRange(min=2), help="Queries of a comparison. Default: 100, or 25 for runs.")
@click.option(
    "--tie-share", metavar="X,X,...", help="Fractions of neighbours in a reference that are tied; a map each."
)
@click.option("--reference-size", metavar="N,N,...", help="Items in every reference; a map each.")
@click.option("--references", metavar="FILE", help="Put the pairs of your runs on the map: their references.")
@click.option("--runs", metavar="DIR", help="The runs, one file per system.")
@click.option("-k", "--cutoff", type=click.IntRange(min=1), default=5, show_default=True, help="Depth of measures.")
@click.option("--quick", is_flag=True, help="A coarser plane, fewer seeds: seconds instead of a minute.")
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
    """Which measure tells systems apart, by what they differ in.

    Simulated pairs of systems, one of which finds reference items better (retrieval), orders them better (order), or
    both: the power of the paper's configurations at every point of that plane. With --references and --runs, where your
    own pairs of systems lie, and whether that says which measure has more power for them.
    """
    from rankdev.display.dispatch import report_of
    from rankdev.io.tables import runs_in
    from rankdev.studies.maps import power_map, power_maps
    from rankdev.studies.real_pairs import place_runs

    shares, sizes = shares_of(tie_share or "", "--tie-share"), whole_numbers(reference_size, "--reference-size") or []
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
@click.option("--references", metavar="FILE", help="Your references, in any format that rankdev eval takes.")
@click.option("--runs", metavar="DIR", help="Their runs, one file per system; names like model-setting form a grid.")
@click.option("--quick", is_flag=True, help="Fewer queries, subsamples and flips: seconds instead of minutes.")
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

    Without --references and --runs on simulated data of the published shape.
    """
    from rankdev.io.tables import runs_in
    from rankdev.studies.poi import poi_report, run_poi

    systems = None if runs is None else runs_in(runs)
    with working_progress("points of interest") as progress:
        study = run_poi(references, systems, quick=quick, seed=seed, progress=progress)
    if figures is not None:
        from rankdev.studies.poi import save_poi_figures

        save_poi_figures(study, figures)
    deliver(poi_report(study), form, output)


@study_command.command("trec", epilog="Example: rankdev study trec runs/ qrels.txt --quick --figures pictures/")
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
def trec_command(
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
    from rankdev.io.tables import runs_in
    from rankdev.studies.track import run_trec
    from rankdev.studies.track_output import trec_report

    edges: dict[str, Any] = {
        "reference_sizes": whole_numbers(reference_sizes, "--reference-sizes"),
        "tier_sizes": whole_numbers(tier_sizes, "--tier-sizes"),
    }
    with working_progress("the track") as progress:
        study = run_trec(runs_in(runs), qrels, cutoff=cutoff, n=n, **edges, quick=quick, seed=seed, progress=progress)
    if figures is not None:
        from rankdev.studies.track_output import save_trec_figures

        save_trec_figures(study, figures)
    deliver(trec_report(study), form, output)
    if not study.complete:
        raise KeyboardInterrupt("only what was finished is shown")


@study_command.command("trec-dl", epilog="Example: rankdev study trec-dl --year 2021")
@click.option(
    "--year", "years", multiple=True, metavar="YEAR", help="Default: the years of the files, or 2019 to 2022."
)
@click.option("--qrels", multiple=True, metavar="YEAR=FILE", help="Judgments; otherwise through ir_datasets.")
@click.option("--runs", multiple=True, metavar="YEAR=DIR", help="Runs, one file per system; otherwise reranked here.")
@click.option("--query-texts", "queries", multiple=True, metavar="YEAR=FILE", help="Otherwise through ir_datasets.")
@click.option(
    "--item-texts", "texts", multiple=True, metavar="[YEAR=]FILE", help="For BM25; otherwise Pyserini's index."
)
@click.option("--model", "models", multiple=True, help="A cross-encoder, name or folder; default: the paper's four.")
@click.option("--device", help="Where cross-encoders run, such as cuda or cpu; default: a GPU where there is one.")
@click.option("--cache", metavar="DIR", help="Where finished steps are kept; default: the user's cache folder.")
@click.option("--tiers", is_flag=True, help="Only the tier statistics of the judgments; needs no runs.")
@click.option("--quick", is_flag=True, help="Fewer subsamples and flips.")
@seed_option
@figures_option("figure2.png (agreement)")
@output_options
def trec_dl_command(
    tiers: bool, quick: bool, seed: int, figures: str | None, form: str | None, output: str | None, **files: Any
) -> None:
    """Table 4, Figure 2 and tier statistics: TREC Deep Learning.

    Files replace steps, year by year: --qrels 2019=qrels.txt --runs 2019=runs/. Steps without a file are done with
    ir_datasets, BM25 and cross-encoders, and kept, so that an interrupted study goes on where it stopped.
    """
    from rankdev.studies.trec_dl.study import TrecDl, all_tiers, run_trec_dl, save_trec_dl_figures, trec_dl_report

    pipeline, years = _pipeline(**files)
    if tiers:
        study = TrecDl(all_tiers({year: pipeline.judgments(year) for year in years}))
    else:
        collections = {year: pipeline.collect(year) for year in years}
        with working_progress("TREC Deep Learning") as progress:
            study = run_trec_dl(collections, quick=quick, seed=seed, progress=progress)
    if figures is not None:
        save_trec_dl_figures(study, figures)
    deliver(trec_dl_report(study), form, output)


def _pipeline(
    years: tuple[str, ...], models: tuple[str, ...], device: str | None, cache: str | None, **files: tuple[str, ...]
) -> tuple[Pipeline, list[str]]:
    """Read YEAR=FILE options; the years are those asked for, or those of the files, or the paper's."""
    from rankdev.studies.trec_dl.pipeline import YEARS, Pipeline

    by_year = {
        name: each_once((_by_year(f"--{name}", entry) for entry in entries), f"--{name}")
        for name, entries in files.items()
    }
    given = sorted({year for entries in by_year.values() for year in entries if year})
    options: dict[str, Any] = {
        **by_year,
        "device": device,
        "say": say,
    }
    if models:
        options["models"] = models
    if cache is not None:
        options["cache"] = Path(cache)
    return Pipeline(**options), list(years or given or YEARS)


def _by_year(option: str, entry: str) -> tuple[str, str]:
    year, mark, path = entry.partition("=")
    if mark and year and path:
        return year, path
    if option == "--item-texts" and not mark:
        return "", entry
    raise UsageError(f"{option} {entry}: expected YEAR=FILE, such as {option} 2019=FILE")
