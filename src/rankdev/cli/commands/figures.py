"""rankdev figures: redraw the figures of the documentation."""

from __future__ import annotations

import warnings
from pathlib import Path

import click

from rankdev.cli.outputs import check_pictures
from rankdev.errors import RankdevWarning, UsageError, suggestion


@click.command(
    "figures",
    short_help="Redraw the figures of the documentation.",
    epilog="Example: rankdev figures figures --only tiers --only losses",
)
@click.argument("folder", callback=check_pictures)
@click.option("--only", multiple=True, metavar="NAME", help="Draw this one; again for more.")
@click.option(
    "--type", "kind", type=click.Choice(["png", "svg", "pdf"]), default="png", show_default=True, help="Kind of file."
)
@click.option("--dpi", type=click.IntRange(20, 1200), default=110, show_default=True, help="Dots per inch of PNG.")
def command(folder: str, only: tuple[str, ...], kind: str, dpi: int) -> None:
    """Draw every figure of the documentation into FOLDER, from built-in and simulated data.

    The same version of rankdev and matplotlib gives the same bytes.
    """
    from rankdev.reporting.plots import save
    from rankdev.studies.figures import FIGURES, Data

    for name in only:
        if name not in FIGURES:
            raise UsageError(f"unknown figure {name!r}{suggestion(name, FIGURES)}; expected {', '.join(FIGURES)}")
    target, data = Path(folder), Data()
    target.mkdir(parents=True, exist_ok=True)
    for name in dict.fromkeys(only) or FIGURES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RankdevWarning)  # examples are small, and a figure is no verdict
            drawn = FIGURES[name](data)
        click.echo(save(drawn, target / f"{name}.{kind}", dpi=dpi))
