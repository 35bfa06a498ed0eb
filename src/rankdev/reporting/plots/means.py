"""Means of systems: by measure with their intervals, and what they lost to what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rankdev.errors import printable
from rankdev.evaluation.losses import Losses
from rankdev.evaluation.scores import Scores
from rankdev.meta.groups import mean_intervals
from rankdev.reporting.door import draws
from rankdev.reporting.plots.style import COLOURS, HATCHES, PAGE, figure, looks, shortened, styled, titled

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@draws(Scores)
@styled
def plot_scores(scores: Scores) -> Figure:
    """Draw each system's means, one sign per measure, best first by the first measure; one alone with its intervals."""
    means, label = scores.sorted_by(scores.measures[0]), "mean"
    several = len(scores.measures) > 1
    drawn, axis = _rows(means.systems, len(scores.measures) if several else 0)
    at = np.arange(len(means.systems))
    if not several and len(scores.queries) > 1 and not scores.sums:
        low, high = mean_intervals(means)
        axis.hlines(at, low[:, 0], high[:, 0], color=COLOURS[0], linewidth=1.2)
        label = "mean, 95% interval over queries"
    look = looks(scores.measures) if several else {scores.measures[0]: {"color": COLOURS[0], "marker": "o"}}
    for m, measure in enumerate(scores.measures):
        axis.plot(means.means[:, m], at, label=measure, markersize=5, **{**look[measure], "linestyle": "none"})
    axis.set_xlabel(f"{label} (sum of {', '.join(scores.sums)})" if scores.sums else label)
    if several:
        drawn.legend(loc="outside lower center", ncols=3, frameon=False)
    first = means.means[0, 0]
    best = f"{shortened(means.systems[0])} has the highest {means.measures[0]}, {first:.4f}"
    return titled(drawn, best if len(means.systems) > 1 else f"{means.systems[0]}: {means.measures[0]} {first:.4f}")


@draws(Losses)
@styled
def plot_losses(found: Losses) -> Figure:
    """Draw for each system what it scored and what it lost, which together make 1."""
    rows = found.to_polars().sort("score", descending=True, maintain_order=True)
    drawn, axis = _rows(tuple(rows["system"]), 1)
    start = np.zeros(rows.height)
    parts = {"score": "score", "lost_by_order": "lost by order", "lost_by_retrieval": "lost by retrieval"}
    for (name, label), colour, hatch in zip(parts.items(), COLOURS, HATCHES, strict=False):
        share = rows[name].to_numpy()
        axis.barh(range(rows.height), share, left=start, color=colour, hatch=hatch, edgecolor="white", label=label)
        start += share
    axis.set(xlabel=found.measure, xlim=(0, 1))
    drawn.legend(loc="outside lower center", ncols=3, frameon=False)
    return titled(drawn, f"What keeps each system from 1 in {found.measure}: missing items, or their order?")


def _rows(systems: tuple[str, ...], keys: int) -> tuple[Figure, Any]:
    """Give an axis with a line for each system, and room for a legend of some keys."""
    drawn, axes = figure(PAGE, 1.0 + (0.22 if len(systems) <= 30 else 0.17) * len(systems) + 0.14 * -(-keys // 3))
    axis: Any = axes[0, 0]
    axis.set_yticks(range(len(systems)), [shortened(printable(name)) for name in systems])
    axis.set_ylim(len(systems) - 0.5, -0.5)
    axis.grid(visible=False, axis="y")
    return drawn, axis
