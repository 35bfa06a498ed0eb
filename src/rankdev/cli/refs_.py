"""rankdev refs: build references."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rankdev.references.references import References


@click.group("refs", short_help="Build references from grades or lists.")
def command() -> None:
    """Build ordered references, and write them in the format that the output's name asks for."""


@command.command()
@click.argument("source", metavar="INPUT")
@click.option("-o", "--output", default="-", metavar="FILE", help="Default: JSONL on standard output.")
def grades(source: str, output: str) -> None:
    """Make one tier of each distinct positive grade.

    INPUT: TREC qrels, a table with the columns query, item, grade, or JSON {query: {item: grade}}.
    """
    from rankdev.formats import read_grades

    _write(read_grades(source), output)


@command.command()
@click.argument("source", metavar="INPUT")
@click.option("-o", "--output", default="-", metavar="FILE", help="Default: JSONL on standard output.")
def lists(source: str, output: str) -> None:
    """Take strict orders, best item first.

    INPUT: JSON {query: [item, ...]}, JSONL with query and items (or tiers), or any run, whose order is taken.
    """
    from rankdev.formats import read_lists

    _write(read_lists(source), output)


def _write(references: References, output: str) -> None:
    from rankdev.formats import write_references

    write_references(references, output)
    tiers = int(references.tier_counts.sum())
    click.echo(
        f"rankdev: {len(references):,} queries, {len(references.item_ids):,} items in {tiers:,} tiers",
        err=True,
    )
