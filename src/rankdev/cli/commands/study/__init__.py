"""rankdev study: the paper's experiments, one file each."""

from __future__ import annotations

from importlib import import_module

import click

COMMANDS = ("controlled", "leave_out", "map", "poi", "trec", "trec_dl")


@click.group("study", short_help="Rerun the paper's experiments.", epilog="Example: rankdev study poi --quick")
def command() -> None:
    """Rerun the paper's experiments and show its published numbers beside the new ones."""


for name in COMMANDS:
    command.add_command(import_module(f"{__name__}.{name}").command)
