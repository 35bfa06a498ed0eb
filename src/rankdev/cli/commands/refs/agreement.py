"""rankdev refs agreement: how far judges agree."""

from __future__ import annotations

from typing import Any

import click

from rankdev.cli.commands.refs.judgments import read_judgments, reading_options
from rankdev.cli.options import seed_option
from rankdev.cli.outputs import deliver, encoded_table, output_options, table_option
from rankdev.errors import UsageError


@click.command(
    "agreement",
    short_help="Say how far judges agree.",
    epilog="Example: rankdev refs agreement judgments.csv --resamples 50",
)
@click.argument("source", metavar="PREFS", type=click.Path())
@reading_options
@table_option("--workers", "workers_file", help="Also write what is known of each worker here.")
@click.option("--resamples", default=1000, show_default=True, help="Bootstrap samples behind the interval of α.")
@seed_option
@output_options
def command(
    source: str,
    columns: Any,
    values: Any,
    workers_file: str | None,
    resamples: int,
    seed: int,
    form: str | None,
    output: str | None,
) -> None:
    """Say how far judges agree, are consistent, fit one order, and follow the order of presentation.

    PREFS: as for 'refs preferences'.
    """
    from rankdev.formats.writing import writing
    from rankdev.preferences import judge_agreement
    from rankdev.reporting.door import report_of

    judged = read_judgments(source, columns, values)
    if workers_file is not None and judged.worker is None:
        raise UsageError("--workers needs judgments that say who judged; there is no worker column")
    found = judge_agreement(judged, resamples=resamples, seed=seed)
    if workers_file is not None:
        content = encoded_table(found.workers, workers_file)
        with writing(workers_file) as stream:
            stream.write(content)
    deliver(report_of(found), form, output)
