"""rankdev refs lists: strict orders."""

from __future__ import annotations

import click

from rankdev.cli.commands.refs.writing import output_option, write


@click.command("lists", epilog="Example: rankdev refs lists blended.run -o refs.jsonl")
@click.argument("source", metavar="INPUT", type=click.Path())
@output_option
def command(source: str, output: str) -> None:
    """Take strict orders, best item first.

    INPUT: JSON {query: [item, ...]}, JSONL with query and items (or tiers), or any run, whose order is taken.
    """
    from rankdev.formats import read_lists

    write(read_lists(source), output)
