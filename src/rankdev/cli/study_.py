"""rankdev study: the paper's experiments."""

from __future__ import annotations

import click

from rankdev.cli.options import deliver, output_options


@click.group("study", short_help="Rerun the paper's experiments.")
def command() -> None:
    """Rerun the paper's experiments and show its published numbers beside the new ones."""


@command.command()
@output_options
def controlled(form: str | None, output: str | None) -> None:
    """Table 1: 13 controlled examples under 11 measures."""
    from rankdev.studies.controlled import controlled_report, run_controlled

    deliver(controlled_report(run_controlled()), form, output)
