"""The commands that make pages: ``report`` and ``playground``."""

from __future__ import annotations

import datetime
import shlex
import sys
import tempfile
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from rankdev.cli.help import Command
from rankdev.cli.inputs import (
    clusters_option,
    matching_runs,
    read_clusters,
    read_segments,
    replicates_option,
    segments_option,
)
from rankdev.cli.options import (
    empty_option,
    measure_option,
    name_option,
    named_runs,
    order_options,
    read_options,
    seed_option,
)
from rankdev.cli.outputs import page_option, reading_progress

if TYPE_CHECKING:
    from collections.abc import Mapping


@click.command(
    "report",
    cls=Command,
    epilog="Example: rankdev report places.jsonl nearest.run popular.run blended.run -m RDQ@5 -m AP@5 -o report.html",
)
@click.argument("references", type=click.Path())
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=click.Path())
@measure_option(["RDQ@10"])
@page_option(default="report.html", show_default=True, help="Write the page here.")
@click.option("--query-texts", metavar="FILE", type=click.Path(), help="A table with query and text.")
@click.option("--item-texts", metavar="FILE", type=click.Path(), help="A table with item and text.")
@click.option("--dataset", metavar="NAME", help="Take other texts from this ir_datasets data set.")
@click.option("--title", default="", help="Title of the page.")
@click.option("--author", default="", help="Who made it.")
@click.option("--date", metavar="TEXT", help="When; '' for none.  [default: today]")
@click.option("--margin", type=float, help="Largest difference that does not matter.")
@click.option("--judgments", metavar="FILE", type=click.Path(), help="Judgments behind REFERENCES: shows uncertainty.")
@click.option("--alpha", default=0.05, show_default=True, help="Level of tests and intervals.")
@click.option("--power", is_flag=True, help="Also estimate the power for n queries.")
@click.option("--public", is_flag=True, help="Leave the texts of items out.")
@segments_option
@clusters_option
@replicates_option
@name_option
@order_options
@empty_option
@seed_option
def report_command(
    references: str,
    runs: tuple[str, ...],
    measures: tuple[str, ...],
    output: str,
    query_texts: str | None,
    item_texts: str | None,
    dataset: str | None,
    date: str | None,
    public: bool,
    segments: str | None,
    clusters: str | None,
    replicates: tuple[str, ...],
    names: tuple[str, ...],
    **options: Any,
) -> None:
    """Compare the RUNs on one HTML page, a file that needs no network. It opens with what is decided, and
    with checks of the data.
    """
    from rankdev.data.files import load_references
    from rankdev.data.texts import DatasetTexts, read_texts
    from rankdev.display.layout import paragraph
    from rankdev.display.report import screen_width
    from rankdev.html_report.page import report

    systems = named_runs(references, runs, names)
    known = load_references(references, **read_options("columns", "ranks", "strict"))

    texts = None if dataset is None else DatasetTexts(dataset)

    def items(wanted: set[str]) -> Mapping[str, str]:
        given = {} if item_texts is None else read_texts(item_texts, "item", wanted)
        return given if texts is None else {**texts.of_items(wanted - set(given)), **given}

    asked = set(known)
    of_queries = {} if query_texts is None else read_texts(query_texts, "query", asked)
    if texts is not None and asked - set(of_queries):
        of_queries = {**texts.of_queries(asked), **of_queries}

    with reading_progress(runs) as progress:
        page = report(
            known,
            systems,
            measures,
            segments=None if segments is None else read_segments(segments),
            clusters=read_clusters(clusters),
            replicates=matching_runs(replicates, list(systems)),
            query_texts=of_queries,
            item_texts=items,
            date=datetime.date.today().isoformat() if date is None else date,
            public=public,
            command=_written(click.get_current_context(), public),
            progress=progress,
            **options,
            **read_options(),
        )
    page.save(output)
    if output != "-":
        click.echo("\n".join(paragraph(f"{output}: {page.title}. {page.verdict}", screen_width(sys.stdout))))


def _written(ctx: click.Context, public: bool) -> str:
    """Return the command as it was called; for a public page, without the folders of its files."""
    words = ["rankdev", "report"]
    for parameter in ctx.command.params:
        if ctx.get_parameter_source(parameter.name or "") != ParameterSource.COMMANDLINE:
            continue
        value = ctx.params.get(parameter.name or "", ctx.meta.get(f"rankdev.{parameter.name}"))
        values = value if isinstance(value, tuple) else (value,)
        if public and (isinstance(parameter.type, click.Path) or parameter.name == "output"):
            values = tuple(Path(entry).name for entry in values)
        for entry in values:
            flag = [] if isinstance(parameter, click.Argument) else [parameter.opts[0]]
            words += [*flag, *([] if entry is True else [str(entry)])]
    return shlex.join(words)


@click.command(
    "playground",
    cls=Command,
    epilog="Example: rankdev playground -o playground.html",
)
@page_option(help="Write the page here (.html) instead of opening it.")
def playground_command(output: str | None) -> None:
    """Open a page on which to drag items and weights, and see how RDQ changes and what each position gains.

    The page is one file that works without a network. It begins with a short tour.
    """
    from rankdev.data.write import writing
    from rankdev.html_report.playground import playground

    target = output or str(Path(tempfile.mkdtemp(prefix="rankdev-")) / "playground.html")
    with writing(target) as stream:
        stream.write(playground().encode())
    if output is None:
        opened = webbrowser.open(Path(target).as_uri())
        click.echo(target if opened else f"no browser could be opened; the page is {target}")
