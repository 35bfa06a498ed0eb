"""Reports and figures of plans: for a pair, for runs of each system, for a new collection."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankdev.display.cells import count, percent
from rankdev.display.dispatch import draws, reports
from rankdev.display.report import Report, Table, count_intervals, result_report
from rankdev.display.style import COLOURS, MARKERS, PAGE, figure, looks, over_queries, shortened, styled, titled
from rankdev.errors import printable
from rankdev.statistics.planning import Plan
from rankdev.statistics.topic_set_size import TopicSetSize

if TYPE_CHECKING:
    from matplotlib.figure import Figure


TICKS = [step * 10**power for power in range(8) for step in (1, 2, 5)]
SHARED = {"same": "all systems on the same queries", "different": "each system on its own queries"}


@reports(TopicSetSize)
def topic_set_size_report(found: TopicSetSize) -> Report:
    """Show the queries needed for each requirement, and the variance that they follow from."""
    rows, summary = found.to_polars(), found.summary()
    frame = rows.select(
        "measure", *_requirement(), "same", *_limits(found, "same"), "different", *_limits(found, "different")
    )
    if len(found.spreads) == 1:
        frame, summary = frame.drop("measure"), summary.drop("measure")
    notes = [f"{way}: {text}{' (queries per system)' if way == 'different' else ''}" for way, text in SHARED.items()]
    right = [name for name in frame.columns if "95%" in name]
    table = Table(frame, _title(found), notes=notes, formats=dict.fromkeys(SHARED, count), right=right)
    known = summary.select(name for name in summary.columns if summary[name].null_count() < summary.height)
    shown = Table(known, "Variance of scores over queries, and correlation between systems")
    return result_report(found, "design", [table, shown])


def _title(found: TopicSetSize) -> str:
    powered = f"power {percent(found.power)}, " if found.difference else ""
    return f"Queries needed ({powered}level {found.alpha:g})"


def _requirement() -> list[pl.Expr]:
    what = (
        pl.when(pl.col("method") == "interval")
        .then(pl.format("a width of {}", "target"))
        .when(pl.col("method") == "t")
        .then(pl.format("{} between 2 systems", "target"))
        .otherwise(pl.format("{} among {} systems", "target", "systems"))
    )
    return [what.alias("to detect")]


def _limits(found: TopicSetSize, way: str) -> list[pl.Expr]:
    if found.spreads[0].pilot is None:
        return []
    return [count_intervals(f"{way}_low", f"{way}_high").alias(f"{way}, 95%")]


@draws(TopicSetSize)
@styled
def plot_topic_set_size(found: TopicSetSize) -> Figure:
    """Draw the queries needed against the difference, or the width, with 95% bands given the pilot."""
    curves = _size_curves(found)
    drawn, axes = figure(PAGE, 2.6 + 0.1 * len(curves), columns=2, sharey=True)
    targets = found.difference or found.width
    along = np.unique(np.concatenate([np.geomspace(min(targets) / 2, max(targets) * 2, 25), targets]))
    asked = np.flatnonzero(np.isin(along, targets)).tolist()
    seen = []
    for i, (axis, (way, text)) in enumerate(zip(axes[0], SHARED.items(), strict=True)):
        for label, spread, method, systems, look in curves:
            needed = found.curve(spread, method, systems, along.tolist())[:, :, i]
            needed[np.isinf(needed)] = np.nan
            axis.plot(along, needed[:, 0], label=label if way == "same" else None, markevery=asked, **look)
            axis.fill_between(along, needed[:, 1], needed[:, 2], color=look["color"], alpha=0.15, linewidth=0)
            seen.append(needed)
        axis.set(xscale="log", yscale="log", xlabel=_along(found))
        ticks = sorted({*along[[0, -1]].tolist(), *targets})
        axis.set_xticks(ticks, [f"{tick:.3g}" for tick in ticks])
        axis.set_title(text[0].upper() + text[1:], loc="left")
        axis.minorticks_off()
    named = [tick for tick in TICKS if np.nanmin(seen) <= tick <= np.nanmax(seen)]
    axes[0, 0].set_yticks(named, [f"{tick:,}" for tick in named])
    axes[0, 0].set_ylabel("queries needed")
    drawn.legend(loc="outside lower center", ncols=4, frameon=False)
    return titled(drawn, "The smaller the difference that matters, the more queries a collection needs")


def _along(found: TopicSetSize) -> str:
    if not found.difference:
        return f"width of the {percent(1 - found.alpha)} interval"
    return f"difference to detect with {percent(found.power)} power"


def _size_curves(found: TopicSetSize) -> list[tuple[str, Any, str, int, dict[str, Any]]]:
    """One curve per measure or, where there is one measure, per number of systems."""
    methods = [("anova", m) for m in found.systems] if found.difference else [("interval", 2)]
    if len(found.spreads) > 1:
        look = looks([spread.measure or "" for spread in found.spreads])
        many = f", {methods[-1][1]} systems" if len(methods) > 1 else ""
        return [(f"{s.measure}{many}", s, *methods[-1], look[s.measure or ""]) for s in found.spreads]
    return [
        (
            f"{m} systems" if method == "anova" else found.spreads[0].measure or "an interval",
            found.spreads[0],
            method,
            m,
            {"color": COLOURS[i % len(COLOURS)], "marker": MARKERS[i % len(MARKERS)]},
        )
        for i, (method, m) in enumerate(methods)
    ]


@reports(Plan)
def plan_report(found: Plan) -> Report:
    """State how many queries are needed, with the power at numbers around it, and the details."""
    table = Table(found.to_polars(), f"Power by number of {found.unit}", digits=3)
    tables = [] if math.isnan(found.queries) else [table]
    return result_report(found, "plan", tables, [plan_in_short(found)], [plan_in_detail(found)])


def plan_in_short(found: Plan) -> str:
    """State how many queries are needed, and what those of the pilot find."""
    unit, what = found.unit, f"a difference of {found.difference:.4g} in {found.measure}"
    if math.isnan(found.queries):
        return (
            f"These {found.pilot:,} {unit} cannot tell how many confirm {what}: {printable(found.a)} and"
            f" {printable(found.b)} differ on too few of them. At least {_queries(found.low)} are needed."
        )
    typical = f"{_queries(found.queries)} may be enough if these {found.pilot:,} are typical."
    if math.isinf(found.assured):
        return (
            f"No number of {unit} is sure to confirm {what}: these {found.pilot:,} do not exclude that there is none."
            f" {typical}"
        )
    return (
        f"{_queries(found.assured)} {unit} confirm {what} with {percent(found.power)} power (90% sure of that); you"
        f" have {found.pilot:,}, which find differences of {found.detectable:.2g} and more. {typical}"
    )


def plan_in_detail(found: Plan) -> str:
    """State the test of a plan, and what the pilot shows."""
    pairs = found.systems * (found.systems - 1) // 2
    test = f"Paired t-test at level {found.alpha:g}{f', Holm over {pairs} pairs' if pairs > 1 else ''}"
    between = f"; 95% interval {_queries(found.low)} to {_queries(found.high)}"
    limits = "" if math.isnan(found.queries) else between
    seen = f"{printable(found.a)} − {printable(found.b)} is {found.observed:+.4g} in the pilot"
    return f"{test}{limits}; {seen}."


def _queries(n: float) -> str:
    return "more than ten million" if math.isinf(n) else count(n)


@draws(Plan)
@styled
def plot_plan(found: Plan) -> Figure:
    """Draw power against the number of queries, with the number that is needed and its 95% interval as a band."""
    sizes, analytic = found.curve
    drawn, axes = figure(PAGE, 3.2)
    axis: Any = axes[0, 0]
    axis.plot(sizes, analytic, "o-", color=COLOURS[0])
    axis.axhline(found.power, color="#777777", linewidth=0.8)
    if np.isfinite(found.queries):
        axis.axvline(found.queries, color="#777777", linewidth=0.8, linestyle=":")
    if np.isfinite(found.assured):
        axis.axvline(found.assured, color=COLOURS[2], linewidth=1.2, label=f"enough, 90% sure: {count(found.assured)}")
    if np.isfinite(found.low):
        last = max(sizes[-1], found.high) if np.isfinite(found.high) else 2 * sizes[-1]
        label = f"{found.unit} needed, 95%: {count(found.low)} to {count(found.high)}"
        axis.axvspan(found.low, min(last, found.high), color=COLOURS[0], alpha=0.1, linewidth=0, label=label)
        over_queries(axis, [int(min(sizes[0], found.low)), int(last)])
    axis.set(xlabel=f"{found.unit} n", ylabel=f"power to detect {found.difference:.4g}", ylim=(-0.02, 1.02))
    axis.legend(frameon=False, loc="lower right")
    pair = " and ".join(shortened(name) for name in (found.a, found.b))
    if np.isnan(found.queries):
        return titled(drawn, f"The pilot cannot tell how many {found.unit} {pair} need in {found.measure}")
    enough = count(found.assured) if np.isfinite(found.assured) else "More than ten million"
    powered = f"{percent(found.power)} power (90% sure) to tell {pair} apart in {found.measure}"
    return titled(drawn, f"{enough} {found.unit} give {powered}")
