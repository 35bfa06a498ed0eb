"""rankdev refs preferences: tiers from pairwise judgments."""

from __future__ import annotations

from typing import Any

import click

from rankdev.cli.commands.refs.judgments import read_judgments, reading_options
from rankdev.cli.commands.refs.writing import output_option, write_files
from rankdev.cli.options import seed_option
from rankdev.cli.outputs import safe_csv_option, table_option
from rankdev.errors import UsageError
from rankdev.preferences.rules import RULES
from rankdev.preferences.strengths import DISCONNECTED, METHODS, POSITION, TIES


@click.command(
    "preferences",
    short_help="Turn pairwise judgments into references.",
    epilog="Example: rankdev refs preferences judgments.csv -o refs.jsonl",
)
@click.argument("source", metavar="PREFS", type=click.Path())
@reading_options
@output_option
@click.option(
    "--method",
    type=click.Choice(METHODS),
    default="bradley-terry",
    show_default=True,
    help="How strengths are estimated; crowd-bt also rates the workers, consistent takes judges at their word.",
)
@click.option("--ridge", default=0.1, show_default=True, help="How strongly strengths are pulled towards each other.")
@click.option(
    "--position",
    type=click.Choice(POSITION),
    default="ignore",
    show_default=True,
    help="Whether to correct for the order of presentation (bradley-terry).",
)
@click.option(
    "--ties",
    type=click.Choice(TIES),
    default="auto",
    show_default=True,
    help="By Davidson's model (auto, where the method knows it) or as half a win each.",
)
@click.option(
    "--disconnected",
    type=click.Choice(DISCONNECTED),
    default="error",
    show_default=True,
    help="Groups that no comparison connects: refuse, one reference each, or the largest alone.",
)
@click.option("--alpha", default=0.05, show_default=True, help="Level at which two items count as separated.")
@click.option(
    "--rule",
    type=click.Choice(list(RULES)),
    default="auto",
    show_default=True,
    help="What makes a tier: the evidence (auto), every difference (strict), or tests (partition, leader).",
)
@click.option("--max-depth", type=int, help="Join everything below this many tiers.")
@click.option("--resamples", default=200, show_default=True, help="Bootstrap samples behind rank-centrality.")
@safe_csv_option
@table_option("--strengths", "strengths_file", help="Also write each item's strength and interval here.")
@table_option("--workers", "workers_file", help="Write each worker's quality here (crowd-bt).")
@seed_option
def command(
    source: str,
    columns: Any,
    values: Any,
    output: str,
    strengths_file: str | None,
    workers_file: str | None,
    method: str,
    **options: Any,
) -> None:
    """Turn pairwise judgments into references whose ties are what the judgments do not separate.

    PREFS: CSV, JSON, JSONL or Parquet with query, winner, loser, or query, two items and an outcome, and optionally
    worker and tie; or lines 'topic a b winner'.
    """
    from rankdev.preferences import summarise, tiers_from_preferences
    from rankdev.references.references import References

    if workers_file is not None and method != "crowd-bt":
        raise UsageError("--workers needs --method crowd-bt, which judges the workers too")
    found = tiers_from_preferences(read_judgments(source, columns, values), method, **options)
    tables = {}
    if strengths_file is not None:
        tables[strengths_file] = found.to_polars()
    if workers_file is not None and found.strengths.workers is not None:
        tables[workers_file] = found.strengths.workers.to_polars()
    write_files(References.from_tiers(found.tiers), output, tables)
    click.echo(summarise(found), err=True)
