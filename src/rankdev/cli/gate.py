"""The command of releases: ``gate`` decides about one."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from rankdev.cli import command, option, refuse_unused
from rankdev.cli.from_function import options_of
from rankdev.cli.inputs import Source, source
from rankdev.cli.outputs import BRIEF, Output, file_option, write_file
from rankdev.data.write import is_special
from rankdev.errors import DataError, UsageError

if TYPE_CHECKING:
    from rankdev.evaluation.scores import Scores

FAILED, UNDECIDED = 3, 4  # exit codes


def check_saved(path: str) -> None:
    """Refuse a name that is not that of saved scores."""
    if not path.endswith(".parquet"):
        raise UsageError("bad-ending", path=path, endings=[".parquet"])


@command(
    "gate",
    source(weights=True),
    *options_of("rankdev.statistics.gate:gate", "margin", "segments", "alpha", "clusters"),
    option("--require", "required", metavar="QUERY", multiple=True, help="This query must not lose; repeat."),
    option("--against", metavar="FILE", type=click.Path(), help="Saved scores of the baseline, instead of its RUN."),
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
    margin: float | None,
    segments: str | None,
    clusters: str | None,
    against: str | None,
    save: str | None,
    baseline: str | None,
    candidate: str | None,
    undecided: str,
    junit: str | None,
    comment: str | None,
    output: Output,
    **options: Any,
) -> None:
    """Decide whether a candidate may replace a baseline.

    Give REFERENCES and the RUNs of baseline (or --against) and candidate. Exit status: 3 if it fails, 4 if
    the data cannot decide and --undecided is fail, 1 if the data have a problem.
    """
    from rankdev.display.encodings import FORMATS
    from rankdev.display.special import junit_of
    from rankdev.display.view import report_of
    from rankdev.statistics.gate import gate

    source, against = _completed(source, against, save)
    if source.scores is None:
        refuse_unused("baseline", "candidate", needs="scores")
        scores, baseline, candidate = _scored(source, against, save)
        if baseline is None:
            _save(scores, save)
            return
    else:
        refuse_unused("against", "save", beside="scores")
        if baseline is None:
            raise UsageError("needed", name="baseline", use="scores")
        scores = source.load()
    if margin is None:
        raise UsageError("margin-needed")
    asked = {"segments": source.segments(segments), "clusters": source.clusters(clusters), **options}
    found = gate(scores, baseline=baseline, candidate=candidate, margin=margin, **asked)
    report = report_of(found)
    write_file(junit, junit_of(found))
    write_file(comment, FORMATS["markdown"].encode(report))
    output.show(found, report)
    if found.verdict == "fail" or (found.verdict == "undecided" and undecided == "fail"):
        click.get_current_context().exit(FAILED if found.verdict == "fail" else UNDECIDED)
    _save(scores.select(systems=[found.candidate]), save)


def _completed(source: Source, against: str | None, save: str | None) -> tuple[Source, str | None]:
    """Where settings name the references or the baseline, the command line may leave them out."""
    ctx = click.get_current_context()
    settled = {
        name: ctx.get_parameter_source(name) is ParameterSource.DEFAULT_MAP for name in ("references", "against")
    }
    words = [*([source.references] if source.references and not settled["references"] else []), *source.runs]
    first = against is not None and against == save and not os.path.exists(against)
    if settled["against"] and (len(words) > 2 or source.scores is not None or first):
        against = None
    usual = (ctx.default_map or {}).get("references")
    if usual is not None and source.scores is None and len(words) <= (2 if against is None else 1):
        words.insert(0, usual)
    return replace(source, references=words[0] if words else "", runs=tuple(words[1:])), against


def _scored(source: Source, against: str | None, save: str | None) -> tuple[Scores, str | None, str]:
    """Score the runs and add the saved baseline; return also its name and that of the candidate.

    There is no baseline where the first one is saved.
    """
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
    known = None if against is None else _saved(against)
    scores = source.load()
    *baseline, candidate = scores.systems
    if lasting:
        scores = with_digest(scores, references, **{name: one for name, one in source.read.items() if name != "empty"})
    if known is None:
        return scores, baseline[0] if baseline else None, candidate
    try:
        return *with_system(scores, known, "baseline"), candidate
    except DataError as error:
        raise DataError("bad-saved-scores", error=error.at(path=against)) from None


def _saved(path: str) -> Scores:
    from rankdev.evaluation.files import read_scores

    if not os.path.exists(path):
        raise UsageError("no-saved-scores", path=path)
    try:
        scores = read_scores(path)
    except DataError as error:
        raise DataError("bad-saved-scores", error=error) from None
    if scores.digest is None:
        raise DataError("no-digest", path=path)
    return scores


def _save(scores: Scores, path: str | None) -> None:
    """Write scores with what they were made from, to be compared with later."""
    if path is not None:
        from rankdev.display.encodings import FORMATS
        from rankdev.display.view import report_of

        write_file(path, FORMATS["parquet"].encode(report_of(scores, per_query=True)))
