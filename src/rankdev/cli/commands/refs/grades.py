"""rankdev refs grades: one tier per grade."""

from __future__ import annotations

import click

from rankdev.cli.commands.refs.writing import output_option, write


@click.command("grades", epilog="Example: rankdev refs grades qrels.txt -o refs.jsonl")
@click.argument("source", metavar="INPUT", type=click.Path())
@output_option
def command(source: str, output: str) -> None:
    """Make one tier per distinct positive grade.

    INPUT: TREC qrels, a table with the columns query, item, grade, or JSON {query: {item: grade}}.
    """
    from rankdev.formats import read_grades

    write(read_grades(source), output)
