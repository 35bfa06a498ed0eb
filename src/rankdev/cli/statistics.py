"""The commands that are functions of scores, or of references and runs; :mod:`rankdev.statistics` has most of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pkgutil import resolve_name
from typing import Any

import click

import rankdev as rd
from rankdev.cli import OptionGroup, argument, command, option, refuse_unused
from rankdev.cli.from_function import FILE, OWN, documented, options_of
from rankdev.cli.inputs import USUAL, Input, by_segment, chosen, source
from rankdev.cli.outputs import DRAWN, DRAWN_BRIEF, OUTPUT, Output, working_progress
from rankdev.errors import UsageError

THREE = "places.jsonl nearest.run popular.run blended.run"
TWO = "places.jsonl popular.run blended.run"

# what the source of scores or the terminal gives
GIVEN = {"scores", "references", "runs", "measure", "measures", "order", "ties", "empty", "read", "progress", "p_value"}
Adjust = Callable[..., tuple[Callable[..., Any], dict[str, Any]]]


def of_scores(
    name: str,
    path: str,
    *also: click.Option,
    example: str,
    more: str = "Give REFERENCES and RUNs, or --scores.",
    collections: bool = False,
    without: Sequence[str] = (),
    shown: OptionGroup = DRAWN,
    adjust: Adjust | None = None,
) -> click.Command:
    """Make a command that calls a function with scores, all and those of each segment, and shows its result.

    It has options for the function's parameters, but for those of ``without``, and those of ``also``; ``shown`` are
    those of the output.
    ``adjust(function, scores, asked, **also)`` returns what is called with the scores instead, and with which options.
    """
    summary, parameters = documented(path)

    def run(source: Input, output: Output, segments: str | None, **given: Any) -> None:
        further = {str(one.name): given.pop(str(one.name)) for one in also}

        def call(scores: Any) -> Any:
            systems = next(iter(scores.values())).systems if source.collections else scores.systems
            function, asked = resolve_name(path), source.design(chosen(**given), systems)
            if adjust is not None:
                function, asked = adjust(function, scores, asked, **further)
            with working_progress() as progress:
                return function(scores, **asked, **({"progress": progress} if "progress" in parameters else {}))

        if source.collections:
            refuse_unused("segments", "weights", beside="collections")
            output.show(call(source.load_collections()))
        else:
            output.show(*by_segment(source.load(), source.design({"segments": segments})["segments"], call))

    run.__doc__ = f"{summary}\n\n{more}"
    own = options_of(path, *(each for each in parameters if each not in GIVEN and each not in without))
    taken = source("scores", "empty", *(["collections", "weights"] if collections else []))
    return command(name, taken, *own, OWN["segments"], *also, shown, example=example)(run)


def of_runs(name: str, path: str, *, example: str, more: str = "", without: Sequence[str] = ()) -> click.Command:
    """Make a command that calls a function with references and runs, and shows its result."""
    summary, parameters = documented(path)
    usual = parameters["measure"].default if "measure" in parameters else USUAL[0]

    def run(source: Input, output: Output, **given: Any) -> None:
        asked = {**source.read, **source.design(chosen(**given))}
        if "measure" in parameters:
            asked["measure"] = source.one_measure(usual)
        elif source.measures:
            asked["measures"] = source.measures
        with working_progress() as progress:
            asked |= {"progress": progress} if "progress" in parameters else {}
            output.show(resolve_name(path)(source.references, source.systems(), **asked))

    run.__doc__ = f"{summary}\n\n{more}".rstrip()
    own = options_of(path, *(each for each in parameters if each not in GIVEN and each not in without))
    return command(name, source(*parameters.keys() & {"empty"}, usual=usual), *own, DRAWN, example=example)(run)


leaderboard_command = of_scores(
    "leaderboard",
    "rankdev.statistics.leaderboard:leaderboard",
    example=f"rankdev leaderboard {THREE} -m RDQ@5",
    more="Give REFERENCES and RUNs, or --scores, or several --collection: then systems are ordered by their mean over"
    " these.",
    collections=True,
    shown=DRAWN_BRIEF,
    without=("permutations", "seed"),
)

table_command = of_scores(
    "table",
    "rankdev.statistics.paper_table:table",
    example=f"rankdev table {THREE} -m RDQ@5 --baseline nearest",
    more="With --baseline, daggers mark differences from it; else letters name the systems that a value exceeds. Use"
    " --format latex or -o table.tex for LaTeX.",
    collections=True,
    shown=OUTPUT,
    without=("permutations", "seed"),
)

power_command = of_scores(
    "power",
    "rankdev.statistics.power:power",
    example=f"rankdev power {TWO} -m paper@5 --sizes 8,10 --subsamples 50",
    more="Give REFERENCES and RUNs, or --scores. Ctrl-C writes the sizes that are finished.",
)

stability_command = of_scores(
    "stability", "rankdev.statistics.stability:stability", example=f"rankdev stability {THREE} -m RDQ@5 --sizes 5,8"
)


def _with_people(agreement: Any, scores: rd.Scores, asked: dict[str, Any], people: str | None) -> Any:
    """Compare with what people prefer, where that is asked for."""
    if people is None:
        return agreement, asked
    from rankdev.preferences.files import read_preferences

    refuse_unused("resamples", beside="people")
    verdicts = read_preferences(people)

    def compare(part: rd.Scores, clusters: Any = None, **unused: Any) -> Any:
        return rd.agreement_with_people(part, verdicts, clusters=clusters)

    return compare, asked


agreement_command = of_scores(
    "agreement",
    "rankdev.statistics.agreement:agreement",
    option(
        "--people", help="Agreement with users instead: a table with query, a, b, winner and optionally judge.", **FILE
    ),
    example=f"rankdev agreement {THREE} -m RDQ@5 -m AP@5",
    more="Give REFERENCES and RUNs, or --scores, and at least two measures. With --people, report how often each"
    " measure prefers the list that users prefer.",
    adjust=_with_people,
)


def _of_pair(plan: Any, scores: rd.Scores, asked: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Plan for the two systems that are there or named; if only one of two was named, also for the other."""
    a, b, names = asked.pop("a", None), asked.pop("b", None), scores.systems
    if len(scores.measures) != 1:
        raise UsageError("not-one-measure", measures=scores.measures)
    if len(names) < 2 or (len(names) > 2 and not (a and b)):
        raise UsageError("not-a-pair", count=len(names), systems=names[:8])
    b = b or next(name for name in names if name != a)
    a = a or next(name for name in names if name != b)
    pair = {"a": a, "b": b, "measure": scores.measures[0]}
    return plan, asked | pair


plan_command = of_scores(
    "plan",
    "rankdev.statistics.planning:plan",
    example=f"rankdev plan {TWO} -m RDQ@5 --difference 0.1",
    more="The pilot is two runs, or -a and -b.",
    adjust=_of_pair,
)

bounds_command = of_runs(
    "bounds",
    "rankdev.evaluation.bounds:bounds",
    example="rankdev bounds judged.jsonl nearest.run popular.run blended.run -m RDQ@5",
    more="REFERENCES must state which items were judged nonrelevant: by grade 0, or by 'nonrelevant' beside the tiers.",
)

sensitivity_command = of_runs(
    "sensitivity",
    "rankdev.statistics.sensitivity:sensitivity",
    example=f"rankdev sensitivity {TWO} --grid alpha=1,4 -n 8 --subsamples 50",
    without=("permutations", "alpha"),
)


_scored = source("scores", "empty")
_runs = OptionGroup("source", [one for one in _scored.params if one.name not in ("references", "scores")], _scored.make)


@command(
    "ppi",
    argument("human"),
    argument("model"),
    _runs,
    DRAWN,
    example="rankdev ppi human.qrels model.qrels a.run b.run -m nDCG@10",
)
def ppi_command(human: str, model: str, source: Input, output: Output) -> None:
    """Estimate human-judged scores from a few queries judged by humans and many judged by a model.

    HUMAN and MODEL are references, with RUNs to score against both; or, without RUNs, scores of both kinds, with the
    columns system, query, measure, value. Intervals are valid however wrong the model is, if the queries judged by
    humans are a random sample.
    """
    kinds = (human, model)
    judged = [replace(source, references=path) if source.runs else replace(source, scores=path) for path in kinds]
    by_humans, by_model = (one.load() for one in judged)
    output.show(rd.prediction_powered(by_humans, by_model))


@command(
    "weights",
    argument("clicks"),
    *options_of("rankdev.learning.position_weights:weights_from_clicks", "method", "columns", "seed"),
    DRAWN,
    example="rankdev weights clicks.csv",
)
def weights_command(clicks: str, method: str, output: Output, **options: Any) -> None:
    """Estimate from CLICKS how much each position is examined, relative to the first.

    CLICKS is a table with one row per impression and the columns item, position and clicked (0 or 1), optionally query,
    session and propensity; or with the counts shown and clicked.
    The methods harvesting and em need items shown at several positions; rates is for randomised positions.
    """
    from rankdev.data.sources import Source

    with Source(clicks) as opened:
        table = opened.named("item", "position", "clicked")
        found = rd.weights_from_clicks(table, method, **options)
    output.show(found)
