"""The commands that are functions of scores, or of references and runs; :mod:`rankdev.statistics` has most of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from rankdev.cli import Part, argument, command, given_options, option
from rankdev.cli.from_function import function_command, options_of
from rankdev.cli.inputs import Source, names_and_values, source
from rankdev.cli.outputs import DRAWN, DRAWN_BRIEF, OUTPUT, Output
from rankdev.errors import UsageError

if TYPE_CHECKING:
    from rankdev.evaluation.scores import Scores

THREE = "places.jsonl nearest.run popular.run blended.run"
TWO = "places.jsonl popular.run blended.run"

leaderboard_command = function_command(
    "leaderboard",
    "rankdev.statistics.leaderboard:leaderboard",
    example=f"rankdev leaderboard {THREE} -m RDQ@5",
    more="Give REFERENCES and RUNs, or --scores, or several --collection: then systems are ordered by their mean over"
    " these.",
    collections=True,
    shown=DRAWN_BRIEF,
    without=("measures", "permutations", "seed"),
)

table_command = function_command(
    "table",
    "rankdev.statistics.paper_table:table",
    example=f"rankdev table {THREE} -m RDQ@5 --baseline nearest",
    more="With --baseline, daggers mark differences from it; else letters name the systems that a value exceeds. Use"
    " --format latex or -o table.tex for LaTeX.",
    collections=True,
    shown=OUTPUT,
    without=("measures", "permutations", "seed"),
)

power_command = function_command(
    "power",
    "rankdev.statistics.power:power",
    example=f"rankdev power {TWO} -m paper@5 --sizes 8,10 --subsamples 50",
    more="Give REFERENCES and RUNs, or --scores. Ctrl-C writes the sizes that are finished.",
    without=("measures",),
)

stability_command = function_command(
    "stability",
    "rankdev.statistics.stability:stability",
    example=f"rankdev stability {THREE} -m RDQ@5 --sizes 5,8",
    without=("measures",),
)


def _with_people(agreement: Any, scores: Scores, asked: dict[str, Any], people: str | None) -> Any:
    """Compare with what people prefer, where that is asked for."""
    if people is None:
        return agreement, asked
    from rankdev.data.text import Source as Opened
    from rankdev.statistics.agreement_with_people import agreement_with_people

    if any(given_options("resamples")):
        raise UsageError("not-together", name="resamples", other="people")
    with Opened(people) as opened:
        verdicts = opened.named("query", "a", "b", "winner")

    def compare(part: Scores, clusters: Any = None, **unused: Any) -> Any:
        with opened.located():
            return agreement_with_people(part, verdicts, clusters=clusters)

    return compare, asked


agreement_command = function_command(
    "agreement",
    "rankdev.statistics.agreement:agreement",
    option(
        "--people",
        metavar="FILE",
        type=click.Path(),
        help="Agreement with users instead: a table with query, a, b, winner and optionally judge.",
    ),
    example=f"rankdev agreement {THREE} -m RDQ@5 -m AP@5",
    more="Give REFERENCES and RUNs, or --scores, and at least two measures. With --people, report how often each"
    " measure prefers the list that users prefer.",
    without=("measures",),
    adjust=_with_people,
)


def _of_pair(
    plan: Any, scores: Scores, asked: dict[str, Any], difference: float | None, systems: int
) -> tuple[Any, dict[str, Any]]:
    """Plan for the two systems that are there or named; if only one of two was named, also for the other."""
    a, b, names = asked.pop("a", None), asked.pop("b", None), scores.systems
    if len(scores.measures) != 1:
        raise UsageError("not-one-measure", measures=scores.measures)
    if len(names) < 2 or (len(names) > 2 and not (a and b)):
        raise UsageError("not-a-pair", count=len(names), systems=names[:8])
    b = b or next(name for name in names if name != a)
    a = a or next(name for name in names if name != b)
    pair = {"a": a, "b": b, "measure": scores.measures[0]}
    return plan, asked | pair | {"difference": difference, "systems": systems}


plan_command = function_command(
    "plan",
    "rankdev.statistics.planning:plan",
    option("--difference", type=float, help="The difference to detect. Default: the one observed."),
    option("--systems", type=int, default=2, show_default=True, help="Number of systems that will be compared."),
    example=f"rankdev plan {TWO} -m RDQ@5 --difference 0.1",
    more="The pilot is two runs, or -a and -b.",
    without=("difference", "systems", "width", "variance", "correlation"),
    adjust=_of_pair,
)

bounds_command = function_command(
    "bounds",
    "rankdev.evaluation.bounds:bounds",
    example="rankdev bounds judged.jsonl nearest.run popular.run blended.run -m RDQ@5",
    more="REFERENCES must state which items were judged nonrelevant: by grade 0, or by 'nonrelevant' beside the tiers.",
)

sensitivity_command = function_command(
    "sensitivity",
    "rankdev.statistics.sensitivity:sensitivity",
    example=f"rankdev sensitivity {TWO} --grid alpha=1,4 -n 8 --subsamples 50",
    more="",
    without=("permutations", "alpha"),
)


_scored = source()
_runs = Part("source", [one for one in _scored.params if one.name not in ("references", "scores")], _scored.make)


@command(
    "ppi",
    argument("human"),
    argument("model"),
    _runs,
    DRAWN,
    example="rankdev ppi human.qrels model.qrels a.run b.run -m nDCG@10",
)
def ppi_command(human: str, model: str, source: Source, output: Output) -> None:
    """Estimate human-judged scores from a few queries judged by humans and many judged by a model.

    HUMAN and MODEL are references, with RUNs to score against both; or, without RUNs, scores of both kinds, with the
    columns system, query, measure, value. Intervals are valid however wrong the model is, if the queries judged by
    humans are a random sample.
    """
    from rankdev.statistics.prediction_powered import prediction_powered

    kinds = (human, model)
    judged = [replace(source, references=path) if source.runs else replace(source, scores=path) for path in kinds]
    by_humans, by_model = (one.load() for one in judged)
    output.show(prediction_powered(by_humans, by_model))


@command(
    "weights",
    argument("clicks"),
    *options_of("rankdev.learning.position_weights:weights_from_clicks", "method"),
    option("--columns", metavar="NAME=COLUMN,...", help="Column names of the log, such as clicked=click."),
    *options_of("rankdev.learning.position_weights:weights_from_clicks", "seed"),
    DRAWN,
    example="rankdev weights clicks.csv",
)
def weights_command(clicks: str, method: str, columns: str | None, output: Output, **options: Any) -> None:
    """Estimate from CLICKS how much each position is examined, relative to the first.

    CLICKS is a table with one row per impression and the columns item, position and clicked (0 or 1), optionally query,
    session and propensity; or with the counts shown and clicked.
    The methods harvesting and em need items shown at several positions; rates is for randomised positions.
    """
    from rankdev.data.text import Source as Opened
    from rankdev.learning.position_weights import weights_from_clicks

    with Opened(clicks) as opened:
        table = opened.named("item", "position", "clicked")
        found = weights_from_clicks(table, method, columns=names_and_values(columns, "--columns"), **options)
    output.show(found)
