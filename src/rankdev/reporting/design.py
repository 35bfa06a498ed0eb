"""Designs of collections, as a report and as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankdev.meta.design import Design
from rankdev.reporting.cells import count, percent
from rankdev.reporting.door import draws, reports
from rankdev.reporting.plots.style import COLOURS, MARKERS, PAGE, figure, looks, styled, titled
from rankdev.reporting.report import Report, Table, count_intervals
from rankdev.reporting.verdicts import verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

THIRD = {"same": slice(0, 3), "different": slice(3, 6)}
TICKS = [step * 10**power for power in range(8) for step in (1, 2, 5)]
SHARED = {"same": "all systems on the same queries", "different": "each system on its own queries"}


@reports(Design)
def design_report(found: Design) -> Report:
    """Show the queries needed for each requirement, and the variance that they follow from."""
    rows, summary = found.to_polars(), found.summary()
    frame = rows.select("measure", *_asked(), "same", *_ends(found, "same"), "different", *_ends(found, "different"))
    if len(found.spreads) == 1:
        frame, summary = frame.drop("measure"), summary.drop("measure")
    notes = [f"{way}: {words}{' (queries per system)' if way == 'different' else ''}" for way, words in SHARED.items()]
    ends = [name for name in frame.columns if "95%" in name]
    table = Table(frame, _title(found), notes=notes, formats=dict.fromkeys(SHARED, count), right=ends)
    known = summary.select(name for name in summary.columns if summary[name].null_count() < summary.height)
    shown = Table(known, "Variance of scores over queries, and correlation between systems")
    return verdict(found, "design", [table, shown])


def _title(found: Design) -> str:
    powered = f"power {percent(found.power)}, " if found.difference else ""
    return f"Queries needed ({powered}level {found.alpha:g})"


def _asked() -> list[pl.Expr]:
    what = (
        pl.when(pl.col("method") == "interval")
        .then(pl.format("a width of {}", "target"))
        .when(pl.col("method") == "t")
        .then(pl.format("{} between 2 systems", "target"))
        .otherwise(pl.format("{} among {} systems", "target", "systems"))
    )
    return [what.alias("to detect")]


def _ends(found: Design, way: str) -> list[pl.Expr]:
    if found.spreads[0].pilot is None:
        return []
    return [count_intervals(f"{way}_low", f"{way}_high").alias(f"{way}, 95%")]


@draws(Design)
@styled
def plot_design(found: Design) -> Figure:
    """Draw the queries needed against the difference, or the width, with what the pilot leaves open as bands."""
    curves = _curves(found)
    drawn, axes = figure(PAGE, 2.6 + 0.1 * len(curves), columns=2, sharey=True)
    targets = found.difference or found.width
    along = np.unique(np.concatenate([np.geomspace(min(targets) / 2, max(targets) * 2, 25), targets]))
    asked = np.flatnonzero(np.isin(along, targets)).tolist()
    seen = []
    for axis, (way, words) in zip(axes[0], SHARED.items(), strict=True):
        for label, spread, method, systems, look in curves:
            needed = np.array([found.queries(spread, method, systems, x) for x in along])[:, THIRD[way]]
            needed[np.isinf(needed)] = np.nan
            axis.plot(along, needed[:, 0], label=label if way == "same" else None, markevery=asked, **look)
            axis.fill_between(along, needed[:, 1], needed[:, 2], color=look["color"], alpha=0.15, linewidth=0)
            seen.append(needed)
        axis.set(xscale="log", yscale="log", xlabel=_along(found))
        ticks = sorted({*along[[0, -1]].tolist(), *targets})
        axis.set_xticks(ticks, [f"{tick:.3g}" for tick in ticks])
        axis.set_title(words[0].upper() + words[1:], loc="left")
        axis.minorticks_off()
    named = [tick for tick in TICKS if np.nanmin(seen) <= tick <= np.nanmax(seen)]
    axes[0, 0].set_yticks(named, [f"{tick:,}" for tick in named])
    axes[0, 0].set_ylabel("queries needed")
    drawn.legend(loc="outside lower center", ncols=4, frameon=False)
    return titled(drawn, "The smaller the difference that matters, the more queries a collection needs")


def _along(found: Design) -> str:
    if not found.difference:
        return f"width of the {percent(1 - found.alpha)} interval"
    return f"difference to detect with {percent(found.power)} power"


def _curves(found: Design) -> list[tuple[str, Any, str, int, dict[str, Any]]]:
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
