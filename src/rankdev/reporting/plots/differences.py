"""Query by query: where one system beats another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rankdev.arrays import Floats
from rankdev.errors import printable
from rankdev.evaluation.scores import Scores
from rankdev.meta.common_queries import as_scores, panels
from rankdev.meta.query_differences import QueryDifferences
from rankdev.meta.significance import significance
from rankdev.reporting.door import draws
from rankdev.reporting.plots.style import COLOURS, PAGE, figure, shortened, styled, titled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMED = 40  # queries up to which each bar carries its query's name


@draws(QueryDifferences)
def plot_query_differences(found: QueryDifferences, measure: str | None = None) -> Figure:
    """Draw the differences under one measure, the first unless named."""
    scores = Scores((found.a, found.b), found.queries, found.measures, found.values)
    return plot_differences(scores, found.a, found.b, measure or found.measures[0])


@styled
def plot_differences(scores: Any, a: str, b: str, measure: str) -> Figure:
    """Draw two systems query by query: their differences, largest first, and each query's two scores as a point."""
    chosen = as_scores(scores, [measure]).select(systems=[a, b])
    panel = panels(chosen)[0]
    apart = panel.values[:, 0, 0] - panel.values[:, 1, 0]
    order = np.argsort(-apart, kind="stable")
    counted = significance(chosen, test="t", correction="none").to_polars()  # what is only rounding is a tie there
    wins, ties, losses = (int(counted[name][0]) for name in ("wins", "ties", "losses"))
    drawn, (left, right) = _panels()
    _bars(left, apart[order], [chosen.queries[panel.queries[i]] for i in order])
    left.set_ylabel(f"difference in {measure}")
    _points(right, panel.values[:, :, 0])
    one, other = (shortened(printable(name)) for name in (a, b))
    right.set(xlabel=other, ylabel=one)
    return titled(drawn, f"{one} beats {other} on {wins}, ties on {ties} and loses on {losses} of {len(apart)} queries")


def _panels() -> tuple[Figure, Any]:
    drawn, axes = figure(PAGE, 3.1, columns=2, width_ratios=[1.5, 1])
    return drawn, axes[0]


def _bars(axis: Any, apart: Floats, names: list[str]) -> None:
    """Draw the differences in their order, with their mean as a line."""
    mean = apart.mean()
    colours = np.where(apart >= 0, COLOURS[0], COLOURS[1])
    axis.bar(range(len(apart)), apart, width=1.0 if len(apart) > 60 else 0.8, color=colours)
    axis.axhline(0, color="black", linewidth=0.6)
    axis.axhline(mean, color="#555555", linewidth=0.8, linestyle=(0, (4, 2)))
    axis.set(xlim=(-0.6, len(apart) - 0.4))
    axis.set_title(f"by difference; dashed: mean {mean:+.3f}".replace("-", "−"), loc="left")
    axis.grid(visible=False, axis="x")
    if len(apart) <= NAMED:
        labels = [shortened(printable(name), 22) for name in names]
        axis.set_xticks(range(len(apart)), labels, rotation=90, fontsize=6)
    else:
        axis.set_xlabel(f"{len(apart):,} queries")


def _points(axis: Any, values: Floats) -> None:
    """Draw a point per query: the first system's score over the second's; on the line they are equal."""
    ends = [float(values.min()), float(values.max())]
    axis.plot(ends, ends, color="#777777", linewidth=0.8)
    first, second = values.T
    for side, sign, colour in ((first >= second, "o", COLOURS[0]), (first < second, "x", COLOURS[1])):
        axis.plot(second[side], first[side], sign, color=colour, markersize=4, alpha=0.6 if len(first) > 60 else 0.9)
    room = 0.04 * (ends[1] - ends[0]) or 0.1
    axis.set(xlim=(ends[0] - room, ends[1] + room), ylim=(ends[0] - room, ends[1] + room))
    axis.set_aspect("equal")
    axis.set_title("below the line: lost", loc="left")
