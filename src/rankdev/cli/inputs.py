"""What a command analyses: the options that commands share, and the files behind them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import click

from rankdev.cli import Part, RegisteredChoice, argument, option, shared
from rankdev.cli.outputs import reading_progress
from rankdev.cli.terminal import write_notes
from rankdev.data.options import TIE_RULES, Duplicates, Order, Ranks, ReadOptions
from rankdev.errors import DataError, Note, UsageError

if TYPE_CHECKING:
    from rankdev._common.result import Result
    from rankdev.data.run import RunLike
    from rankdev.display.report import Report
    from rankdev.evaluation.scores import Scores

Found = TypeVar("Found", bound="Result")
Value = TypeVar("Value")
USUAL = ("RDQ@10",)  # what is computed where no measure is named
ALL = "all"  # queries, beside the segments


def _columns(ctx: click.Context, param: click.Parameter, text: str | None) -> dict[str, str] | None:
    return names_and_values(text, "--columns") or None


def _grades(ctx: click.Context, param: click.Parameter, text: str | None) -> dict[str, float] | None:
    words = names_and_values(text, "--grades")
    try:
        return {word: float(grade) for word, grade in words.items()} or None
    except ValueError:
        raise UsageError(
            "bad-value", name="--grades", value=text, expected="WORD=NUMBER, and more with commas"
        ) from None


columns_option = shared(
    "--columns",
    metavar="NAME=COLUMN,...",
    callback=_columns,
    help="Columns of tables, such as item=sku,score=points.",
)
ranks_option = shared(
    "--ranks",
    type=click.Choice(get_args(Ranks)),
    help="Ranks are consecutive (default), or skip as many as are tied: 1, 1, 1, 4.",
)
grades_option = shared(
    "--grades",
    "grades",
    metavar="WORD=NUMBER,...",
    callback=_grades,
    help="Grades that words stand for, such as Exact=3,Substitute=2.",
)
READING = (
    shared("--order", type=click.Choice(get_args(Order)), help="Order runs by score (default) or by the rank column."),
    shared("--ties", type=click.Choice(list(TIE_RULES)), help="How equal scores are ordered. Default: trec_eval."),
    columns_option,
    shared(
        "--duplicates",
        type=click.Choice(get_args(Duplicates)),
        help="Which row counts if a query lists an item more than once. Default: refuse.",
    ),
    shared("--collapse", metavar="MARK", help="What separates document and chunk in an item, such as #."),
    ranks_option,
    shared("--strict", is_flag=True, help="Treat warnings about the input, and unmatched queries, as errors."),
)
empty_option = shared(
    "--empty",
    type=click.Choice(["zero", "skip"]),
    help="Queries without a relevant item: score 0 (default), or leave them out.",
)
like_option = shared(
    "--like",
    type=RegisteredChoice("rankdev.evaluation.conventions:CONVENTIONS"),
    help="Follow another program: its order of ties, names, rounding and files.",
)
name_option = shared("--name", "names", multiple=True, help="Name of a run; once per run, in order.")
tag_option = shared("--by-tag", is_flag=True, help="A RUN holds several systems: one per tag, or per system column.")
collection_option = option(
    "--collection",
    "collections",
    metavar="[NAME=]FILE",
    type=click.Path(),
    multiple=True,
    help="Or scores of several collections; repeat.",
)
scores_option = option(
    "--scores", metavar="FILE", type=click.Path(), help="Or a table of system, query, measure, value."
)
segments_option = option(
    "--segments", metavar="FILE", type=click.Path(), help="Also by segment: table of query, segment."
)
clusters_option = option(
    "--clusters", metavar="FILE", type=click.Path(), help="Dependent queries: table of query, cluster."
)
replicates_option = option(
    "--replicates", metavar="NAME=RUN*", multiple=True, help="Runs of one system: bert=bert-*; repeat."
)


weights_option = shared(
    "--weights", metavar="FILE", type=click.Path(), help="Traffic of queries: table of query, weight."
)


def _import_measures(ctx: click.Context, param: click.Parameter, paths: tuple[str, ...]) -> None:
    if paths:
        from rankdev.measures import load_file

        ctx.meta["rankdev.import"] = paths  # the report shows how it was called
        for path in paths:
            load_file(path)


import_option = shared(
    "--import",
    multiple=True,
    metavar="FILE",
    is_eager=True,
    expose_value=False,
    callback=_import_measures,
    help="A Python file with measures of your own; repeat for more.",
)


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


@dataclass(frozen=True)
class Source:
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

    def one_measure(self, usual: str = USUAL[0]) -> str:
        """Return the measure of a command that takes only one."""
        if len(self.measures) > 1:
            raise UsageError("not-one-measure", measures=self.measures)
        return self.measures[0] if self.measures else usual

    def systems(self) -> dict[str, RunLike]:
        """Name each run by --name or by its file; with --by-tag, split the files into systems."""
        if self.by_tag and self.names:
            raise UsageError("not-together", name="names", other="by_tag")
        if [self.references, *self.runs].count("-") > 1:
            raise UsageError("one-standard-input")
        if not self.by_tag:
            return dict(zip(named(self.runs, self.names), self.runs, strict=True))
        from rankdev.data.files import read_systems

        read = ReadOptions(self.read.get("order"), columns=self.columns)
        found = [(name, path, rows) for path in self.runs for name, rows in read_systems(path, read).items()]
        refuse_same([(name, path) for name, path, _ in found], "same-name", what="systems")
        return {name: rows for name, _, rows in found}

    def load(self) -> Scores:
        """Score the runs, with progress on a terminal, or read the table; note what was missing."""
        from rankdev.evaluation.evaluate import evaluate

        if self.scores is not None:
            return self._read_scores(self.scores, "scores")
        if not self.references or not self.runs:
            params = click.get_current_context().command.params
            known = [one.opts[0] for one in params if one.name in ("scores", "collections", "variance")]
            raise UsageError("no-source", known=known)
        with reading_progress(self.runs) as progress:
            found = evaluate(self.references, self.systems(), self.measures or USUAL, **self.read, progress=progress)
        found = self._weighted(found)
        write_notes(found.remarks)
        return found

    def load_collections(self) -> dict[str, Scores]:
        """Read the scores of several collections; NAME=FILE names one, else its file does."""
        from rankdev.data.files import system_name

        if self.scores is not None:
            raise UsageError("not-together", name="scores", other="collections")
        given = [text.rpartition("=") if not Path(text).exists() else ("", "", text) for text in self.collections]
        paths = [path for _, _, path in given]
        names = [name or system_name(path) for name, _, path in given]
        refuse_same(list(zip(names, paths, strict=True)), "same-name", what="collections")
        return {name: self._read_scores(path, "collections") for name, path in zip(names, paths, strict=True)}

    def _read_scores(self, path: str, option: str) -> Scores:
        """Read scores that were computed elsewhere, all or those of some measures."""
        from rankdev.evaluation.files import read_scores

        if self.references:
            raise UsageError("not-together", name="references", other=option)
        unused = [name for name in ("names", "by_tag") if getattr(self, name)]
        for name in (*unused, *(name for name in self.read if name != "columns")):
            raise UsageError("not-needed", name=name, use="runs")
        found = self._weighted(read_scores(path, columns=self.columns))
        write_notes(found.remarks)
        return found.select(measures=_labels(self.measures, found.measures)) if self.measures else found

    def _weighted(self, scores: Scores) -> Scores:
        """Weight queries, where a file of weights was given."""
        if not self.weights:
            return scores
        from rankdev.data.text import Source as Opened

        with Opened(self.weights, columns=self.columns) as opened:
            return scores.weighted(opened.named("query", "weight"))

    def analyse(
        self, analyse: Callable[[Any], Found], segments: str | None = None, **look: Any
    ) -> tuple[Found, Report]:
        """Analyse several collections together, or one source of scores and each of its segments."""
        if not self.collections:
            return by_segment(self.load(), self.segments(segments), analyse, **look)
        if segments is not None:
            raise UsageError("not-together", name="segments", other="collections")
        return by_segment(self.load_collections(), None, analyse, **look)

    def segments(self, path: str | None) -> dict[str, set[str]] | None:
        """Read which queries belong to which segment."""
        if path is None:
            return None
        found: dict[str, set[str]] = {}
        for query, name in read_pairs(path, ("query", "segment"), self.columns):
            found.setdefault(name, set()).add(query)
        if ALL in found:
            expected = "another name: this means all queries"
            raise DataError("bad-value", path=path, name="a segment", value=ALL, expected=expected)
        return found

    def clusters(self, path: str | None) -> dict[str, str] | None:
        """Read the cluster of each query."""
        if path is None:
            return None
        found: dict[str, str] = {}
        for query, name in read_pairs(path, ("query", "cluster"), self.columns):
            if found.setdefault(query, name) != name:
                raise DataError("two-clusters", path=path, query=query, one=found[query], other=name)
        return found


def source(
    *,
    required: bool = False,
    collections: bool = False,
    tags: bool = False,
    empty: bool = True,
    like: bool = False,
    weights: bool = False,
    usual: str = USUAL[0],
) -> Part:
    """Return the options of a source of scores; where runs are ``required``, a table cannot take their place."""
    files = [
        argument("references", required=required),
        argument("runs", nargs=-1, required=required, metavar="RUN..." if required else "[RUN]..."),
        measure_option(f"Such as RDQ@5; repeat. Default: {usual}."),
        import_option,
        *([] if required else [scores_option]),
        *([collection_option] if collections else []),
        name_option,
        *([tag_option] if tags else []),
        *([weights_option] if weights else []),
    ]
    kept = {str(one.name) for one in files}

    def make(**given: Any) -> Source:
        where = {name: given.pop(name) for name in kept & given.keys()}
        return Source(chosen(**given), **chosen(**where))

    chosen_options = [*READING, grades_option, *([empty_option] if empty else []), *([like_option] if like else [])]
    return Part("source", [*files, *chosen_options], make)


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


def named(paths: Sequence[str], names: Sequence[str]) -> list[str]:
    """Name runs by what was chosen, or after their files."""
    from rankdev.data.files import system_name

    if names and len(names) != len(paths):
        raise UsageError("unequal", names=["--name", "RUN"], counts=[len(names), len(paths)])
    for name in names:
        if not name or not _is_text(name):
            raise UsageError("bad-value", name="--name", value=name, expected="a name in UTF-8")
    found = [*(names or map(system_name, paths))]
    refuse_same(list(zip(found, paths, strict=True)), "same-system", what="systems")
    return found


def refuse_same(found: Iterable[tuple[str, str]], kind: str, what: str) -> None:
    """Refuse two files, or parts of them, with the same name."""
    known: dict[str, str] = {}
    for name, path in found:
        if name in known:
            raise UsageError(kind, what=what, name=name, paths=[known[name], path])
        known[name] = path


def _is_text(word: str) -> bool:
    """Return whether UTF-8 can encode a word of the command line; the shell may pass any bytes."""
    return word.encode("utf-8", "replace") == word.encode("utf-8", "surrogatepass")


def read_pairs(path: str, names: tuple[str, str], columns: Mapping[str, str] | None) -> list[tuple[str, str]]:
    """Read two columns of names from a file; an error names the file and the line."""
    from rankdev.data.tables import text_column
    from rankdev.data.text import Source as Opened

    with Opened(path, columns=columns) as opened:
        frame = opened.named(*names)
        return list(zip(*(text_column(frame, name, f"{names[1]}s") for name in names), strict=True))


def matching_runs(patterns: Sequence[str], known: Sequence[str]) -> dict[str, list[str]] | None:
    """Find the runs of each system by their names."""
    expected = "a system and its runs, such as bert=bert-*"
    found = {}
    for name, pattern in each_once(name_and_value(text, "--replicates", expected) for text in patterns).items():
        found[name] = [run for run in known if fnmatchcase(run, pattern)]
        if not found[name]:
            raise UsageError("no-such-runs", value=f"{name}={pattern}", known=known[:8])
    return found or None


def name_and_value(text: str, option: str, expected: str, *, may_be_empty: bool = False) -> tuple[str, str]:
    """Read NAME=VALUE; a value may be missing only where that has a meaning."""
    name, mark, value = (part.strip() for part in text.partition("="))
    if not name or not mark or not (value or may_be_empty):
        raise UsageError("bad-value", name=option, value=text, expected=expected)
    return name, value


def names_and_values(text: str | None, option: str, *, may_be_empty: bool = False) -> dict[str, str]:
    """Read NAME=VALUE,...."""
    expected = "NAME=VALUE, and more with commas"
    entries = text.split(",") if text else []
    return each_once(name_and_value(entry, option, expected, may_be_empty=may_be_empty) for entry in entries)


def whole_numbers(text: str | None, option: str) -> list[int] | None:
    """Read a list such as 25,50,100."""
    if not text:
        return None
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise UsageError("bad-value", name=option, value=text, expected="whole numbers such as 25,50,100") from None


def each_once(pairs: Iterable[tuple[str, Value]]) -> dict[str, Value]:
    """Put names and values into a mapping; refuse a name that is given twice."""
    found: dict[str, Value] = {}
    for name, value in pairs:
        if name in found:
            raise UsageError("given-twice", name=name)
        found[name] = value
    return found
