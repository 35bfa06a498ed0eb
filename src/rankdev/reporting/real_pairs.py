"""Real pairs of systems on the map: as a report and as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankdev.errors import counted
from rankdev.meta.real_pairs import WAYS, RealPairs
from rankdev.reporting.door import draws, reports
from rankdev.reporting.plots.style import COLOURS, COLUMN, figure, styled, titled
from rankdev.reporting.report import Report, Table, intervals

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FAR = 0.05


@reports(RealPairs)
def real_pairs_report(found: RealPairs) -> Report:
    """Say where pairs lie, and how often the map says which of two measures has more power for them."""
    low, middle, high = np.quantile(found.by_retrieval, [0.25, 0.5, 0.75])
    far = (found.far > FAR).mean()
    opening = (
        f"{counted(len(found.place), 'pair')} of {counted(len(found.systems), 'system')}: of the difference of a pair"
        f" {middle:.0%} is retrieval at the median (quartiles {low:.0%} and {high:.0%}); in {found.opposed:.0%} of"
        f" pairs one leads in retrieval and the other in order; {far:.0%} lie further than {FAR:g} from any simulated"
        " pair",
    )
    summary = found.summary()
    names = pl.col("way").replace(WAYS).alias("said by")
    table = Table(
        summary.select(names, "right", intervals(digits=3).alias("95% interval")),
        "How often it is said which of two measures has more power",
        (f"of cases with powers more than {found.apart:g} apart at {found.n} queries; 95% over systems",),
        digits=3,
        right=("95% interval",),
    )
    powers = {"real": found.power.mean(axis=0), "said": found.said.mean(axis=0)}
    means = pl.DataFrame({"measure": list(found.measures), **powers}).sort("real", descending=True)
    return Report(
        found.to_polars(),
        [table, Table(means, f"Mean power at {found.n} queries", digits=3)],
        opening,
        remarks=found.remarks,
        command="study map",
        parameters=found.parameters,
        summary=summary,
    )


@draws(RealPairs)
@styled
def plot_real_pairs(found: RealPairs) -> Figure:
    """Draw every pair where its losses put it, coloured by the measure with most power for it."""
    drawn, axes = figure(1.5 * COLUMN, 3.8)
    axis: Any = axes[0, 0]
    level = (found.power == found.power.max(axis=1, keepdims=True)).sum(axis=1) > 1
    best = np.where(level, -1, found.power.argmax(axis=1))
    often = np.argsort(-np.bincount(best[~level], minlength=len(found.measures)), kind="stable")[: len(COLOURS) - 1]
    others = ~np.isin(best, often)
    axis.scatter(*found.place[others].T, s=5, color="#bbbbbb", linewidths=0, label="several alike, or another")
    for colour, measure in zip(COLOURS, often, strict=False):
        part = found.place[best == measure]
        if len(part):
            axis.scatter(*part.T, s=5, color=colour, alpha=0.7, linewidths=0, label=found.measures[measure])
    axis.axhline(0, color="#777777", linewidth=0.8)
    axis.set(xlabel="lead in retrieval (difference of losses)", ylabel="lead in order")
    drawn.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=6, markerscale=2)
    return titled(drawn, f"Pairs of systems, by the measure with most power at {found.n} queries")
