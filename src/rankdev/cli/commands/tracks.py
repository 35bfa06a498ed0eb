"""The commands of ``study`` about tracks: ``trec`` for any track, ``trec-dl`` for TREC Deep Learning."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rankdev.cli.help import Command
from rankdev.cli.options import each_once, seed_option, whole_numbers
from rankdev.cli.outputs import deliver, figures_option, output_options, working_progress
from rankdev.cli.terminal import write_line
from rankdev.errors import UsageError

if TYPE_CHECKING:
    from rankdev.studies.trec_dl.pipeline import Pipeline


@click.command("trec", cls=Command, epilog="Example: rankdev study trec qrels.txt runs/ --quick --figures figures/")
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
def trec_command(
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
    from rankdev.io.tables import runs_in
    from rankdev.studies.track.output import trec_report
    from rankdev.studies.track.study import run_trec

    edges: dict[str, Any] = {
        "reference_sizes": whole_numbers(reference_sizes, "--reference-sizes"),
        "tier_sizes": whole_numbers(tier_sizes, "--tier-sizes"),
    }
    with working_progress("the track") as progress:
        study = run_trec(
            runs_in(runs), references, cutoff=cutoff, n=n, **edges, quick=quick, seed=seed, progress=progress
        )
    if figures is not None:
        from rankdev.studies.track.output import save_trec_figures

        save_trec_figures(study, figures)
    deliver(trec_report(study), form, output)
    if not study.complete:
        raise KeyboardInterrupt("only what was finished is shown")


@click.command("trec-dl", cls=Command, epilog="Example: rankdev study trec-dl --year 2021")
@click.option("--year", "years", multiple=True, metavar="YEAR", help="Default: those of the files, or 2019 to 2022.")
@click.option("--qrels", multiple=True, metavar="YEAR=FILE", help="Judgments; otherwise through ir_datasets.")
@click.option("--runs", multiple=True, metavar="YEAR=DIR", help="Runs, a file per system; otherwise reranked here.")
@click.option("--query-texts", "queries", multiple=True, metavar="YEAR=FILE", help="Otherwise through ir_datasets.")
@click.option(
    "--item-texts", "texts", multiple=True, metavar="[YEAR=]FILE", help="For BM25; otherwise Pyserini's index."
)
@click.option("--model", "models", multiple=True, help="A cross-encoder. Default: the paper's four.")
@click.option("--device", help="Such as cuda or cpu. Default: a GPU if there is one.")
@click.option("--cache", metavar="DIR", help="Finished steps. Default: the user's cache folder.")
@click.option("--tiers", is_flag=True, help="Only the tier statistics; needs no runs.")
@click.option("--quick", is_flag=True, help="Fewer subsamples and flips.")
@seed_option
@figures_option("figure2.png (agreement)")
@output_options
def trec_dl_command(
    tiers: bool, quick: bool, seed: int, figures: str | None, form: str | None, output: str | None, **files: Any
) -> None:
    """Table 4, Figure 2 and tier statistics: TREC Deep Learning.

    Files replace steps, year by year: --qrels 2019=qrels.txt --runs 2019=runs/. Steps without a file use ir_datasets,
    BM25 and cross-encoders, and are kept, so that an interrupted study resumes where it stopped.
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

    options_of = {"queries": "--query-texts", "texts": "--item-texts"}
    by_year = {
        name: each_once((_by_year(option, entry) for entry in entries), option)
        for name, entries in files.items()
        for option in [options_of.get(name, f"--{name}")]
    }
    given = sorted({year for entries in by_year.values() for year in entries if year})
    options: dict[str, Any] = {
        **by_year,
        "device": device,
        "report": write_line,
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
