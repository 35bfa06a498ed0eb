"""The commands about rankdev itself: ``demo``, ``help`` and ``completion``."""

from __future__ import annotations

import re
import shlex
import sys
import tempfile
from contextlib import chdir
from importlib.resources import as_file, files
from pathlib import Path
from textwrap import wrap

import click

from rankdev.cli.help import Command, topics
from rankdev.errors import UsageError, nearest


@click.command("demo", cls=Command, epilog="Example: rankdev demo --save data")
@click.option("--save", metavar="DIR", help="Copy the data there instead, to try the commands by hand.")
def demo_command(save: str | None) -> None:
    """Score, explain and compare three systems on built-in data, up to a report on one page.

    Nothing is written to the current folder; the end of the output names the report.
    """
    with as_file(files("rankdev").joinpath("data/demo")) as folder:
        if save is not None:
            _save(folder, Path(save))
            return
        here = Path(tempfile.mkdtemp(prefix="rankdev-demo-"))
        for source in folder.iterdir():
            (here / source.name).write_bytes(source.read_bytes())
    with chdir(here):
        for line in files("rankdev").joinpath("cli/demo.md").read_text("utf-8").splitlines():
            if line.startswith("$ "):
                click.secho(_folded(line) + "\n", dim=True)
                sys.stdout.flush()
                _run(shlex.split(line)[2:])
            elif line.startswith("# "):
                click.secho(line[2:], bold=True)
            else:
                click.echo(here / line if line == "report.html" else line)


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
        for source in folder.iterdir():
            (target / source.name).write_bytes(source.read_bytes())
        click.echo(f"{target}: places.jsonl, nearest.run, popular.run, blended.run and others")
    except OSError as error:
        raise UsageError("cannot-write", path=target, why=error.strerror) from None


def _explained() -> list[str]:
    from rankdev.cli import COMMANDS

    return [*topics(), *COMMANDS]


@click.command("help", cls=Command, epilog="Example: rankdev help runs")
@click.argument(
    "words",
    nargs=-1,
    metavar="[TOPIC|COMMAND]",
    shell_complete=lambda ctx, param, begun: sorted(name for name in {*_explained()} if name.startswith(begun)),
)
def help_command(words: tuple[str, ...]) -> None:
    """Explain a topic or a command; without one, list the topics."""
    if not words:
        click.echo("Topics (rankdev help TOPIC):")
        for name, (summary, _) in topics().items():
            click.echo(f"  {name:<10}  {summary}")
        click.echo("\nrankdev help COMMAND, or rankdev COMMAND --help, shows the options of a command;")
        click.echo("rankdev --help lists the commands.")
    elif words[0] in topics() and len(words) == 1:
        click.echo(topics()[words[0]][1])
    elif words[0] in _explained():
        _run([*words, "--help"])
    else:
        near = nearest(words[0], _explained())
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
