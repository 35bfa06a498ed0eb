"""The commands of ``refs``: references from grades, lists and rankings here, from judgments in ``preferences``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rankdev.cli.commands.preferences import agreement_command, preferences_command
from rankdev.cli.help import Group, RegisteredChoice
from rankdev.cli.options import ranks_option, table_options
from rankdev.cli.outputs import references_option, write_references
from rankdev.cli.terminal import write_line, write_notes
from rankdev.errors import counted

if TYPE_CHECKING:
    from rankdev.core.references import References


@click.group(
    "refs",
    cls=Group,
    epilog="Example: rankdev refs grades qrels.txt -o refs.jsonl",
)
def refs_command() -> None:
    """Build references; the extension of the output file determines the format."""


def write(references: References, output: str) -> None:
    """Write references, and note how many there are."""
    write_references(references, output)
    tiers = counted(int(references.tier_counts.sum()), "tier")
    empty = references.empty
    note = f"; {counted(empty, 'query', 'has')} no reference item" if empty else ""
    write_line(f"{counted(len(references), 'query')}, {counted(len(references.ranks), 'item')} in {tiers}{note}")


@refs_command.command("grades", epilog="Example: rankdev refs grades qrels.txt -o refs.jsonl")
@click.argument("source", metavar="INPUT", type=click.Path())
@references_option
@table_options
@ranks_option
def grades_command(source: str, output: str) -> None:
    """Make one tier per distinct positive grade.

    INPUT: TREC qrels, a table with the columns query, item, grade, JSON {query: {item: grade}}, or the database of
    rankdev judge --grades.
    """
    from rankdev.io import read_grades

    write(read_grades(source), output)


@refs_command.command("lists", epilog="Example: rankdev refs lists blended.run -o refs.jsonl")
@click.argument("source", metavar="INPUT", type=click.Path())
@references_option
@table_options
@ranks_option
def lists_command(source: str, output: str) -> None:
    """Take strict orders, best item first.

    INPUT: JSON {query: [item, ...]}, JSONL with query and items (or tiers), or any run.
    """
    from rankdev.io import read_lists

    write(read_lists(source), output)


@refs_command.command("merge", epilog="Example: rankdev refs merge nearest.run blended.run -o refs.jsonl")
@click.argument("sources", metavar="RANKINGS...", nargs=-1, required=True, type=click.Path())
@references_option
@click.option(
    "--method",
    type=RegisteredChoice("rankdev.preferences.rank_aggregation:METHODS"),
    default="kemeny",
    show_default=True,
    help="kemeny, borda or plackett-luce.",
)
@click.option(
    "--unranked",
    type=RegisteredChoice("rankdev.preferences.rank_aggregation:UNRANKED"),
    default="unknown",
    show_default=True,
    help="Items missing from a ranking: unknown or last.",
)
@table_options
@ranks_option
def merge_command(sources: tuple[str, ...], output: str, method: str, unranked: str) -> None:
    """Merge several rankings of the same items into one order.

    RANKINGS: one file per judge or system, each as for 'refs lists'.
    """
    from rankdev.io import read_lists
    from rankdev.preferences import merge_rankings

    found = merge_rankings([read_lists(source) for source in sources], method, unranked=unranked)
    write_notes(found.remarks)
    write(found.references, output)


for command in (preferences_command, agreement_command):
    refs_command.add_command(command)
