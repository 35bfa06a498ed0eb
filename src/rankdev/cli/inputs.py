"""What a command analyses: the options that commands share, and the files behind them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

import rankdev as rd
from rankdev.cli import OptionGroup, SharedOption, argument, option, shared
from rankdev.cli.from_function import FILE, options_of
from rankdev.cli.outputs import reading_progress
from rankdev.cli.terminal import write_notes
from rankdev.data.options import ReadOptions
from rankdev.errors import DataError, Note, UsageError, errors_at

if TYPE_CHECKING:
    import polars as pl

    from rankdev.data.run import RunLike
    from rankdev.display.report import Report

Found = TypeVar("Found", bound="rd.Result")
Value = TypeVar("Value")
EVALUATE = "rankdev.evaluation.evaluate:evaluate"
USUAL = ("RDQ@10",)  # what is computed where no measure is named
ALL = "all"  # queries, beside the segments


def _import_measures(ctx: click.Context, param: click.Parameter, paths: tuple[str, ...]) -> None:
    for path in paths:
        from rankdev.measures import load_file

        load_file(path)


def _complete_measure(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    from rankdev.measures import PAPER, REGISTRY

    ends = {"cutoff": "@10", "recall": "@0.1"}
    names = [f"{name}{ends.get(kind.at or '', '')}" for name, kind in REGISTRY.items()]
    known = [*names, *(f"{text}@10" for text in PAPER), "paper@5", "paper@10"]
    return sorted({text for text in known if text.startswith(incomplete)})


def measure_option(said: str) -> click.Option:
    """Return -m."""
    many: dict[str, Any] = {"multiple": True, "metavar": "TEXT", "shell_complete": _complete_measure}
    return option("-m", "--measure", "measures", help=said, **many)


import_option = shared(
    "--import",
    multiple=True,
    metavar="FILE",
    is_eager=True,
    expose_value=False,
    callback=_import_measures,
    help="A Python file with measures of your own; repeat for more.",
)


NAME = shared("--name", "names", multiple=True, help="Name of a run; once per run, in order.")
READING = options_of(
    EVALUATE, "order", "ties", "columns", "duplicates", "collapse", "ranks", "strict", made=SharedOption
)
GRADES = options_of(EVALUATE, "grades", made=SharedOption)
OTHERS = [  # that some commands have
    option("--scores", help="Or a table of system, query, measure, value.", **FILE),
    option(
        "--collection",
        "collections",
        metavar="[NAME=]FILE",
        type=click.Path(),
        multiple=True,
        help="Or scores of several collections; repeat.",
    ),
    shared("--by-tag", is_flag=True, help="A RUN holds several systems: one per tag, or per system column."),
    *options_of(EVALUATE, "empty", "like", "weights", made=SharedOption),
]


@dataclass(frozen=True)
class Input:
    """Where scores come from: runs to score against references, a table of scores, or tables of several collections.

    ``read`` holds the options of :func:`rankdev.evaluate` that were chosen.
    """

    read: Mapping[str, Any]
    references: str = ""
    runs: tuple[str, ...] = ()
    measures: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    by_tag: bool = False
    scores: str | None = None
    collections: tuple[str, ...] = ()
    weights: str = ""

    @property
    def columns(self) -> Mapping[str, str] | None:
        """The names of columns that were chosen."""
        return self.read.get("columns")

    @property
    def reading(self) -> Mapping[str, Any]:
        """The options for files alone, without those for scoring."""
        return {name: value for name, value in self.read.items() if name not in ("empty", "like")}

    def one_measure(self, usual: str = USUAL[0]) -> str:
        """Return the measure of a command that takes only one."""
        if len(self.measures) > 1:
            raise UsageError("not-one-measure", measures=self.measures)
        return self.measures[0] if self.measures else usual

    def systems(self) -> Mapping[str, RunLike]:
        """Name each run by --name or by its file; with --by-tag, split the files into systems."""
        if self.by_tag and self.names:
            raise UsageError("not-together", name="names", other="by_tag")
        if [self.references, *self.runs].count("-") > 1:
            raise UsageError("one-standard-input")
        if not self.by_tag:
            return named(self.runs, self.names)
        from rankdev.data.files import read_systems

        read = ReadOptions(self.read.get("order"), columns=self.columns)
        found = ((name, path, rows) for path in self.runs for name, rows in read_systems(path, read).items())
        return by_name(found, "same-name", "systems")

    def load(self) -> rd.Scores:
        """Score the runs, with progress on a terminal, or read the table; note what was missing."""
        if self.scores is not None:
            return self._read_scores(self.scores, "scores")
        if not self.references or not self.runs:
            params = click.get_current_context().command.params
            known = [one.opts[0] for one in params if one.name in ("scores", "collections")]
            raise UsageError("no-source", known=known)
        with reading_progress(self.runs) as progress:
            found = rd.evaluate(self.references, self.systems(), self.measures or USUAL, **self.read, progress=progress)
        found = self._weighted(found)
        write_notes(found.remarks)
        return found

    def load_collections(self) -> dict[str, rd.Scores]:
        """Read the scores of several collections; NAME=FILE names one, else its file does."""
        from rankdev.data.files import system_name

        if self.scores is not None:
            raise UsageError("not-together", name="scores", other="collections")
        given = [text.rpartition("=") if not Path(text).exists() else ("", "", text) for text in self.collections]
        files = by_name(
            ((name or system_name(path), path, path) for name, _, path in given), "same-name", "collections"
        )
        return {name: self._read_scores(path, "collections") for name, path in files.items()}

    def _read_scores(self, path: str, option: str) -> rd.Scores:
        """Read scores that were computed elsewhere, all or those of some measures."""
        if self.references:
            raise UsageError("not-together", name="references", other=option)
        unused = [name for name in ("names", "by_tag") if getattr(self, name)]
        for name in (*unused, *(name for name in self.read if name != "columns")):
            raise UsageError("not-needed", name=name, use="runs")
        found = self._weighted(rd.read_scores(path, columns=self.columns))
        write_notes(found.remarks)
        return found.select(measures=_labels(self.measures, found.measures)) if self.measures else found

    def weights_of_queries(self) -> Any:
        """Read the table of weights, where one was given."""
        if not self.weights:
            return None
        with self._about_queries(self.weights, "weight") as frame:
            return frame

    @contextmanager
    def _about_queries(self, path: str, name: str) -> Iterator[pl.DataFrame]:
        """Read a table of queries and what it says of each; an error inside names the file and the line."""
        from rankdev.data.sources import Source

        with Source(path, columns=self.columns) as opened:
            opened.options.met.update((self.columns or {}).values())  # the other files may have these
            yield opened.named("query", name)

    def _weighted(self, scores: rd.Scores) -> rd.Scores:
        weights = self.weights_of_queries()
        if weights is None:
            return scores
        with errors_at(path=self.weights):
            return scores.weighted(weights)

    def design(self, asked: Mapping[str, Any], systems: Sequence[str] = ()) -> dict[str, Any]:
        """Return options with what the files of clusters and segments hold, and with the runs that patterns match."""
        found = dict(asked)
        for name, column in (("clusters", "cluster"), ("segments", "segment")):
            if found.get(name) is not None:
                found[name] = self._assigned(found[name], column)
        if found.get("replicates"):
            found["replicates"] = _matching(found["replicates"], systems)
        return found

    def _assigned(self, path: str, column: str) -> dict[str, Any]:
        """Read the cluster of each query, or the queries of each segment."""
        from rankdev.data.tables import text_column

        with self._about_queries(path, column) as frame:
            pairs = list(zip(*(text_column(frame, name, f"{column}s") for name in ("query", column)), strict=True))
        found: dict[str, Any] = {}
        for query, name in pairs:
            if column == "segment":
                found.setdefault(name, set()).add(query)
            elif found.setdefault(query, name) != name:
                raise DataError("two-clusters", path=path, query=query, one=found[query], other=name)
        if column == "segment" and ALL in found:
            expected = "another name: this means all queries"
            raise DataError("bad-value", path=path, name="a segment", value=ALL, expected=expected)
        return found


def _matching(patterns: Mapping[str, str], known: Sequence[str]) -> dict[str, list[str]]:
    """Find the runs of each system by their names."""
    found = {name: [run for run in known if fnmatchcase(run, pattern)] for name, pattern in patterns.items()}
    for name, runs in found.items():
        if not runs:
            raise UsageError("no-such-runs", value=f"{name}={patterns[name]}", known=known[:8])
    return found


def source(*others: str, usual: str = USUAL[0]) -> OptionGroup:
    """Return the options of a source of scores, with ``others`` that not all commands have; runs, or also a table."""
    required = "scores" not in others
    options = [
        argument("references", required=required),
        argument("runs", nargs=-1, required=required, metavar="RUN..." if required else "[RUN]..."),
        measure_option(f"Such as RDQ@5; repeat. Default: {usual}."),
        *(one for one in OTHERS if one.name in others),
        *(import_option, NAME, *READING, *GRADES),
    ]

    def make(**given: Any) -> Input:
        known = chosen(**given)
        where = {name: known.pop(name) for name in Input.__dataclass_fields__ if name in known}
        return Input(known, **where)

    return OptionGroup("source", options, make)


def chosen(**given: Any) -> dict[str, Any]:
    """Leave out what was not chosen: the function that is called knows what then holds."""
    return {name: value for name, value in given.items() if value is not None and value is not False and value != ()}


def by_segment(
    scores: Any, segments: Mapping[str, set[str]] | None, analyse: Callable[[Any], Found], **look: Any
) -> tuple[Found, Report]:
    """Analyse all queries and each segment: return the result of all, and the report of each."""
    from rankdev.display.view import report_of

    found = analyse(scores)
    report = report_of(found, **look)
    if segments is None:
        return found, report
    from rankdev.display.report import report_by_segment
    from rankdev.statistics.inputs import places

    parts = {ALL: report}
    placed, remarks = places(scores.queries, segments)
    for segment, queries in placed.items():
        try:
            parts[segment] = report_of(analyse(scores.select(queries=queries.tolist())), **look)
        except (DataError, UsageError) as error:
            remarks.append(Note("skipped-segment", segment=segment, error=error))
    return found, report_by_segment(parts, remarks)


def _labels(texts: Sequence[str], known: Sequence[str]) -> list[str]:
    """Name measures by their labels; scores computed elsewhere may have labels that are not measures of rankdev."""
    from rankdev.measures import parse_all

    return [label for text in texts for label in ([text] if text in known else map(str, parse_all(text)))]


def named(paths: Sequence[str], names: Sequence[str] = ()) -> dict[str, str]:
    """Name runs by what was chosen, or after their files."""
    from rankdev.data.files import system_name

    if names and len(names) != len(paths):
        raise UsageError("unequal", names=["--name", "RUN"], counts=[len(names), len(paths)])
    if not all(names):
        raise UsageError("bad-value", name="--name", value="", expected="a name")
    return by_name(zip(names or map(system_name, paths), paths, paths, strict=True), "same-system", "systems")


def by_name(found: Iterable[tuple[str, str, Value]], kind: str, what: str) -> dict[str, Value]:
    """Return values by their names; refuse two of the same name, and state the file of each."""
    known: dict[str, tuple[str, Value]] = {}
    for name, path, value in found:
        if name in known:
            raise UsageError(kind, what=what, name=name, paths=[known[name][0], path])
        known[name] = path, value
    return {name: value for name, (_, value) in known.items()}
