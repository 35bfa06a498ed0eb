"""Spark: score DataFrames where they are, with one shuffle by query and the same ``score_run``."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
import polars as pl

from rankdev.arguments import check_choice
from rankdev.arrays import Floats
from rankdev.errors import DataError, MissingExtraError, RankdevWarning, UsageError
from rankdev.evaluation.coverage import Coverage
from rankdev.evaluation.matching import Matcher
from rankdev.evaluation.run_scoring import score_run
from rankdev.measures import Measure, parse_all
from rankdev.references.references import References
from rankdev.runs import Run
from rankdev.tabular import listed

try:
    import pyarrow as pa
    from pyspark.sql import functions
except ImportError as error:
    raise MissingExtraError(error.name or "pyspark", "spark", "scoring on Spark") from None

ROWS = 200_000  # scored at once; a query is never cut, however long it is
WHOLE = ("tinyint", "smallint", "int", "bigint")
NUMBERS = (*WHOLE, "float", "double", "decimal")
KINDS = {  # what Spark may call the type of each column, and what it is sent as
    **dict.fromkeys(("system", "query", "item"), (("string", *WHOLE), "string")),
    **dict.fromkeys(("rank", "grade", "score"), (NUMBERS, "double")),
    "worthless": (("boolean",), "boolean"),
}
COUNTS = ("queries", "missing", "unreferenced", "tied", "empty")
StableTies = Literal["trec_eval", "descending", "ascending"]


def evaluate(
    references: Any,
    runs: Any,
    measures: str | Measure | Iterable[str | Measure],
    *,
    systems: Sequence[str] | None = None,
    ties: StableTies = "trec_eval",
) -> Any:
    """Score the runs of many systems: a Spark DataFrame with system, query, measure, value.

    ``references`` has the columns query, item and rank or grade (a column ``worthless`` may mark items without a rank);
    ``runs`` has system, query, item and score. Each value is bit for bit what :func:`rankdev.evaluate` gives, null
    where a measure is not available. A query that a system did not answer scores 0, for which the names of all systems
    must be known: they are looked up in ``runs``, unless ``systems`` gives them. All else waits until it is asked for.
    """
    work = partial(_score, measures=parse_all(measures), ties=ties, systems=_named(runs, systems))
    return _by_query(references, runs, work, "system string, query string, measure string, value double", ties)


def coverage(
    references: Any,
    runs: Any,
    measures: str | Measure | Iterable[str | Measure],
    *,
    systems: Sequence[str] | None = None,
    ties: StableTies = "trec_eval",
) -> Any:
    """Count how runs and references met, one row per system: queries, missing, unreferenced, tied, empty.

    They mean what they mean in :class:`rankdev.Coverage`. Ask for it once before the scores are believed: where
    ``missing`` equals ``queries``, a run and the references have no query in common.
    """
    work = partial(_count, measures=parse_all(measures), ties=ties, systems=_named(runs, systems))
    schema = ", ".join(["system string", *(f"{name} bigint" for name in COUNTS)])
    counts = _by_query(references, runs, work, schema, ties)
    return counts.groupBy("system").agg(*(functions.sum(name).alias(name) for name in COUNTS))


def means(scores: Any) -> pl.DataFrame:
    """Bring the means to this machine: a row per system, a column per measure; null where not available.

    Sums are rounded once, so that no order of the rows changes a digit.
    """
    together = scores.select("system", "measure", "value").repartition("system", "measure")
    rows = together.mapInArrow(_mean, "system string, measure string, mean double").collect()
    if not rows:
        raise DataError("there are no scores to take the mean of; see coverage(…)")
    frame = pl.DataFrame([row.asDict() for row in rows], schema_overrides={"mean": pl.Float64})
    return frame.sort("measure", "system").pivot("measure", index="system", values="mean", maintain_order=True)


def _mean(batches: Iterable[Any]) -> Iterator[Any]:
    values: dict[tuple[str, str], list[Floats]] = {}
    for batch in batches:
        for (system, measure), part in pl.DataFrame(batch).partition_by("system", "measure", as_dict=True).items():
            values.setdefault((system, measure), []).append(part["value"].drop_nulls().to_numpy())
    for (system, measure), parts in values.items():
        known = np.concatenate(parts)
        mean = math.fsum(known) / len(known) if len(known) else None
        row = {"system": [system], "measure": [measure], "mean": [mean]}
        yield from _batches(pl.DataFrame(row, schema_overrides={"mean": pl.Float64}))


def _named(runs: Any, systems: Sequence[str] | None) -> list[str]:
    """Names of all systems, in order: those given, or those that ``runs`` holds."""
    if systems is not None:
        if isinstance(systems, str) or not all(isinstance(name, str) for name in systems) or not systems:
            raise UsageError("systems must be a list of names, such as ['bm25', 'dense']")
        return sorted(set(systems))
    rows = _columns(runs, "runs", ("system", "query", "item", "score")).select("system").distinct().collect()
    names = [row["system"] for row in rows]
    if not names or None in names:
        raise DataError("runs: a row has no system; every row needs one" if names else "runs: there are no rows")
    return sorted(names)


def _by_query(references: Any, runs: Any, work: Callable[[pl.DataFrame], pl.DataFrame], schema: str, ties: str) -> Any:
    """Put the rows of each query together, in one shuffle, and do the work on many queries at once."""
    check_choice("ties", ties, ("trec_eval", "descending", "ascending"))
    known = _fields(references, "references")
    given, marked = ([name for name in names if name in known] for names in (("rank", "grade"), ("worthless",)))
    if not given:
        raise DataError(f"references: column 'rank' or 'grade' is missing; found {listed(list(known))}")
    right = _columns(references, "references", ("query", "item", *given, *marked))
    returned = _columns(runs, "runs", ("system", "query", "item", "score"))
    together = right.withColumn("is_run", functions.lit(False)).unionByName(
        returned.withColumn("is_run", functions.lit(True)), allowMissingColumns=True
    )
    return together.repartition("query").mapInArrow(partial(_apply, work=work), schema)


def _fields(frame: Any, what: str) -> dict[str, str]:
    if not hasattr(frame, "dtypes") or not hasattr(frame, "mapInArrow"):
        raise UsageError(f"{what} must be a Spark DataFrame; got {type(frame).__name__}")
    return dict(frame.dtypes)


def _columns(frame: Any, what: str, names: Iterable[str]) -> Any:
    """Select columns as the types in which they are sent; refuse missing ones and wrong types before any work."""
    found = _fields(frame, what)
    chosen = []
    for name in names:
        if name not in found:
            raise DataError(f"{what}: column {name!r} is missing; found {listed(list(found))}")
        allowed, sent = KINDS[name]
        if found[name].partition("(")[0] not in allowed:
            expected = {"string": "text or whole numbers", "double": "numbers", "boolean": "true or false"}[sent]
            raise DataError(f"{what}: column {name!r} holds {found[name]}; expected {expected}")
        chosen.append(functions.col(name).cast(sent).alias(name))
    return frame.select(*chosen)


def _apply(batches: Iterable[Any], work: Callable[[pl.DataFrame], pl.DataFrame]) -> Iterator[Any]:
    """Run on a worker: the rows of a partition in, rows of the result out.

    Sorted here, not by Spark: an engine may leave out a sort that nothing after it asks for, and Sail does.
    """
    frames = [pl.DataFrame(batch) for batch in batches]
    if frames:
        rows = pl.concat(frames).sort("query", maintain_order=True)
        for frame in _whole_queries(rows.iter_slices(ROWS // 4)):
            yield from _batches(work(frame))


def _batches(frame: pl.DataFrame) -> list[Any]:
    """Give a frame as Spark reads it, which takes text of the plain kind only."""
    table = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
    kinds = [pa.string() if pa.types.is_large_string(field.type) else field.type for field in table.schema]
    return table.cast(pa.schema(zip(table.column_names, kinds, strict=True))).to_batches()


def _whole_queries(frames: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Cut frames that are sorted by query into pieces of about ROWS rows, between queries only."""
    waiting: list[pl.DataFrame] = []
    for frame in frames:
        if frame.is_empty():
            continue
        query = frame["query"]
        begin = int(query.eq_missing(query[-1]).arg_max() or 0)  # of the last query, which may go on in the next frame
        goes_on = bool(waiting) and begin == 0 and waiting[-1]["query"][-1] == query[-1]
        if waiting and not goes_on and sum(map(len, waiting)) + begin >= ROWS:
            yield pl.concat([*waiting, frame[:begin]], rechunk=True)
            waiting, frame = [], frame[begin:]  # noqa: PLW2901
        waiting.append(frame)
    if waiting:
        yield pl.concat(waiting, rechunk=True)


def _score(frame: pl.DataFrame, measures: list[Measure], systems: list[str], ties: StableTies) -> pl.DataFrame:
    references, runs = _split(frame, systems, ties)
    if references is None:
        return pl.DataFrame(schema=dict.fromkeys(("system", "query", "measure"), pl.String) | {"value": pl.Float64})
    values = np.stack([_scored(Matcher(references), run, measures)[0] for run in runs.values()])
    names: dict[str, Any] = {
        "system": systems,
        "query": references.queries,
        "measure": [str(measure) for measure in measures],
    }
    rows = np.indices(values.shape).reshape(3, -1)
    columns = {name: pl.Series(name, known).gather(at) for (name, known), at in zip(names.items(), rows, strict=True)}
    return pl.DataFrame({**columns, "value": pl.Series(values.ravel()).fill_nan(None)})


def _count(frame: pl.DataFrame, measures: list[Measure], systems: list[str], ties: StableTies) -> pl.DataFrame:
    references, runs = _split(frame, systems, ties)
    rows = []
    for system, run in runs.items():
        if references is None:
            met = Coverage(system, 0, unreferenced=len(run))
        else:
            met = _scored(Matcher(references), run, measures)[1]
        rows.append({"system": system, **{name: getattr(met, name) for name in COUNTS}})
    return pl.DataFrame(rows, schema={"system": pl.String, **dict.fromkeys(COUNTS, pl.Int64)})


def _split(frame: pl.DataFrame, systems: list[str], ties: StableTies) -> tuple[References | None, dict[str, Run]]:
    """Make references and each system's run of the rows of some queries."""
    right, returned = frame.filter(~pl.col("is_run")), frame.filter(pl.col("is_run"))
    known = ["query", "item", *(name for name in ("rank", "grade", "worthless") if name in frame.columns)]
    parts = {str(name): part for (name,), part in returned.partition_by("system", as_dict=True).items()}
    unknown = sorted(set(parts) - set(systems))
    if unknown:
        raise DataError(f"runs: system {unknown[0]!r} is not among the systems that were named; name all of them")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankdevWarning)  # nobody reads what a worker prints
        runs = {name: Run.from_table(parts.get(name, returned.clear()), ties=ties) for name in systems}
        return (References.from_table(right.select(known)) if len(right) else None), runs


def _scored(matcher: Matcher, run: Run, measures: list[Measure]) -> tuple[Floats, Coverage]:
    """Score some queries of a run. It may answer none of them: an error for a whole run, but here they are few."""
    if run.queries.is_in(matcher.references.queries.implode()).any():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RankdevWarning)  # the same: few queries may well miss all that is right
            return score_run(matcher, run, measures)
    silent = Run.from_lists({matcher.references.queries[0]: []})
    values, met = score_run(matcher, silent, measures)
    total = len(matcher.references)
    return values, Coverage("", total, missing=total, unreferenced=len(run), ties=run.ordering.ties, empty=met.empty)
