"""Our numbers and the published ones, side by side."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import polars as pl

from rankdev.display.cells import count
from rankdev.display.report import Report, Table
from rankdev.errors import Note, RankdevWarning

Row = Sequence[float | None]


@dataclass(frozen=True)
class Comparison:
    """One table of the paper: a row per measure, our values and the published ones for the same columns.

    In columns named in ``counts``, numbers of queries, lower is better and no decimals are shown.
    """

    part: str
    title: str
    columns: tuple[str, ...]
    ours: Mapping[str, Row]
    published: Mapping[str, Row]
    counts: tuple[str, ...] = ()

    def records(self) -> list[dict[str, Any]]:
        """One record per cell: part, measure, statistic, value, published."""
        return [
            fact(self.part, measure, column, value, published)
            for measure in self.ours
            for column, value, published in zip(self.columns, self.ours[measure], self._published(measure), strict=True)
        ]

    def report(self) -> Report:
        """Two lines per measure, ours and the paper's; the best of each source is marked."""
        known = [measure for measure in self.ours if measure in self.published]
        rows = [
            (measure, source, values)
            for measure in self.ours
            for source, values in (("rankdev", self.ours[measure]), ("paper", self._published(measure)))
            if source == "rankdev" or measure in known
        ]
        table: dict[str, Any] = {
            "measure": [measure if source == "rankdev" else "" for measure, source, _ in rows],
            "": [source for _, source, _ in rows],
        }
        for i, column in enumerate(self.columns):
            table[column] = pl.Series([values[i] for _, _, values in rows], dtype=pl.Float64, strict=False)
        formats = dict.fromkeys(self.counts, count)
        shown = Table(pl.DataFrame(table), self.title, best=self._best(rows), digits=3, formats=formats)
        return Report(facts(self.records()), [shown])

    def _published(self, measure: str) -> Row:
        return self.published.get(measure, [None] * len(self.columns))

    def _best(self, rows: Sequence[tuple[str, str, Row]]) -> frozenset[tuple[int, str]]:
        best = set()
        for i, column in enumerate(self.columns):
            for wanted in ("rankdev", "paper"):
                found = {at: row[i] for at, (_, source, row) in enumerate(rows) if source == wanted}
                shown = {at: round(value, 3) for at, value in found.items() if value is not None}
                if len(shown) > 1 and len(set(shown.values())) > 1:
                    top = (min if column in self.counts else max)(shown.values())
                    best |= {(at, column) for at, value in shown.items() if value == top}
        return frozenset(best)


def fact(
    part: str, measure: str, statistic: str, value: float | None, published: float | None = None
) -> dict[str, Any]:
    """Make one record of a study; a number of queries that was not reached is infinite."""
    return {"part": part, "measure": measure, "statistic": statistic, "value": value, "published": published}


def facts(records: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Make the table of a study's records: part, measure, statistic, value, published."""
    schema = {"part": pl.String, "measure": pl.String, "statistic": pl.String}
    return pl.DataFrame(list(records), schema={**schema, "value": pl.Float64, "published": pl.Float64})


def published(name: str) -> dict[str, Any]:
    """Read the stored values of a study: those of the paper, or what a long simulation found."""
    content: dict[str, Any] = json.loads(files("rankdev").joinpath(f"data/studies/{name}.json").read_text("utf-8"))
    return content


def rows_of(frame: pl.DataFrame, columns: Sequence[str], order_by: str, descending: bool = True) -> dict[str, Row]:
    """Return the rows of a summary by measure, best first; a column that is not there is not available."""
    ranked = frame.sort(order_by, descending=descending, nulls_last=True, maintain_order=True)
    return {row["measure"]: [row.get(column) for column in columns] for row in ranked.iter_rows(named=True)}


@contextmanager
def warnings_into(notes: list[str]) -> Iterator[None]:
    """Collect warnings as notes of the study, each once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RankdevWarning)
        yield
    for entry in caught:
        if not isinstance(entry.message, RankdevWarning):
            warnings.warn_explicit(entry.message, entry.category, entry.filename, entry.lineno)
        elif str(entry.message) not in notes:
            notes.append(Note(entry.message.kind, **entry.message.fields))
