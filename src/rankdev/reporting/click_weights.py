"""Position weights from clicks, as a report and as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankdev.learning.weights_from_clicks import ClickWeights
from rankdev.measures.weights import PRESETS
from rankdev.reporting.cells import percent
from rankdev.reporting.door import draws, reports
from rankdev.reporting.plots.style import COLOURS, PAGE, figure, styled, titled
from rankdev.reporting.report import Report, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@reports(ClickWeights)
def click_weights_report(found: ClickWeights) -> Report:
    """Show the weight of each position, and the measure that has these weights."""
    fit = () if found.fit is None else (f"fit of the position-based model: p = {found.fit:.3f} (small is bad)",)
    use = () if found.grid is not None else (f"use as: {found.measure()}",)
    title = f"How much each position is examined, by {found.method}; {percent(found.confidence)} intervals"
    rows = found.to_polars()
    return Report(rows, [Table(rows, title, digits=3)], closing=(*use, *fit), remarks=found.remarks)


@draws(ClickWeights)
@styled
def plot_click_weights(found: ClickWeights) -> Figure:
    """Draw the weights with their intervals, RDQ's default weights beside them."""
    drawn, axes = figure(PAGE, 3.2)
    axis = axes[0, 0]
    at = list(range(1, len(found.positions) + 1))
    axis.fill_between(at, found.low, found.high, color=COLOURS[0], alpha=0.2, linewidth=0)
    axis.plot(at, found.weight, "o-", color=COLOURS[0], label=f"from clicks ({found.method})")
    axis.plot(at, found.raw, "x", color=COLOURS[1], label="before weights were forced never to increase")
    if found.grid is None:
        axis.plot(at, PRESETS["vertical"].first(len(at)), ":", color="#555555", label="RDQ's default (vertical)")
    names = found.positions if found.grid is None else [f"{row},{column}" for row, column in found.grid]
    axis.set_xticks(at, [str(name) for name in names])
    axis.set(xlabel="position" if found.grid is None else "row, column", ylabel="weight", ylim=(0, None))
    axis.legend(frameon=False)
    return titled(drawn, "How much each position is examined, relative to the first")
