"""rankdev refs merge: several rankings into one order."""

from __future__ import annotations

import click

from rankdev.cli.commands.refs.writing import output_option, write
from rankdev.cli.terminal import notes
from rankdev.preferences.rankings import METHODS, UNRANKED


@click.command("merge", epilog="Example: rankdev refs merge nearest.run blended.run -o refs.jsonl")
@click.argument("sources", metavar="RANKINGS...", nargs=-1, required=True, type=click.Path())
@output_option
@click.option(
    "--method",
    type=click.Choice(METHODS),
    default="kemeny",
    show_default=True,
    help="Fewest contradictions, mean share of items beaten, or likeliest strengths.",
)
@click.option(
    "--unranked",
    type=click.Choice(UNRANKED),
    default="unknown",
    show_default=True,
    help="What a ranking says about items it does not hold.",
)
def command(sources: tuple[str, ...], output: str, method: str, unranked: str) -> None:
    """Merge several rankings of the same items into one order.

    RANKINGS: one file per judge or system, each as for 'refs lists'.
    """
    from rankdev.formats import read_lists
    from rankdev.preferences import merge_rankings

    found = merge_rankings([read_lists(source) for source in sources], method, unranked=unranked)
    notes(found.remarks)
    write(found.references, output)
