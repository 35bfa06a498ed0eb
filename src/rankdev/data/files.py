"""Files and whatever else is passed as references and runs, read; and written again."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from rankdev._common.checks import check_kind
from rankdev._common.lazy import pl
from rankdev._common.work import Progress
from rankdev.data import ids, records, sources, tables
from rankdev.data.database import given_means, is_database
from rankdev.data.formats import ENDINGS, check_trec_name, encode_table
from rankdev.data.options import Duplicates, Order, Ranks, ReadOptions, Ties, warn_of
from rankdev.data.references import References, ReferencesLike, tier_record
from rankdev.data.rows import Rows
from rankdev.data.run import Run, RunLike, RunsLike
from rankdev.data.sources import Source
from rankdev.data.trec import QRELS, RUN, Layout, read_trec, write_trec
from rankdev.data.write import PathLike, plain_suffix, writing
from rankdev.errors import DataError, MeasureError, RankdevError, UsageError, several

Made = TypeVar("Made", References, Run)
_ENDINGS = {".run", ".txt", ".gz", ".zst", ".trec", ".res", ".xlsx", *ENDINGS}  # that no system's name has


def read_run(
    path: PathLike,
    *,
    order: Order = "score",
    ties: Ties = "trec_eval",
    duplicates: Duplicates | None = None,
    columns: Mapping[str, str] | None = None,
    ranks: Ranks | None = None,
    collapse: str | None = None,
    depth: int | None = None,
) -> Run:
    """Read a run: TREC, CSV, TSV, JSONL, JSON or Parquet, also compressed with gzip or zstd.

    A folder of Parquet files, as Spark and DuckDB write them, is one run; columns may be in the names of its folders.

    Parameters
    ----------
    path : str or path
        Name of the file or folder; ``-`` is standard input.
    order : {"score", "rank"}, default "score"
        What orders the run.
    ties : {"trec_eval", "descending", "ascending", "given", "expected"}, default "trec_eval"
        How ties are broken; see docs/files.md#ties.
    duplicates : {"first", "last", "best"}, optional
        Which row of an item counts where a query has several: the first or the last in the file, or that with the
        highest score (the lowest rank). The others are left out, and counted. Default: two scores of an item are
        refused.
    columns : dict of str to str, optional
        Names of the file's columns, by ours: ``{"item": "sku", "score": "points"}``.
    ranks : {"consecutive", "competition"}, optional
        Ranks of a run without scores differ, or are tied as in 1, 1, 1, 4; ties are then broken by ``ties``.
    collapse : str, optional
        What separates a document from its chunk, as in ``d7#3``: each document has the position of its best chunk.
    depth : int, optional
        How many positions of each query will be used: no more are kept, so that memory stays small whatever the size
        of the file. Default: all.

    Returns
    -------
    Run
        Ordered as asked.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "bm25.run"
    ...     _ = path.write_text("q1 Q0 d1 1 9.5 bm25\\nq1 Q0 d2 2 11 bm25\\nq1 Q0 d3 3 7 bm25\\n")
    ...     read_run(path)["q1"]
    ['d2', 'd1', 'd3']
    """
    read = ReadOptions(order, ties, duplicates, columns, ranks, collapse, depth=depth)
    return warned(_opened_run(path, read), read)


def read_references(
    path: PathLike,
    *,
    columns: Mapping[str, str] | None = None,
    ranks: Ranks | None = None,
    duplicates: Duplicates | None = None,
    grades: Mapping[str, float] | None = None,
) -> References:
    """Read references: JSONL or JSON with tiers, tables with rank or grade, or TREC qrels.

    Files may be compressed with gzip or zstd. In a table, a lower ``rank`` and a higher ``grade`` are better.

    Parameters
    ----------
    path : str or path
        Name of the file; ``-`` is standard input.
    columns : dict of str to str, optional
        Names of the file's columns, by ours: ``{"item": "sku", "grade": "stars"}``.
    ranks : {"consecutive", "competition"}, optional
        Whether ranks are consecutive, or skip as many as are tied: 1, 1, 1, 4. Default: consecutive.
    duplicates : {"first", "last", "best", "mean"}, optional
        Which row of an item counts where a query has several, as of two raters; the mean is that of its grades.
        Default: two grades or ranks of an item are refused.
    grades : dict of str to float, optional
        The grades that words stand for: ``{"Exact": 3, "Substitute": 2, "Complement": 1, "Irrelevant": 0}``.

    Returns
    -------
    References
        With grades where the file has them.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "qrels.txt"
    ...     _ = path.write_text("q1 0 d1 2\\nq1 0 d2 1\\nq1 0 d3 0\\n")
    ...     read_references(path)
    References(1 query, 2 items, graded)
    """
    read = ReadOptions(duplicates=duplicates, columns=columns, ranks=ranks, grades=grades)
    return warned(_opened(References, path, read, QRELS), read)


def warned(made: Made, read: ReadOptions) -> Made:
    """Warn of what may be wrong with what was read, and of chosen columns that it has not."""
    read.check_met()
    warn_of([*made.notes, *read.notes])
    return made


def references_of(value: ReferencesLike, read: ReadOptions) -> References:
    """Return references: a path is read, all else is taken by :meth:`References.of`; notes say what may be wrong."""
    if isinstance(value, str | Path):
        return _opened(References, value, read, QRELS)
    return value if isinstance(value, References) else References.of_value(value, read.but(notes=[]))


def run_of(system: str, value: RunLike, read: ReadOptions) -> Run:
    """Return the run of a system: a path is read, to a depth where there is one; all else is taken by :meth:`Run.of`.

    What was not chosen a Run keeps; all else is ordered by score, ties as pytrec_eval does.
    """
    if isinstance(value, str | Path):
        return _opened_run(value, read)
    run = Run.of_value(value, read)
    return run if run is value else _at(run, system=system)


def _opened(kind: type[Made], path: PathLike, read: ReadOptions, layout: Layout) -> Made:
    """Read a run or references from a file or a folder; notes say what may be wrong with them."""
    with Source(path, read.but(notes=[])) as source:
        return _at(kind.of_value(source.value(layout), source.options), path=source.name)


def _opened_run(path: PathLike, read: ReadOptions) -> Run:
    run = _in_parts(path, read)
    return _opened(Run, path, read, RUN) if run is None else run


def _in_parts(path: PathLike, read: ReadOptions) -> Run | None:
    """Read a large TREC file in parts, each with all lines of some queries: of each only what counts stays in memory.

    None of what takes all lines to be read well: where one query is in several parts, where something is wrong, or is
    to be noted.
    """
    options, runs, queries, tags = read.but(notes=[]), list[Run](), set[str](), set[str | None]()
    try:
        if not isinstance(path, str | Path) or path == "-" or os.path.getsize(path) < sources.PART_BYTES:
            return None
        with Source(path, options) as source:
            for lines in source.parts() if source.kind == "trec" else ():
                rows, names, _ = read_trec(lines, RUN, options)
                tags.add(names[0] or next(filter(None, names), None))  # there is one in a part
                runs.append(run := Run.of_rows(rows, options))
                if options.notes or len(tags) > 1 or not queries.isdisjoint(run.queries):
                    return None
                queries.update(run.queries)
    except (OSError, ValueError, RankdevError):
        return None
    return Run.joined(runs) if runs else None


def _at(made: Made, **where: str) -> Made:
    return replace(made, notes=tuple(note.at(**where) for note in made.notes)) if made.notes else made


class Faults(list[RankdevError]):
    """What is wrong with each of several inputs, so that a user learns it all at once."""

    def at(self, **where: Any) -> Faults:
        """Note what is wrong with an input, where that is known, and continue."""
        self._where = where
        return self

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, DataError | UsageError) or isinstance(error, MeasureError):
            return False
        each = error.fields["errors"] if error.kind == "several" else [error.at(**self._where)]
        self += [one for one in each if str(one) not in map(str, self)]
        return True

    def check(self) -> None:
        """Raise what was noted."""
        if self:
            raise several([*self]) from None


def load_references(value: ReferencesLike, **options: Any) -> References:
    """Return references of whatever is accepted as such, with the options of :class:`ReadOptions`; warn of notes."""
    if isinstance(value, References):
        return value
    read = ReadOptions(**options)
    return warned(references_of(value, read), read)


def load_runs(runs: RunsLike, progress: Progress | None = None, **options: Any) -> dict[str, Run]:
    """Return the run of each system in memory; an error names what is wrong with each of them; warn of notes."""
    read = ReadOptions(**options)
    loaded = _runs(runs, read, progress)
    read.check_met()
    warn_of(read.notes)
    return loaded


def _runs(runs: RunsLike, read: ReadOptions, progress: Progress | None = None) -> dict[str, Run]:
    """Return the run of each system; warn of their notes."""
    systems, loaded, faults = named_systems(runs, read), {}, Faults()
    for name, source in watched(systems, progress):
        with faults.at(system=None if isinstance(source, str | Path) else name):
            loaded[name] = run_of(name, source, read.but(notes=[]))
    faults.check()
    return {name: run if run is systems[name] else run.with_warnings() for name, run in loaded.items()}


def load_inputs(
    references: ReferencesLike, runs: RunsLike, progress: Progress | None = None, **options: Any
) -> tuple[References, dict[str, Run]]:
    """Return references and named runs in memory, whatever :func:`evaluate` takes for them."""
    faults, read = Faults(), ReadOptions(**options)
    with faults.at():
        known = references_of(references, read)
    with faults.at():
        loaded = _runs(runs, read, progress)
    faults.check()
    read.check_met()
    warn_of([*(() if known is references else known.notes), *read.notes])
    return known, loaded


def watched(systems: Mapping[str, RunLike], progress: Progress | None) -> Iterator[tuple[str, RunLike]]:
    """Yield systems and their sources, and tell after each how many are done."""
    for done, (name, source) in enumerate(systems.items(), 1):
        yield name, source
        if progress is not None:
            progress(done, len(systems), name)


def named_systems(runs: RunsLike, read: ReadOptions) -> Mapping[str, RunLike]:
    """Return runs by the name of their system; a file or table of several is split by what names them there."""
    if isinstance(runs, str | Path):
        return read_systems(runs, read)
    if type(runs) is not dict and (isinstance(runs, Run) or not isinstance(runs, Mapping)):
        runs = tables.table_of_records(runs)
        if tables.is_table(runs):
            return tables.by_system(tables.as_polars(runs), read)
        raise UsageError("nameless-runs", value=type(runs).__name__)
    if not runs:
        raise UsageError("no-runs")
    for name in runs:
        if not isinstance(name, str) or not name:
            raise UsageError("not-a-system", value=name)
    return runs


def read_systems(path: PathLike, read: ReadOptions) -> dict[str, pl.DataFrame]:
    """Read the rows of several systems from one file, by the tag or the column that names them."""
    with Source(path, read) as source:
        if source.kind != "trec":
            table = tables.table_of_records(source.value())
            if not tables.is_table(table):
                raise DataError("no-systems", known=tables.SYSTEMS)
            return tables.by_system(table, read)
        rows, tags, source.line_of = read_trec(source.content, RUN, read, several=True)
        query = ids.series(rows.queries, "query").gather(rows.codes)
        columns = {"query": query, "item": ids.series(rows.item), rows.what: rows.value, "tag": ids.series(tags)}
        return tables.by_system(pl.DataFrame(columns), read)


def read_grades(path: PathLike, **options: Any) -> References:
    """Read grades as references: TREC qrels, tables with grade, JSON ``{query: {item: grade}}``, or a database."""
    if is_database(path):
        return References.from_grades(given_means(path))
    with Source(path, **options) as source:
        value, read = source.value(QRELS), source.options
        gold = records.gold_of(value, read)
        if gold is not None:
            references = References.of_gold(gold, read)
        elif isinstance(value, dict):
            references = References.of_known(value, "grade", read)
        else:
            references = References.of_value(value, read)
        if references.grades is None:
            raise DataError("not-graded")
        return references


def read_lists(path: PathLike, **options: Any) -> References:
    """Read strict orders as references: lists of items, best first, or the order of a run."""
    with Source(path, **options) as source:
        value, read = source.value(), source.options
        gold = records.gold_of(value, read)
        if gold is not None:
            return References.of_gold(gold, read)
        if not isinstance(value, Rows):
            table = tables.table_of_records(value)
            if not tables.is_table(table) or records.names_tiers(table.columns, read):
                return References.of_value(value, read)
            names = {tables.our_name(name, read.columns or tables.NONE) for name in table.columns}
            if not names & {"score", "rank", *tables.POSITIONS} or read.ranks == "competition":
                return References.of_known(table, "rank" if "rank" in names else "item", read)
        run = Run.of_value(value, read)
        if run.repeats is not None:
            raise DataError("item-twice", item=run.item_ids[int(np.argmax(run.repeats))])
        return References.from_lists({**run})


def system_name(path: str) -> str:
    r"""Name a system after its file, without extensions such as .run, .txt and .gz; bytes that are no text as escapes.

    >>> system_name("runs/bm25.run.gz"), system_name("caf\udce9.run")
    ('bm25', 'caf\\xe9')
    """
    if path == "-":
        return "stdin"
    name = (Path(path).name or path).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    while Path(name).suffix.lower() in _ENDINGS and Path(name).stem:
        name = Path(name).stem
    return name


def runs_in(folder: str | Path) -> dict[str, str]:
    """Return the files of a folder by the name of their system, in order of name; hidden files are not runs."""
    runs: dict[str, str] = {}
    for path in sorted(Path(folder).iterdir()) if Path(folder).is_dir() else ():
        if path.is_file() and not path.name.startswith("."):
            name = system_name(str(path))
            if name in runs:
                raise UsageError("same-name", what="systems", name=name, paths=(runs[name], str(path)))
            runs[name] = str(path)
    if not runs:
        raise UsageError("no-runs-here", path=folder)
    return runs


def write_references(references: References, path: PathLike) -> None:
    """Write references in the format of the file's extension.

    .jsonl and .json hold tiers; .csv, .tsv and .parquet hold ranks (and grades); anything else is TREC qrels. A name
    that ends in .gz or .zst is compressed.

    Parameters
    ----------
    references : References
        What to write.
    path : str or path
        Name of the file; ``-`` is standard output, as .jsonl.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> references = References.from_tiers({"q1": [["d1", "d3"], ["d2"]]})
    >>> with TemporaryDirectory() as folder:
    ...     write_references(references, f"{folder}/references.jsonl")
    ...     read_references(f"{folder}/references.jsonl") == references
    True
    """
    content = encode_references(references, path)
    with writing(path) as stream:
        stream.write(content)


def encode_references(references: References, path: PathLike) -> bytes:
    """Return the bytes that :func:`write_references` writes under this name."""
    check_kind("references", references, References, "make them with References.from_lists and its like")
    suffix = plain_suffix(path)
    if suffix == ".json":
        return _json_of_tiers(references)
    if suffix == ".jsonl" or str(path) == "-":
        return b"".join(
            json.dumps(tier_record(*entry), ensure_ascii=False).encode() + b"\n" for entry in references.items()
        )
    if suffix in ENDINGS:
        return encode_table(references.to_polars(nonrelevant=True), path)
    check_trec_name(path)
    return _qrels(references)


def write_run(run: Run, path: PathLike, *, tag: str = "rankdev") -> None:
    """Write a run in the format of the file's extension: .csv, .tsv, .jsonl, .json, .parquet, else TREC.

    Parameters
    ----------
    run : Run
        What to write.
    path : str or path
        Name of the file; ``-`` is standard output. One that ends in .gz or .zst is compressed.
    tag : str, default "rankdev"
        The last column of a TREC file.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> run = Run.from_scores({"q1": {"d1": 9.5, "d2": 11.0}})
    >>> with TemporaryDirectory() as folder:
    ...     write_run(run, f"{folder}/bm25.run.gz")
    ...     read_run(f"{folder}/bm25.run.gz") == run
    True
    """
    check_kind("run", run, Run, "make one with Run.from_lists, Run.from_scores or read_run")
    suffix = plain_suffix(path)
    if run.repeats is not None and (suffix == ".json") != (run.scores is None):
        raise DataError("cannot-hold", what="an item twice", instead=".json" if run.scores is None else ".jsonl")
    if suffix == ".json":
        entries: dict[str, Any] = {**run}
        if run.scores is not None:
            for query, items in run.items():
                entries[query] = dict(zip(items, run.scores[run.rows(query)].tolist(), strict=True))
        content = json.dumps(entries).encode()
    elif suffix in ENDINGS:
        columns = ["query", "item", "rank" if run.scores is None else "score"]
        content = encode_table(run.to_polars().select(columns), path)
    else:
        check_trec_name(path)
        content = _trec_of_run(run, tag)
    with writing(path) as stream:
        stream.write(content)


def _trec_of_run(run: Run, tag: str) -> bytes:
    frame = run.to_polars().with_columns(Q0=pl.lit("Q0"), tag=pl.lit(ids.as_id(tag)))
    if run.scores is None:
        frame = frame.with_columns(score=pl.Series(run.sizes[run.codes] - run.positions))
    return write_trec(frame.select("query", "Q0", "item", "rank", "score", "tag").get_columns())


def _json_of_tiers(references: References) -> bytes:
    if references.grades is not None:
        raise DataError("cannot-hold", what="grades", instead=".jsonl")
    if references.nonrelevant is not None and len(references.nonrelevant.grades):
        raise DataError("cannot-hold", what="nonrelevant items", instead=".jsonl")
    return json.dumps({query: reference.tiers for query, reference in references.items()}).encode()


def _qrels(references: References) -> bytes:
    if references.grades is None:
        raise DataError("cannot-hold", what="ranks", instead=".jsonl")
    frame = references.to_polars(nonrelevant=True)
    grade = frame["grade"]
    if ((grade == grade.floor()) & (grade.abs() < 2**53)).all():
        grade = grade.cast(pl.Int64)
    zero = pl.zeros(len(grade), pl.Int64, eager=True)
    return write_trec([frame["query"], zero, frame["item"], grade])
