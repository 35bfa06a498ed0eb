"""Numbers with their intervals, one line each: differences, means, strengths; and bars for a single list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankdev.errors import printable
from rankdev.evaluation.explain import Explanation
from rankdev.evaluation.scores import Scores
from rankdev.meta.judgment_uncertainty import Doubt
from rankdev.meta.planning import Plan
from rankdev.meta.significance import Significance
from rankdev.preferences import NextPairs, Strengths, Tiers, WorkerQuality
from rankdev.reporting.door import draws
from rankdev.reporting.plots.style import COLOURS, PAGE, figure, shortened, side_by_side, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = 60  # lines that a picture holds; the others are left to the table


@draws(Scores)
@styled
def plot_scores(scores: Scores) -> Figure:
    """Draw each system's means, one group of dots per measure."""
    names = [(measure, system) for measure in scores.measures for system in scores.systems]
    label = f"mean (sum of {', '.join(scores.sums)})" if scores.sums else "mean"
    return _lines(names, scores.means.T.ravel(), None, None, label)


@draws(Significance)
@styled
def plot_significance(found: Significance) -> Figure:
    """Draw each pair's difference with its interval; filled dots are differences that can be believed."""
    rows = found.to_polars()
    names = [(row["measure"], row["a"], row["b"]) for row in rows.iter_rows(named=True)]
    believed = (rows["p_adjusted"] <= found.level).fill_null(False).to_list()
    label = f"difference, {found.confidence:.0%} interval; filled: adjusted p ≤ {found.level:g}"
    return draw_intervals(rows, "difference", names, label, believed, zero=True, between=" − ")


@draws(Doubt)
@styled
def plot_doubt(found: Doubt) -> Figure:
    """Draw each system's mean with the interval that queries and judgments leave."""
    rows = found.to_polars()
    names = list(rows.select("measure", "system").iter_rows())
    return draw_intervals(rows, "mean", names, f"mean, {found.confidence:.0%} interval")


@draws(Strengths)
@styled
def plot_strengths(found: Strengths) -> Figure:
    """Draw each item's strength with its interval, query by query."""
    rows = found.to_polars()
    names = list(rows.select("query", "item").iter_rows())
    return draw_intervals(rows, "strength", names, f"strength, {found.confidence:.0%} interval", zero=True)


@draws(Tiers)
@styled
def plot_tiers(found: Tiers) -> Figure:
    """Draw strengths as :func:`plot_strengths` does, tier by tier in another colour."""
    rows = found.to_polars()
    names = list(rows.select("query", "item").iter_rows())
    label = f"strength, {found.strengths.confidence:.0%} interval; one colour per tier"
    return draw_intervals(rows, "strength", names, label, zero=True, groups=rows["rank"].to_list())


@draws(WorkerQuality)
@styled
def plot_workers(found: WorkerQuality) -> Figure:
    """Draw each worker's quality with its interval."""
    rows = found.to_polars()
    names = [("", worker) for worker in rows["worker"]]
    return draw_intervals(rows, "quality", names, f"quality, {found.confidence:.0%} interval")


@draws(NextPairs)
@styled
def plot_next_pairs(found: NextPairs) -> Figure:
    """Draw what each pair's answer is expected to teach."""
    label = "expected information (bits)"
    return _lines(list(found), np.array([row[3] for row in found.rows]), None, None, label, between=" or ")


@draws(Plan)
@styled
def plot_plan(found: Plan) -> Figure:
    """Draw power against the number of queries, with the number that is needed."""
    sizes, analytic, resampled = found.curve
    drawn, axes = figure(PAGE, 3.2)
    axis: Any = axes[0, 0]
    axis.plot(sizes, analytic, "o-", color=COLOURS[0], label="analytic")
    axis.plot(sizes, resampled, "s--", color=COLOURS[1], label="resampling the pilot")
    axis.axhline(found.power, color="#777777", linewidth=0.8)
    if np.isfinite(found.queries):
        axis.axvline(found.queries, color="#777777", linewidth=0.8, linestyle=":")
    axis.set(xlabel="queries n", ylabel=f"power to detect {found.difference:.4g}", ylim=(-0.02, 1.02))
    axis.set_title(shortened(printable(f"{found.a} and {found.b}, {found.measure}"), 90), loc="left")
    axis.legend(frameon=False)
    return drawn


@draws(Explanation)
@styled
def plot_explanation(found: Explanation) -> Figure:
    """Draw each position: a bar as long as its weight, filled as far as credit was earned."""
    drawn, axes = figure(PAGE, 0.9 + 0.28 * len(found.positions))
    axis: Any = axes[0, 0]
    at = [entry.position for entry in found.positions]
    axis.barh(at, [entry.weight for entry in found.positions], color="white", edgecolor="#555555", linewidth=0.8)
    axis.barh(at, [entry.weight * entry.credit for entry in found.positions], color=COLOURS[0])
    names = ["(empty)" if entry.item is None else entry.item for entry in found.positions]
    axis.set_yticks(at, [f"{shortened(printable(name))}  {i}" for i, name in zip(at, names, strict=True)])
    axis.invert_yaxis()
    axis.grid(visible=False, axis="y")
    axis.set(xlabel="weight of the position; filled: credit earned")
    axis.set_title(f"{found.measure} = {found.score:.4f}", loc="left")
    return drawn


def draw_intervals(
    rows: pl.DataFrame, value: str, names: Sequence[tuple[str, ...]], label: str, filled: Any = None, **look: Any
) -> Figure:
    """Draw a dot per row of a table with the columns ``value``, low and high; ``look`` as for a list of lines."""
    middle, low, high = (rows[name].cast(float).fill_null(np.nan).to_numpy() for name in (value, "low", "high"))
    return _lines(names, middle, low, high, label, filled, **look)


def _lines(
    names: Sequence[tuple[str, ...]],
    values: Any,
    low: Any,
    high: Any,
    label: str,
    filled: Sequence[bool] | None = None,
    *,
    zero: bool = False,
    groups: Sequence[int] | None = None,
    between: str = "",
) -> Figure:
    """Draw a dot and its interval per name: a group, told where there are several, and one name or two."""
    count = min(len(names), SHOWN)
    left_out = f"\n{len(names) - count:,} more in the table" if len(names) > count else ""
    drawn, axes = figure(PAGE, 0.9 + 0.2 * count)
    axis: Any = axes[0, 0]
    if zero:
        axis.axvline(0, color="#777777", linewidth=0.8)
    for i in range(count):
        colour = COLOURS[(0 if groups is None else groups[i] - 1) % len(COLOURS)]
        if low is not None and np.isfinite(low[i]) and np.isfinite(high[i]):
            axis.plot([low[i], high[i]], [i, i], color=colour, linewidth=1.4)
        face = colour if filled is None or filled[i] else "white"
        axis.plot(values[i], i, "o", color=colour, markerfacecolor=face, markersize=5)
    several = len({first for first, *_ in names}) > 1
    axis.set_yticks(range(count), [_label(name, between, several) for name in names[:count]])
    axis.set(xlabel=label + left_out, ylim=(count - 0.5, -0.5))
    axis.grid(visible=False, axis="y")
    return drawn


def _label(name: tuple[str, ...], between: str, grouped: bool) -> str:
    """Write a name so that each part of it can still be told."""
    first, *rest = side_by_side([printable(part) for part in (name if grouped else ("", *name[1:]))])
    return f"{first}: {between.join(rest)}" if first else between.join(rest)
