"""The command of releases: ``gate`` decides about one."""

from __future__ import annotations

import os
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import click
from click.core import ParameterSource

import rankdev as rd
from rankdev.cli import OptionGroup, command, option, refuse_unused
from rankdev.cli.from_function import FILE, options_of
from rankdev.cli.inputs import Input, source
from rankdev.cli.outputs import BRIEF, Output, file_option, write_files
from rankdev.data.write import is_special
from rankdev.errors import DataError, UsageError


def check_saved(path: str) -> None:
    """Refuse a name that is not that of saved scores."""
    if not path.endswith(".parquet"):
        raise UsageError("bad-ending", path=path, endings=[".parquet"])


@command(
    "gate",
    source("scores", "empty", "weights"),
    *options_of("rankdev.statistics.gate:gate", "margin", "segments", "alpha", "clusters"),
    option("--require", "required", metavar="QUERY", multiple=True, help="This query must not lose; repeat."),
    OptionGroup(
        "named",
        [
            option("--against", help="Saved scores of the baseline, instead of its RUN.", **FILE),
            file_option("--save", check=f"{__name__}:check_saved", help="Save the candidate's scores unless it fails."),
            option("--baseline", help="With --scores: the system in use."),
            option("--candidate", help="With --scores: the system that may replace it."),
        ],
        SimpleNamespace,
    ),
    option(
        "--undecided",
        type=click.Choice(["pass", "fail"]),
        default="pass",
        help="If the data cannot decide. Default: pass.",
    ),
    file_option("--junit", help="Also write test cases (XML)."),
    file_option("--comment", help="Also write the report as Markdown."),
    BRIEF,
    example="rankdev gate places.jsonl popular.run blended.run --margin 0.02",
)
def gate_command(
    source: Input, named: SimpleNamespace, undecided: str, junit: str, comment: str, output: Output, **given: Any
) -> None:
    """Decide whether a candidate may replace a baseline.

    Give REFERENCES and the RUNs of baseline (or --against) and candidate. Exit status: 3 if it fails, 4 if
    the data cannot decide and --undecided is fail, 1 if the data have a problem.
    """
    from rankdev.display.encodings import FORMATS
    from rankdev.display.special import junit_of
    from rankdev.display.view import report_of

    def keep(scores: rd.Scores) -> None:
        """Write scores with what they were made from, to be compared with later."""
        if named.save is not None:
            write_files({named.save: FORMATS["parquet"].encode(report_of(scores, per_query=True))})

    source, against = _completed(source, named)
    if source.scores is None:
        refuse_unused("baseline", "candidate", needs="scores")
        scores, baseline = _scored(source, against, named.save)
        if baseline is None:
            return keep(scores)
    else:
        refuse_unused("against", "save", beside="scores")
        if named.baseline is None:
            raise UsageError("needed", name="baseline", use="scores")
        scores, baseline = source.load(), named.baseline
    if given["margin"] is None:
        raise UsageError("margin-needed")
    found = rd.gate(scores, baseline=baseline, candidate=named.candidate, **source.design(given))
    report = report_of(found)
    write_files({junit: junit_of(found), comment: FORMATS["markdown"].encode(report)})
    output.show(found, report)
    if found.verdict == "fail" or (found.verdict == "undecided" and undecided == "fail"):
        click.get_current_context().exit(3 if found.verdict == "fail" else 4)
    return keep(scores.select(systems=[found.candidate]))


def _completed(source: Input, named: SimpleNamespace) -> tuple[Input, str | None]:
    """Return what to score, and the saved baseline; settings may name it and the references."""
    ctx = click.get_current_context()
    settings, against = ctx.default_map or {}, named.against

    def settled(name: str) -> bool:
        return ctx.get_parameter_source(name) is ParameterSource.DEFAULT_MAP

    words = [*([source.references] if source.references and not settled("references") else []), *source.runs]
    first = against == named.save and against is not None and not os.path.exists(against)
    if settled("against") and (len(words) > 2 or source.scores is not None or first):
        against = None
    if "references" in settings and source.scores is None and len(words) <= (2 if against is None else 1):
        words.insert(0, settings["references"])
    return replace(source, references=words[0] if words else "", runs=tuple(words[1:])), against


def _scored(source: Input, against: str | None, save: str | None) -> tuple[rd.Scores, str | None]:
    """Score the runs, and add the saved baseline; return its name too, None where the first run is only saved."""
    from rankdev.data.files import system_name
    from rankdev.evaluation.files import with_digest, with_system

    first = save is not None and against is None and len(source.runs) == 1
    if len(source.runs) != (1 if against is not None or first else 2):
        raise UsageError("no-candidate" if against is None else "candidate-only")
    if not source.names and len({system_name(path) for path in source.runs}) < len(source.runs):
        source = replace(source, names=("baseline", "candidate"))
    lasting, references = against is not None or save is not None, source.references
    if lasting and (references == "-" or is_special(references)):
        raise UsageError("read-twice", path=references)
    if against is not None and not os.path.exists(against):
        raise UsageError("no-saved-scores", path=against)
    scores = source.load()
    if lasting:
        scores = with_digest(scores, references, **source.reading)
    if against is None:
        return scores, None if first else scores.systems[0]
    try:
        saved = rd.read_scores(against)
        if saved.digest is None:
            raise DataError("no-digest")
        return with_system(scores, saved, "baseline")
    except DataError as error:
        raise DataError("bad-saved-scores", error=error.at(path=against)) from None
