"""The command of releases: ``gate`` decides about one."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from rankdev.cli import command, option, refuse_unused
from rankdev.cli.from_function import FILE, options_of
from rankdev.cli.inputs import Source, source
from rankdev.cli.outputs import BRIEF, Output, file_option, write_files
from rankdev.data.write import is_special
from rankdev.errors import DataError, UsageError

if TYPE_CHECKING:
    from rankdev.evaluation.scores import Scores


def check_saved(path: str) -> None:
    """Refuse a name that is not that of saved scores."""
    if not path.endswith(".parquet"):
        raise UsageError("bad-ending", path=path, endings=[".parquet"])


@command(
    "gate",
    source("scores", "empty", "weights"),
    *options_of("rankdev.statistics.gate:gate", "margin", "segments", "alpha", "clusters"),
    option("--require", "required", metavar="QUERY", multiple=True, help="This query must not lose; repeat."),
    option("--against", help="Saved scores of the baseline, instead of its RUN.", **FILE),
    file_option("--save", check=f"{__name__}:check_saved", help="Save the candidate's scores unless it fails."),
    option("--baseline", help="With --scores: the system in use."),
    option("--candidate", help="With --scores: the system that may replace it."),
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
    source: Source,
    baseline: str | None,
    candidate: str | None,
    against: str | None,
    save: str | None,
    undecided: str,
    junit: str | None,
    comment: str | None,
    output: Output,
    **given: Any,
) -> None:
    """Decide whether a candidate may replace a baseline.

    Give REFERENCES and the RUNs of baseline (or --against) and candidate. Exit status: 3 if it fails, 4 if
    the data cannot decide and --undecided is fail, 1 if the data have a problem.
    """
    from rankdev.display.encodings import FORMATS
    from rankdev.display.special import junit_of
    from rankdev.display.view import report_of
    from rankdev.statistics.gate import gate

    def keep(scores: Scores) -> None:
        """Write scores with what they were made from, to be compared with later."""
        if save is not None:
            write_files({save: FORMATS["parquet"].encode(report_of(scores, per_query=True))})

    source, against = _completed(source, against, save)
    if source.scores is None:
        refuse_unused("baseline", "candidate", needs="scores")
        scores, baseline, candidate = _scored(source, against, save)
        if baseline is None:
            keep(scores)
            return
    else:
        refuse_unused("against", "save", beside="scores")
        if baseline is None:
            raise UsageError("needed", name="baseline", use="scores")
        scores = source.load()
    if given["margin"] is None:
        raise UsageError("margin-needed")
    found = gate(scores, baseline=baseline, candidate=candidate, **source.design(given))
    report = report_of(found)
    write_files({junit: junit_of(found), comment: FORMATS["markdown"].encode(report)})
    output.show(found, report)
    if found.verdict == "fail" or (found.verdict == "undecided" and undecided == "fail"):
        click.get_current_context().exit(3 if found.verdict == "fail" else 4)
    keep(scores.select(systems=[found.candidate]))


def _completed(source: Source, against: str | None, save: str | None) -> tuple[Source, str | None]:
    """Where settings name the references or the baseline, the command line may leave them out."""
    ctx = click.get_current_context()
    settings = ctx.default_map or {}

    def settled(name: str) -> bool:
        return ctx.get_parameter_source(name) is ParameterSource.DEFAULT_MAP

    words = [*([source.references] if source.references and not settled("references") else []), *source.runs]
    first = against is not None and against == save and not os.path.exists(against)
    if settled("against") and (len(words) > 2 or source.scores is not None or first):
        against = None
    if "references" in settings and source.scores is None and len(words) <= (2 if against is None else 1):
        words.insert(0, settings["references"])
    return replace(source, references=words[0] if words else "", runs=tuple(words[1:])), against


def _scored(source: Source, against: str | None, save: str | None) -> tuple[Scores, str | None, str]:
    """Score the runs and add the saved baseline; return also its name and that of the candidate.

    There is no baseline where the first one is saved.
    """
    from rankdev.data.files import system_name
    from rankdev.evaluation.files import read_scores, with_digest, with_system

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
    *baseline, candidate = scores.systems
    if lasting:
        scores = with_digest(scores, references, **{name: one for name, one in source.read.items() if name != "empty"})
    if against is None:
        return scores, baseline[0] if baseline else None, candidate
    try:
        saved = read_scores(against)
        if saved.digest is None:
            raise DataError("no-digest")
        return *with_system(scores, saved, "baseline"), candidate
    except DataError as error:
        raise DataError("bad-saved-scores", error=error.at(path=against)) from None
