"""An explanation position by position: a bar as long as the weight, filled as far as credit was earned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from rankdev.evaluation.explain import DISPLACED, Explanation, Position
from rankdev.reporting.cells import Cell, number
from rankdev.reporting.door import reports
from rankdev.reporting.report import Report, Table

BAR = 12
NAMED = 8  # items that were not returned, by name


@reports(Explanation)
def explanation_report(found: Explanation, *, query: str = "") -> Report:
    """Show position by position what was earned and lost, what was not returned and what would be the best order."""
    rows = found.to_polars()
    top = max(max(entry.weight, entry.earned) for entry in found.positions)
    bars = {entry.position: Cell(_bar(entry, top), "bar") for entry in found.positions}
    frame = rows.select(
        pl.col("position").alias("pos"),
        pl.col("item").fill_null("(empty)"),
        "rank",
        pl.col("ideal_rank").alias("ideal"),
        pl.col("position").alias("earned ▇ of ░"),
        "lost",
        "why",
    )
    formats = {
        "earned ▇ of ░": lambda position: bars[position],
        "why": lambda why: Cell(why, "" if why == DISPLACED else "bad"),
    }
    lost = found.ideal_score - found.score
    opening = (
        f"{query}{'  ' if query else ''}{found.measure} = {number(found.score)}   lost {number(lost)}:"
        f" {number(found.retrieval_loss)} by what was returned, {number(found.ordering_loss)} by its order"
    )
    return Report(
        rows,
        [Table(frame, formats=formats, left=("earned ▇ of ░",), names=("pos", "item"))],
        [opening],
        _closing(found),
        found.remarks,
        command="explain",
        parameters={**({"query": query} if query else {}), **found.parameters},
        summary=found.summary(),
    )


def side_by_side(both: Mapping[str, Explanation], query: str) -> Report:
    """Show two lists for one query beside each other: what each position earned, and what either did not return."""
    (a, one), (b, other) = both.items()
    columns: dict[str, list[Any]] = {"pos": list(range(1, max(len(one.positions), len(other.positions)) + 1))}
    for name, found in both.items():
        blank = len(columns["pos"]) - len(found.positions)
        for column in ("item", "rank", "earned"):
            values = [getattr(entry, column) for entry in found.positions] + [None] * blank
            columns[f"{name} {column}" if column == "item" else f"{column} {'ab'[name == b]}"] = values
    frame = pl.DataFrame(columns, infer_schema_length=None, strict=False)
    scores = f"{a} (a) {number(one.score)}, {b} (b) {number(other.score)}, a − b {number(one.score - other.score)}"
    rows = [found.to_polars().select(pl.lit(name).alias("system"), pl.all()) for name, found in both.items()]
    summaries = [found.summary().select(pl.lit(name).alias("system"), pl.all()) for name, found in both.items()]
    return Report(
        pl.concat(rows, how="vertical_relaxed"),
        [Table(frame, names=(f"{a} item", f"{b} item"))],
        [f"{query}  {one.measure}: {scores}"],
        [f"{name}: {line}" for name, found in both.items() for line in _closing(found)],
        command="explain",
        parameters={"query": query, "systems": [a, b], **one.parameters},
        summary=pl.concat(summaries, how="vertical_relaxed"),
    )


def _closing(found: Explanation) -> list[str]:
    lines = []
    if found.not_returned:
        named = ", ".join(f"{item} (rank {rank})" for item, rank in found.not_returned[:NAMED])
        more = len(found.not_returned) - NAMED
        lines.append(f"not returned: {named}{f' and {more} more' if more > 0 else ''}")
    if found.ordering_loss > 5e-5:
        lines.append(f"best order of these items ({number(found.best_score)}): {' '.join(found.best_order)}")
    return lines


def _bar(entry: Position, top: float) -> str:
    earned = entry.weight * entry.credit or entry.earned
    length = max(1, round(BAR * max(entry.weight, earned) / top))
    full = round(length * entry.credit) if entry.weight else length
    return "▇" * full + "░" * (length - full)
