"""rankdev completion: the script that makes a shell complete commands, options and measures."""

from __future__ import annotations

import click


@click.command("completion", short_help="Print the shell completion script.", epilog="Example: rankdev completion bash")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script, for example: rankdev completion bash >> ~/.bashrc."""
    from click.shell_completion import get_completion_class

    from rankdev.cli import cli

    kind = get_completion_class(shell)
    if kind is not None:
        click.echo(kind(cli, {}, "rankdev", "_RANKDEV_COMPLETE").source())
