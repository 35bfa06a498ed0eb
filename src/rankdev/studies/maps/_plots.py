"""Reports and figures of power maps and of real pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankdev.display.cells import interval, number
from rankdev.display.dispatch import draws, reports
from rankdev.display.report import Report, Table, intervals
from rankdev.display.style import COLOURS, COLUMN, PAGE, figure, looks, styled, titled
from rankdev.errors import counted
from rankdev.studies.maps.real_pairs import WAYS, RealPairs
from rankdev.studies.maps.result import PowerMap, PowerMaps

if TYPE_CHECKING:
    from matplotlib.figure import Figure


ACROSS = 5  # panels side by side


@reports(PowerMap)
def power_map_report(found: PowerMap) -> Report:
    """Show how far each measure falls short of the best over the whole grid, and the best of every cell."""
    summary, winners = found.summary(), found.winners()
    regrets = summary.select("measure", "regret", intervals(digits=3).alias("95% interval"), "worst", "wins")
    about = (
        "regret: the best measure's power minus this one's, mean over the grid",
        "worst: its largest regret in any cell; wins: cells where it is best",
    )
    title = f"Power at {found.n} queries: how far each measure falls short of the best"
    cells = "The best measure by the kind of difference; `rivals`: measures that tie for best"
    as_given = {"retrieval": "{:g}".format, "order": "{:g}".format}
    return Report(
        found.to_polars(),
        [
            Table(regrets, title, about, digits=3, right=("95% interval",)),
            Table(winners, cells, digits=3, formats=as_given),
        ],
        remarks=found.remarks,
        command="study map",
        parameters=found.parameters,
        summary=summary,
        more={"winners": winners, "intervals": found.intervals()},
    )


@reports(PowerMaps)
def power_maps_report(found: PowerMaps) -> Report:
    """Show the mean regret of every measure for each kind of references."""
    columns: dict[str, Any] = {"measure": list(found.maps[0].measures)}
    for setting, one in zip(found.settings, found.maps, strict=True):
        rows = {row["measure"]: row for row in one.summary().iter_rows(named=True)}
        columns[_named(found.axes, setting)] = [
            f"{number(rows[name]['regret'], 3)} {interval(rows[name]['low'], rows[name]['high'], 2)}"
            for name in columns["measure"]
        ]
    title = f"Power at {found.n} queries: mean regret over the grid, by kind of references"
    about = ("regret: the best measure's power minus this one's; 95% intervals over seeds",)
    table = Table(pl.DataFrame(columns), title, about, names=("measure",), right=list(columns)[1:])
    return Report(
        found.to_polars(),
        [table],
        remarks=found.remarks,
        command="study map",
        parameters=found.parameters,
        summary=found.summary(),
    )


def _named(axes: Sequence[str], setting: Sequence[float]) -> str:
    return ", ".join(f"{axis.replace('_', ' ')} {value:g}" for axis, value in zip(axes, setting, strict=True))


@draws(PowerMaps)
@styled
def plot_power_maps(found: PowerMaps) -> Figure:
    """Draw the mean regret of every measure with its interval, one group for each kind of references."""
    measures = found.maps[0].measures
    drawn, axes = figure(PAGE, 3.8)
    axis, look, step = axes[0, 0], looks(measures), 0.8 / len(measures)
    for m, measure in enumerate(measures):
        rows = [one.summary().filter(measure=measure).row(0, named=True) for one in found.maps]
        value, low, high = (np.array([row[name] for row in rows]) for name in ("regret", "low", "high"))
        at = np.arange(len(rows)) + (m - len(measures) / 2 + 0.5) * step
        style: dict[str, Any] = {"color": look[measure]["color"], "marker": look[measure]["marker"]}
        limits = np.stack([value - low, high - value])
        axis.errorbar(at, value, limits, linestyle="none", markersize=3.5, linewidth=0.8, label=measure, **style)
    axis.set_xticks(
        range(len(found.maps)), [_named(found.axes, setting).replace(", ", "\n") for setting in found.settings]
    )
    axis.grid(visible=False, axis="x")
    axis.set(ylabel="mean regret (0: the best everywhere)")
    axis.set_ylim(bottom=min(0.0, axis.get_ylim()[0]))
    drawn.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=6)
    title = f"How far each measure falls short of the best in power at {found.n} queries (95% intervals)"
    return titled(drawn, title)


@draws(PowerMap)
@styled
def plot_power_map(found: PowerMap) -> Figure:
    """Draw the grid of every measure, least mean regret first; the best measure of a cell has a frame."""
    names, regrets = (found.summary()[name].to_list() for name in ("measure", "regret"))
    down = -(-len(names) // ACROSS)
    drawn, axes = figure(PAGE, 0.9 + 1.6 * down, down, ACROSS, sharex=True, sharey=True)
    power = found.power.mean(axis=0)
    for axis, name, regret in zip(axes.flat, names, regrets, strict=False):
        place = found.measures.index(name)
        image = _draw_cells(axis, found, power[:, :, place], found.best == place)
        axis.set_title(f"{name.replace(',dcg=exp-log2', '')}\nmean regret {regret:.3f}", fontsize=7)
    for axis in axes.flat[len(names) :]:
        axis.set_visible(False)
    for column in range(ACROSS):
        lowest = max(row for row in range(down) if row * ACROSS + column < len(names)) if column < len(names) else 0
        axes[lowest, column].tick_params(labelbottom=True)
    drawn.supxlabel("advantage in order: how well reference items are ordered", fontsize=8)
    drawn.supylabel("advantage in retrieval: how well they are found", fontsize=8)
    drawn.colorbar(image, ax=axes, label=f"power at {found.n} queries", pad=0.01, aspect=40)
    return titled(drawn, "Which measure distinguishes two systems? A frame marks the best measure of a cell")


def _draw_cells(axis: Any, found: PowerMap, cells: Any, best: Any) -> Any:
    from matplotlib.patches import Rectangle

    image = axis.imshow(cells, cmap="viridis", vmin=0, vmax=1, origin="lower", aspect="auto")
    axis.grid(visible=False)
    axis.spines[:].set_visible(False)
    axis.tick_params(length=0)
    axis.set_xticks(range(len(found.order)), [f"{value:g}" for value in found.order])
    axis.set_yticks(range(len(found.retrieval)), [f"{value:g}" for value in found.retrieval])
    for (i, j), value in np.ndenumerate(cells):
        axis.text(j, i, f"{value:.2f}", ha="center", va="center", fontsize=5, color="black" if value > 0.6 else "white")
    for i, j in np.argwhere(best & found.different):
        axis.add_patch(Rectangle((j - 0.45, i - 0.45), 0.9, 0.9, fill=False, edgecolor="#E8000B", linewidth=1.4))
    return image


FAR = 0.05


@reports(RealPairs)
def real_pairs_report(found: RealPairs) -> Report:
    """Report where pairs lie, and how often the map predicts which of two measures has more power for them."""
    low, middle, high = np.quantile(found.by_retrieval, [0.25, 0.5, 0.75])
    far = (found.far > FAR).mean()
    opening = (
        f"{counted(len(found.place), 'pair')} of {counted(len(found.systems), 'system')}: of the difference of a pair"
        f" {middle:.0%} is retrieval, which items are above the cutoff, at the median (quartiles {low:.0%} and"
        f" {high:.0%}); in {found.opposed:.0%} of pairs one is better in retrieval and the other in order; {far:.0%}"
        f" lie further than {FAR:g} from any simulated pair",
    )
    summary = found.summary()
    names = pl.col("way").replace(WAYS).alias("predicted by")
    table = Table(
        summary.select(names, "right", intervals(digits=3).alias("95% interval")),
        "How often the measure with more power is predicted",
        (f"of cases with powers more than {found.apart:g} apart at {found.n} queries; 95% over systems",),
        digits=3,
        right=("95% interval",),
    )
    powers = {"real": found.power.mean(axis=0), "predicted": found.said.mean(axis=0)}
    means = pl.DataFrame({"measure": list(found.measures), **powers}).sort("real", descending=True)
    return Report(
        found.to_polars(),
        [table, Table(means, f"Mean power at {found.n} queries", digits=3)],
        opening=opening,
        remarks=found.remarks,
        command="study map",
        parameters=found.parameters,
        summary=summary,
    )


@draws(RealPairs)
@styled
def plot_real_pairs(found: RealPairs) -> Figure:
    """Draw every pair where its losses put it, coloured by the measure with the most power for it."""
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
    axis.set(xlabel="advantage in retrieval (difference of losses)", ylabel="advantage in order")
    drawn.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=6, markerscale=2)
    return titled(drawn, f"Pairs of systems, by the measure with the most power at {found.n} queries")
