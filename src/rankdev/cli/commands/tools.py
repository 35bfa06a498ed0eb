"""The commands about rankdev itself: ``demo``, ``help`` and ``completion``."""

from __future__ import annotations

import re
import shlex
import sys
import tempfile
import webbrowser
from contextlib import chdir
from importlib.resources import as_file, files
from pathlib import Path
from textwrap import wrap

import click

from rankdev.cli.help import Command
from rankdev.cli.options import refuse_unused
from rankdev.cli.terminal import write_line
from rankdev.errors import UsageError, nearest

INTRODUCTION = """\
Ten searches for places in a harbour town. places.jsonl orders the relevant
places of each search; ties share a rank. Three systems answered: nearest,
popular and blended. Every command below is real; to try them yourself, run
`rankdev demo --save DIR` and go there."""

STEPS = [
    (
        "Which system is best?",
        "rankdev eval places.jsonl nearest.run popular.run blended.run -m RDQ@5 -m AP@5",
    ),
    (
        "Do they lose by retrieval, by the cutoff, or by order?",
        "rankdev eval places.jsonl nearest.run popular.run blended.run -m RDQ@3 --losses",
    ),
    (
        "Where does nearest lose for museums, and what does blended do better?",
        "rankdev explain places.jsonl nearest.run blended.run --query museums -m RDQ@5",
    ),
    (
        "Are the differences significant, with ten queries?",
        "rankdev compare places.jsonl nearest.run popular.run blended.run -m RDQ@5",
    ),
    (
        "How many queries does a test of popular and blended need?",
        "rankdev plan places.jsonl popular.run blended.run -m RDQ@5 --difference 0.1",
    ),
    (
        "Three assessors compared bakeries in pairs: which order do they support?",
        "rankdev refs preferences judgments.csv",
    ),
    (
        "How much is each position examined? Clicks show it.",
        "rankdev weights clicks.csv",
    ),
    (
        "And the comparison as one page, to look into and to send:",
        "rankdev report places.jsonl nearest.run popular.run blended.run -m RDQ@5 -m AP@5 --item-texts texts.jsonl",
    ),
]
CLOSING = """
Open the report in a browser:

{}

`rankdev playground` lets you drag items and watch RDQ, and `rankdev help`
explains the rest."""


@click.command("demo", cls=Command, epilog="Example: rankdev demo --save data")
@click.option("--save", metavar="DIR", help="Copy the data there instead, to try the commands by hand.")
@click.option("--open", "browse", is_flag=True, help="Open the report in a browser at the end.")
def demo_command(save: str | None, browse: bool) -> None:
    """Score, explain and compare three systems on built-in data, up to a report on one page.

    Nothing is written to the current folder; the end of the output names the report.
    """
    with as_file(files("rankdev").joinpath("data/demo")) as folder:
        if save is not None:
            refuse_unused("browse", beside="save")
            _save(folder, Path(save))
            return
        here = Path(tempfile.mkdtemp(prefix="rankdev-demo-"))
        for source in folder.iterdir():
            (here / source.name).write_bytes(source.read_bytes())
    with chdir(here):
        click.echo(INTRODUCTION)
        for question, line in STEPS:
            click.secho(f"\n{question}", bold=True)
            click.secho(_folded(f"$ {line}") + "\n", dim=True)
            sys.stdout.flush()
            _run(shlex.split(line)[1:])
    click.echo(CLOSING.format(here / "report.html"))
    if browse and not webbrowser.open((here / "report.html").as_uri()):
        write_line("no browser could be opened")


def _run(arguments: list[str]) -> None:
    from rankdev.cli import cli

    cli.main(arguments, prog_name=click.get_current_context().find_root().info_name, standalone_mode=False)


def _folded(line: str) -> str:
    """Break a command into lines of 80 columns as a shell allows, never between an option and its value."""
    whole = re.sub(r"(?<= )(--?\w+) (?!-)", r"\1\0", line)
    parts = wrap(whole, 77, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
    return " \\\n".join(parts).replace("\0", " ")


def _save(folder: Path, target: Path) -> None:
    try:
        target.mkdir(parents=True, exist_ok=True)
        for source in folder.iterdir():
            there = target / source.name
            if there.exists() and (there.is_dir() or there.read_bytes() != source.read_bytes()):
                raise UsageError("other-file", path=there)
        for source in sorted(folder.iterdir()):
            (target / source.name).write_bytes(source.read_bytes())
            click.echo(target / source.name)
    except OSError as error:
        raise UsageError("cannot-write", path=target, why=error.strerror) from None


def _complete_help(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    from rankdev.cli import COMMANDS
    from rankdev.cli.topics import TOPICS

    return sorted(name for name in {*TOPICS, *COMMANDS} if name.startswith(incomplete))


@click.command("help", cls=Command, epilog="Example: rankdev help runs")
@click.argument("words", nargs=-1, metavar="[TOPIC|COMMAND]", shell_complete=_complete_help)
def help_command(words: tuple[str, ...]) -> None:
    """Explain a topic or a command; without one, list the topics."""
    from rankdev.cli import COMMANDS
    from rankdev.cli.topics import TOPICS, contents

    if not words:
        click.echo(contents())
    elif words[0] in TOPICS and len(words) == 1:
        click.echo(TOPICS[words[0]][1])
    elif words[0] in COMMANDS:
        _run([*words, "--help"])
    else:
        near = nearest(words[0], [*TOPICS, *COMMANDS])
        raise UsageError("unknown-name", what="topic or command", value=words[0], near=near, see="rankdev help")


@click.command("completion", cls=Command, epilog="Example: rankdev completion bash")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion_command(shell: str) -> None:
    """Print the completion script, for example: rankdev completion bash >> ~/.bashrc."""
    from click.shell_completion import get_completion_class

    from rankdev.cli import cli

    kind = get_completion_class(shell)
    if kind is not None:
        click.echo(kind(cli, {}, "rankdev", "_RANKDEV_COMPLETE").source())
