"""What people's verdicts say about a measure's parameters, as a report and as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rankdev.errors import counted
from rankdev.meta.tuning import Tuning
from rankdev.reporting.cells import percent
from rankdev.reporting.door import draws, reports
from rankdev.reporting.plots.intervals import draw_intervals
from rankdev.reporting.plots.style import styled, titled
from rankdev.reporting.report import Report, Table, intervals
from rankdev.reporting.verdicts import made_with, verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = 8


@reports(Tuning)
def tuning_report(found: Tuning) -> Report:
    """Show whether choosing pays on held-out queries, and the best cells beside those that are not clearly worse."""
    ends = pl.when(pl.col("low").is_null()).then(pl.lit("")).otherwise(intervals())
    spread = f"{percent(found.confidence)} interval"
    pays = found.summary().select("what", "loss", "agreement", "gain", ends.alias(spread))
    cells = found.to_polars().with_columns(cell=pl.Series(found.measures)).sort("loss", maintain_order=True)
    told = pl.when("plausible").then(pl.lit("no")).otherwise(pl.lit("yes")).alias("clearly worse")
    best = cells.head(SHOWN).select(pl.col("cell").alias("measure"), "loss", "behind", ends.alias(spread), told)
    tables = [
        Table(pays, f"Does choosing the parameters of {found.measure} pay? On held-out queries", right=(spread,)),
        Table(best, f"The best of {len(found.cells)} cells, on held-out queries", right=(spread,)),
    ]
    closing = ("loss: −log of the probability of what people said; 0.693 is chance", made_with(found))
    return verdict(found, "tune", tables, closing=closing)


@draws(Tuning)
@styled
def plot_tuning(found: Tuning) -> Figure:
    """Draw how far each cell is behind the best one; a line that reaches 0 is not clearly worse."""
    rows = found.to_polars().with_columns(cell=pl.Series(found.measures)).sort("behind", maintain_order=True)
    label = f"held-out loss behind the best cell, {percent(found.confidence)} interval; filled: not clearly worse"
    names = [("", name) for name in rows["cell"]]
    drawn = draw_intervals(rows, "behind", names, label, rows["plausible"].to_list(), zero=True)
    kept = int(rows["plausible"].sum())
    left = f"{counted(kept, 'setting', of=rows.height)} of {found.measure}"
    return titled(drawn, f"Not clearly worse than the best: {left}")
