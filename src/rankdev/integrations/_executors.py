"""Work of a Spark task on the rows of its queries: the worker's side of ``rankdev.integrations.spark``."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from rankdev._common.arrays import Floats
from rankdev.data.options import ReadOptions, Ties
from rankdev.data.references import References
from rankdev.data.run import Run
from rankdev.errors import DataError, errors_at
from rankdev.evaluation.coverage import Coverage
from rankdev.evaluation.evaluate import Empty
from rankdev.evaluation.join import Known, join, score_match
from rankdev.evaluation.scores import Scores
from rankdev.measures import Match, Measure

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
    empty: Empty = "zero"

    def run(self, frame: pl.DataFrame) -> Run:
        """Make a run; nobody reads the warnings of a worker, and a few queries may well have no relevant item."""
        return Run.of_value(frame, ReadOptions(ties=self.ties))

    def rehearse(self, columns: list[str]) -> None:
        """Score one query of two tiers, so that a measure that needs other references is refused before any work."""
        highest = self.highest_grade or 1.0
        values = {"rank": (1.0, 2.0), "grade": (highest, highest / 2), "nonrelevant": (False, False)}
        reference = pl.DataFrame({"query": "q", "item": ["d", "e"], **{name: values[name] for name in columns}})
        run = self.run(pl.DataFrame({"query": "q", "item": "d", "score": [1.0]}))
        known = Known.of(References.of_table(reference, ReadOptions()))
        score_match(join(known, run, self.measures)[0], self.measures)

    def score(self, frame: pl.DataFrame) -> Frames:
        """Score some queries, for many systems at once where they are small."""
        references, runs = self._split(frame)
        known = self._known(references)
        if known is None:
            return
        queries, labels = tuple(known.references.queries), tuple(str(measure) for measure in self.measures)
        while systems := dict(islice(runs, max(1, ROWS // len(queries) // len(labels)))):
            matches = (self._matched(known, run)[0] for run in systems.values())
            values = np.stack([score_match(match, self.measures) for match in matches])
            yield Scores(tuple(systems), queries, labels, values).to_polars()

    def count(self, frame: pl.DataFrame) -> Frames:
        """Count how the runs and the references of some queries matched."""
        references, runs = self._split(frame)
        known = self._known(references)
        skipped = () if references is None else references.queries
        rows = []
        for system, run in runs:
            if known is None:
                matched = Coverage(system, 0, unreferenced=_not_in(skipped, run), empty=len(skipped))
            else:
                matched = self._matched(known, run)[1]
            rows.append({"system": system, **{name: getattr(matched, name) for name in COUNTS}})
        yield pl.DataFrame(rows, schema={"system": pl.String, **dict.fromkeys(COUNTS, pl.Int64)})

    def _known(self, references: References | None) -> Known | None:
        """Prepare the references of some queries; None where none is left to be scored."""
        skip = self.empty == "skip"
        if references is None or (skip and references.empty == len(references)):
            return None
        return Known.of(references, skip_empty=skip, highest_grade=self.highest_grade)

    def _split(self, frame: pl.DataFrame) -> tuple[References | None, Iterator[tuple[str, Run]]]:
        """Make references and each system's run from the rows of some queries."""
        relevant, returned = frame.filter(~pl.col("is_run")), frame.filter(pl.col("is_run"))
        _check_named(relevant, "references", "query", "item")
        _check_named(returned, "runs", "system", "query", "item")
        given = ["query", "item", *(name for name in ("rank", "grade", "nonrelevant") if name in frame.columns)]
        references = References.of_table(relevant.select(given), ReadOptions()) if len(relevant) else None
        return references, self._runs(returned)

    def _runs(self, rows: pl.DataFrame) -> Iterator[tuple[str, Run]]:
        """Yield the run of each system. All are ordered at once, as one run: ordering each takes longer."""
        unknown = sorted(set(rows["system"].unique()) - set(self.systems))
        if unknown:
            known = list(self.systems)
            raise DataError("not-a-choice", role="runs", name="system", value=unknown[0], near=None, known=known)
        number = pl.col("system").cast(pl.Enum(self.systems)).to_physical().alias("number")
        rows = rows.select(number, "system", "query", "item", "score").sort("number", maintain_order=True)
        query = pl.concat_str(pl.col("number").cast(pl.String), "query", separator=" ")
        try:
            together = self.run(rows.select(query.alias("query"), "item", "score"))
        except DataError:
            for (system,), part in rows.partition_by("system", as_dict=True).items():
                with errors_at(system=str(system)):
                    self.run(part)
            raise
        names = [query.partition(" ")[::2] for query in together.queries]
        owners = np.array([int(number) for number, _ in names], np.int64)
        bounds = np.searchsorted(owners, np.arange(len(self.systems) + 1)).tolist()
        for system, begin, end in zip(self.systems, bounds[:-1], bounds[1:], strict=True):
            yield system, _part(together, [query for _, query in names[begin:end]], begin, end)

    def _matched(self, known: Known, run: Run) -> tuple[Match, Coverage]:
        """Match some queries of a run. It may answer none of them: an error for a whole run, but here they are few."""
        if not known.references.places.keys().isdisjoint(run.queries):
            return join(known, run, self.measures)[:2]
        silent = replace(Run.of_lists({known.references.queries[0]: []}, ReadOptions()), read=run.read)
        matched, coverage, _ = join(known, silent, self.measures)
        unknown = _not_in(known.skipped, run)
        return matched, replace(coverage, missing=len(known.references), unreferenced=unknown)


def _not_in(queries: Collection[str], run: Run) -> int:
    """Count the queries of a run that are not among these."""
    return len(set(run.queries).difference(queries))


def _part(run: Run, queries: list[str], begin: int, end: int) -> Run:
    """Cut some queries out of a run, and restore their names."""
    offsets = run.offsets[begin : end + 1]
    rows = slice(int(offsets[0]), int(offsets[-1]))
    repeats = None if run.repeats is None or not run.repeats[rows].any() else run.repeats[rows]
    scores = None if run.scores is None else run.scores[rows]
    return Run(queries, offsets - offsets[0], run.item_ids[rows], scores, repeats, run.read)


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
    emptied = (piles.pop() for _ in range(PILES))  # each is freed when it is done
    yield from _joined(pl.concat(parts) for parts in emptied if parts)


def _joined(frames: Frames) -> Frames:
    """Put small frames together until there are ROWS rows."""
    waiting: list[pl.DataFrame] = []
    rows = 0
    for frame in frames:
        waiting.append(frame)
        rows += len(frame)
        if rows >= ROWS:
            yield pl.concat(waiting, rechunk=True)
            waiting, rows = [], 0
    if waiting:
        yield pl.concat(waiting, rechunk=True)


def as_batches(frame: pl.DataFrame) -> list[Any]:
    """Convert a frame for Spark, which does not read large strings."""
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
    """Refuse a row without a name; it is known by its other names, since it has no line number here."""
    for name in names:
        missing = (rows[name].is_null() | (rows[name] == "")).arg_max() if len(rows) else None
        if missing is not None and not rows[name][missing]:
            others = {other: rows[other][missing] for other in names if rows[other][missing]}
            raise DataError("no-value", role=what, name=name, **others)
