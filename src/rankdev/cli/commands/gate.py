"""The command of releases: ``gate`` decides about one."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from rankdev._common.files_in_use import is_special
from rankdev.cli.help import Command
from rankdev.cli.inputs import clusters_option, load_scores, read_clusters, read_segments, source_options
from rankdev.cli.options import read_options, refuse_unused
from rankdev.cli.outputs import deliver, end, file_option
from rankdev.errors import DataError, UsageError

if TYPE_CHECKING:
    from rankdev.evaluation.scores import Scores

FAILED, UNDECIDED = 3, 4  # exit codes


def _check_saved(path: str) -> None:
    if not path.endswith(".parquet"):
        raise UsageError("bad-ending", path=path, endings=[".parquet"])


@click.command(
    "gate",
    cls=Command,
    epilog="Example: rankdev gate places.jsonl popular.run blended.run --margin 0.02",
)
@source_options
@click.option("--references", "usual", type=click.Path(), hidden=True)  # for settings
@click.option("--margin", type=float, help="Acceptable loss of the mean; required.")
@click.option("--require", "required", metavar="QUERY", multiple=True, help="This query must not lose; repeat.")
@click.option("--segments", metavar="FILE", type=click.Path(), help="Segments that must pass: query, segment.")
@click.option("--against", metavar="FILE", type=click.Path(), help="Saved scores of the baseline, instead of its RUN.")
@file_option("--save", check=_check_saved, help="Save the candidate's scores unless it fails.")
@click.option("--baseline", help="With --scores: the system in use.")
@click.option("--candidate", help="With --scores: the system that may replace it.")
@click.option("--alpha", default=0.05, show_default=True, help="Level of the intervals.")
@clusters_option
@click.option(
    "--undecided", type=click.Choice(["pass", "fail"]), default="pass", help="If the data cannot decide. Default: pass."
)
@file_option("--junit", help="Also write test cases (XML).")
@file_option("--comment", help="Also write the report as Markdown.")
def gate_command(
    usual: str | None,
    margin: float | None,
    required: tuple[str, ...],
    segments: str | None,
    against: str | None,
    save: str | None,
    baseline: str | None,
    candidate: str | None,
    alpha: float,
    clusters: str | None,
    undecided: str,
    junit: str | None,
    comment: str | None,
    form: str | None,
    output: str | None,
    **source: Any,
) -> None:
    """Decide whether a candidate may replace a baseline, worse by the margin at most.

    Give REFERENCES and the RUNs of baseline (or --against) and candidate. Exit status: 3 if it fails, 4 if
    the data cannot decide and --undecided is fail, 1 if the data have a problem.
    """
    from rankdev.display.dispatch import report_of
    from rankdev.display.encodings import FORMATS
    from rankdev.display.gate import junit_of
    from rankdev.statistics.gate import gate

    against = _sort_arguments(source, usual, against, save)
    compared = _compared(source, against, save, baseline, candidate)
    if compared.baseline is None:
        _save(compared.scores, save)
        return
    if margin is None:
        raise UsageError("margin-needed")
    found = gate(
        compared.scores,
        baseline=compared.baseline,
        candidate=compared.candidate,
        margin=margin,
        required=required,
        segments=None if segments is None else read_segments(segments),
        alpha=alpha,
        clusters=read_clusters(clusters),
    )
    report = report_of(found)
    _write(junit, junit_of(found))
    _write(comment, FORMATS["markdown"].encode(report))
    deliver(report, form, output)
    new = compared.scores.select(systems=[found.candidate])
    end(found)
    if found.verdict == "fail" or (found.verdict == "undecided" and undecided == "fail"):
        click.get_current_context().exit(FAILED if found.verdict == "fail" else UNDECIDED)
    _save(new, save)


@dataclass(frozen=True)
class _Compared:
    """Scores of the systems of a gate, and their names; there is no baseline where the first one is saved."""

    scores: Scores
    baseline: str | None
    candidate: str | None


def _sort_arguments(source: dict[str, Any], usual: str | None, against: str | None, save: str | None) -> str | None:
    """Where settings name the references or the baseline, the command line may leave them out; return the baseline."""
    words = [*filter(None, [source["references"]]), *source["runs"]]
    settled = click.get_current_context().get_parameter_source("against") is ParameterSource.DEFAULT_MAP
    if settled and (len(words) > 2 or source["table"] is not None):
        against = None  # the baseline is on the command line
    if settled and against is not None and against == save and not os.path.exists(against):
        against = None  # this is the first one
    runs = 2 if against is None else 1
    if usual is not None and source["table"] is None and len(words) <= runs:
        words.insert(0, usual)
    source["references"], source["runs"] = (words[0] if words else None), tuple(words[1:])
    return against


def _compared(
    source: dict[str, Any],
    against: str | None,
    save: str | None,
    baseline: str | None,
    candidate: str | None,
) -> _Compared:
    """Score the runs, or read their scores, and add saved ones."""
    from rankdev.data.tables import system_name
    from rankdev.evaluation.files import with_system

    runs, saved = source["runs"], against is not None
    if source["table"] is not None:
        refuse_unused("against", "save", beside="table")
        if baseline is None:
            raise UsageError("needed", name="baseline", use="table")
        return _Compared(load_scores(**source), baseline, candidate)
    refuse_unused("baseline", "candidate", needs="table")
    refuse_unused("by_tag", needs="other commands")
    first = save is not None and not saved and len(runs) == 1
    if len(runs) != (1 if saved or first else 2):
        raise UsageError("candidate-only" if saved else "no-candidate")
    if not source["names"] and len({system_name(path) for path in runs}) < len(runs):
        source["names"] = ("baseline", "candidate")
    lasting, references = saved or save is not None, source["references"]
    if lasting and (references == "-" or is_special(references)):
        raise UsageError("read-twice", path=references)
    known = None if against is None else _read_saved(against)
    scores = load_scores(**source)
    if lasting:
        scores = _with_digest(scores, source)
    names = dict(zip(["candidate", "baseline"], reversed(scores.systems), strict=False))
    if known is not None and against is not None:
        try:
            scores, names["baseline"] = with_system(scores, known, "baseline")
        except DataError as error:
            raise DataError("bad-saved-scores", error=error.at(path=against)) from None
    return _Compared(scores, names.get("baseline"), names["candidate"])


def _read_saved(path: str) -> Scores:
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


def _with_digest(scores: Scores, source: dict[str, Any]) -> Scores:
    """Add what the scores were made with."""
    from rankdev.data.options import PLAIN
    from rankdev.evaluation.conventions import CONVENTIONS
    from rankdev.evaluation.files import with_digest

    dialect = PLAIN if source["like"] is None else CONVENTIONS[source["like"]].dialect
    return with_digest(scores, source["references"], dialect=dialect, **read_options())


def _write(path: str | None, content: bytes) -> None:
    from rankdev.data.write import writing

    if path is not None:
        with writing(path) as stream:
            stream.write(content)


def _save(scores: Scores, path: str | None) -> None:
    """Write scores with what they were made from, to be compared with later."""
    if path is not None:
        from rankdev.display.dispatch import report_of
        from rankdev.display.encodings import FORMATS

        _write(path, FORMATS["parquet"].encode(report_of(scores, per_query=True)))
