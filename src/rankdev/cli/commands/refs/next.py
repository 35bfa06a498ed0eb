"""rankdev refs next: which pairs to ask."""

from __future__ import annotations

from typing import Any

import click

from rankdev.cli.commands.refs.judgments import read_judgments, reading_options
from rankdev.cli.options import seed_option
from rankdev.cli.outputs import deliver, output_options
from rankdev.preferences.selection import STRATEGIES


@click.command("next", epilog="Example: rankdev refs next judgments.csv --budget 5")
@click.argument("source", metavar="PREFS", type=click.Path())
@reading_options
@click.option("--budget", type=int, required=True, help="How many pairs to ask.")
@click.option(
    "--strategy",
    type=click.Choice([name for name in STRATEGIES if name != "decide"]),
    default="information",
    show_default=True,
)
@click.option("--top", type=int, default=5, show_default=True, help="Places that count for top-heavy.")
@click.option("--grades", "grades_file", metavar="FILE", help="Grades for grade-prior: TREC qrels or a table.")
@seed_option
@output_options
def command(
    source: str,
    columns: Any,
    values: Any,
    budget: int,
    strategy: str,
    top: int,
    grades_file: str | None,
    seed: int,
    form: str | None,
    output: str | None,
) -> None:
    """Name the pairs whose answers should be most informative."""
    from rankdev.formats import read_grades
    from rankdev.preferences import next_pairs
    from rankdev.reporting.door import report_of

    graded = None if grades_file is None else {q: r.grades or {} for q, r in read_grades(grades_file).items()}
    judged = read_judgments(source, columns, values)
    chosen = next_pairs(judged, budget, strategy, grades=graded, top=top, seed=seed)
    deliver(report_of(chosen), form, output)
