"""Options that several commands share, and what they do with them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rankdev.cli.terminal import remark, unsaid
from rankdev.errors import FileFormatError, MissingExtraError, UsageError, shown
from rankdev.files_in_use import announce_output
from rankdev.ordering import TIE_RULES
from rankdev.progress import Progress

if TYPE_CHECKING:
    import polars as pl

    from rankdev.evaluation.losses import Losses
    from rankdev.evaluation.scores import Scores
    from rankdev.formats.parts import Table as NamedTable
    from rankdev.reporting.report import Report

PROGRESS_BYTES = 50_000_000
SAFE_CSV = "rankdev.safe_csv"


def _announce(ctx: click.Context, param: click.Parameter, path: str | None) -> str | None:
    """Refuse an output that cannot be written, or that another option names too, before the work for it begins."""
    if path is not None:
        announce_output(path)
    return path


def file_option(*names: str, **settings: Any) -> Callable[..., Any]:
    """Add an option that names a file to write."""
    return click.option(*names, metavar="FILE", type=click.Path(), callback=_announce, **settings)


def output_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --format and -o."""
    from rankdev.reporting.encodings import FORMATS

    command = click.option(
        "-o",
        "--output",
        metavar="FILE",
        type=click.Path(),
        callback=_check_output,
        help="Write here instead of to the terminal.",
    )(safe_csv_option(command))
    return click.option(
        "--format",
        "form",
        type=click.Choice(list(FORMATS)),
        is_eager=True,  # -o is checked with it
        help="Default: what FILE's ending says, else a table.",
    )(command)


def _check_output(ctx: click.Context, param: click.Parameter, path: str | None) -> str | None:
    """Refuse a name whose ending is no format's before the work begins."""
    from rankdev.reporting.encodings import choose_format

    if path is not None:
        choose_format(ctx.params.get("form"), path)
    return _announce(ctx, param, path)


safe_csv_option = click.option(
    "--safe-csv",
    is_flag=True,
    expose_value=False,
    callback=lambda ctx, param, value: ctx.meta.update({SAFE_CSV: value}),
    help="In CSV and TSV, put ' before names that a spreadsheet would run as formulas.",
)


def for_spreadsheets(rows: pl.DataFrame, csv: bool) -> pl.DataFrame:
    """Escape what a spreadsheet would run where --safe-csv asks for it; refuse to where there is no CSV."""
    from rankdev.formats.tables import spreadsheet_safe

    if not click.get_current_context().meta.get(SAFE_CSV):
        return rows
    if not csv:
        raise UsageError("--safe-csv is for CSV and TSV; ask for one of them with --format or with the name's ending")
    return spreadsheet_safe(rows)


def table_option(*names: str, **settings: Any) -> Callable[..., Any]:
    """Add an option that names a table to write."""
    return click.option(*names, metavar="FILE", type=click.Path(), callback=_check_table, **settings)


def _check_table(ctx: click.Context, param: click.Parameter, path: str | None) -> str | None:
    from rankdev.formats.tables import check_table_name

    if path is not None:
        check_table_name(path)
    return _announce(ctx, param, path)


def _check_picture(ctx: click.Context, param: click.Parameter, path: str | None) -> str | None:
    """Refuse a picture that could not be drawn before the work for it begins."""
    if path is not None:
        from rankdev.reporting.plots import check_name

        check_name(path)
        _check_matplotlib()
    return _announce(ctx, param, path)


def _check_pictures(ctx: click.Context, param: click.Parameter, folder: str | None) -> str | None:
    """Refuse a folder of pictures that could not be made before the work for them begins."""
    if folder is not None:
        _check_matplotlib()
        above = Path(folder).absolute()
        while not above.exists():
            above = above.parent
        if not above.is_dir() or not os.access(above, os.W_OK):
            raise UsageError(f"{folder}: cannot write here ({above} is no folder to write to); choose another folder")
    return folder


def _check_matplotlib() -> None:
    if find_spec("matplotlib") is None:
        raise MissingExtraError("matplotlib", "plot", "a picture")


def figures_option(what: str) -> Callable[..., Any]:
    """Add --figures, a folder of pictures."""
    return click.option("--figures", metavar="DIR", callback=_check_pictures, help=f"Write {what} there.")


figure_option = click.option("--figure", metavar="FILE", callback=_check_picture, help="Draw it too: PNG, SVG or PDF.")


def draw(path: str | None, plot: Callable[..., Any], *arguments: Any, **options: Any) -> None:
    """Draw a picture where one was asked for."""
    if path is not None:
        from rankdev.reporting.plots import save

        save(plot(*arguments, **options), path)


def order_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --order and --ties."""
    ties = click.option(
        "--ties",
        type=click.Choice(list(TIE_RULES)),
        default="trec_eval",
        show_default=True,
        help="Equal scores: " + "; ".join(f"{name}, {rule.summary}" for name, rule in TIE_RULES.items()) + ".",
    )
    order = click.option(
        "--order",
        type=click.Choice(["score", "rank"]),
        default="score",
        show_default=True,
        help="Order runs by their score or by their rank column.",
    )
    return order(ties(command))


empty_option = click.option(
    "--empty",
    type=click.Choice(["zero", "skip"]),
    default="zero",
    show_default=True,
    help="Queries without any good item: every system scores 0 there, or they are left out.",
)


def _import_measures(ctx: click.Context, param: click.Parameter, paths: tuple[str, ...]) -> None:
    from rankdev.measures import load_file

    for path in paths:
        load_file(path)


import_option = click.option(
    "--import",
    multiple=True,
    metavar="FILE",
    is_eager=True,
    expose_value=False,
    callback=_import_measures,
    help="A Python file with measures of your own; again for more.",
)


def measure_option(default: Sequence[str], **kwargs: Any) -> Callable[..., Any]:
    """Add -m and --import."""
    option = click.option(
        "-m",
        "--measure",
        "measures",
        multiple=True,
        default=default,
        show_default=True,
        metavar="TEXT",
        shell_complete=_complete_measure,
        help="A measure such as RDQ@5, 'nDCG(dcg=exp-log2)@10' or paper@5; more with commas, or again.",
        **kwargs,
    )
    return lambda command: option(import_option(command))


def named_runs(references: str, paths: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    """Name each run by --name or by its file."""
    from rankdev.formats.names import system_name

    if names and len(names) != len(paths):
        raise UsageError(f"{len(names)} --name for {len(paths)} runs; give one for each, in order, or none")
    for name in names:
        if not name or not _is_text(name):
            raise UsageError(f"--name {shown(name)}: expected a name in UTF-8")
    if [references, *paths].count("-") > 1:
        raise UsageError("standard input (-) can be only one of the files")
    runs: dict[str, str] = {}
    for path, name in zip(paths, names or map(system_name, paths), strict=True):
        if name in runs:
            raise UsageError(f"two systems are called {name!r} ({runs[name]} and {path}); tell them apart with --name")
        runs[name] = path
    return runs


def _is_text(word: str) -> bool:
    """Tell whether UTF-8 can hold a word of the command line; the shell may pass any bytes."""
    return word.encode("utf-8", "replace") == word.encode("utf-8", "surrogatepass")


def deliver(report: Report, form: str | None, output: str | None) -> None:
    """Print a report or write it to a file, in the format asked for."""
    from rankdev.formats.writing import writing
    from rankdev.reporting.encodings import choose_format

    chosen = choose_format(form, output)
    report = replace(report, rows=for_spreadsheets(report.rows, chosen.name in ("csv", "tsv")))
    if output is not None:
        content = chosen.encode(report)
        with writing(output) as stream:
            stream.write(content)
    elif chosen.name == "table":
        replace(report, remarks=unsaid(report.remarks)).print_text(sys.stdout)
    elif chosen.binary and sys.stdout.isatty():
        raise UsageError(f"{chosen.name} is not for a terminal; give a file with -o")
    else:
        sys.stdout.buffer.write(chosen.encode(report))
        sys.stdout.buffer.flush()
    records = chosen.name == "json" and not report.command  # scores are a list of records, which has no place for them
    for line in () if chosen.holds_remarks and not records else report.remarks:
        remark("note", line)


def read_named_table(path: str, columns: str) -> NamedTable:
    """Read a table from a file; refuse what has no named columns."""
    from rankdev.formats.streams import Source
    from rankdev.formats.tables import read_table

    with Source(path) as source:
        if source.kind in ("trec", "json"):
            raise FileFormatError(source.name, f"expected a table (CSV, TSV, JSONL or Parquet) with {columns}")
        return read_table(source, source.kind)


@contextmanager
def reading_progress(paths: Sequence[str]) -> Iterator[Progress | None]:
    """Show a bar on a terminal while large files are read."""
    size = sum(Path(path).stat().st_size for path in paths if path != "-" and Path(path).is_file())
    if not sys.stderr.isatty() or size < PROGRESS_BYTES:
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    with Bar(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=size)
        yield lambda done, total, system: bar.update(task, completed=done, total=total, description=system)


def score_runs(
    references: str, runs: Sequence[str], names: Sequence[str], measures: Sequence[str], **options: Any
) -> Scores:
    """Score runs, with progress on a terminal, and say what was missing and where ties decide."""
    from rankdev.evaluation.scoring import evaluate

    systems = named_runs(references, runs, names)
    with reading_progress(runs) as progress:
        scores = evaluate(references, systems, measures, **options, progress=progress)
    for line in scores.remarks:
        remark("note", line)
    return scores


def lost_by_runs(references: str, runs: Sequence[str], names: Sequence[str], measure: str, **options: Any) -> Losses:
    """The same, told apart by what was lost."""
    from rankdev.evaluation.losses import losses

    systems = named_runs(references, runs, names)
    with reading_progress(runs) as progress:
        found = losses(references, systems, measure, **options, progress=progress)
    for line in found.remarks:
        remark("note", line)
    return found


@contextmanager
def working_progress(title: str = "simulating") -> Iterator[Progress | None]:
    """Show a bar on a terminal while long work goes on, its cost first; None in a pipe."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total, note: bar.update(task, completed=done, total=total, description=f"{title}: {note}")


def _complete_measure(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    from rankdev.measures import PAPER, REGISTRY

    ends = {"cutoff": "@10", "recall": "@0.1"}
    names = [f"{name}{ends.get(kind.at or '', '')}" for name, kind in REGISTRY.items()]
    known = [*names, *(f"{text}@10" for text in PAPER), "paper@5", "paper@10"]
    return sorted({text for text in known if text.startswith(incomplete)})
