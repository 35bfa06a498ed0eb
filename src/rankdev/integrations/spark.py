"""Spark: score DataFrames where they are, with one shuffle by query and the same ``score_match``."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Literal, get_args

import polars as pl

from rankdev._common.checks import bad_type, check_choice
from rankdev.errors import DataError, MeasureError, MissingExtraError, RankdevError, UsageError, warn
from rankdev.evaluation.evaluate import Empty
from rankdev.evaluation.scores import Scores
from rankdev.measures import Measure, parse_all
from rankdev.measures.syntax import info_of

try:
    from pyspark.sql import functions

    from rankdev.integrations._executors import COUNTS, Task, add_up, apply
except ImportError as error:
    raise MissingExtraError(error.name or "pyspark", "spark", "scoring on Spark") from None

WHOLE = ("tinyint", "smallint", "int", "bigint")
NUMBERS = (*WHOLE, "float", "double", "decimal")
KINDS = {  # what Spark may call the type of each column, and what it is sent as
    **dict.fromkeys(("system", "query", "item"), (("string", *WHOLE), "string")),
    **dict.fromkeys(("rank", "grade", "score"), (NUMBERS, "double")),
    "nonrelevant": (("boolean",), "boolean"),
}
StableTies = Literal["trec_eval", "descending", "ascending", "expected"]


def evaluate(
    references: Any,
    runs: Any,
    measures: str | Measure | Iterable[str | Measure],
    *,
    systems: Sequence[str] | None = None,
    ties: StableTies = "trec_eval",
    empty: Empty = "zero",
) -> Any:
    """Score the runs of many systems on Spark.

    Each value is bit for bit that of :func:`rankdev.evaluate`, null where a measure is not available. The highest
    grade, and the names of the systems where they are not given, are looked up at once; all else waits for
    :func:`collect`, :func:`means`, or another action on the DataFrame.

    Parameters
    ----------
    references : Spark DataFrame
        Columns query, item and rank or grade; ``nonrelevant`` may mark items without a rank.
    runs : Spark DataFrame
        Columns system, query, item, score.
    measures : str, Measure or list of them
        Such as ``"RDQ@5"``.
    systems : list of str, optional
        Names of all systems; a query that a system did not answer scores 0. Default: those in ``runs``.
    ties : {"trec_eval", "descending", "ascending", "expected"}, optional
        How equal scores are ordered; never as given, since rows of a DataFrame have no order.
    empty : {"zero", "skip"}
        Queries without any relevant item score 0, or are left out.

    Returns
    -------
    Spark DataFrame
        Columns system, query, measure, value.

    Examples
    --------
    >>> references = spark.createDataFrame([("q", "d1", 1)], ["query", "item", "rank"])  # doctest: +SKIP
    >>> runs = spark.createDataFrame([("mine", "q", "d1", 0.9)], ["system", "query", "item", "score"])  # doctest: +SKIP
    >>> evaluate(references, runs, "RDQ@5").columns  # doctest: +SKIP
    ['system', 'query', 'measure', 'value']
    """
    rows, task = _prepared(references, runs, measures, systems, ties, empty)
    return rows.mapInArrow(partial(apply, work=task.score), "system string, query string, measure string, value double")


def coverage(
    references: Any,
    runs: Any,
    measures: str | Measure | Iterable[str | Measure],
    *,
    systems: Sequence[str] | None = None,
    ties: StableTies = "trec_eval",
    empty: Empty = "zero",
) -> Any:
    """Count how runs and references matched, system by system.

    Check it once before the scores are used: where ``missing`` equals ``queries``, a run and the references have no
    query in common.

    Parameters
    ----------
    references : Spark DataFrame
        Columns query, item and rank or grade; ``nonrelevant`` may mark items without a rank.
    runs : Spark DataFrame
        Columns system, query, item, score.
    measures : str, Measure or list of them
        Such as ``"RDQ@5"``.
    systems : list of str, optional
        Names of all systems. Default: those in ``runs``.
    ties : {"trec_eval", "descending", "ascending", "expected"}, optional
        How equal scores are ordered.
    empty : {"zero", "skip"}
        Queries without any relevant item score 0, or are left out.

    Returns
    -------
    Spark DataFrame
        Columns system, queries, missing, unreferenced, tied, empty, as in :class:`rankdev.results.Coverage`.

    Examples
    --------
    >>> coverage(references, runs, "RDQ@5").columns  # doctest: +SKIP
    ['system', 'queries', 'missing', 'unreferenced', 'tied', 'empty']
    """
    rows, task = _prepared(references, runs, measures, systems, ties, empty)
    schema = ", ".join(["system string", *(f"{name} bigint" for name in COUNTS)])
    counts = rows.mapInArrow(partial(apply, work=task.count), schema)
    return counts.groupBy("system").agg(*(functions.sum(name).alias(name) for name in COUNTS))


def collect(scores: Any) -> Scores:
    """Bring the scores to this machine, for :func:`rankdev.significance`, :func:`rankdev.power` and all other tests.

    Systems, queries and measures are sorted by name, so that a seed determines the result however Spark partitioned
    the data.

    Parameters
    ----------
    scores : Spark DataFrame
        What :func:`evaluate` returns.

    Returns
    -------
    Scores
        One value per system, query, measure.

    Examples
    --------
    >>> collect(evaluate(references, runs, "RDQ@5")).systems  # doctest: +SKIP
    ('mine',)
    """
    table = _here(scores.select("system", "query", "measure", "value"))
    if table.is_empty():
        raise DataError("no-scores")
    return Scores.from_table(table.sort("system", "query", "measure"))


def means(scores: Any) -> pl.DataFrame:
    """Bring the means (sums of counts) to this machine.

    Sums are rounded once, so that no order of the rows changes a digit.

    Parameters
    ----------
    scores : Spark DataFrame
        What :func:`evaluate` returns.

    Returns
    -------
    polars.DataFrame
        A row per system, a column per measure; null where a measure is not available.

    Examples
    --------
    >>> means(evaluate(references, runs, "RDQ@5")).columns  # doctest: +SKIP
    ['system', 'RDQ@5']
    """
    together = scores.select("system", "measure", "value").repartition("system", "measure")
    sums = _here(together.mapInArrow(add_up, "system string, measure string, total double, known bigint"))
    if sums.is_empty():
        raise DataError("no-scores")
    added = pl.col("measure").is_in([name for name in sums["measure"].unique() if info_of(name).aggregate == "sum"])
    mean = pl.when(added).then("total").otherwise(pl.col("total") / pl.col("known"))
    table = sums.sort("measure", "system").with_columns(mean=pl.when(pl.col("known") > 0).then(mean))
    for system, highest in table.group_by("system").agg(pl.col("mean").abs().max()).sort("system").rows():
        if not highest:
            warn("zero-everywhere", system=system)
    return table.pivot("measure", index="system", values="mean", maintain_order=True)


def _prepared(
    references: Any, runs: Any, measures: Any, systems: Sequence[str] | None, ties: Any, empty: Any
) -> tuple[Any, Task]:
    """Put the rows of each query into one partition, and make the task for them.

    Wrong columns, measures and parameters are refused here, before the rows are touched.
    """
    check_choice("ties", ties, get_args(StableTies))
    check_choice("empty", empty, get_args(Empty))
    wanted = parse_all(measures)
    for measure in wanted:
        if measure.aggregate == "geometric":
            raise MeasureError("not-computed", name=str(measure), instead="a geometric mean needs all queries")
    known = _fields(references, "references")
    given, marked = ([name for name in names if name in known] for names in (("rank", "grade"), ("nonrelevant",)))
    if not given:
        raise DataError("no-column", role="references", name="rank", known=list(known))
    relevant = _columns(references, "references", ("query", "item", *given, *marked))
    returned = _columns(runs, "runs", ("system", "query", "item", "score"))
    together = relevant.withColumn("is_run", functions.lit(False)).unionByName(
        returned.withColumn("is_run", functions.lit(True)), allowMissingColumns=True
    )
    task = Task(_named(returned, systems), wanted, ties, _highest(relevant) if "grade" in given else 0.0, empty)
    task.rehearse([*given, *marked])
    return together.repartition("query"), task


def _named(runs: Any, systems: Sequence[str] | None) -> list[str]:
    """Return the names of all systems, in order: those given, or those in ``runs``."""
    if systems is not None:
        if isinstance(systems, str) or not all(isinstance(name, str) for name in systems) or not systems:
            raise UsageError("not-names", name="systems", value=systems)
        return sorted(set(systems))
    names = _here(runs.select("system").distinct())["system"].to_list()
    if not names:
        raise DataError("empty", name="runs", expected="at least one row")
    if not all(names):
        raise DataError("no-value", role="runs", name="system")
    return sorted(names)


def _highest(references: Any) -> float:
    """Look up the highest grade; a grade that is no number is refused where its row is read."""
    (grade,) = _here(references.agg(functions.max("grade").alias("grade")))["grade"]
    return grade if grade is not None and math.isfinite(grade) else 0.0


def _fields(frame: Any, what: str) -> dict[str, str]:
    if not hasattr(frame, "dtypes") or not hasattr(frame, "mapInArrow"):
        raise bad_type(what, "a Spark DataFrame", frame, "make it with createDataFrame")
    return dict(frame.dtypes)


def _columns(frame: Any, what: str, names: Iterable[str]) -> Any:
    """Select columns as the types in which they are sent; refuse missing ones and wrong types before any work."""
    found = _fields(frame, what)
    chosen = []
    for name in names:
        if name not in found:
            raise DataError("no-column", role=what, name=name, known=list(found))
        if frame.columns.count(name) > 1:
            raise DataError("appears-twice", role=what, what="column", value=name)
        allowed, sent = KINDS[name]
        if re.split(r"[( ]", found[name])[0] not in allowed:  # decimal(10,2), string collate UTF8_LCASE
            expected = {"string": "text or whole numbers", "double": "numbers", "boolean": "true or false"}[sent]
            raise DataError("bad-column", role=what, name=name, type=found[name], expected=expected)
        chosen.append(functions.col(name).cast(sent).alias(name))
    return frame.select(*chosen)


def _here(frame: Any) -> pl.DataFrame:
    """Do the work and bring its rows to this machine."""
    try:
        if hasattr(frame, "toArrow"):  # since Spark 4
            return pl.DataFrame(frame.toArrow())
        kinds = {"string": pl.String, "double": pl.Float64, "bigint": pl.Int64}
        schema = {name: kinds[kind] for name, kind in frame.dtypes}
        return pl.DataFrame([tuple(row) for row in frame.collect()], schema, orient="row")
    except Exception as error:
        if type(error).__module__.partition(".")[0] in ("pyspark", "py4j", "grpc"):
            raise _in_one_line(str(error)) from None
        raise


def _in_one_line(text: str) -> RankdevError:
    """Find why a job failed in Spark's message, which mixes tracebacks of Java and Python."""
    if ours := re.findall(r"(?:rankdev\.errors\.|External error: )(Data|Usage|Measure)Error: (.+)", text):
        kind, message = ours[-1]
        raised = {"Data": DataError, "Usage": UsageError, "Measure": MeasureError}[kind]
        return raised("of-worker", text=message.strip())
    if missing := re.search(r"No module named '(.+?)'", text):
        return RankdevError("worker-without-module", module=missing[1])
    if lost := re.search(
        r"Python worker exited unexpectedly|(ExecutorLostFailure|\S*OutOfMemoryError|MemoryError).*", text
    ):
        return RankdevError("worker-lost", reason=lost[0].strip()[:160])
    causes = re.findall(r"^(?:: |Caused by: )?([\w.$]+(?:Error|Exception): .+)", text, re.MULTILINE)
    reasons = causes[-1:] or [line.strip() for line in text.splitlines() if line.strip()] or ["no reason given"]
    return RankdevError("spark-failed", reason=reasons[0])
