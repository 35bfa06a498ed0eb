"""Heatmaps and curves of the studies."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rankdev.reporting.canvas import new_figure
from rankdev.reporting.colours import colour_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DASHES = ("-", "--", ":")


@dataclass(frozen=True)
class Grid:
    """Numbers in rows and columns; ``marked`` cells get a red box, None is shown as not available."""

    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    values: Sequence[Sequence[float | None]]
    marked: frozenset[tuple[int, int]] = frozenset()
    row_title: str = ""
    column_title: str = ""


def heatmap(grid: Grid, colours: str = "viridis") -> Figure:
    """Draw one grid, its cells with three decimals."""
    figure = new_figure(1.2 + 0.95 * len(grid.columns), 1.4 + 0.62 * len(grid.rows))
    axes = figure.add_subplot()
    image = _draw(axes, grid, colours, 3)
    figure.colorbar(image, ax=axes, shrink=0.85)
    return figure


def heatmaps(grids: Sequence[Sequence[Grid]], colours: str, low: float, high: float) -> Figure:
    """Draw rows of grids on one scale; row labels on the left, column labels below."""
    wide, deep = len(grids[0]), len(grids)
    columns, rows = len(grids[0][0].columns), len(grids[0][0].rows)
    figure = new_figure(2.4 + wide * 0.42 * columns, 1.8 + deep * (0.5 * rows + 0.4))
    panels = figure.subplots(deep, wide, squeeze=False)
    for i, line in enumerate(grids):
        for j, grid in enumerate(line):
            image = _draw(panels[i][j], grid, colours, 2, low, high)
            if j:
                panels[i][j].set_yticklabels([])
            if i < deep - 1:
                panels[i][j].set_xticklabels([])
    figure.colorbar(image, ax=panels, shrink=0.8, pad=0.01)
    return figure


def curves(
    title: str, axis: str, sizes: Sequence[int], lines: Mapping[str, Iterable[float]], level: float | None = None
) -> Figure:
    """Draw a line for each measure over the number of queries, on a logarithmic axis."""
    figure = new_figure(9, 5.2)
    axes = figure.add_subplot()
    for i, (measure, values) in enumerate(lines.items()):
        style: dict[str, Any] = {"color": colour_of(measure), "linestyle": DASHES[i % len(DASHES)]}
        axes.plot(sizes, list(values), label=measure, marker="o", markersize=3, linewidth=1.6, **style)
    if level is not None:
        axes.axhline(level, color="#999999", linewidth=0.8, zorder=0)
    axes.set_xscale("log")
    ticks = [size for size in sizes if size in (25, 50, 100, 200, 500, 1000, 2000)]
    axes.set_xticks(ticks, [str(size) for size in ticks])
    axes.minorticks_off()
    axes.set(xlabel="queries", ylabel=axis)
    axes.set_title(title, fontsize=10, loc="left")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.legend(loc="outside right upper", fontsize=8, frameon=False)
    return figure


def _draw(axes: Any, grid: Grid, colours: str, digits: int, low: float | None = None, high: float | None = None) -> Any:
    from matplotlib.patches import Rectangle

    numbers = [[math.nan if value is None else value for value in row] for row in grid.values]
    image = axes.imshow(numbers, cmap=colours, vmin=low, vmax=high, aspect="auto")
    axes.set_xticks(range(len(grid.columns)), grid.columns, rotation=90 if max(map(len, grid.columns)) > 6 else 0)
    axes.set_yticks(range(len(grid.rows)), grid.rows)
    axes.set(title=grid.title, xlabel=grid.column_title, ylabel=grid.row_title)
    for i, row in enumerate(numbers):
        for j, value in enumerate(row):
            text = "–" if math.isnan(value) else f"{value:.{digits}f}".replace("0.", ".").replace("-.00", ".00")
            shade = "black" if math.isnan(value) or _bright(image.cmap(image.norm(value))) else "white"
            axes.text(j, i, text, ha="center", va="center", color=shade, fontsize=9 if digits == 3 else 7)
    for i, j in grid.marked:
        box = Rectangle((j - 0.47, i - 0.47), 0.94, 0.94, fill=False, edgecolor="#e00000", linewidth=2.5)
        axes.add_patch(box)
    return image


def _bright(colour: tuple[float, float, float, float]) -> bool:
    red, green, blue, _ = colour
    return 0.299 * red + 0.587 * green + 0.114 * blue > 0.55
