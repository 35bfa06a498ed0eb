"""Reports and figures of equivalence, meta-analysis, prediction-powered inference and discriminative power."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankdev.display.cells import number, p_header, p_value, percent
from rankdev.display.dispatch import draws, reports
from rankdev.display.report import Report, Table, best_cells, intervals, made_with, result_report
from rankdev.display.significance import exact_p_values
from rankdev.display.style import COLOURS, PAGE, draw_intervals, figure, looks, shortened, styled, titled
from rankdev.errors import counted, printable
from rankdev.statistics.equivalence import VERDICTS, Equivalence
from rankdev.statistics.meta_analysis import MetaAnalysis
from rankdev.statistics.prediction_powered import PredictionPowered
from rankdev.statistics.significance.discrimination import DiscriminativePower

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@reports(Equivalence)
def equivalence_report(found: Equivalence) -> Report:
    """State for each pair whether it is equivalent, which is better, and which is no worse, for a margin."""
    rows, noninferior = found.to_polars(), found.noninferiority()
    no_worse = (
        pl.when(noninferior["a_no_worse"] & noninferior["b_no_worse"])
        .then(pl.lit("both"))
        .when(noninferior["a_no_worse"])
        .then(pl.lit("a"))
        .when(noninferior["b_no_worse"])
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
    more = {"noninferiority": noninferior}
    return result_report(found, "compare", [table], list(_counts(found)), closing, more=more)


def _counts(found: Equivalence) -> Iterator[str]:
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
    text = ", ".join(f"{counts[word]:,} {word}" for word in VERDICTS if word in counts)
    return titled(drawn, f"With a margin of {found.margin:g}: {text}")


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


@reports(DiscriminativePower)
def discriminative_power_report(found: DiscriminativePower) -> Report:
    """Show the fraction of pairs that differ significantly under each measure, and the difference needed."""
    frame = found.summary()
    title = f"Pairs that differ significantly at level {found.alpha:g}"
    closing = (
        "needed: the difference that would just be significant, median over pairs; needed_by_all: largest",
        "the fractions vary with the queries; power, with resamples, estimates by how much",
        *([exact_p_values(found.enumerated, found.to_polars().height)] if found.enumerated else []),
        made_with(found, "enumerated"),
    )
    best = best_cells(frame, ["fraction"])
    return result_report(
        found, "compare --discriminative-power", [Table(frame, title, best=best, bars=("fraction",))], (), closing
    )


@draws(DiscriminativePower)
@styled
def plot_discriminative_power(found: DiscriminativePower) -> Figure:
    """Draw each measure's achieved significance levels in descending order; the lower, the more discriminative."""
    summary = found.summary()
    measures = summary["measure"].to_list()
    drawn, axes = figure(PAGE, 3.4 + 0.125 * len(measures))
    axis: Any = axes[0, 0]
    look = looks(measures)
    for row in summary.sort("fraction", descending=True, maintain_order=True).iter_rows(named=True):
        levels = found.curve(row["measure"])[::-1]
        label = f"{row['measure']}: {row['significant']} of {row['pairs']}"
        every = max(1, len(levels) // 20)
        axis.plot(np.arange(1, len(levels) + 1), levels, label=label, markevery=every, **look[row["measure"]])
    axis.axhline(found.alpha, color="#777777", linewidth=0.8)
    axis.xaxis.get_major_locator().set_params(integer=True)
    top = max(3 * found.alpha, 0.15)
    axis.set(xlabel="pairs of systems, by level", ylabel="achieved significance level (p)", ylim=(-0.02 * top, top))
    drawn.legend(loc="outside lower center", ncols=2, frameon=False)
    return titled(drawn, f"The further left a curve falls below {found.alpha:g}, the more pairs differ significantly")
