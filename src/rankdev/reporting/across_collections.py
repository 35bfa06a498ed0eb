"""Verdicts over several collections, as a report and as a forest plot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankdev.errors import printable
from rankdev.meta.across_collections import AcrossCollections
from rankdev.reporting.cells import number, p_value, percent
from rankdev.reporting.door import draws, reports
from rankdev.reporting.plots.style import COLOURS, PAGE, figure, shortened, styled, titled
from rankdev.reporting.report import Report, Table, intervals
from rankdev.reporting.verdicts import verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORESTS = 12  # pairs that a picture holds; the others are left to the table


@reports(AcrossCollections)
def across_collections_report(found: AcrossCollections) -> Report:
    """Show each pair's difference over all collections, that of a new one, and how far collections differ."""
    rows = found.to_polars()
    adjusted = "p" if found.correction == "none" else f"p ({found.correction})"
    spread = f"{percent(found.confidence)} interval"
    frame = rows.select(
        "measure",
        "a",
        "b",
        pl.col("difference").alias("a − b"),
        intervals("low", "high", 3).alias(spread),
        intervals("new_low", "new_high", 3).alias("new collection"),
        pl.col("i2").alias("I²"),
        pl.col("p_adjusted").alias(adjusted),
    )
    title = f"Differences a − b over {len(found.collections)} collections"
    if rows["measure"].n_unique() == 1:
        frame, title = frame.drop("measure"), f"{title} in {rows['measure'][0]}"
    believed = {(i, adjusted) for i, p in enumerate(rows["p_adjusted"]) if p is not None and p <= found.level}
    formats = {adjusted: p_value, "I²": lambda share: f"{share:.0%}", "a − b": lambda value: number(value, 3)}
    table = Table(frame, title, best=believed, formats=formats, right=(spread, "new collection"))
    closing = (
        f"* {adjusted} ≤ {found.level:g}; random effects (REML, Hartung–Knapp): small collections count too",
        "new collection: where the true difference in another such collection would lie",
        "I²: share of the scatter between collections that their queries do not explain",
    )
    return verdict(found, "compare", [table], (), closing, more={"collections": found.by_collection()})


@draws(AcrossCollections)
@styled
def plot_across_collections(found: AcrossCollections) -> Figure:
    """Draw a forest: each collection's difference, its dot as large as its weight, and the mean of all as a diamond."""
    rows, parts = found.to_polars(), found.by_collection()
    shown, each = min(rows.height, FORESTS), len(found.collections)
    drawn, axes = figure(PAGE, 0.9 + 0.2 * shown * (each + 2))
    axis: Any = axes[0, 0]
    axis.axvline(0, color="#777777", linewidth=0.8)
    labels, at = [], 0
    several = rows["measure"].n_unique() > 1
    for i, row in enumerate(rows.head(shown).iter_rows(named=True)):
        for part in parts.slice(i * each, each).iter_rows(named=True):
            axis.plot([part["low"], part["high"]], [at, at], color=COLOURS[0], linewidth=1.0)
            axis.plot(part["difference"], at, "s", color=COLOURS[0], markersize=2 + 6 * np.sqrt(part["weight"]))
            labels.append((at, f"{part['collection']} ({part['queries']})"))
            at += 1
        axis.plot([row["new_low"], row["new_high"]], [at, at], color=COLOURS[1], linewidth=0.8, linestyle=":")
        corners = [row["low"], row["difference"], row["high"], row["difference"]]
        axis.fill(corners, [at, at - 0.35, at, at + 0.35], color=COLOURS[1])
        pair = f"{row['a']} − {row['b']}"
        labels.append((at, f"{row['measure']}: {pair}" if several else pair))
        at += 2
    axis.set_yticks([place for place, _ in labels], [shortened(printable(text)) for _, text in labels])
    left_out = f"\n{rows.height - shown:,} more in the table" if rows.height > shown else ""
    axis.set(ylim=(at - 1.5, -0.8))
    axis.set_xlabel(f"difference; diamond: over all collections, dotted: in a new one{left_out}")
    axis.grid(visible=False, axis="y")
    return titled(drawn, f"Differences in {len(found.collections)} collections, and over all of them")
