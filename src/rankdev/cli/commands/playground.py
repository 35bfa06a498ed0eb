"""rankdev playground: drag items and see what RDQ makes of it."""

from __future__ import annotations

import tempfile
import webbrowser
from pathlib import Path

import click


@click.command(
    "playground",
    short_help="Open a page on which to try RDQ by hand.",
    epilog="Example: rankdev playground -o playground.html",
)
@click.option("-o", "--output", metavar="FILE", help="Write the page here (.html) instead of opening it.")
def command(output: str | None) -> None:
    """Open a page to drag items in and out of a ranking and a reference, and see what each position earns.

    The page is one file that works without a network.
    """
    from rankdev.formats.writing import writing
    from rankdev.reporting.playground import playground

    target = output or str(Path(tempfile.mkdtemp(prefix="rankdev-")) / "playground.html")
    with writing(target) as stream:
        stream.write(playground().encode())
    if output is None:
        opened = webbrowser.open(Path(target).as_uri())
        click.echo(target if opened else f"no browser could be opened; the page is {target}")
