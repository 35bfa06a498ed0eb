"""rankdev measures: what can be asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankdev.cli.options import import_option
from rankdev.cli.outputs import deliver, output_options

if TYPE_CHECKING:
    from rankdev.measures import Measure


@click.command("measures", short_help="List the measures and their parameters.", epilog="Example: rankdev measures")
@import_option
@output_options
def command(form: str | None, output: str | None) -> None:
    """List every measure with its parameters, their defaults and what they may be."""
    import polars as pl

    from rankdev.measures import REGISTRY, load_installed
    from rankdev.reporting.report import Report

    load_installed()
    table = pl.DataFrame([row for kind in REGISTRY.values() for row in _rows(kind)])
    deliver(Report.of_table(table, prose=("meaning",)), form, output)


def _rows(kind: type[Measure]) -> list[dict[str, str]]:
    source = f" ({kind.source})" if kind.source else ""
    first = {"measure": kind.name, "parameter": "", "default": "", "meaning": f"{kind.meaning()}{source}"}
    return [first, *({"measure": "", **_row(entry)} for entry in kind.parameters())]


def _row(entry: Any) -> dict[str, str]:
    default = (
        "" if entry.default is None else f"{entry.default:g}" if isinstance(entry.default, float) else entry.default
    )
    rule = {"help": "", "number": None, "choices": (), **entry.metadata}
    allowed = ", ".join(rule["choices"]) or (rule["number"].text if rule["number"] else "")
    meaning = f"{rule['help']} ({allowed})" if allowed else rule["help"]
    return {"parameter": entry.name, "default": str(default), "meaning": meaning}
