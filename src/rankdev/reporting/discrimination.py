"""Discriminative power, as a report and as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rankdev.meta.discrimination import Discrimination
from rankdev.reporting.door import draws, reports
from rankdev.reporting.plots.style import PAGE, figure, looks, styled, titled
from rankdev.reporting.report import Report, Table, best_cells
from rankdev.reporting.verdicts import made_with, verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@reports(Discrimination)
def discrimination_report(found: Discrimination) -> Report:
    """Show the share of pairs that each measure tells apart, and the difference it needs."""
    frame = found.summary()
    title = f"Pairs told apart at level {found.alpha:g}"
    closing = (
        "needed: the difference that would just be significant (half of the pairs need less); needed_by_all: for all",
        "other queries would give other shares: rankdev power --intervals says how far",
        made_with(found),
    )
    best = best_cells(frame, ["share"])
    return verdict(found, "discrimination", [Table(frame, title, best=best, bars=("share",))], (), closing)


@draws(Discrimination)
@styled
def plot_discrimination(found: Discrimination) -> Figure:
    """Draw each measure's achieved significance levels in descending order; lower curves tell more pairs apart."""
    summary = found.summary()
    measures = summary["measure"].to_list()
    drawn, axes = figure(PAGE, 3.4 + 0.125 * len(measures))
    axis: Any = axes[0, 0]
    look = looks(measures)
    for row in summary.sort("share", descending=True, maintain_order=True).iter_rows(named=True):
        levels = found.curve(row["measure"])[::-1]
        label = f"{row['measure']}: {row['told_apart']} of {row['pairs']}"
        every = max(1, len(levels) // 20)
        axis.plot(np.arange(1, len(levels) + 1), levels, label=label, markevery=every, **look[row["measure"]])
    axis.axhline(found.alpha, color="#777777", linewidth=0.8)
    axis.xaxis.get_major_locator().set_params(integer=True)
    top = max(3 * found.alpha, 0.15)
    axis.set(xlabel="pairs of systems, by level", ylabel="achieved significance level (p)", ylim=(-0.02 * top, top))
    drawn.legend(loc="outside lower center", ncols=2, frameon=False)
    return titled(drawn, f"The further left a curve falls below {found.alpha:g}, the more pairs it tells apart")
