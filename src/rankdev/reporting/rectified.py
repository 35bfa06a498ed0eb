"""What people and a model say together, as a report and as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from rankdev.errors import counted, printable
from rankdev.meta.rectify import Rectified
from rankdev.reporting.cells import percent
from rankdev.reporting.door import draws, reports
from rankdev.reporting.plots.style import COLOURS, PAGE, figure, shortened, styled, titled
from rankdev.reporting.report import Report, Table, intervals
from rankdev.reporting.verdicts import made_with, verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = 40  # lines that a picture holds


@reports(Rectified)
def rectified_report(found: Rectified) -> Report:
    """Show each system's mean and each difference, beside what people alone and the model alone say."""
    rows = found.to_polars()
    what = pl.when(pl.col("b").is_null()).then(pl.col("a")).otherwise(pl.format("{} − {}", "a", "b"))
    frame = rows.select(
        "measure",
        what.alias("system or pair"),
        "estimate",
        intervals("low", "high", 3).alias(f"{percent(found.confidence)} interval"),
        intervals("people_low", "people_high", 3).alias("people alone"),
        pl.col("model").alias("model alone"),
        "trust",
    )
    title = "What people would say about all queries"
    if rows["measure"].n_unique() == 1:
        frame, title = frame.drop("measure"), f"{title}, {rows['measure'][0]}"
    right = [name for name in frame.columns if "interval" in name or "people" in name]
    closing = (
        f"people and model both judged {counted(found.both, 'query')}, the model {found.model_only} more",
        "trust: weight of the model (0: uninformative, 1: as good as people)",
        "the intervals hold if the people's queries are a random sample of all",
        made_with(found, "both", "model_only"),
    )
    return verdict(found, "rectify", [Table(frame, title, digits=3, right=right)], (), closing)


@draws(Rectified)
@styled
def plot_rectified(found: Rectified) -> Figure:
    """Draw each estimate with its interval, that of people alone in grey, and the model's own as a cross."""
    rows = list(found.to_polars().iter_rows(named=True))[:SHOWN]
    drawn, axes = figure(PAGE, 1.1 + 0.24 * len(rows))
    axis: Any = axes[0, 0]
    several = len({row["measure"] for row in rows}) > 1
    names = []
    for i, row in enumerate(rows):
        last = i == 0
        axis.plot([row["people_low"], row["people_high"]], [i + 0.2] * 2, color="#999999", linewidth=1.2)
        axis.plot(row["people"], i + 0.2, "o", color="#999999", markersize=4, label="people alone" if last else None)
        axis.plot([row["low"], row["high"]], [i - 0.1] * 2, color=COLOURS[0], linewidth=1.6)
        axis.plot(row["estimate"], i - 0.1, "o", color=COLOURS[0], markersize=5, label="both" if last else None)
        axis.plot(row["model"], i, "x", color=COLOURS[1], markersize=5, label="model alone" if last else None)
        name = row["a"] if row["b"] is None else f"{row['a']} − {row['b']}"
        names.append(f"{row['measure']}: {name}" if several else name)
    axis.set_yticks(range(len(rows)), [shortened(printable(name)) for name in names])
    axis.set(xlabel=f"mean or difference, {percent(found.confidence)} interval", ylim=(len(rows) - 0.4, -0.6))
    axis.grid(visible=False, axis="y")
    drawn.legend(loc="outside lower center", ncols=3, frameon=False)
    return titled(drawn, "What people and model say together, beside each alone")
