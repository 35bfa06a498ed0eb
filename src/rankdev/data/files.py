"""Files and whatever else is passed as references and runs, read; the only such place."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from rankdev._common.checks import check_kind, check_path
from rankdev._common.columns import by_system
from rankdev._common.ids import as_id, text_series
from rankdev._common.lazy import pl
from rankdev._common.names import POSITIONS, SYSTEMS, is_interactions, ranked_names, unrated
from rankdev._common.tables import as_polars, is_table, tabled
from rankdev._common.work import Progress
from rankdev.data import ids
from rankdev.data.database import given_means, is_database
from rankdev.data.engines import (
    RETRIEVED,
    RIGHT,
    grades_of,
    holds_responses,
    is_answer,
    lists_in_array,
    lists_in_entries,
    lists_in_lines,
    ratings_in,
    ratings_in_array,
)
from rankdev.data.formats.base import Table
from rankdev.data.json_text import json_entries, read_json
from rankdev.data.options import Duplicates, Order, Ranks, ReadOptions, Ties, tell
from rankdev.data.references import References, ReferencesLike
from rankdev.data.rows import Rows, of_frame, of_numbers
from rankdev.data.rows import joined as joined_rows
from rankdev.data.run import Run, RunLike, RunsLike
from rankdev.data.tables import (
    ENDINGS,
    check_trec_name,
    encode_table,
    folder_batches,
    parse_table,
    read_table,
    table_batches,
)
from rankdev.data.text import PathLike, Source, plain_suffix, size_of
from rankdev.data.tiers import tier_records, tier_rows
from rankdev.data.trec import QRELS, RUN, trec_rows, write_trec
from rankdev.data.write import writing
from rankdev.errors import DataError, MeasureError, RankdevError, UsageError, several

Made = TypeVar("Made", References, Run)
_COLUMNS = {"query", "item", "score", "rank", "tiers", "grade", "items", *SYSTEMS, *POSITIONS}
_ROWS = 200_000  # of a JSON run, made rows at once


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
    read = ReadOptions(columns=columns, ranks=ranks)
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
        run = Run.of_value(value, replace(read, depth=None, notes=[]))
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

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Note what is wrong with an input, and continue."""
        try:
            yield
        except MeasureError:
            raise
        except (DataError, UsageError) as error:
            each = error.fields["errors"] if error.kind == "several" else [error]
            self._found += [one for one in each if str(one) not in map(str, self._found)]

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
        with faults.noted():
            loaded[name] = run_of(name, source, read, watch)
    faults.check()
    for name, run in loaded.items():
        tell(run.notes if run is not systems[name] else ())
    return loaded


def load_inputs(references: ReferencesLike, runs: RunsLike, **options: Any) -> tuple[References, dict[str, Run]]:
    """Return references and named runs in memory, whatever :func:`evaluate` takes for them."""
    faults, read = Faults(), ReadOptions(**options)
    with faults.noted():
        known = references_of(references, read)
    with faults.noted():
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
            return _by_system(folder_batches(Path(path), _COLUMNS, read))
    with Source(path, read) as source:
        if source.kind == "json":
            raise DataError("no-systems", known=SYSTEMS)
        if source.kind == "trec":
            pairs = list(trec_rows(source, RUN, read, several=True))
            rows = joined_rows([part for part, _ in pairs])
            query = ids.series(rows.queries, "query").gather(rows.codes)
            tags = ids.joined([part for _, part in pairs])
            columns = {"query": query, "item": ids.series(rows.item), rows.what: rows.value, "tag": ids.series(tags)}
            return by_system(pl.DataFrame(columns))
        return _by_system(table_batches(source, source.kind, _COLUMNS))


def _by_system(tables: Iterable[Table]) -> dict[str, pl.DataFrame]:
    return by_system(pl.concat([table.frame for table in tables], how="diagonal_relaxed", rechunk=True))


def run_from_path(path: PathLike, read: ReadOptions, progress: Progress | None = None) -> Run:
    """Read a run from a file or a folder; its notes say what may be wrong with it."""
    own = read.of_source()
    if os.path.isdir(check_path(path)):  # False, not an error, for names that no file can have
        with located(path=path):
            tables = folder_batches(Path(path), _COLUMNS, own)
            return _at(Run.of_pieces(_rows(tables, own), own), path=str(path))
    with Source(path, own, progress) as source:
        return _at(_run(source), path=source.name)


def _run(source: Source) -> Run:
    kind, read = source.kind, source.options
    if kind == "trec":
        return Run.of_pieces((rows for rows, _ in trec_rows(source, RUN, read)), read)
    if kind == "json":
        return _run_of_json(source)
    if kind == "jsonl" and holds_responses(source):
        return _listed(lists_in_lines(source, read), read)
    return Run.of_pieces(_rows(table_batches(source, kind, _COLUMNS), read), read)


def _rows(tables: Iterable[Table], read: ReadOptions) -> Iterator[Rows]:
    """Yield the rows of a run's tables; the first decides by what it is ordered."""
    systems: dict[str, str] = {}
    agree = False
    for table in tables:
        try:
            rows = of_frame(table.frame, read, systems, table.line_of, agree=agree)
        except DataError as error:
            table.fail(error)
        agree = agree or rows.rises is False
        if read.order is None:
            read = replace(read, order="rank" if rows.what == "rank" else "score")
        yield rows


def _run_of_json(source: Source) -> Run:
    read = source.options
    if source.first_line().lstrip().startswith(b"["):
        return _listed(lists_in_array(source, read), read)
    entries = lists_in_entries(json_entries(source), read)
    if isinstance(entries, dict):
        return _listed(entries, read)
    first = next(entries)
    entries = chain([first], entries)
    if isinstance(first[1], dict):
        if read.order == "rank":
            raise DataError("no-ranks")
        return Run.of_pieces(_scores(entries), read)
    return _listed(entries, read)


def _listed(lists: Any, read: ReadOptions) -> Run:
    """Make a run of lists, as a mapping or as pairs that are still read."""
    depth = read.depth if read.counting is None else None  # else an item below the cut may count
    pairs = lists.items() if isinstance(lists, dict) else lists
    return Run.of_listed({query: items[:depth] if isinstance(items, list) else items for query, items in pairs}, read)


def _scores(entries: Iterator[tuple[str, Any]]) -> Iterator[Rows]:
    """Make rows of ``query, {item: score}``, about ``_ROWS`` at once."""
    held: dict[str, dict[str, Any]] = {}
    count = 0
    for query, scores in entries:
        if not isinstance(scores, dict):
            raise DataError("wrong-form", query=query, expected="{item: score}", value=scores)
        held[query] = scores
        count += len(scores)
        if count >= _ROWS:
            yield of_numbers(held, "score", "{item: score}")
            held, count = {}, 0
    yield of_numbers(held, "score", "{item: score}")


def references_from_path(path: PathLike, read: ReadOptions, progress: Progress | None = None) -> References:
    """Read references from a file; their notes say what may be wrong with them."""
    with Source(path, read.of_source(), progress) as source:
        return _at(_references(source), path=source.name)


def read_grades(path: PathLike, **options: Any) -> References:
    """Read grades as references: TREC qrels, tables with grade, JSON ``{query: {item: grade}}``, or a database."""
    if is_database(path):
        return References.from_grades(given_means(path))
    read = ReadOptions(**options)
    with Source(path, read) as source:
        if source.kind == "json":
            value = read_json(source)
            rated = grades_of(value, read)
            references = References.of_grades(value if rated is None else rated, read)
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
            references = _references_of_json(source)
        elif source.kind == "trec":
            references = _of_run(_run(source))
        else:
            references = _lists_of(read_table(source, source.kind), read)
    return _with_notes(references, read, source.name)


def _with_notes(references: References, read: ReadOptions, name: str) -> References:
    read.check_met()
    tell(note.at(path=name) for note in read.notes)
    return references


def _lists_of(table: Table, read: ReadOptions) -> References:
    table = replace(table, frame=ranked_names(table.frame))
    names = set(table.frame.columns)
    if {"tiers", "items"} & names:
        references = _build(tier_rows(table), read)
        return references if "nonrelevant" in names else replace(references, nonrelevant=None)
    if "rank" in names and read.ranks == "competition":
        return _guarded(table, lambda frame: References.of_ranks(frame, read))
    if {"score", "rank"} & names:
        return _of_run(Run.of_pieces(_rows([table], read), read))
    return _guarded(table, lambda frame: References.of_lists(frame, read))


def _of_run(run: Run) -> References:
    if run.repeats is not None:
        raise DataError("item-twice", item=run.item_ids[int(np.argmax(run.repeats))])
    return References.from_lists({**run})


def _references(source: Source) -> References:
    kind, read = source.kind, source.options
    if kind == "json":
        return _references_of_json(source)
    if kind == "trec":
        rows = joined_rows([part for part, _ in trec_rows(source, QRELS, read)])
        with rows.located():
            return References.of_rows(rows, None, read)
    rated = ratings_in(source, read) if kind == "jsonl" else None
    if rated is not None:
        return References.of_grades(rated, read)
    table = _rated(parse_table(source.name, source.read(), kind, read), read)
    chosen = is_interactions(table.frame.columns, read.columns or {})
    table = replace(table, frame=read.named(table.frame))
    if chosen:
        table = replace(table, frame=table.frame.with_columns(rank=pl.lit(1)))
    if "tiers" not in table.frame.columns:
        return _build(table, read)
    references = _build(tier_rows(table), read)
    return references if "nonrelevant" in table.frame.columns else replace(references, nonrelevant=None)


def _rated(table: Table, read: ReadOptions) -> Table:
    """Leave out rows without a rating."""
    missing = unrated(table.frame, read.columns or {})
    if missing is None:
        return table
    read.note("unrated", path=table.name, count=int(missing.sum()))
    kept = (~missing).arg_true()
    return Table(table.name, table.frame.filter(~missing), lambda row: table.line_of(kept[row]))


def _build(table: Table, read: ReadOptions) -> References:
    names = set(table.frame.columns)
    if not names & {"rank", "grade"}:
        raise DataError(_not_references(names), path=table.name, known=table.frame.columns)
    return _guarded(table, lambda frame: References.of_frame(frame, read))


def _not_references(names: set[str]) -> str:
    """Return the kind of error about a table that holds no references."""
    if names & {*RIGHT}:
        return "contexts-in-table"
    if names & {*RETRIEVED}:
        return "no-contexts"
    return "looks-like-run" if names & {"score", "response", "hits"} else "not-references"


def _guarded(table: Table, build: Callable[[Any], References]) -> References:
    try:
        return build(table.frame)
    except DataError as error:
        table.fail(error)


def _references_of_json(source: Source) -> References:
    read = source.options
    if source.first_line().lstrip().startswith(b"["):
        return References.of_grades(ratings_in_array(source, read), read)
    value = read_json(source)
    rated = grades_of(value, read)
    if rated is not None:
        return References.of_grades(rated, read)
    if is_answer(value):
        raise DataError("looks-like-run")
    for query, entry in value.items():
        if not isinstance(entry, list):
            raise DataError("not-tiers", query=query, value=entry)
    tiers = {query: [tier if isinstance(tier, list) else [tier] for tier in entry] for query, entry in value.items()}
    return References.of_tiers(tiers, read)


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
    constant = [text_series("tag", [as_id(word)]).gather(np.zeros(len(query), np.int64)) for word in ("Q0", tag)]
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
