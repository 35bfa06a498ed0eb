"""Which systems cannot be told apart: all of them by their distance to the best, and a bar beside each group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from rankdev.errors import UsageError, printable
from rankdev.meta.groups import grouped
from rankdev.meta.significance import Significance
from rankdev.reporting.cells import percent
from rankdev.reporting.plots.style import COLOURS, PAGE, figure, shortened, styled, titled

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@styled
def plot_groups(found: Significance, measure: str) -> Figure:
    """Draw every system's distance to the best with its interval; bars join systems that are not told apart."""
    order, behind = _behind(found, measure)
    groups = [(order.index(members[0]), order.index(members[-1])) for members in grouped(order, found, measure)]
    joined = [group for group in groups if group[0] < group[1]]
    lanes = _lanes(joined)
    wide = 0.015 * (max(lanes, default=0) + 1)
    drawn, axes = figure(PAGE, 1.2 + 0.17 * len(order), columns=2, sharey=True, width_ratios=[1 - wide, wide])
    left, right = axes[0]
    left.axvline(0, color="#777777", linewidth=0.8)
    for i, (difference, low, high, told) in enumerate(behind):
        left.plot([low, high], [i, i], color=COLOURS[0], linewidth=1.2)
        left.plot(difference, i, "o", color=COLOURS[0], markerfacecolor=COLOURS[0] if told else "white", markersize=4)
    left.set_yticks(range(len(order)), [shortened(printable(name)) for name in order])
    best = shortened(printable(order[0]), 30)
    label = f"{measure} less that of {best}, {percent(found.confidence)} interval; filled: adjusted p ≤ {found.level:g}"
    left.set(xlabel=label, ylim=(len(order) - 0.5, -0.5))
    left.grid(visible=False, axis="y")
    for lane, (first, last) in zip(lanes, joined, strict=True):
        right.plot([lane, lane], [first - 0.2, last + 0.2], color="#333333", linewidth=2, solid_capstyle="round")
    right.set(xlim=(-0.7, max(lanes, default=0) + 0.7))
    right.axis("off")
    rivals = sum(not told for *_, told in behind)
    return titled(drawn, _words(order, rivals, measure, bool(joined)))


def _behind(found: Significance, measure: str) -> tuple[tuple[str, ...], list[tuple[float, float, float, bool]]]:
    """Give the systems, best first, and each one's difference to the best: it, its interval, whether it is believed."""
    rows = found.to_polars().filter(measure=measure)
    systems = tuple(dict.fromkeys([*rows["a"], *rows["b"]]))
    if not every_pair(rows):
        raise UsageError("groups of systems need every pair of them; test without baselines, or draw the pairs")
    known: dict[tuple[str, str], tuple[float, float, float, bool]] = {}
    for row in rows.iter_rows(named=True):
        difference, low, high = (row[name] or 0.0 for name in ("difference", "low", "high"))
        told = row["p_adjusted"] is not None and row["p_adjusted"] <= found.level
        known[row["a"], row["b"]] = (difference, low, high, told)
        known[row["b"], row["a"]] = (-difference, -high, -low, told)
    ahead = {system: sum(known[system, other][0] for other in systems if other != system) for system in systems}
    order = tuple(sorted(systems, key=lambda system: -ahead[system]))
    return order, [(0.0, 0.0, 0.0, True), *(known[system, order[0]] for system in order[1:])]


def every_pair(rows: pl.DataFrame) -> bool:
    """Tell whether verdicts are about every pair of their systems, and not of baselines alone."""
    systems = len({*rows["a"], *rows["b"]})
    return 2 * rows.height == systems * (systems - 1) * rows["measure"].n_unique()


def _lanes(groups: Sequence[tuple[int, int]]) -> list[int]:
    """Give each bar the first lane in which it touches no other."""
    ends: list[int] = []
    lanes = []
    for first, last in groups:
        lane = next((i for i, end in enumerate(ends) if end < first), len(ends))
        ends[lane : lane + 1] = [last]
        lanes.append(lane)
    return lanes


def _words(order: Sequence[str], rivals: int, measure: str, joined: bool) -> str:
    first = shortened(order[0])
    if not rivals:
        told = "told apart from every other system"
    elif rivals == len(order) - 1:
        told = "not told apart from any other system"
    else:
        told = f"not told apart from {rivals} of {len(order) - 1} others"
    bars = "; bars: neighbours of which no two are told apart" if joined else ""
    return f"{first} is {told} in {measure}{bars}"
