"""Equivalence, as a report and as a picture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import polars as pl

from rankdev.errors import counted
from rankdev.meta.equivalence import VERDICTS, Equivalence
from rankdev.reporting.cells import percent
from rankdev.reporting.door import draws, reports
from rankdev.reporting.plots.intervals import draw_intervals
from rankdev.reporting.plots.style import styled, titled
from rankdev.reporting.report import Report, Table, intervals
from rankdev.reporting.verdicts import made_with, verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@reports(Equivalence)
def equivalence_report(found: Equivalence) -> Report:
    """Say of each pair whether it is the same, which is better, and which is no worse, for a margin."""
    rows, beside = found.to_polars(), found.noninferiority()
    no_worse = (
        pl.when(beside["a_no_worse"] & beside["b_no_worse"])
        .then(pl.lit("both"))
        .when(beside["a_no_worse"])
        .then(pl.lit("a"))
        .when(beside["b_no_worse"])
        .then(pl.lit("b"))
        .otherwise(pl.lit("–"))
    )
    frame = rows.select(
        "measure",
        "a",
        "b",
        pl.col("difference").alias("a − b"),
        intervals().alias("interval"),
        pl.col("verdict").alias("a is"),
        no_worse.alias("no worse"),
    )
    title = f"Differences a − b, with a margin of {found.margin:g}"
    if rows["measure"].n_unique() == 1:
        frame, title = frame.drop("measure"), f"{title} in {rows['measure'][0]}"
    table = Table(frame, title, right=("interval",))
    together = " (for all pairs together)" if found.correction != "none" and found.summary()["pairs"][0] > 1 else ""
    closing = (
        f"same: the {percent(1 - 2 * found.alpha)} interval is inside the margin; better, worse: the"
        f" {percent(1 - found.alpha)} interval excludes 0; no worse: by less than the margin, at level"
        f" {found.alpha:g}{together}",
        made_with(found),
    )
    more = {"noninferiority": beside}
    return verdict(found, "compare", [table], list(_in_words(found)), closing, more=more)


def _in_words(found: Equivalence) -> Iterator[str]:
    for row in found.summary().iter_rows(named=True):
        counts = ", ".join(f"{row[word]} {word}" for word in VERDICTS if row[word])
        yield f"{row['measure']}: of {counted(row['pairs'], 'pair')}, {counts}."


@draws(Equivalence)
@styled
def plot_equivalence(found: Equivalence) -> Figure:
    """Draw each pair's difference with the interval that decides, and the margin as a band."""
    rows = found.to_polars()
    names = [(row["measure"], row["a"], f"{row['b']}: {row['verdict']}") for row in rows.iter_rows(named=True)]
    decided = (rows["verdict"] != "undecided").to_list()
    label = "difference; band: the margin; filled: decided"
    drawn = draw_intervals(rows, "difference", names, label, decided, zero=True, between=" − ")
    drawn.axes[0].axvspan(-found.margin, found.margin, color="#009E73", alpha=0.15, linewidth=0)
    counts = Counter(rows["verdict"])
    told = ", ".join(f"{counts[word]:,} {word}" for word in VERDICTS if word in counts)
    return titled(drawn, f"With a margin of {found.margin:g}: {told}")
