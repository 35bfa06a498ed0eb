"""Curves over the number of queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rankdev.meta.power_result import Power
from rankdev.meta.stability import Stability
from rankdev.reporting.door import draws
from rankdev.reporting.plots.style import COLUMN, figure, looks, over_queries, styled, titled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from rankdev.arrays import Floats


@draws(Power)
@styled
def plot_power(power: Power) -> Figure:
    """Draw the median power over pairs against the number of queries, one curve per measure, with 95% bands."""
    medians = np.median(power.power, axis=1)
    ends = None if power.doubt is None else power.doubt.levels[:, 1]
    drawn = _curves(power.sizes, power.measures, medians, f"median power at level {power.alpha:g}", (0, 1), ends)
    return titled(drawn, "The higher a curve, the fewer queries tell systems apart")


@draws(Stability)
@styled
def plot_stability(stability: Stability) -> Figure:
    """Draw the mean τ-b against the number of queries, one curve per measure, with 95% bands."""
    ends = stability.tau_ends
    bottom = min(0.0, float(np.nanmin(stability.tau if ends is None else ends[0], initial=0.0)))
    drawn = _curves(stability.sizes, stability.measures, stability.tau, "mean Kendall τ", (bottom, 1), ends)
    return titled(drawn, "The higher a curve, the fewer queries give the order that all of them give")


def _curves(
    sizes: tuple[int, ...],
    measures: tuple[str, ...],
    values: Floats,
    label: str,
    limits: tuple[float, float],
    ends: Floats | None,
) -> Figure:
    columns = 2 if max(map(len, measures)) <= 20 else 1
    drawn, axes = figure(COLUMN, 2.5 + 0.125 * np.ceil(len(measures) / columns))
    axis: Any = axes[0, 0]
    axis.axhline(0.8, color="#777777", linewidth=0.8)
    axis.annotate(
        "0.8",
        (1, 0.8),
        xycoords=("axes fraction", "data"),
        xytext=(2, -2),
        textcoords="offset points",
        fontsize=6.5,
        color="#777777",
    )
    best_first = np.argsort(-np.nan_to_num(values, nan=-2.0).mean(axis=1), kind="stable")
    look = looks(measures)
    for place in best_first:
        name = measures[place]
        axis.plot(sizes, values[place], label=name, linewidth=1.1, markersize=2.6, **look[name])
        if ends is not None:
            axis.fill_between(sizes, *ends[:, place], color=look[name]["color"], alpha=0.12, linewidth=0)
    over_queries(axis, sizes)
    axis.set(xlabel="queries n", ylabel=label, ylim=(limits[0] - 0.02, limits[1] + 0.02))
    drawn.legend(loc="outside lower center", ncols=columns, frameon=False, handlelength=3.2, labelspacing=0.25)
    return drawn
