"""What a task of Spark does with the rows of its queries: the worker's side of ``rankdev.integrations.spark``."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from rankdev.arrays import Floats
from rankdev.errors import DataError, RankdevWarning, shown
from rankdev.evaluation.coverage import Coverage
from rankdev.evaluation.matching import Matcher
from rankdev.evaluation.run_scoring import score_run
from rankdev.evaluation.scoring import blamed
from rankdev.measures import Measure
from rankdev.ordering import Ties
from rankdev.references.references import References
from rankdev.runs import Run

ROWS = 200_000  # scored at once; a query is never cut, however long it is
PILES = 256  # into which a partition is sorted; 50 million rows make piles of about ROWS
COUNTS = ("queries", "missing", "unreferenced", "tied", "empty")
Frames = Iterator[pl.DataFrame]


@dataclass(frozen=True)
class Task:
    """What to score, and what a task cannot see in its own rows: all systems, and the highest grade there is."""

    systems: list[str]
    measures: list[Measure]
    ties: Ties
    highest_grade: float = 0.0

    def rehearse(self, columns: list[str]) -> None:
        """Score one item, so that a measure that cannot be had from such references is refused before any work."""
        known = {"rank": 1.0, "grade": self.highest_grade or 1.0, "worthless": False}
        reference = pl.DataFrame([{"query": "q", "item": "d", **{name: known[name] for name in columns}}])
        run = Run.from_table(pl.DataFrame({"query": "q", "item": "d", "score": [1.0]}), ties=self.ties)
        self._scored(Matcher(References.from_table(reference)), run)

    def score(self, frame: pl.DataFrame) -> Frames:
        """Score some queries, one system after another."""
        references, runs = self._split(frame)
        if references is None:
            return
        matcher = Matcher(references, highest_grade=self.highest_grade)
        labels = pl.Series([str(measure) for measure in self.measures])
        queries, measures = np.indices((len(references), len(labels))).reshape(2, -1)
        query, measure = references.queries.gather(queries), labels.gather(measures)
        for system, run in runs:
            values, _ = self._scored(matcher, run)
            value = pl.Series(values.ravel()).fill_nan(None)
            yield pl.select(system=pl.repeat(system, len(value)), query=query, measure=measure, value=value)

    def count(self, frame: pl.DataFrame) -> Frames:
        """Count how the runs and the references of some queries met."""
        references, runs = self._split(frame)
        matcher = None if references is None else Matcher(references, highest_grade=self.highest_grade)
        rows = []
        for system, run in runs:
            met = self._scored(matcher, run)[1] if matcher else Coverage(system, 0, unreferenced=len(run))
            rows.append({"system": system, **{name: getattr(met, name) for name in COUNTS}})
        yield pl.DataFrame(rows, schema={"system": pl.String, **dict.fromkeys(COUNTS, pl.Int64)})

    def _split(self, frame: pl.DataFrame) -> tuple[References | None, Iterator[tuple[str, Run]]]:
        """Make references and each system's run of the rows of some queries."""
        right, returned = frame.filter(~pl.col("is_run")), frame.filter(pl.col("is_run"))
        _check_named(right, "references", "query", "item")
        _check_named(returned, "runs", "system", "query", "item")
        given = ["query", "item", *(name for name in ("rank", "grade", "worthless") if name in frame.columns)]
        return (References.from_table(right.select(given)) if len(right) else None), self._runs(returned)

    def _runs(self, rows: pl.DataFrame) -> Iterator[tuple[str, Run]]:
        columns = rows.select("system", "query", "item", "score")
        parts = {str(name): part for (name,), part in columns.partition_by("system", as_dict=True).items()}
        unknown = sorted(parts.keys() - set(self.systems))
        if unknown:
            raise DataError(f"runs: system {shown(unknown[0])} is not among the systems that were named; name all")
        for system in self.systems:
            with blamed(f"system {shown(system)}"), _quiet():
                run = Run.from_table(parts.pop(system, columns.clear()), ties=self.ties)
            yield system, run

    def _scored(self, matcher: Matcher, run: Run) -> tuple[Floats, Coverage]:
        """Score some queries of a run. It may answer none of them: an error for a whole run, but here they are few."""
        if run.queries.is_in(matcher.references.queries.implode()).any():
            with _quiet():
                return score_run(matcher, run, self.measures)
        silent = Run.from_lists({matcher.references.queries[0]: []})
        values, met = score_run(matcher, replace(silent, ordering=run.ordering), self.measures)
        return values, replace(met, missing=len(matcher.references), unreferenced=len(run))


def apply(batches: Iterable[Any], work: Callable[[pl.DataFrame], Frames]) -> Iterator[Any]:
    """Do the work on the rows of a partition, some whole queries at a time."""
    for frame in whole_queries(pl.DataFrame(batch) for batch in batches):
        for found in work(frame):
            yield from as_batches(found)


def whole_queries(frames: Frames) -> Frames:
    """Bring the rows of each query together, in frames of about ROWS rows, in little more memory than the rows take.

    Not left to Spark: an engine may leave out a sort that nothing after it asks for, and Sail does.
    """
    piles: list[list[pl.DataFrame]] = [[] for _ in range(PILES)]
    for frame in _joined(frames):
        numbered = frame.with_columns(pile=pl.col("query").hash() % PILES)
        for (number,), part in numbered.partition_by("pile", include_key=False, as_dict=True).items():
            piles[number].append(part)
    yield from _joined(pl.concat(parts) for parts in _emptied(piles) if parts)


def _emptied(piles: list[list[pl.DataFrame]]) -> Iterator[list[pl.DataFrame]]:
    while piles:
        yield piles.pop()


def _joined(frames: Frames) -> Frames:
    """Put small frames together until there are ROWS rows."""
    waiting: list[pl.DataFrame] = []
    for frame in frames:
        waiting.append(frame)
        if sum(map(len, waiting)) >= ROWS:
            yield pl.concat(waiting, rechunk=True)
            waiting.clear()
    if waiting:
        yield pl.concat(waiting, rechunk=True)


def as_batches(frame: pl.DataFrame) -> list[Any]:
    """Give a frame as Spark reads it, which takes text of the plain kind only."""
    table = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
    kinds = [pa.string() if pa.types.is_large_string(field.type) else field.type for field in table.schema]
    return table.cast(pa.schema(zip(table.column_names, kinds, strict=True))).to_batches(max_chunksize=ROWS // 4)


def add_up(batches: Iterable[Any]) -> Iterator[Any]:
    """Add the values of each system and measure; sums are rounded once, so that no order changes a digit."""
    values: dict[tuple[Any, ...], list[Floats]] = {}
    for batch in batches:
        for key, part in pl.DataFrame(batch).partition_by("system", "measure", as_dict=True).items():
            values.setdefault(key, []).append(part["value"].drop_nulls().to_numpy())
    for (system, measure), parts in values.items():
        known = np.concatenate(parts)
        row = {"system": system, "measure": measure, "total": math.fsum(known), "known": len(known)}
        yield from as_batches(pl.DataFrame([row]))


def _check_named(rows: pl.DataFrame, what: str, *names: str) -> None:
    """Refuse a row without a name; it is known by its other names, since its number means nothing here."""
    for name in names:
        missing = (rows[name].is_null() | (rows[name] == "")).arg_max() if len(rows) else None
        if missing is not None and not rows[name][missing]:
            others = ", ".join(f"{other} {shown(rows[other][missing])}" for other in names if rows[other][missing])
            raise DataError(f"{what}: a row ({others or 'all of it empty'}) has no {name}; every row needs one")


@contextmanager
def _quiet() -> Iterator[None]:
    """Warn of nothing: nobody reads what a worker prints, and few queries may well miss all that is right."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankdevWarning)
        yield
