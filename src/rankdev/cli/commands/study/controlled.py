"""rankdev study controlled: the paper's Table 1."""

from __future__ import annotations

import click

from rankdev.cli.outputs import deliver, figure_option, output_options


@click.command("controlled", epilog="Example: rankdev study controlled")
@figure_option
@output_options
def command(figure: str | None, form: str | None, output: str | None) -> None:
    """Table 1: 13 controlled examples under 11 measures."""
    from rankdev.studies.controlled import controlled_figure, controlled_report, run_controlled

    study = run_controlled()
    if figure is not None:
        controlled_figure(study, figure)
    deliver(controlled_report(study), form, output)
