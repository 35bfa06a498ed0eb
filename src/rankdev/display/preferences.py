"""Reports and figures of strengths, tiers, annotators and next pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rankdev.display.cells import percent
from rankdev.display.dispatch import draws, reports
from rankdev.display.report import Report, Table, intervals
from rankdev.display.style import (
    draw_intervals,
    styled,
    titled,
)
from rankdev.errors import counted
from rankdev.preferences import JudgeAgreement, PositionBias, Strengths, Tiers, WorkerQuality
from rankdev.statistics.judgment_uncertainty import UncertainScores

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@reports(Strengths)
def strengths_report(found: Strengths) -> Report:
    """Show each item's strength with its interval, best first."""
    rows = found.to_polars()
    title = f"Strengths ({found.method}), {percent(1 - found.alpha)} intervals"
    return Report(rows, [Table(_with_interval(rows), title, right=("interval",), digits=3)], remarks=found.remarks)


@reports(Tiers)
def tiers_report(found: Tiers) -> Report:
    """State how surely tiers are separated, and show the tier of each item with the probability at the border above."""
    rows = found.to_polars()
    shown = _with_interval(rows).with_columns(rows["separated"])
    table = Table(shown, "Tiers: items of equal rank are tied", right=("interval",), digits=3)
    queries = Table(found.summary(), "Queries: the least probability at a border, and that of coin flips", digits=3)
    return Report(rows, [table, queries], opening=[found.conclusion], remarks=found.remarks)


@reports(UncertainScores)
def uncertainty_report(found: UncertainScores) -> Report:
    """Show means with intervals for queries and judgments, for judgments alone, and how often one beats another."""
    rows = found.to_polars()
    level = f"{percent(1 - found.alpha)}"
    means = rows.select(
        "measure",
        "system",
        pl.col("value").alias("mean"),
        intervals().alias(f"{level}, queries and judgments"),
        intervals("judgments_low", "judgments_high").alias(f"{level}, judgments"),
    )
    title = f"Means over judgments drawn {found.resamples:,} times; {level} intervals"
    tables = [
        Table(means, title, right=means.columns[3:]),
        Table(found.beats(), "How often a beats b (ties count half)", digits=3),
    ]
    return Report(rows, tables, remarks=found.remarks, more={"beats": found.beats()})


def _with_interval(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.select("query", "item", "strength", intervals(digits=3).alias("interval"), "rank")


@reports(JudgeAgreement)
def judge_agreement_report(found: JudgeAgreement) -> Report:
    """Show a row per statistic, with its value by chance."""
    table = found.to_polars()
    notes = []
    if found.position is not None and found.position.swapped:
        notes.append(swapped_note(found.position))
    return Report(table, [Table(table, "Agreement between judges")], closing=notes, remarks=found.remarks)


@reports(PositionBias)
def position_report(found: PositionBias) -> Report:
    """Show the bias of all judges; that of each is in the table."""
    table = found.to_polars()
    notes = [f"{counted(len(found.workers), 'worker')}, each in a row of to_polars()"] if found.workers else []
    if found.swapped:
        notes.append(swapped_note(found))
    shown = Table(table.head(1).drop("worker"), "Does the item shown first win?")
    return Report(table, [shown], closing=notes, remarks=found.remarks)


def swapped_note(found: PositionBias) -> str:
    """Report how many pairs were judged in both orders, and how often the order decided."""
    pairs = counted(found.swapped, "pair", "was")
    return f"{pairs} judged in both orders; in {found.changed:,} the answer changed with the order"


@draws(UncertainScores)
@styled
def plot_uncertainty(found: UncertainScores) -> Figure:
    """Draw each system's mean with its interval for queries and judgments."""
    rows = found.to_polars()
    names = list(rows.select("measure", "system").iter_rows())
    drawn = draw_intervals(rows, "value", names, f"mean, {percent(1 - found.alpha)} interval")
    return titled(drawn, "Means, with uncertainty from both queries and judgments")


@draws(Strengths)
@styled
def plot_strengths(found: Strengths) -> Figure:
    """Draw each item's strength with its interval, query by query."""
    rows = found.to_polars()
    names = list(rows.select("query", "item").iter_rows())
    drawn = draw_intervals(rows, "strength", names, f"strength, {percent(1 - found.alpha)} interval", zero=True)
    return titled(drawn, f"How much {counted(rows.height, 'item', 'is')} preferred, by {found.method}")


@draws(Tiers)
@styled
def plot_tiers(found: Tiers) -> Figure:
    """Draw strengths as :func:`plot_strengths` does, with a colour and marker per tier."""
    rows = found.to_polars()
    names = list(rows.select("query", "item").iter_rows())
    label = f"strength, {percent(1 - found.strengths.alpha)} interval; one colour and marker per tier"
    drawn = draw_intervals(rows, "strength", names, label, zero=True, groups=rows["rank"].to_list())
    tiers = rows.select("query", "rank").unique().height
    return titled(drawn, f"{counted(rows.height, 'item')} in {counted(tiers, 'tier')}")


@draws(WorkerQuality)
@styled
def plot_workers(found: WorkerQuality) -> Figure:
    """Draw each worker's quality with its interval."""
    rows = found.to_polars()
    names = [("", worker) for worker in rows["worker"]]
    drawn = draw_intervals(rows, "quality", names, f"quality, {percent(1 - found.alpha)} interval")
    return titled(drawn, "How often each worker agrees with the consensus order")
