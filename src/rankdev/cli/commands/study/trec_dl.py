"""rankdev study trec-dl: TREC Deep Learning."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rankdev.cli.options import each_once, seed_option
from rankdev.cli.outputs import deliver, figures_option, output_options
from rankdev.cli.progress_bars import working_progress
from rankdev.cli.terminal import say
from rankdev.errors import UsageError

if TYPE_CHECKING:
    from rankdev.studies.trec_dl.pipeline import Pipeline


@click.command("trec-dl", epilog="Example: rankdev study trec-dl --year 2021")
@click.option(
    "--year", "years", multiple=True, metavar="YEAR", help="Default: the years of the files, or 2019 to 2022."
)
@click.option("--qrels", multiple=True, metavar="YEAR=FILE", help="Judgments; otherwise through ir_datasets.")
@click.option("--runs", multiple=True, metavar="YEAR=DIR", help="Runs, one file per system; otherwise reranked here.")
@click.option("--queries", multiple=True, metavar="YEAR=FILE", help="Query texts; otherwise through ir_datasets.")
@click.option("--texts", multiple=True, metavar="[YEAR=]FILE", help="Texts for BM25; otherwise Pyserini's index.")
@click.option("--model", "models", multiple=True, help="A cross-encoder, name or folder; default: the paper's four.")
@click.option("--device", help="Where cross-encoders run, such as cuda or cpu; default: a GPU where there is one.")
@click.option("--cache", metavar="DIR", help="Where finished steps are kept; default: the user's cache folder.")
@click.option("--tiers", is_flag=True, help="Only the tier statistics of the judgments; needs no runs.")
@click.option("--quick", is_flag=True, help="Fewer subsamples and flips.")
@seed_option
@figures_option("figure2.png (agreement)")
@output_options
def command(
    tiers: bool, quick: bool, seed: int, figures: str | None, form: str | None, output: str | None, **files: Any
) -> None:
    """Table 4, Figure 2 and tier statistics: TREC Deep Learning.

    Files replace steps, year by year: --qrels 2019=qrels.txt --runs 2019=runs/. Steps without a file are done with
    ir_datasets, BM25 and cross-encoders, and kept, so that an interrupted study goes on where it stopped.
    """
    from rankdev.studies.trec_dl.figures import save_trec_dl_figures
    from rankdev.studies.trec_dl.report import trec_dl_report
    from rankdev.studies.trec_dl.study import TrecDl, all_tiers, run_trec_dl

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
    if option == "--texts" and not mark:
        return "", entry
    raise UsageError(f"{option} {entry}: expected YEAR=FILE, such as {option} 2019=FILE")
