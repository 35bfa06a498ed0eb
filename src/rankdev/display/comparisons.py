"""Reports and figures of meta-analysis and prediction-powered inference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankdev.display.cells import number, p_header, p_value, percent
from rankdev.display.dispatch import draws, reports
from rankdev.display.report import Report, Table, intervals, made_with, result_report
from rankdev.display.style import COLOURS, PAGE, figure, shortened, styled, titled
from rankdev.errors import counted, printable
from rankdev.statistics.meta_analysis import MetaAnalysis
from rankdev.statistics.prediction_powered import PredictionPowered

if TYPE_CHECKING:
    from matplotlib.figure import Figure


FORESTS = 12  # pairs in a figure; the others are left to the table


@reports(MetaAnalysis)
def meta_analysis_report(found: MetaAnalysis) -> Report:
    """Show each pair's difference over all collections, that of a new one, and how far collections differ."""
    rows = found.to_polars()
    adjusted = p_header(found.correction)
    spread = f"{percent(1 - found.alpha)} interval"
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
    significant = {(i, adjusted) for i, differs in enumerate(found.significant) if differs}
    formats = {adjusted: p_value, "I²": lambda fraction: f"{fraction:.0%}", "a − b": lambda value: number(value, 3)}
    table = Table(frame, title, best=significant, formats=formats, right=(spread, "new collection"))
    closing = (
        f"* {adjusted} ≤ {found.alpha:g}; random effects (REML, weights that allow for its error)",
        "new collection: interval of the true difference in another such collection",
        "I²: fraction of the scatter between collections that their queries do not explain",
    )
    return result_report(found, "compare", [table], (), closing, more={"collections": found.by_collection()})


@draws(MetaAnalysis)
@styled
def plot_meta_analysis(found: MetaAnalysis) -> Figure:
    """Draw a forest plot: each collection's difference, sized by its weight, and the mean of all as a diamond."""
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


SHOWN = 40  # lines in a figure


@reports(PredictionPowered)
def prediction_powered_report(found: PredictionPowered) -> Report:
    """Show each system's mean and each difference, next to the estimates from human and model judgments alone."""
    rows = found.to_polars()
    what = pl.when(pl.col("b").is_null()).then(pl.col("a")).otherwise(pl.format("{} − {}", "a", "b"))
    frame = rows.select(
        "measure",
        what.alias("system or pair"),
        "estimate",
        intervals("low", "high", 3).alias(f"{percent(1 - found.alpha)} interval"),
        intervals("human_low", "human_high", 3).alias("human alone"),
        pl.col("model").alias("model alone"),
        "trust",
    )
    title = "Estimated scores by human judgments of all queries"
    if rows["measure"].n_unique() == 1:
        frame, title = frame.drop("measure"), f"{title}, {rows['measure'][0]}"
    right = [name for name in frame.columns if "interval" in name or "human" in name]
    closing = (
        f"human and model judgments of {counted(found.both, 'query')}, model judgments of {found.model_only} more",
        "trust: weight of the model (0: uninformative, 1: as good as assessors)",
        "the intervals are valid if the human-judged queries are a random sample of all",
        made_with(found, "both", "model_only"),
    )
    return result_report(found, "ppi", [Table(frame, title, digits=3, right=right)], (), closing)


@draws(PredictionPowered)
@styled
def plot_prediction_powered(found: PredictionPowered) -> Figure:
    """Draw each estimate with its interval, that of human judgments alone in grey, and the model's as a cross."""
    rows = list(found.to_polars().iter_rows(named=True))[:SHOWN]
    drawn, axes = figure(PAGE, 1.1 + 0.24 * len(rows))
    axis: Any = axes[0, 0]
    several = len({row["measure"] for row in rows}) > 1
    names = []
    for i, row in enumerate(rows):
        first = i == 0
        axis.plot([row["human_low"], row["human_high"]], [i + 0.2] * 2, color="#999999", linewidth=1.2)
        axis.plot(row["human"], i + 0.2, "o", color="#999999", markersize=4, label="human alone" if first else None)
        axis.plot([row["low"], row["high"]], [i - 0.1] * 2, color=COLOURS[0], linewidth=1.6)
        axis.plot(row["estimate"], i - 0.1, "o", color=COLOURS[0], markersize=5, label="both" if first else None)
        axis.plot(row["model"], i, "x", color=COLOURS[1], markersize=5, label="model alone" if first else None)
        name = row["a"] if row["b"] is None else f"{row['a']} − {row['b']}"
        names.append(f"{row['measure']}: {name}" if several else name)
    axis.set_yticks(range(len(rows)), [shortened(printable(name)) for name in names])
    axis.set(xlabel=f"mean or difference, {percent(1 - found.alpha)} interval", ylim=(len(rows) - 0.4, -0.6))
    axis.grid(visible=False, axis="y")
    drawn.legend(loc="outside lower center", ncols=3, frameon=False)
    return titled(drawn, "Estimates from human and model judgments together, next to each alone")
