"""The command line: one file per command, loaded on use."""

from __future__ import annotations

import atexit
import gc
import os
import re
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click

from rankdev import __version__
from rankdev._common.files_in_use import one_command
from rankdev.cli.terminal import discard_output, forget, prepare_streams, remark, say
from rankdev.errors import RankdevError, RankdevWarning, suggestion

COMMANDS = {
    "eval": ("evaluate", "Score runs against references."),
    "explain": ("evaluate", "Show position by position where one query's score was lost."),
    "compare": ("compare", "Test which differences between systems can be believed."),
    "power": ("power", "Say how often n queries tell systems apart."),
    "stability": ("power", "Say how well n queries give the order of systems."),
    "variance": ("meta", "Say where the variance of scores comes from."),
    "sensitivity": ("meta", "Say how a measure's parameters change its power."),
    "agreement": ("meta", "Say how far measures agree on the order of systems."),
    "bounds": ("evaluate", "Say how far unjudged items leave scores and verdicts open."),
    "plan": ("power", "Estimate how many queries are needed."),
    "report": ("report", "Put a whole comparison on one page for a browser."),
    "ppi": ("compare", "Combine a few human-judged queries with many LLM-judged ones."),
    "measures": ("evaluate", "List the measures and their parameters."),
    "refs": ("refs", "Build references from grades, lists or preferences."),
    "judge": ("judge", "Collect people's preferences in the browser."),
    "tune": ("meta", "Choose a measure's parameters from people's verdicts."),
    "weights": ("judge", "Estimate position weights from clicks."),
    "playground": ("report", "Open a page on which to try RDQ by hand."),
    "study": ("study", "Rerun the paper's experiments beside its published numbers."),
    "demo": ("tools", "Walk through everything on built-in data."),
    "completion": ("tools", "Print the shell completion script."),
}


class LazyGroup(click.Group):
    """A group that imports a command's file only when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _ = COMMANDS[cmd_name]
        command: click.Command = getattr(import_module(f"rankdev.cli.commands.{module}"), f"{cmd_name}_command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and args[0] not in COMMANDS:
            ctx.fail(f"unknown command {args[0]!r}{suggestion(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)


def _show_version(ctx: click.Context, param: click.Parameter, asked: bool) -> None:
    if asked and not ctx.resilient_parsing:
        from rankdev.native.library import library

        reader = "polars" if library() is None else "compiled code"
        click.echo(f"rankdev, version {__version__}; plain runs are read by {reader}")
        ctx.exit()


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Example: rankdev eval qrels.txt bm25.run dense.run -m RDQ@5 -m nDCG@10",
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version, and what reads TREC runs.",
)
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Evaluate rankings against ordered references."""
    ctx.with_resource(one_command())


def main() -> None:
    """Run the command; every error a user can cause is one line on standard error."""
    atexit.register(gc.freeze)  # lest Python looks for garbage in all that is loaded, which is about to go anyway
    warnings.showwarning = _show_warning
    prepare_streams()
    forget()
    try:
        cli.main(standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:
        discard_output()
        sys.exit(141)
    except OSError as error:
        discard_output()
        say(f"standard output: {error.strerror or error}" if error.filename is None else str(error))
        sys.exit(1)
    except (Exception, KeyboardInterrupt) as error:
        status, line = _explained(error)
        if line:
            say(line)
        try:
            sys.stdout.flush()
        except OSError:
            discard_output()
        sys.exit(status)


def _explained(error: BaseException) -> tuple[int, str]:  # noqa: PLR0911 (one for each kind)
    """Give the exit status of whatever ended a command, and what there is to say about it."""
    match error:
        case click.exceptions.Exit():
            return error.exit_code, ""
        case click.Abort() | KeyboardInterrupt():
            said = str(error) or str(error.__cause__ or "")  # click puts an Abort around what was raised
            return 130, f"interrupted; {said}" if said else "interrupted"
        case click.UsageError():
            path = error.ctx.command_path if error.ctx else "rankdev"
            return 2, f"{error.format_message()} (see {path} --help)"
        case click.ClickException():
            return 2, error.format_message()
        case RankdevError():
            return error.exit_status, as_options(str(error), _called(sys.argv[1:]))
        case UnicodeEncodeError():
            return 2, f"{error.object!r} is not text in UTF-8; write it so"
        case MemoryError():
            return 1, "there is not enough memory for this; take fewer systems or measures at a time"
    if os.environ.get("RANKDEV_TRACEBACK"):
        raise error
    said = f"{type(error).__name__}: {error}"
    return 70, f"this should not happen; it is a bug in rankdev ({said}); RANKDEV_TRACEBACK=1 shows where"


def _called(words: Sequence[str]) -> click.Command:
    """Find the command that the words of a call name."""
    command: click.Command = cli
    for word in words:
        if isinstance(command, click.Group):
            command = command.get_command(click.Context(command), word) or command
    return command


def as_options(message: str, command: click.Command) -> str:
    """Write advice as the command line has it: a parameter of Python's becomes the command's option.

    >>> as_options("take resamples=500, or rule='strict'; RDQ(alpha=4) stays", _called(["refs", "preferences"]))
    'take --resamples 500, or --rule strict; RDQ(alpha=4) stays'
    """
    names = {str(entry.name): max(entry.opts, key=len) for entry in command.params if isinstance(entry, click.Option)}

    def option(found: re.Match[str]) -> str:
        return f"{names[found[1]]} {found[3]}" if found[1] in names else found[0]

    return re.sub(r"(?<![\w(,\[])(\w+)=(['\"]?)([\w.,-]*\w)\2", option, message)


def _show_warning(message: Warning | str, category: type[Warning], *rest: Any, **kwargs: Any) -> None:
    if issubclass(category, RankdevWarning):
        remark("warning", as_options(str(message), _called(sys.argv[1:])))
