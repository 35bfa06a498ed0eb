"""Where results go: --format, -o and --figure, and the progress bars on the way."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import rankdev as rd
from rankdev._common.work import Progress
from rankdev.cli import OptionGroup, option, shared
from rankdev.cli.terminal import for_command, not_yet_written, write_notes
from rankdev.data.write import announce_output, writing
from rankdev.display.encodings import FORMATS, choose_format
from rankdev.errors import MissingExtraError, UsageError

if TYPE_CHECKING:
    from rankdev.display.report import Report

PROGRESS_BYTES = 50_000_000


@dataclass(frozen=True)
class Output:
    """Where the result of a command goes: its format, its file, and the file of its figure."""

    form: str | None
    output: str | None
    figure: str | None = None
    verbose: bool = False

    def deliver(self, report: Report) -> None:
        """Print a report or write it to the file, in the format asked for."""
        chosen = choose_format(self.form, self.output)
        command = click.get_current_context().command
        closing, remarks = (
            [for_command(line, command) for line in lines] for lines in (report.closing, report.remarks)
        )
        report = replace(report, closing=closing, remarks=remarks, brief=report.brief and not self.verbose)
        if self.output is not None:
            with writing(self.output) as stream:
                stream.write(chosen.encode(report))
        elif chosen.name == "table":
            replace(report, remarks=not_yet_written(report.remarks)).print_text(sys.stdout)
        elif chosen.binary and sys.stdout.isatty():
            raise UsageError("not-for-terminals", form=chosen.name)
        else:
            sys.stdout.buffer.write(chosen.encode(report))
            sys.stdout.buffer.flush()
        if not chosen.holds_remarks or (chosen.name == "json" and not report.command):  # a list of records
            write_notes(report.remarks)

    def show(self, found: rd.Result, report: Report | None = None, drawn: rd.Result | None = None, **look: Any) -> None:
        """Deliver a result, and draw it where that is asked for; end with status 1 where its data have a problem."""
        from rankdev.display.view import report_of

        self.deliver(report_of(found, **look) if report is None else report)
        if self.figure is not None:
            from rankdev.display.style import save

            save((drawn or found).plot(), self.figure)
        if getattr(found, "problems", ()):
            click.get_current_context().exit(1)
        if not getattr(found, "complete", True):
            raise KeyboardInterrupt("only what was finished is shown")


class Written(click.Path):
    """A file or a folder that a command writes; no file of settings can name it."""


def file_option(*names: str, check: str = "", is_shared: bool = False, **settings: Any) -> click.Option:
    """Return an option that names a file to write.

    A file that cannot be written, that another option names too or that ``check`` (the path of a function) refuses is
    an error before any work begins.
    """

    def announce(ctx: click.Context, param: click.Parameter, path: str | None) -> str | None:
        if path is not None and not ctx.resilient_parsing:
            if check:
                module, _, function = check.partition(":")
                getattr(import_module(module), function)(path)
            announce_output(path)
        return path

    make = shared if is_shared else option
    return make(*names, metavar="FILE", type=Written(), callback=announce, **settings)


def _check_output(path: str) -> None:
    """Refuse a name whose extension is no format's."""
    choose_format(click.get_current_context().params.get("form"), path)


def _check_figure(path: str) -> None:
    """Refuse a figure that could not be drawn."""
    from rankdev.display.style import check_name

    check_name(path)
    _check_matplotlib()


TABLE, PAGE, REFERENCES = (f"rankdev.data.formats:check_{kind}_name" for kind in ("table", "page", "trec"))


format_option = shared(
    "--format",
    "form",
    type=click.Choice([*FORMATS]),
    metavar="NAME",
    is_eager=True,  # -o is checked against it
    help="Default: the format of FILE's extension, else a table.",
)
output_option = file_option(
    "-o", "--output", is_shared=True, check=f"{__name__}:_check_output", help="Write here instead of to the terminal."
)
figure_option = file_option(
    "--figure", is_shared=True, check=f"{__name__}:_check_figure", help="Also draw it: PNG, SVG or PDF."
)
OUTPUT = OptionGroup("output", [format_option, output_option], Output)
DRAWN = OptionGroup("output", [format_option, output_option, figure_option], Output)
verbose_option = option("-v", "--verbose", is_flag=True, help="Show all notes.")
BRIEF = OptionGroup("output", [*OUTPUT.params, verbose_option], Output)
DRAWN_BRIEF = OptionGroup("output", [*DRAWN.params, verbose_option], Output)


def write_files(contents: Mapping[str | None, Any]) -> None:
    """Write bytes and tables to the files that were asked for; none appears unless all can be written."""
    from rankdev.data.formats import encode_table

    with ExitStack() as stack:
        files = {stack.enter_context(writing(path)): path for path in contents if path is not None}
        for stream, path in files.items():
            content = contents[path]
            stream.write(content if isinstance(content, bytes) else encode_table(content, path))


def figures_option(what: str) -> click.Option:
    """Return --figures, a folder of figures."""
    return option("--figures", metavar="DIR", type=Written(), callback=_check_figures, help=f"Write {what} there.")


def _check_figures(ctx: click.Context, param: click.Parameter, folder: str | None) -> str | None:
    """Refuse a folder of figures that could not be written, before any work begins."""
    if folder is not None and not ctx.resilient_parsing:
        _check_matplotlib()
        announce_output(made_folder(folder) / "figure.png")
    return folder


def made_folder(name: str) -> Path:
    """Make a folder that is not there yet."""
    try:
        Path(name).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError("cannot-write", path=name, why=error.strerror) from None
    return Path(name)


def _check_matplotlib() -> None:
    if find_spec("matplotlib") is None:
        raise MissingExtraError("matplotlib", "plot", "a figure")


@contextmanager
def reading_progress(paths: Sequence[str]) -> Iterator[Progress | None]:
    """Show a bar on a terminal while large files are read."""
    size = sum(Path(path).stat().st_size for path in paths if path != "-" and Path(path).is_file())
    if size < PROGRESS_BYTES:
        yield None
        return
    with working_progress("reading", share_of=size) as progress:
        yield progress


@contextmanager
def working_progress(title: str = "simulating", share_of: float | None = None) -> Iterator[Progress | None]:
    """Show a bar on a terminal during long work; None in a pipe."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=share_of)
        yield lambda done, total, note: bar.update(
            task, completed=done, total=total or None, description=f"{title}: {note}"
        )
