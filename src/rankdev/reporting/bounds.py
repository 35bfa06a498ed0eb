"""How far incomplete judgments leave scores and verdicts open, as a report and as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rankdev.errors import counted
from rankdev.evaluation.bounds import Bounds
from rankdev.reporting.door import draws, reports
from rankdev.reporting.plots.intervals import draw_intervals
from rankdev.reporting.plots.style import styled, titled
from rankdev.reporting.report import Report, Table, intervals
from rankdev.reporting.verdicts import verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OWN = (
    "a score's range is over its own list's unjudged items, a difference's over both lists': what one list missed"
    " lowers its score too"
)


@reports(Bounds)
def bounds_report(found: Bounds, *, count: int = 5) -> Report:
    """Show the ends of every score and difference, which verdicts are safe, and which items to judge next."""
    rows, pairs, items = found.to_polars(), found.pairs(), found.next_items(count)
    shown = rows.select("system", "measure", "score", intervals().alias("could be"), "judged")
    tables = [Table(shown, "Scores, and what complete judgments could make of them", right=("could be",))]
    closing = [f"{counted(len(found.items), 'returned item', 'is')} unjudged"]
    if pairs.height:
        safe = pl.when("safe").then(pl.lit("safe")).otherwise(pl.lit("open")).alias("verdict")
        apart = pairs.select("measure", "a", "b", "difference", intervals().alias("could be"), safe)
        tables.append(Table(apart, "Differences; safe: no completion changes the sign", right=("could be",)))
        closing[0] += f"; {int(pairs['safe'].sum())} of {counted(pairs.height, 'verdict')} safe"
        closing.append(OWN)
    if items.height and pairs.height:
        tables.append(Table(items, "What to judge next: what alone moves open verdicts most"))
    return verdict(found, "bounds", tables, closing=closing, more={"pairs": pairs, "next_items": found.next_items(50)})


@draws(Bounds)
@styled
def plot_bounds(found: Bounds) -> Figure:
    """Draw each score with the lowest and highest that it could be."""
    rows = found.to_polars().sort("measure", maintain_order=True)
    names = list(zip(rows["measure"], rows["system"], strict=True))
    label = "score (dot), and what complete judgments could make of it (line)"
    return titled(draw_intervals(rows, "score", names, label), "How far unjudged items leave scores open")
