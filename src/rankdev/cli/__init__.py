"""How commands are made, called and explained, and what becomes of their errors and warnings.

``--help`` loads nothing that computes. A command's own options are shown in full, shared ones by name with the topic
that explains them.
"""

from __future__ import annotations

import atexit
import gc
import os
import re
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from textwrap import fill, indent
from typing import Any

import click
from click.core import ParameterSource

from rankdev import __version__
from rankdev.cli.terminal import discard_output, for_command, prepare_streams, write_line, write_notes, write_once
from rankdev.commands import COMMANDS, greeting, overview
from rankdev.data.write import one_command
from rankdev.errors import RankdevError, RankdevWarning, UsageError, nearest

SETTINGS_FILES = ("rankdev.toml", "pyproject.toml")
CALLED = "rankdev.called"  # the words of the command line, in the context's meta


@cache
def topics() -> dict[str, tuple[str, str]]:
    """Return what ``rankdev help`` explains: a line about each topic, and its text."""
    texts = {path.stem: path.read_text("utf-8") for path in sorted(Path(__file__).with_name("topics").glob("*.md"))}
    parts = {name: text.partition("\n\n") for name, text in texts.items()}
    return {name: (summary, text.rstrip("\n")) for name, (summary, _, text) in parts.items()}


def topic_of(option: str) -> str:
    """Return the topic that explains an option: a line of its text begins with it."""
    line = re.compile(rf"^  {option}\b", re.MULTILINE)
    return next(name for name, (_, text) in topics().items() if line.search(text))


class SharedOption(click.Option):
    """An option that many commands have: ``rankdev help TOPIC`` explains it, ``--help`` names it with its topic."""


class _Helped(click.Command):
    def get_help_option_names(self, ctx: click.Context) -> list[str]:
        """Ask for help by the same names in any context: click keeps those of the first one."""
        return ["-h", "--help"]


class Command(_Helped):
    """A command whose ``--help`` fits a screen: it names shared options with the topics that explain them."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Note how the command was called."""
        ctx.meta[CALLED] = [*ctx.command_path.split(), *args]
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Note which options come from a file of settings."""
        if ctx.default_map:
            from rankdev.cli.settings import note_of

            write_notes(note_of(ctx))
        return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Explain the command's own options, and name the shared ones."""
        options = [param for param in self.params if isinstance(param, click.Option)]
        own = [param.get_help_record(ctx) for param in options if not isinstance(param, SharedOption)]
        if own:
            with formatter.section("Options"):
                formatter.write_dl([record for record in own if record])
        shared: dict[str, list[str]] = {}
        for param in options:
            if isinstance(param, SharedOption):
                shared.setdefault(topic_of(param.opts[0]), []).append(param.opts[0])
        if shared:
            named = "; ".join(f"{' '.join(names)} ({topic})" for topic, names in shared.items())
            line = f"Also: {named}. See rankdev help TOPIC."
            text = fill(line, formatter.width - 2, break_on_hyphens=False)  # an option stays in one piece
            formatter.write(f"\n{indent(text, '  ')}\n")


class Group(_Helped, click.Group):
    """A group that, called alone, shows its commands."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Suggest a command where there is none of that name."""
        known = self.list_commands(ctx)
        if args and args[0] not in known:
            see = f"{ctx.command_path} --help"
            raise UsageError("unknown-name", what="command", value=args[0], near=nearest(args[0], known), see=see)
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the commands in the order of their definitions."""
        return list(self.commands)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Greet where click would report an error."""
        if not args and not ctx.resilient_parsing:
            click.echo(self.opening(ctx))
            ctx.exit()
        return super().parse_args(ctx, args)

    def opening(self, ctx: click.Context) -> str:
        """Return what the group shows when it is called alone."""
        return self.get_help(ctx)


class RootGroup(Group):
    """The commands of the table in :mod:`rankdev.cli`; the module of a command is imported when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the commands in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a command."""
        if cmd_name not in COMMANDS:
            return None
        found: click.Command = getattr(import_module(f"rankdev.cli.{COMMANDS[cmd_name][0]}"), f"{cmd_name}_command")
        return found

    def get_help(self, ctx: click.Context) -> str:
        """Return the list of commands."""
        return overview()

    def opening(self, ctx: click.Context) -> str:
        """Greet."""
        return greeting()


@click.group(cls=RootGroup)
@click.version_option(__version__, prog_name="rankdev", help="Show the version.")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Evaluate ranked results against references that order the relevant items."""
    ctx.with_resource(one_command())
    if any(map(os.path.exists, SETTINGS_FILES)):
        from rankdev.cli.settings import read_settings

        ctx.default_map = read_settings(ctx, ctx.invoked_subcommand)


@dataclass(frozen=True)
class OptionGroup:
    """Options and arguments that a command takes as one value: ``make`` makes it of theirs, by name."""

    name: str
    params: Sequence[click.Parameter]
    make: Callable[..., Any]


def command(
    name: str, *parts: OptionGroup | click.Parameter, example: str = "", group: click.Group | None = None
) -> Callable[[Callable[..., Any]], click.Command]:
    """Make a command of a function, with the options in the order of ``parts``; its docstring is its help."""

    def made(function: Callable[..., Any]) -> click.Command:
        def call(**given: Any) -> Any:
            for part in parts:
                if isinstance(part, OptionGroup):
                    names = [str(one.name) for one in part.params if one.expose_value]
                    given[part.name] = part.make(**{each: given.pop(each) for each in names})
            return function(**given)

        params = [one for part in parts for one in (part.params if isinstance(part, OptionGroup) else [part])]
        params.sort(key=lambda one: isinstance(one, SharedOption))
        found = Command(
            name, callback=call, params=params, help=function.__doc__, epilog=f"Example: {example}" if example else None
        )
        if group is not None:
            group.add_command(found)
        return found

    return made


def argument(name: str, **settings: Any) -> click.Argument:
    """Return an argument that names a file, or several."""
    return click.Argument([name], type=click.Path(), **settings)


def option(*names: str, **settings: Any) -> click.Option:
    """Return an option of one command."""
    return click.Option(names, **settings)


def shared(*names: str, **settings: Any) -> click.Option:
    """Return an option that a topic explains."""
    return SharedOption(names, **settings)


def refuse_unused(*names: str, beside: str | None = None, needs: str | None = None) -> None:
    """Refuse parameters that were given to the running command and would change nothing.

    That is because they are given beside another one, or because they need something that is not there.
    """
    ctx = click.get_current_context()
    for parameter in ctx.command.params:
        if parameter.name in names and ctx.get_parameter_source(parameter.name) is ParameterSource.COMMANDLINE:
            if beside is not None:
                raise UsageError("not-together", name=parameter.name, other=beside)
            raise UsageError("not-needed", name=parameter.name, use=needs)


def main() -> None:
    """Run the command that was called; every error a user can cause is one line on standard error."""
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")  # NumPy's threads wait for each other by spinning: more than one are slower
    gc.set_threshold(200_000)  # what a command loads is no garbage
    atexit.register(gc.freeze)  # or Python searches everything loaded for garbage before it exits
    warnings.showwarning = _show_warning
    prepare_streams()
    try:
        status = _run()
        sys.stdout.flush()
    except BrokenPipeError:
        discard_output()
        status = 141
    except OSError as error:
        discard_output()
        write_line(f"standard output: {error.strerror or error}" if error.filename is None else str(error))
        status = 1
    if status:
        sys.exit(status)


def _run() -> int:
    """Return the exit status of the command, and write what is wrong with it."""
    try:
        status = cli.main(prog_name="rankdev", standalone_mode=False)  # that of ctx.exit, or what the command returned
        return status if isinstance(status, int) else 0
    except OSError:
        raise
    except (Exception, KeyboardInterrupt) as error:
        status, *lines = _explained(error)
        for line in lines:
            write_line(line)
        return status


def _explained(error: BaseException) -> tuple[int, *tuple[str, ...]]:
    """Return the exit status of whatever ended a command, and the lines to write about it: one for each input."""
    match error:
        case click.Abort() | KeyboardInterrupt():
            details = str(error) or str(error.__cause__ or "")  # click wraps what was raised in an Abort
            return 130, f"interrupted; {details}" if details else "interrupted"
        case click.UsageError():
            path = error.ctx.command_path if error.ctx else "rankdev"
            return 2, f"{error.format_message()} (see {path} --help)"
        case RankdevError():
            return error.exit_status, *for_command(error, _called(sys.argv[1:])).split("\n")
        case UnicodeEncodeError():
            return 2, str(UsageError("not-text", value=error.object))
        case MemoryError():
            return 1, str(RankdevError("no-memory"))
    if os.environ.get("RANKDEV_TRACEBACK"):
        raise error
    return 70, str(RankdevError("bug", error=type(error).__name__, text=str(error)))


def _called(words: Sequence[str]) -> click.Command:
    """Find the command that a command line names."""
    found: click.Command = cli
    for word in words:
        if isinstance(found, click.Group):
            found = found.get_command(click.Context(found), word) or found
    return found


def _show_warning(message: Warning | str, category: type[Warning], *rest: Any, **kwargs: Any) -> None:
    if issubclass(category, RankdevWarning):
        write_once("warning", for_command(message, _called(sys.argv[1:])))
