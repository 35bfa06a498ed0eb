"""Components of variance, as a report and as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankdev.meta.variance import Variance
from rankdev.reporting.cells import count
from rankdev.reporting.door import draws, reports
from rankdev.reporting.plots.style import COLOURS, HATCHES, PAGE, figure, looks, over_queries, shortened, styled, titled
from rankdev.reporting.report import Report, Table, count_intervals, intervals
from rankdev.reporting.verdicts import verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@reports(Variance)
def variance_report(found: Variance) -> Report:
    """Show each component's share, and how far the order of systems can be relied on."""
    shares = found.to_polars().pivot("component", index="measure", values="share", maintain_order=True)
    table = Table(
        shares, "Where the variance of scores comes from", formats=dict.fromkeys(shares.columns[1:], _percent)
    )
    summary = found.summary()
    columns = ["measure", "queries", "e_rho2", intervals(digits=3).alias("Eρ², 95%"), "phi", "needed"]
    if len(found.collections) == 1:
        columns.append(count_intervals("needed_low", "needed_high").alias("needed, 95%"))
    frame = summary.select(columns).rename({"e_rho2": "Eρ²", "phi": "Φ"})
    per = " in each collection" if len(found.collections) > 1 else ""
    notes = (
        "Eρ²: reliability of the order of systems; Φ: of the scores themselves",
        f"needed: queries{per} with which Eρ² reaches {found.reliability:g}",
    )
    right = [name for name in frame.columns if "95%" in name]
    coefficients = Table(
        frame, "How far the order can be relied on", digits=3, notes=notes, formats={"needed": count}, right=right
    )
    return verdict(found, "variance", [table, coefficients])


def _percent(share: float) -> str:
    return f"{share:.1%}"


@draws(Variance)
@styled
def plot_variance(found: Variance) -> Figure:
    """Draw the shares of the components as bars, and Eρ² against the number of queries."""
    drawn, axes = figure(PAGE, 1.9 + 0.3 * len(found.measures), columns=2)
    left, right = axes[0]
    rows = found.to_polars()
    names = [shortened(measure, 22) for measure in found.measures]
    start = np.zeros(len(names))
    for i, component in enumerate(rows["component"].unique(maintain_order=True)):
        share = rows.filter(component=component)["share"].fill_null(0.0).to_numpy()
        area = {"color": COLOURS[i % len(COLOURS)], "hatch": HATCHES[i % len(HATCHES)], "edgecolor": "white"}
        left.barh(names, share, left=start, label=component, height=0.6, **area)
        start += share
    left.invert_yaxis()
    left.set(xlabel="share of the variance", xlim=(0, 1))
    left.set_title("where scores differ", loc="left")
    largest = max(sum(parts.sizes) for parts in found.components)
    sizes = np.unique(np.rint(np.geomspace(2, 4 * largest, 40)).astype(int)).tolist()
    curves = found.design(sizes)
    for measure, look in looks(found.measures).items():
        right.plot(sizes, curves.filter(measure=measure)["e_rho2"], label=measure, markevery=8, **look)
    right.axhline(found.reliability, color="#777777", linewidth=0.8)
    over_queries(right, sizes)
    per = " per collection" if len(found.collections) > 1 else ""
    right.set(xlabel=f"queries n{per}", ylabel="Eρ²", ylim=(0, 1.02))
    right.set_title("reliability of the order of systems", loc="left")
    drawn.legend(loc="outside lower center", ncols=3, frameon=False)
    return titled(drawn, "What makes scores differ, and how many queries make the order of systems reliable")
