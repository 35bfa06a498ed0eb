"""Where results go: --format, -o and --figure, and the progress bars on the way."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import click

from rankdev._common.files_in_use import announce_output, refusal
from rankdev._common.work import Progress
from rankdev.cli.help import RegisteredChoice, SharedOption
from rankdev.cli.terminal import for_command, not_yet_written, write_notes
from rankdev.errors import MissingExtraError, UsageError

if TYPE_CHECKING:
    import polars as pl

    from rankdev._common.result import Result
    from rankdev.data.references import References
    from rankdev.display.report import Report


SAFE_CSV = "rankdev.safe_csv"


def file_option(*names: str, check: Callable[[str], object] | None = None, **settings: Any) -> Callable[..., Any]:
    """Add an option that names a file to write.

    A file that cannot be written, that another option names too or that ``check`` refuses is an error before any work
    begins.
    """

    def announce(ctx: click.Context, param: click.Parameter, path: str | None) -> str | None:
        if path is not None:
            if check is not None:
                check(path)
            announce_output(path)
        return path

    return click.option(*names, metavar="FILE", type=click.Path(), callback=announce, **settings)


def output_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --format, -o and --safe-csv."""
    output = file_option(
        "-o",
        "--output",
        cls=SharedOption,
        check=_check_output,
        help="Write here instead of to the terminal.",
    )
    command = output(safe_csv_option(command))
    return click.option(
        "--format",
        "form",
        cls=SharedOption,
        type=RegisteredChoice("rankdev.display.encodings:all_formats"),
        is_eager=True,  # -o is checked against it
        help="Default: the format of FILE's extension, else a table.",
    )(command)


def _check_output(path: str) -> None:
    """Refuse a name whose extension is no format's."""
    from rankdev.display.encodings import choose_format

    choose_format(click.get_current_context().params.get("form"), path)


safe_csv_option = click.option(
    "--safe-csv",
    cls=SharedOption,
    is_flag=True,
    expose_value=False,
    callback=lambda ctx, param, value: ctx.meta.update({SAFE_CSV: value}),
    help="In CSV and TSV, put ' before names that a spreadsheet would run as formulas.",
)


def for_spreadsheets(rows: pl.DataFrame, csv: bool) -> pl.DataFrame:
    """Escape what a spreadsheet would run as a formula, if --safe-csv asks for it; it is only for CSV and TSV."""
    from rankdev.data.tables import spreadsheet_safe

    if not click.get_current_context().meta.get(SAFE_CSV):
        return rows
    if not csv:
        raise UsageError("not-needed", name="safe_csv", use="CSV and TSV")
    return spreadsheet_safe(rows)


def table_option(*names: str, **settings: Any) -> Callable[..., Any]:
    """Add an option that names a table to write."""
    return file_option(*names, check=_check_table, **settings)


def _check_table(path: str) -> None:
    from rankdev.data.tables import check_table_name

    check_table_name(path)


def page_option(**settings: Any) -> Callable[..., Any]:
    """Add -o for an HTML page."""
    return file_option("-o", "--output", check=_check_page, **settings)


def _check_page(path: str) -> None:
    from rankdev.data.tables import check_page_name

    check_page_name(path)


def encoded_table(rows: pl.DataFrame, path: str) -> bytes:
    """Encode a table in the format of its file's extension."""
    from rankdev.data.tables import encode_table
    from rankdev.data.text import plain_suffix

    return encode_table(for_spreadsheets(rows, plain_suffix(path) in (".csv", ".tsv")), path)


def _check_references(path: str) -> None:
    from rankdev.data.tables import check_trec_name

    check_trec_name(path)


references_option = file_option(
    "-o", "--output", default="-", check=_check_references, help="Default: JSONL on standard output."
)


def write_references(references: References, output: str, tables: Mapping[str, Any] = MappingProxyType({})) -> None:
    """Write references, and tables by file name with them; no file appears unless all can be written."""
    from rankdev.data.files import encode_references
    from rankdev.data.write import writing

    contents = [(output, encode_references(references, output))]
    contents += [(path, encoded_table(frame, path)) for path, frame in tables.items()]
    with ExitStack() as stack:
        streams = [stack.enter_context(writing(path)) for path, _ in contents]
        for stream, (_, content) in zip(streams, contents, strict=True):
            stream.write(content)


def _check_figure(path: str) -> None:
    """Refuse a figure that could not be drawn."""
    from rankdev.display.style import check_name

    check_name(path)
    _check_matplotlib()


figure_option = file_option("--figure", cls=SharedOption, check=_check_figure, help="Also draw it: PNG, SVG or PDF.")


def figures_option(what: str) -> Callable[..., Any]:
    """Add --figures, a folder of figures."""
    return click.option("--figures", metavar="DIR", callback=check_figures, help=f"Write {what} there.")


def check_figures(ctx: click.Context, param: click.Parameter, folder: str | None) -> str | None:
    """Refuse a folder of figures that could not be made, before any work begins."""
    if folder is not None:
        _check_matplotlib()
        above = Path(folder).absolute()
        while not above.exists():
            above = above.parent
        if not above.is_dir():
            raise UsageError("cannot-write", path=folder, why=f"{above} is not a folder")
        if not os.access(above, os.W_OK):
            raise UsageError("cannot-write", path=folder, why=f"{above}: {refusal(above)}")
    return folder


def _check_matplotlib() -> None:
    if find_spec("matplotlib") is None:
        raise MissingExtraError("matplotlib", "plot", "a figure")


def draw(path: str | None, plot: Callable[..., Any], *arguments: Any, **options: Any) -> None:
    """Draw a figure where one was asked for."""
    if path is not None:
        from rankdev.display.style import save

        save(plot(*arguments, **options), path)


def deliver(report: Report, form: str | None, output: str | None) -> None:
    """Print a report or write it to a file, in the format asked for."""
    from rankdev.data.write import writing
    from rankdev.display.encodings import choose_format

    chosen = choose_format(form, output)
    command = click.get_current_context().command
    closing, remarks = ([for_command(line, command) for line in lines] for lines in (report.closing, report.remarks))
    rows = for_spreadsheets(report.rows, chosen.name in ("csv", "tsv"))
    report = replace(report, rows=rows, closing=closing, remarks=remarks)
    if output is not None:
        with writing(output) as stream:
            for piece in chosen.pieces(report):
                stream.write(piece)
    elif chosen.name == "table":
        replace(report, remarks=not_yet_written(report.remarks)).print_text(sys.stdout)
    elif chosen.binary and sys.stdout.isatty():
        raise UsageError("not-for-terminals", form=chosen.name)
    else:
        sys.stdout.buffer.write(chosen.encode(report))
        sys.stdout.buffer.flush()
    records = chosen.name == "json" and not report.command  # scores are a list of records, without a place for notes
    write_notes(() if chosen.holds_remarks and not records else report.remarks)


def end(found: Result) -> None:
    """End with status 1 where the data have a problem, so that nothing is decided."""
    if getattr(found, "problems", ()):
        click.get_current_context().exit(1)


PROGRESS_BYTES = 50_000_000


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


@contextmanager
def working_progress(title: str = "simulating") -> Iterator[Progress | None]:
    """Show a bar on a terminal during long work, its cost first; None in a pipe."""
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
