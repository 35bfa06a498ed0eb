"""Numbers with their intervals, one line each: differences, means, strengths; and bars for a single list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankdev.arguments import check_choice
from rankdev.errors import counted, printable
from rankdev.evaluation.explain import Explanation
from rankdev.meta.judgment_uncertainty import Doubt
from rankdev.meta.planning import Plan
from rankdev.meta.significance import Significance
from rankdev.preferences import NextPairs, Strengths, Tiers, WorkerQuality
from rankdev.reporting.cells import count, percent
from rankdev.reporting.door import draws
from rankdev.reporting.plots.groups import every_pair, plot_groups
from rankdev.reporting.plots.style import (
    COLOURS,
    MARKERS,
    PAGE,
    figure,
    over_queries,
    shortened,
    side_by_side,
    styled,
    titled,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = 80  # lines that a picture holds; the others are left to the table


@draws(Significance)
def plot_significance(found: Significance, show: str | None = None, measure: str | None = None) -> Figure:
    """Draw each pair's difference with its interval, or ``show="groups"``: which systems cannot be told apart.

    Groups are of one measure, the first unless named. Where the pairs are too many for a picture, it shows groups.
    """
    rows = found.to_polars()
    measures = rows["measure"].unique(maintain_order=True).to_list()
    if measure is not None:
        check_choice("measure", measure, measures)
        rows = rows.filter(measure=measure)
    chosen = show or ("groups" if rows.height > SHOWN and every_pair(rows) else "pairs")
    check_choice("show", chosen, ("pairs", "groups"))
    return plot_groups(found, measure or measures[0]) if chosen == "groups" else plot_pairs(found, rows)


@styled
def plot_pairs(found: Significance, rows: pl.DataFrame) -> Figure:
    """Draw each pair's difference with its interval; filled dots are differences that can be believed."""
    names = [(row["measure"], row["a"], row["b"]) for row in rows.iter_rows(named=True)]
    believed = (rows["p_adjusted"] <= found.level).fill_null(False).to_list()
    label = f"difference, {percent(found.confidence)} interval; filled: adjusted p ≤ {found.level:g}"
    drawn = draw_intervals(rows, "difference", names, label, believed, zero=True, between=" − ")
    measures = rows["measure"].unique(maintain_order=True)
    under = f" in {measures[0]}" if len(measures) == 1 else f" in {len(measures)} measures"
    return titled(drawn, f"{sum(believed)} of {counted(rows.height, 'difference')} told apart{under}")


@draws(Doubt)
@styled
def plot_doubt(found: Doubt) -> Figure:
    """Draw each system's mean with the interval that queries and judgments leave."""
    rows = found.to_polars()
    names = list(rows.select("measure", "system").iter_rows())
    drawn = draw_intervals(rows, "mean", names, f"mean, {percent(found.confidence)} interval")
    return titled(drawn, "Means, with what both queries and judgments leave open")


@draws(Strengths)
@styled
def plot_strengths(found: Strengths) -> Figure:
    """Draw each item's strength with its interval, query by query."""
    rows = found.to_polars()
    names = list(rows.select("query", "item").iter_rows())
    drawn = draw_intervals(rows, "strength", names, f"strength, {percent(found.confidence)} interval", zero=True)
    return titled(drawn, f"How much {counted(rows.height, 'item', 'is')} preferred, by {found.method}")


@draws(Tiers)
@styled
def plot_tiers(found: Tiers) -> Figure:
    """Draw strengths as :func:`plot_strengths` does, tier by tier with another sign."""
    rows = found.to_polars()
    names = list(rows.select("query", "item").iter_rows())
    label = f"strength, {percent(found.strengths.confidence)} interval; one colour and sign per tier"
    drawn = draw_intervals(rows, "strength", names, label, zero=True, groups=rows["rank"].to_list())
    tiers = rows.select("query", "rank").unique().height
    return titled(drawn, f"{counted(rows.height, 'item')} in {counted(tiers, 'tier')}")


@draws(WorkerQuality)
@styled
def plot_workers(found: WorkerQuality) -> Figure:
    """Draw each worker's quality with its interval."""
    rows = found.to_polars()
    names = [("", worker) for worker in rows["worker"]]
    drawn = draw_intervals(rows, "quality", names, f"quality, {percent(found.confidence)} interval")
    return titled(drawn, "How often each worker answers as the common order says")


@draws(NextPairs)
@styled
def plot_next_pairs(found: NextPairs) -> Figure:
    """Draw what each pair's answer is expected to teach."""
    label = "expected information (bits)"
    drawn = _lines(list(found), np.array([row[3] for row in found.rows]), None, None, label, between=" or ")
    return titled(drawn, "Which answers would be most informative")


@draws(Plan)
@styled
def plot_plan(found: Plan) -> Figure:
    """Draw power against the number of queries, with the number that is needed and its 95% interval as a band."""
    sizes, analytic, resampled = found.curve
    drawn, axes = figure(PAGE, 3.2)
    axis: Any = axes[0, 0]
    axis.plot(sizes, analytic, "o-", color=COLOURS[0], label="analytic")
    axis.plot(sizes, resampled, "s--", color=COLOURS[1], label="resampling the pilot")
    axis.axhline(found.power, color="#777777", linewidth=0.8)
    if np.isfinite(found.queries):
        axis.axvline(found.queries, color="#777777", linewidth=0.8, linestyle=":")
    if np.isfinite(found.low):
        end = max(sizes[-1], found.high) if np.isfinite(found.high) else 2 * sizes[-1]
        words = f"queries needed, 95%: {count(found.low)} to {count(found.high)}"
        axis.axvspan(found.low, min(end, found.high), color=COLOURS[0], alpha=0.1, linewidth=0, label=words)
        over_queries(axis, [int(min(sizes[0], found.low)), int(end)])
    axis.set(xlabel="queries n", ylabel=f"power to detect {found.difference:.4g}", ylim=(-0.02, 1.02))
    axis.legend(frameon=False)
    pair = " and ".join(shortened(name) for name in (found.a, found.b))
    enough = count(found.queries) if np.isfinite(found.queries) else "More than ten million"
    return titled(drawn, f"{enough} queries give {percent(found.power)} power to tell {pair} apart in {found.measure}")


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
    lost = f"{found.retrieval_loss:.4f} lost by what was returned, {found.ordering_loss:.4f} by its order"
    return titled(drawn, f"{found.measure} = {found.score:.4f}: {lost}")


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
    lines = min(len(names), SHOWN)
    left_out = f"\n{len(names) - lines:,} more in the table" if len(names) > lines else ""
    drawn, axes = figure(PAGE, 1.0 + (0.2 if lines <= 30 else 0.17) * lines)
    axis: Any = axes[0, 0]
    if zero:
        axis.axvline(0, color="#777777", linewidth=0.8)
    for i in range(lines):
        group = 0 if groups is None else groups[i] - 1
        colour, sign = COLOURS[group % len(COLOURS)], MARKERS[group % len(MARKERS)]
        if low is not None and np.isfinite(low[i]) and np.isfinite(high[i]):
            axis.plot([low[i], high[i]], [i, i], color=colour, linewidth=1.4)
        face = colour if filled is None or filled[i] else "white"
        axis.plot(values[i], i, sign, color=colour, markerfacecolor=face, markersize=5)
    several = len({first for first, *_ in names}) > 1
    axis.set_yticks(range(lines), [_label(name, between, several) for name in names[:lines]])
    axis.set(xlabel=label + left_out, ylim=(lines - 0.5, -0.5))
    axis.grid(visible=False, axis="y")
    return drawn


def _label(name: tuple[str, ...], between: str, grouped: bool) -> str:
    """Write a name so that each part of it can still be told."""
    first, *rest = side_by_side([printable(part) for part in (name if grouped else ("", *name[1:]))])
    return f"{first}: {between.join(rest)}" if first else between.join(rest)
