"""The commands ``measures`` (what there is, which has the most power) and ``weights`` (from clicks)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from rankdev.cli.designs import analyse_segments, clusters_option, read_clusters, segments_option
from rankdev.cli.help import Command, RegisteredChoice
from rankdev.cli.inputs import load_scores, source_options
from rankdev.cli.options import named_runs, names_and_values, read_named_table, refuse_unused, seed_option
from rankdev.cli.outputs import deliver, draw, figure_option, output_options
from rankdev.errors import DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankdev.evaluation.losses import Losses
    from rankdev.evaluation.scores import Scores
    from rankdev.measures import Measure
    from rankdev.statistics.advice import Advice

CANDIDATES = ("paper@10", "P@10", "RR")  # these need no grades


@click.command(
    "measures",
    cls=Command,
    epilog="Example: rankdev measures --advise places.jsonl nearest.run popular.run blended.run -m paper@5",
)
@click.option("--advise", is_flag=True, help="Estimate which measures have the most power for these systems.")
@source_options
@segments_option
@clusters_option
@click.option("--alpha", default=0.05, show_default=True, help="Level of the test and of the choice.")
@figure_option
def measures_command(
    advise: bool,
    segments: str | None,
    clusters: str | None,
    alpha: float,
    figure: str | None,
    form: str | None,
    output: str | None,
    **source: Any,
) -> None:
    """List every measure with its parameters, their defaults and their possible values.

    With --advise, and REFERENCES and RUNs or --scores: which measure needs the fewest queries to distinguish these
    systems, which may be as good, and which not to use.
    """
    if not advise:
        if source["references"] is not None:
            raise UsageError("REFERENCES and RUNs are for advice; add --advise, or leave them out")
        given = (
            "table",
            "measures",
            "segments",
            "clusters",
            "alpha",
            "figure",
            "names",
            "order",
            "ties",
            "empty",
            "like",
        )
        refuse_unused(*given, why="is for --advise")
        _list_measures(form, output)
        return
    from rankdev.statistics.advice import advise as advice

    together = read_clusters(clusters)
    if source["table"] is None and not source["measures"]:
        source["measures"] = CANDIDATES
    scores = load_scores(**source)
    lost = _losses(scores.measures, **source)

    def analyse(part: Scores) -> Advice:
        whole = len(part.queries) == len(scores.queries)
        return advice(part, losses=lost if whole else None, clusters=together, alpha=alpha)

    found, report = analyse_segments(scores, segments, analyse)
    deliver(report, form, output)
    draw(figure, found.plot)


def _losses(
    scored: Sequence[str],
    *,
    references: str | None,
    runs: Any,
    names: Any,
    like: str | None,
    order: Any,
    ties: Any,
    empty: Any,
    **unused: Any,
) -> Losses | None:
    """Split what the systems lost in the first RDQ, where their files can be read twice and have one order."""
    from rankdev._common.files_in_use import is_special
    from rankdev.core.ordering import leaves_open
    from rankdev.evaluation.losses import losses

    once = any(path == "-" or is_special(path) for path in (references or "-", *runs))
    if once or like is not None or leaves_open(ties):
        return None
    named = named_runs(str(references), runs, names)
    split = (name for name in scored if re.match(r"RDQ\b", name) and "judged_only" not in name)
    return losses(str(references), named, next(split, "RDQ@10"), order=order, ties=ties, empty=empty)


def _list_measures(form: str | None, output: str | None) -> None:
    import polars as pl

    from rankdev.display.report import Report
    from rankdev.measures import REGISTRY, load_installed

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


@click.command("weights", cls=Command, epilog="Example: rankdev weights clicks.csv")
@click.argument("clicks", type=click.Path())
@click.option(
    "--method",
    type=RegisteredChoice("rankdev.learning.position_weights:METHODS"),
    default="harvesting",
    help="harvesting (default), em, regression-em, cascade or rates.",
)
@click.option("--columns", metavar="NAME=COLUMN,...", help="Column names of the log, such as clicked=click.")
@click.option("--features", metavar="COLUMN,...", help="Features of items, for regression-em.")
@click.option(
    "--resamples", type=click.IntRange(min=20), default=200, show_default=True, help="Resamples of the sessions."
)
@click.option("--alpha", default=0.05, show_default=True, help="Level of the intervals.")
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

    CLICKS is a table with one row per impression and the columns item, position and clicked (0 or 1), optionally query,
    session and propensity; row and column instead of position for a grid; or with the counts shown and clicked.
    The methods harvesting and em need items shown at several positions; rates is for randomised positions.
    """
    from rankdev.display.dispatch import report_of
    from rankdev.learning.position_weights import plot_click_weights, weights_from_clicks

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
