"""rankdev measures: what can be asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankdev.cli.options import deliver, output_options

if TYPE_CHECKING:
    from rankdev.measures import Measure


@click.command("measures", short_help="List the measures and their parameters.", epilog="Example: rankdev measures")
@output_options
def command(form: str | None, output: str | None) -> None:
    """List every measure with its parameters, their defaults and what they may be."""
    import polars as pl

    from rankdev.measures import REGISTRY
    from rankdev.reporting.report import Report

    table = pl.DataFrame([row for kind in REGISTRY.values() for row in _rows(kind)])
    deliver(Report.of_table(table, prose=("meaning",)), form, output)


def _rows(kind: type[Measure]) -> list[dict[str, str]]:
    first = {"measure": kind.name, "parameter": "", "default": "", "meaning": kind.summary}
    return [first, *({"measure": "", **_row(entry)} for entry in kind.parameters())]


def _row(entry: Any) -> dict[str, str]:
    default = (
        "" if entry.default is None else f"{entry.default:g}" if isinstance(entry.default, float) else entry.default
    )
    number, choices = entry.metadata["number"], entry.metadata["choices"]
    allowed = ", ".join(choices) if choices else number.text if number else ""
    meaning = f"{entry.metadata['help']} ({allowed})" if allowed else entry.metadata["help"]
    return {"parameter": entry.name, "default": str(default), "meaning": meaning}
