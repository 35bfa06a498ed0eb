"""Curves over the number of judgments, one per way of choosing what to ask."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rankdev.reporting.plots.style import COLOURS, DASHES, PAGE, figure, styled, titled

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@styled
def plot_judgments(found: Mapping[str, Any]) -> Figure:
    """Draw the panels of a simulation, each with ``curves`` by strategy."""
    panels = found["panels"]
    drawn, axes = figure(PAGE, 2.9, columns=len(panels))
    for axis, panel in zip(axes[0], panels, strict=True):
        for i, (name, values) in enumerate(panel["curves"].items()):
            axis.plot(found["judgments"], values, color=COLOURS[i], linestyle=DASHES[i], linewidth=1.5, label=name)
        axis.set(xlabel="judgments", ylabel=panel["label"])
        axis.set_title(panel["title"], loc="left")
    handles, names = axes[0, 0].get_legend_handles_labels()
    drawn.legend(handles, names, loc="outside lower center", ncols=len(names), frameon=False)
    return titled(drawn, found["title"])
