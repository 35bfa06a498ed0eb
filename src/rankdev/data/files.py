"""Files and whatever else is passed as references and runs, read; and written again."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote

import numpy as np

from rankdev._common.checks import check_kind, check_path, is_number
from rankdev._common.lazy import pl
from rankdev._common.work import Progress
from rankdev.data import ids
from rankdev.data.database import given_means, is_database
from rankdev.data.formats import (
    ENDINGS,
    READERS,
    Table,
    check_trec_name,
    encode_table,
    frame_of_lines,
    loads,
    read_columns,
    records_of,
)
from rankdev.data.options import Duplicates, Order, Ranks, ReadOptions, Ties, tell
from rankdev.data.records import RETRIEVED, RIGHT, gold_of, is_answer, lists_of
from rankdev.data.references import References, ReferencesLike, check_once
from rankdev.data.rows import Rows, of_frame
from rankdev.data.run import Run, RunLike, RunsLike
from rankdev.data.tables import (
    POSITIONS,
    SYSTEMS,
    as_polars,
    by_system,
    is_interactions,
    is_table,
    our_name,
    tabled,
    unrated,
)
from rankdev.data.text import Source, size_of
from rankdev.data.trec import QRELS, RUN, read_trec, write_trec
from rankdev.data.write import PathLike, plain_suffix, writing
from rankdev.errors import DataError, MeasureError, RankdevError, UsageError, errors_at, several

Made = TypeVar("Made", References, Run)
_PARQUET = {".parquet", ".pq"}
_DATA = {*ENDINGS, ".xlsx", ".run", ".trec", ".res"} - _PARQUET
_VERSIONED = ("_delta_log", ".hoodie")  # which of the files are still part of the table is written there
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
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
    progress: Progress | None = None,
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
    progress : callable, optional
        ``progress(done, total, name)``, called as the file is read, in bytes.

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
    run = run_from_path(path, read, progress)
    read.check_met()
    tell([*run.notes, *read.notes])
    return run


def read_references(
    path: PathLike,
    *,
    columns: Mapping[str, str] | None = None,
    ranks: Ranks | None = None,
    duplicates: Duplicates | None = None,
    grades: Mapping[str, float] | None = None,
    progress: Progress | None = None,
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
    progress : callable, optional
        ``progress(done, total, name)``, called as the file is read, in bytes.

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
    return warned(references_from_path(path, read, progress), read)


def warned(made: Made, read: ReadOptions) -> Made:
    """Warn of what may be wrong with what was read, and of chosen columns that it has not."""
    read.check_met()
    tell([*made.notes, *read.notes])
    return made


def references_of(value: ReferencesLike, read: ReadOptions, progress: Progress | None = None) -> References:
    """Return references: a path is read, all else is taken by :meth:`References.of`; notes say what may be wrong."""
    if isinstance(value, str | Path):
        return references_from_path(value, read, progress)
    return References.of_value(value, read.of_source())


def run_of(system: str, value: RunLike, read: ReadOptions, progress: Progress | None = None) -> Run:
    """Return the run of a system: a path is read, to a depth where there is one; all else is taken by :meth:`Run.of`.

    What was not chosen a Run keeps; all else is ordered by score, ties as pytrec_eval does.
    """
    if isinstance(value, str | Path):
        return run_from_path(value, read, progress)
    with located(system=system):
        run = Run.of_value(value, read.of_source())
    return run if run is value else _at(run, system=system)


def _at(made: Made, **where: str) -> Made:
    return replace(made, notes=tuple(note.at(**where) for note in made.notes)) if made.notes else made


@contextmanager
def located(**where: Any) -> Iterator[None]:
    """Add to errors the input that they are about."""
    try:
        yield
    except MeasureError:
        raise
    except (DataError, UsageError) as error:
        raise error.at(**where) from None


class Faults:
    """What is wrong with each of several inputs, so that a user learns it all at once."""

    def __init__(self) -> None:
        self._found: list[RankdevError] = []

    def __bool__(self) -> bool:
        return bool(self._found)

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        """Note what is wrong with an input, and continue."""
        if not isinstance(error, DataError | UsageError) or isinstance(error, MeasureError):
            return False
        each = error.fields["errors"] if error.kind == "several" else [error]
        self._found += [one for one in each if str(one) not in map(str, self._found)]
        return True

    def check(self) -> None:
        """Raise what was noted."""
        if self._found:
            raise several(self._found) from None


def load_references(value: ReferencesLike, **options: Any) -> References:
    """Return references of whatever is accepted as such, with the options of :class:`ReadOptions`; warn of notes."""
    if isinstance(value, References):
        return value
    read = ReadOptions(**options)
    return warned(references_of(value, read), read)


def load_runs(runs: RunsLike, progress: Progress | None = None, **options: Any) -> dict[str, Run]:
    """Return the run of each system in memory; an error names what is wrong with each of them; warn of notes."""
    read = ReadOptions(**options)
    loaded = runs_of(named_systems(runs, read), read, progress)
    read.check_met()
    tell(read.notes)
    return loaded


def runs_of(systems: Mapping[str, RunLike], read: ReadOptions, progress: Progress | None = None) -> dict[str, Run]:
    """Return the run of each system; warn of their notes."""
    loaded, faults = {}, Faults()
    for name, source, watch in watched(systems, progress):
        with faults:
            loaded[name] = run_of(name, source, read, watch)
    faults.check()
    for name, run in loaded.items():
        tell(run.notes if run is not systems[name] else ())
    return loaded


def load_inputs(references: ReferencesLike, runs: RunsLike, **options: Any) -> tuple[References, dict[str, Run]]:
    """Return references and named runs in memory, whatever :func:`evaluate` takes for them."""
    faults, read = Faults(), ReadOptions(**options)
    with faults:
        known = references_of(references, read)
    with faults:
        loaded = runs_of(named_systems(runs, read), read)
    faults.check()
    read.check_met()
    tell([*(() if known is references else known.notes), *read.notes])
    return known, loaded


def watched(
    systems: Mapping[str, RunLike], progress: Progress | None
) -> Iterator[tuple[str, RunLike, Progress | None]]:
    """Yield systems and their sources, each with its part of the progress, in bytes."""
    sizes = {name: 0 if progress is None else size_of(source) for name, source in systems.items()}
    before, total = 0.0, float(sum(sizes.values()))
    for name, source in systems.items():
        yield name, source, None if progress is None else _part_of(progress, name, before, total)
        before += sizes[name]


def _part_of(progress: Progress, name: str, before: float, total: float) -> Progress:
    def tell_all(done: float, _: float, note: str) -> None:
        progress(before + done, max(total, before + done), name)

    return tell_all


def named_systems(runs: RunsLike, read: ReadOptions) -> Mapping[str, RunLike]:
    """Return runs by the name of their system; a file or table of several is split by what names them there."""
    if isinstance(runs, str | Path):
        return read_systems(runs, read)
    if isinstance(runs, Run):
        raise UsageError("nameless-runs", value="Run")
    if not isinstance(runs, Mapping):
        runs = tabled(runs)
        if is_table(runs):
            return by_system(read.named(as_polars(runs)))
        raise UsageError("nameless-runs", value=type(runs).__name__)
    if not runs:
        raise UsageError("no-runs")
    for name in runs:
        if not isinstance(name, str) or not name:
            raise UsageError("not-a-system", value=name)
    return runs


def read_systems(path: PathLike, read: ReadOptions) -> dict[str, pl.DataFrame]:
    """Read the rows of several systems from one file, by the tag or the column that names them."""
    if os.path.isdir(check_path(path)):
        with located(path=path):
            return by_system(read.named(_folder(Path(path))))
    with Source(path, read) as source:
        if source.kind == "json":
            raise DataError("no-systems", known=SYSTEMS)
        if source.kind != "trec":
            return by_system(read.named(read_columns(source).frame))
        rows, tags = read_trec(source, RUN, read, several=True)
        query = ids.series(rows.queries, "query").gather(rows.codes)
        columns = {"query": query, "item": ids.series(rows.item), rows.what: rows.value, "tag": ids.series(tags)}
        return by_system(pl.DataFrame(columns))


def run_from_path(path: PathLike, read: ReadOptions, progress: Progress | None = None) -> Run:
    """Read a run from a file or a folder; its notes say what may be wrong with it."""
    own = read.of_source()
    if os.path.isdir(check_path(path)):  # False, not an error, for names that no file can have
        with located(path=path):
            return _at(Run.of_rows(of_frame(_folder(Path(path)), own), own), path=str(path))
    with Source(path, own, progress) as source:
        return _at(_run(source), path=source.name)


def _run(source: Source) -> Run:
    read = source.options
    if source.kind == "trec":
        return Run.of_rows(read_trec(source, RUN, read)[0], read)
    if source.kind == "json":
        return _run_of_json(loads(source.content), read)
    if source.kind == "jsonl":
        records, lines = records_of(source.content)
        if is_answer(records):
            return Run.of_lists(lists_of(records, read, lines), read)
        if len(records) == 1 and is_answer(records[0]):
            return Run.of_lists(lists_of(records[0], read), read)
        table = Table(source.name, frame_of_lines(records, lines), lines.__getitem__)
    else:
        table = read_columns(source)
    try:
        rows = of_frame(table.frame, read, table.line_of)
    except DataError as error:
        table.fail(error)
    return Run.of_rows(rows, read)


def _run_of_json(value: Any, read: ReadOptions) -> Run:
    if is_answer(value):
        return Run.of_lists(lists_of(value, read), read)
    if not isinstance(value, dict) or not value:
        raise DataError("not-by-query")
    if any(isinstance(entry, dict) for entry in value.values()):
        return Run.of_scores(value, read)
    return Run.of_lists(value, read)


def references_from_path(path: PathLike, read: ReadOptions, progress: Progress | None = None) -> References:
    """Read references from a file; their notes say what may be wrong with them."""
    with Source(path, read.of_source(), progress) as source:
        return _at(_references(source), path=source.name)


def _references(source: Source) -> References:
    read = source.options
    if source.kind == "trec":
        rows, _ = read_trec(source, QRELS, read)
        with rows.located():
            return References.of_rows(rows, None, read)
    if source.kind == "json":
        return _references_of_json(loads(source.content), read)
    if source.kind != "jsonl":
        return _references_of_table(read_columns(source), read)
    records, lines = records_of(source.content)
    gold = gold_of(records[0] if len(records) == 1 else records, read, lines if len(records) > 1 else None)
    if gold is not None:
        return References.of_gold(gold, read)
    if any(our_name(name, read.columns or {}) in ("tiers", "items") for name in records[0]):
        return _references_of_tiers(records, lines.__getitem__, read)
    return _references_of_table(Table(source.name, frame_of_lines(records, lines), lines.__getitem__), read)


def _references_of_table(table: Table, read: ReadOptions) -> References:
    """Make references of a table of ranks or grades, of tiers, or of users and what they chose."""
    chosen = read.columns or {}
    missing = unrated(table.frame, chosen)
    if missing is not None:
        read.note("unrated", path=table.name, count=int(missing.sum()))
        kept, line_of = (~missing).arg_true(), table.line_of
        table = Table(table.name, table.frame.filter(~missing), lambda row: line_of(kept[row]))
    frame = read.named(table.frame)
    names = {*frame.columns}
    if names & {"tiers", "items"}:
        return _references_of_tiers(frame.to_dicts(), table.line_of, read)
    one_tier = is_interactions(table.frame.columns, chosen)
    if not names & {"rank", "grade"} and not one_tier:
        raise DataError(_not_references(names), path=table.name, known=frame.columns)
    try:
        return References.of_frame(frame, read, one_tier=one_tier)
    except DataError as error:
        table.fail(error)


def _not_references(names: set[str]) -> str:
    """Return the kind of error about a table that holds no references."""
    if names & {*RIGHT}:
        return "contexts-in-table"
    if names & {*RETRIEVED}:
        return "no-contexts"
    return "looks-like-run" if names & {"score", "response", "hits"} else "not-references"


def _references_of_json(value: Any, read: ReadOptions) -> References:
    gold = gold_of(value, read)
    if gold is not None:
        return References.of_gold(gold, read)
    if not isinstance(value, dict) or not value:
        raise DataError("not-by-query")
    if is_answer(value):
        raise DataError("looks-like-run")
    for query, entry in value.items():
        if not isinstance(entry, list):
            raise DataError("not-tiers", query=query, value=entry)
    return References.of_entries(value, "item or tier", read)


def _references_of_tiers(records: Sequence[Mapping[str, Any]], line_of: Any, read: ReadOptions) -> References:
    """Make references of records, each with the tiers of a query (or items, each a tier)."""
    records = [{our_name(name, read.columns or {}): value for name, value in record.items()} for record in records]
    read.met.update((read.columns or {}).values())
    graded, judged = (any(record.get(name) is not None for record in records) for name in ("grades", "nonrelevant"))
    found: list[tuple[int, str, str, float, bool]] = []
    for at, record in enumerate(records):
        query = record.get("query")
        with errors_at(line=line_of(at), query=query):
            if query in (None, ""):
                raise DataError("no-value", name="query")
            found += ((at, ids.as_id(query), *row) for row in _tier_rows(record, graded))
    places, names, items, values, poor = (list(column) for column in zip(*found, strict=True))
    queries, codes = ids.numbered(names)
    rows = Rows(queries, codes, items, np.array(values, np.float64), "grade" if graded else "rank")
    rows = replace(rows, line_of=lambda row: line_of(places[row]))
    with rows.located():
        check_once([ids.as_id(record["query"]) for record in records])
        references = References.of_rows(rows, np.array(poor) if judged and not graded else None, read)
    return references if judged else replace(references, nonrelevant=None)


def _tier_rows(record: Mapping[str, Any], graded: bool) -> Iterator[tuple[str, float, bool]]:
    """Yield the items of a record, with rank or grade, and whether they are nonrelevant."""
    if record.get("tiers") is not None and record.get("items") is not None:
        raise DataError("two-columns", name="tiers", names=["tiers", "items"])
    name = "items" if record.get("tiers") is None and "items" in record else "tiers"
    tiers, poor, nested = record.get(name) or [], _listed(record, "nonrelevant", "[item, …]"), name == "tiers"
    if not isinstance(tiers, list) or any(isinstance(tier, list) != nested for tier in tiers if tier is not None):
        raise DataError("wrong-form", role=name, expected="[[item, …], …]" if nested else "[item, …]", value=tiers)
    if not tiers and not poor:
        raise DataError("empty-tier", tier=1)
    grades = _listed(record, "grades", "[number, …]") if graded else list(range(1, len(tiers) + 1))
    falling = [*grades, 0.0] == sorted({*grades, 0.0}, reverse=True)
    if graded and (len(grades) != len(tiers) or not falling):
        raise DataError("tier-grades")
    for rank, (tier, value) in enumerate(zip(tiers, grades, strict=True), 1):
        items = tier if nested else [tier]
        if not any(item is not None for item in items or ()):
            raise DataError("empty-tier", tier=rank)
        yield from ((ids.as_id(item), value, False) for item in items)
    below = _listed(record, "nonrelevant_grades", "[number, …]") or [0.0] * len(poor)
    if graded and (len(below) != len(poor) or any(grade > 0 for grade in below)):
        raise DataError("nonrelevant-grades")
    yield from ((ids.as_id(item), grade if graded else 0.0, True) for item, grade in zip(poor, below, strict=False))


def _listed(record: Mapping[str, Any], name: str, form: str) -> list[Any]:
    value = [] if record.get(name) is None else record[name]
    numbers = "grades" in name
    if not isinstance(value, list) or any(isinstance(entry, list) or numbers > is_number(entry) for entry in value):
        raise DataError("wrong-form", role=name, expected=form, value=value)
    return value


def read_grades(path: PathLike, **options: Any) -> References:
    """Read grades as references: TREC qrels, tables with grade, JSON ``{query: {item: grade}}``, or a database."""
    if is_database(path):
        return References.from_grades(given_means(path))
    read = ReadOptions(**options)
    with Source(path, read) as source:
        if source.kind == "json":
            value = loads(source.content)
            gold = gold_of(value, read)
            references = References.of_grades(value, read) if gold is None else References.of_gold(gold, read)
        else:
            references = _references(source)
        if references.grades is None:
            raise DataError("not-graded")
    return _with_notes(references, read, source.name)


def read_lists(path: PathLike, **options: Any) -> References:
    """Read strict orders as references: lists of items, best first, or the order of a run."""
    read = ReadOptions(**options)
    with Source(path, read) as source:
        if source.kind == "json":
            references = _references_of_json(loads(source.content), read)
        elif source.kind == "trec":
            references = _of_run(_run(source))
        else:
            references = _lists_of(read_columns(source), read)
    return _with_notes(references, read, source.name)


def _with_notes(references: References, read: ReadOptions, name: str) -> References:
    read.check_met()
    tell(note.at(path=name) for note in read.notes)
    return references


def _lists_of(table: Table, read: ReadOptions) -> References:
    frame = read.named(table.frame)
    names = {*frame.columns}
    try:
        if {"tiers", "items"} & names:
            return _references_of_tiers(frame.to_dicts(), table.line_of, read)
        if {"score", "rank", *POSITIONS} & names and read.ranks != "competition":
            return _of_run(Run.of_rows(of_frame(table.frame, read, table.line_of), read))
        return (References.of_ranks if "rank" in names else References.of_lists)(frame, read)
    except DataError as error:
        table.fail(error)


def _of_run(run: Run) -> References:
    if run.repeats is not None:
        raise DataError("item-twice", item=run.item_ids[int(np.argmax(run.repeats))])
    return References.from_lists({**run})


def _folder(folder: Path) -> pl.DataFrame:
    """Read the Parquet files of a folder as one table, in the order of their names.

    Names that begin with a dot or an underscore are not data: Spark keeps what is unfinished there. Columns may be in
    the names of folders, as in ``query=q1/part-0.parquet``.
    """
    tables = []
    for file in _files(folder):
        parts = [part.partition("=") for part in file.relative_to(folder).parent.parts if "=" in part]
        places = {name: None if value == _NO_VALUE else unquote(value) for name, _, value in parts}
        with Source(file, ReadOptions()) as source:
            frame, _ = READERS["parquet"](source.content, source.options)
        tables.append(frame.with_columns(**{n: pl.lit(v) for n, v in places.items() if n not in frame.columns}))
    frame = pl.concat(tables, how="diagonal_relaxed", rechunk=True)
    if frame.is_empty():
        raise DataError("no-rows", what="table")
    return frame


def _files(folder: Path) -> list[Path]:
    """Find the files that are one table; refuse what would silently be left out or counted twice."""
    if any((folder / name).exists() for name in _VERSIONED):
        raise UsageError("versioned-folder", path=folder)
    entries = [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)
    ]
    files = [entry for entry in entries if _is_parquet(entry)]
    if not files:
        raise UsageError("is-folder", path=folder)
    for entry in entries:
        if plain_suffix(entry) in _DATA:
            raise UsageError("not-parquet", path=entry)
    return files


def _is_parquet(path: Path) -> bool:
    """Return whether a file is Parquet, by its extension, or by its first bytes: Hive writes files called 000000_0."""
    if path.suffix:
        return plain_suffix(path) in _PARQUET
    try:
        with path.open("rb") as file:
            return file.read(4) == b"PAR1"
    except OSError as error:
        raise UsageError("cannot-open", path=path, why=error.strerror) from None


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
        return b"".join(json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in tier_records(references))
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
        content = _json_of_run(run)
    elif suffix in ENDINGS:
        columns = ["query", "item", "rank" if run.scores is None else "score"]
        content = encode_table(run.to_polars().select(columns), path)
    else:
        check_trec_name(path)
        content = _trec_of_run(run, tag)
    with writing(path) as stream:
        stream.write(content)


def _json_of_run(run: Run) -> bytes:
    if run.scores is None:
        return json.dumps(dict(run.items())).encode()
    scores, offsets = run.scores, run.offsets
    return json.dumps(
        {
            query: dict(zip(items, scores[offsets[i] : offsets[i + 1]].tolist(), strict=True))
            for i, (query, items) in enumerate(run.items())
        }
    ).encode()


def _trec_of_run(run: Run, tag: str) -> bytes:
    query = ids.series(run.queries, "query").gather(run.codes)
    falling = run.sizes[run.codes] - run.positions
    score = pl.Series(falling if run.scores is None else run.scores)
    constant = [
        ids.text_series("tag", [ids.as_id(word)]).gather(np.zeros(len(query), np.int64)) for word in ("Q0", tag)
    ]
    columns = [query, constant[0], ids.series(run.item_ids), pl.Series(run.positions + 1), score, constant[1]]
    return write_trec(columns)


def _json_of_tiers(references: References) -> bytes:
    if references.grades is not None:
        raise DataError("cannot-hold", what="grades", instead=".jsonl")
    if references.nonrelevant is not None and len(references.nonrelevant.grades):
        raise DataError("cannot-hold", what="nonrelevant items", instead=".jsonl")
    return json.dumps({record["query"]: record["tiers"] for record in tier_records(references)}).encode()


def _qrels(references: References) -> bytes:
    if references.grades is None:
        raise DataError("cannot-hold", what="ranks", instead=".jsonl")
    frame = references.to_polars(nonrelevant=True)
    grade = frame["grade"]
    if ((grade == grade.floor()) & (grade.abs() < 2**53)).all():
        grade = grade.cast(pl.Int64)
    zero = pl.zeros(len(grade), pl.Int64, eager=True)
    return write_trec([frame["query"], zero, frame["item"], grade])


def tier_records(references: References) -> Iterator[dict[str, Any]]:
    """One record per query: its tiers, the grade of each where there are grades, and the nonrelevant items."""
    new_tier = np.append(np.diff(references.ranks) != 0, True)
    items = ids.listed(references.item_ids)
    bounds_of_each = zip(references.queries, references.offsets[:-1], references.offsets[1:], strict=True)
    for place, (query, begin, end) in enumerate(bounds_of_each):
        ends = begin + np.flatnonzero(new_tier[begin : end - 1]) + 1
        bounds = [int(begin), *ends.tolist(), int(end)] if end > begin else [int(begin)]
        record: dict[str, Any] = {"query": query, "tiers": [items[a:b] for a, b in pairwise(bounds)]}
        if references.grades is not None:
            record["grades"] = references.grades[bounds[:-1]].tolist()
        if references.nonrelevant is not None:
            nonrelevant = references.nonrelevant.of_query(place)
            record["nonrelevant"] = list(nonrelevant)
            if any(nonrelevant.values()):
                record["nonrelevant_grades"] = list(nonrelevant.values())
        yield record
