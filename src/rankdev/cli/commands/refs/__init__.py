"""rankdev refs: build references, one file per command."""

from __future__ import annotations

from importlib import import_module

import click

COMMANDS = ("grades", "lists", "merge", "preferences", "next", "agreement")


@click.group(
    "refs",
    short_help="Build references from grades, lists or preferences.",
    epilog="Example: rankdev refs grades qrels.txt -o refs.jsonl",
)
def command() -> None:
    """Build ordered references, and write them in the format that the output's name asks for."""


for name in COMMANDS:
    command.add_command(import_module(f"{__name__}.{name}").command)
