"""The command line: the table of commands, and what becomes of errors and warnings."""

from __future__ import annotations

import atexit
import gc
import os
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click

from rankdev import __version__
from rankdev._common.files_in_use import one_command
from rankdev.cli.help import SETTINGS_FILES, Group
from rankdev.cli.terminal import discard_output, for_command, forget_written, prepare_streams, write_line, write_once
from rankdev.errors import RankdevError, RankdevWarning, UsageError

# the only list of commands: adding one is a function NAME_command in a module of commands/ and a line here
GROUPS = {
    "Everyday": {
        "eval": ("evaluate", "Score runs against references."),
        "compare": ("compare", "Test which differences between systems are significant."),
        "leaderboard": ("leaderboard", "Rank systems, with intervals of their ranks."),
        "explain": ("evaluate", "Show where a query's score was lost, position by position."),
        "report": ("report", "Write a whole comparison as one HTML page."),
        "gate": ("gate", "Decide whether a candidate may replace a baseline."),
        "table": ("leaderboard", "Write the results table of a paper, with significance marks."),
    },
    "References": {
        "refs": ("refs", "Build references from grades, lists or preferences."),
        "pool": ("judge", "Pool the top items of runs for judging."),
        "judge": ("judge", "Collect pairwise preferences in the browser."),
    },
    "Statistics": {
        "power": ("power", "Estimate statistical power for n queries."),
        "plan": ("power", "Estimate how many queries are needed."),
        "stability": ("power", "Estimate how stable the ranking of systems is with n queries."),
        "agreement": ("meta", "Measure how far measures agree on the ranking of systems."),
        "bounds": ("evaluate", "Bound scores when some items are unjudged."),
        "ppi": ("compare", "Combine a few human-judged queries with many LLM-judged ones."),
    },
    "Measures": {
        "measures": ("measures", "List the measures and their parameters."),
        "sensitivity": ("meta", "Show how a measure's parameters change its power."),
        "weights": ("measures", "Estimate position weights from clicks."),
    },
    "Studies and tools": {
        "study": ("study", "Rerun the paper's experiments next to its published numbers."),
        "demo": ("tools", "Walk through the everyday commands on built-in data."),
        "playground": ("report", "Open a page on which to try RDQ by hand."),
        "help": ("tools", "Explain a topic or a command."),
        "completion": ("tools", "Print the shell completion script."),
    },
}
COMMANDS = {name: entry for commands in GROUPS.values() for name, entry in commands.items()}
GREETED = ("eval", "compare", "explain", "report", "plan", "refs")
GREETING = """\
rankdev scores ranked results against references that order the relevant items,
and tests which differences between systems are significant.

Everyday commands:
{commands}

Next:
  rankdev demo            see them at work on built-in data
  rankdev help            topics, such as runs, references and measures
  rankdev COMMAND --help  the options of a command
  rankdev --help          all commands"""


class RootGroup(Group):
    """The commands of :data:`GROUPS`; the module of a command is imported only when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _ = COMMANDS[cmd_name]
        command: click.Command = getattr(import_module(f"rankdev.cli.commands.{module}"), f"{cmd_name}_command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for group, commands in GROUPS.items():
            with formatter.section(group):
                formatter.write_dl([(name.ljust(11), summary) for name, (_, summary) in commands.items()])

    def opening(self, ctx: click.Context) -> str:
        return GREETING.format(commands="\n".join(f"  {name:<8}  {COMMANDS[name][1]}" for name in GREETED))


@click.group(
    cls=RootGroup,
    epilog="Example: rankdev eval qrels.txt bm25.run dense.run -m RDQ@5 -m nDCG@10",
)
@click.version_option(__version__, prog_name="rankdev", help="Show the version.")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Evaluate ranked results against references that order the relevant items."""
    ctx.with_resource(one_command())
    if any(map(os.path.exists, SETTINGS_FILES)):
        from rankdev.cli.settings import read_settings

        ctx.default_map = read_settings(ctx, ctx.invoked_subcommand)


def main() -> None:
    """Run the command; every error a user can cause is one line on standard error."""
    atexit.register(gc.freeze)  # or Python searches everything loaded for garbage before it exits
    warnings.showwarning = _show_warning
    prepare_streams()
    forget_written()
    try:
        status = cli.main(prog_name="rankdev", standalone_mode=False)  # that of ctx.exit, or what the command returned
        sys.stdout.flush()
        if isinstance(status, int) and status:
            sys.exit(status)
    except BrokenPipeError:
        discard_output()
        sys.exit(141)
    except OSError as error:
        discard_output()
        write_line(f"standard output: {error.strerror or error}" if error.filename is None else str(error))
        sys.exit(1)
    except (Exception, KeyboardInterrupt) as error:
        status, *lines = _explained(error)
        for line in filter(None, lines):
            write_line(line)
        try:
            sys.stdout.flush()
        except OSError:
            discard_output()
        sys.exit(status)


def _explained(error: BaseException) -> tuple[int, *tuple[str, ...]]:  # noqa: PLR0911 (one for each kind)
    """Return the exit status of whatever ended a command, and the lines to write about it: one for each input."""
    match error:
        case click.exceptions.Exit():
            return error.exit_code, ""
        case click.Abort() | KeyboardInterrupt():
            details = str(error) or str(error.__cause__ or "")  # click wraps what was raised in an Abort
            return 130, f"interrupted; {details}" if details else "interrupted"
        case click.UsageError():
            path = error.ctx.command_path if error.ctx else "rankdev"
            return 2, f"{error.format_message()} (see {path} --help)"
        case click.ClickException():
            return 2, error.format_message()
        case RankdevError():
            command = _called(sys.argv[1:])
            return error.exit_status, *for_command(error, command).split("\n")
        case UnicodeEncodeError():
            return 2, str(UsageError("not-utf-8", value=error.object))
        case MemoryError():
            return 1, str(RankdevError("no-memory"))
    if os.environ.get("RANKDEV_TRACEBACK"):
        raise error
    return 70, str(RankdevError("bug", error=type(error).__name__, text=str(error)))


def _called(words: Sequence[str]) -> click.Command:
    """Find the command that a command line names."""
    command: click.Command = cli
    for word in words:
        if isinstance(command, click.Group):
            command = command.get_command(click.Context(command), word) or command
    return command


def _show_warning(message: Warning | str, category: type[Warning], *rest: Any, **kwargs: Any) -> None:
    if issubclass(category, RankdevWarning):
        write_once("warning", for_command(message, _called(sys.argv[1:])))
