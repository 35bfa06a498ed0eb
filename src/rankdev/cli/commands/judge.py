"""Judge, pool, weights."""

from __future__ import annotations

import gc
import os
import sys
import webbrowser
from typing import TYPE_CHECKING, Any

import click

from rankdev.cli.options import (
    named_runs,
    names_and_values,
    one_measure_option,
    read_named_table,
    refuse_unused,
    seed_option,
)
from rankdev.cli.outputs import deliver, draw, figure_option, output_options
from rankdev.cli.terminal import say
from rankdev.errors import DataError, UsageError, counted
from rankdev.judging.collect import GOALS
from rankdev.learning.position_weights import METHODS, weights_from_clicks

if TYPE_CHECKING:
    from rankdev.judging.server import JudgeServer


@click.command("judge", short_help="Collect people's preferences in the browser.")
@click.argument("items", metavar="ITEMS")
@click.option(
    "--db", "database", metavar="FILE", required=True, help="SQLite file of the judgments; created, or continued."
)
@click.option(
    "--goal",
    type=click.Choice(GOALS),
    default="order",
    show_default=True,
    help="What to find out: the order of the items, the order of the top, or which --run is better.",
)
@click.option("--top", default=5, show_default=True, help="Places that count with --goal top.")
@click.option("--run", "runs", metavar="FILE", multiple=True, help="With --goal decide: a run; give two or more.")
@one_measure_option(None, "With --goal decide: the measure.")
@click.option("--repeats", default=1, show_default=True, help="How many judges are asked about the same pair at most.")
@click.option("--list-size", default=6, show_default=True, help="Items to put in order at a time on the list page.")
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="Address to listen on; 0.0.0.0 for the whole network."
)
@click.option("--port", default=0, help="Port to listen on; any free one by default.")
@click.option("--no-browser", is_flag=True, help="Do not open the page.")
def judge_command(
    items: str, database: str, host: str, port: int, no_browser: bool, list_size: int, **options: Any
) -> None:
    """Let people say in a browser which of two items is better, and keep every answer.

    ITEMS: JSONL, CSV or Parquet with the columns query and item, and optionally title, text, url, image (a file or
    an address), grade and query_text.

    \b
    Example: rankdev judge pool.jsonl --db judgments.sqlite
             rankdev refs preferences judgments.sqlite -o refs.jsonl
    """
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")  # small fits between two clicks: more threads only get in each other's way
    from rankdev._common.checks import check_whole
    from rankdev.judging.items import read_items
    from rankdev.judging.server import JudgeServer, Tokens
    from rankdev.judging.sessions import Desk
    from rankdev.judging.store import Store

    exhibits = read_items(items)
    seeker = _seeker(exhibits.pool, **options)
    store = Store(database)
    desk = Desk(exhibits, store, seeker, list_size=check_whole("list-size", list_size, 2))
    if desk.strange:
        say(f"{counted(desk.strange, 'answer')} in {database} left aside: about other items than those in {items}")
    try:
        server = JudgeServer(desk, host, port, Tokens())
    except (OSError, OverflowError) as error:
        raise DataError(f"{host}:{port}: no server can be started there ({error}); choose another --port") from None
    _serve(server, browser=not no_browser)


def _serve(server: JudgeServer, *, browser: bool) -> None:
    """Serve until somebody stops it, and say what was collected."""
    desk, store, owner = server.desk, server.desk.store, server.link(server.tokens.owner)
    try:
        click.echo(f"judges: {server.link(server.tokens.judge)}\nowner:  {owner}")
        sys.stdout.flush()
        if browser:
            webbrowser.open(owner)
        gc.freeze()  # looking through all items for garbage again and again would hold up answers
        server.serve_forever(poll_interval=0.2)
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()
        desk.close()
        count = len(store.answers())
        store.close()
        say(f"{counted(count, 'answer', 'is')} in {store.path}")


def _seeker(pool: Any, goal: str, top: int, runs: tuple[str, ...], measure: str | None, repeats: int) -> Any:
    from rankdev.judging.collect import seeker_for
    from rankdev.judging.strategies import Rule

    if goal == "decide" and (len(runs) < 2 or measure is None):
        raise UsageError("--goal decide needs two or more --run and a --measure")
    if goal != "top":
        refuse_unused("top", why="belongs to --goal top")
    if goal != "decide" and (runs or measure):
        raise UsageError("--run and --measure belong to --goal decide")
    named = named_runs("", runs, ()) if runs else None
    return seeker_for(pool, goal, Rule(), top=top, runs=named, measure=measure, repeats=repeats)


@click.command(
    "weights", short_help="Estimate position weights from clicks.", epilog="Example: rankdev weights clicks.csv"
)
@click.argument("clicks", type=click.Path())
@click.option(
    "--method",
    type=click.Choice(list(METHODS)),
    default="harvesting",
    show_default=True,
    help="harvesting and em need items shown at several positions; rates is for randomised positions or views.",
)
@click.option("--columns", metavar="NAME=COLUMN,...", help="What the log calls its columns, such as clicked=click.")
@click.option("--features", metavar="COLUMN,...", help="Features of items, for regression-em.")
@click.option("--resamples", type=click.IntRange(min=20), default=200, show_default=True, help="Resampled sessions.")
@click.option("--alpha", default=0.05, show_default=True, help="Level: intervals hold with 1 − alpha.")
@seed_option
@figure_option
@output_options
def weights_command(
    clicks: str,
    method: str,
    columns: str | None,
    features: str | None,
    resamples: int,
    alpha: float,
    seed: int,
    figure: str | None,
    form: str | None,
    output: str | None,
) -> None:
    """Estimate from CLICKS how much each position is examined, relative to the first.

    CLICKS is a table (CSV, TSV, JSONL or Parquet) with one row per impression and the columns item, position and
    clicked (0 or 1); query, session and propensity where there are any; row and column instead of position for a grid;
    or with counts, shown and clicked of them.
    """
    from rankdev.display.dispatch import report_of
    from rankdev.learning.position_weights import plot_click_weights

    table = read_named_table(clicks, "item, position, clicked")
    try:
        found = weights_from_clicks(
            table.frame,
            method,
            columns=names_and_values(columns, "--columns"),
            features=features.split(",") if features else (),
            resamples=resamples,
            alpha=alpha,
            seed=seed,
        )
    except DataError as error:
        table.fail(error)
    deliver(report_of(found), form, output)
    draw(figure, plot_click_weights, found)
