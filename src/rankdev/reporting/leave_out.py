"""What becomes of scores and orders when judgments are taken away: as a report and as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankdev.errors import counted
from rankdev.meta.leave_out import LeaveOut
from rankdev.reporting.cells import interval, number
from rankdev.reporting.door import draws, reports
from rankdev.reporting.plots.style import PAGE, colour_of, figure, shortened, styled, titled
from rankdev.reporting.report import Report, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TEAM = "a team"
NAMES = {"tau": "τ", "tau_ap": "τ_ap", "shift": "all scores", "own": "own scores", "places": "places lost"}


@reports(LeaveOut)
def leave_out_report(found: LeaveOut) -> Report:
    """Show, for every kind of loss, how well orders hold and what a team's own systems lose."""
    rows = found.to_polars()
    tables = []
    for name, cases in found.groups().items():
        part = rows.filter(left_out=name)
        columns = ("tau", "tau_ap", "own", "places") if name == TEAM else ("tau", "tau_ap", "shift")
        shown: dict[str, Any] = {"measure": part["measure"]}
        for column in columns:
            digits = 1 if column == "places" else 3
            shown[NAMES[column]] = [
                f"{number(value, digits)} {interval(low, high, digits)}"
                for value, low, high in part.select(column, f"{column}_low", f"{column}_high").iter_rows()
            ]
        removed = np.mean([found.cases[case][2] for case in cases])
        of = f"mean over {counted(len(cases), 'team')}" if name == TEAM else f"mean over {counted(len(cases), 'draw')}"
        title = f"Without {name}: {removed:,.0f} judgments away, {of}"
        tables.append(Table(pl.DataFrame(shown), title, names=("measure",), right=[NAMES[name] for name in columns]))
    closing = (
        "τ, τ_ap: of the order of systems with that by all judgments; own scores: change of the left-out team's"
        " systems less that of the others; places lost: how far they fall; 95% intervals over queries",
    )
    return Report(
        rows,
        tables,
        closing=closing,
        remarks=found.remarks,
        command="study leave-out",
        parameters=found.parameters,
        summary=rows,
        more={"teams": found.by_team()},
    )


@draws(LeaveOut)
@styled
def plot_leave_out(found: LeaveOut) -> Figure:
    """Draw how well orders hold for every kind of loss, and the places that left-out teams lose."""
    groups = list(found.groups())
    with_teams = TEAM in groups
    drawn, axes = figure(PAGE, 0.9 + 0.24 * len(found.measures) * 1.4, 1, 1 + with_teams, sharey=True)
    rows, at = found.to_polars(), np.arange(len(found.measures))[::-1]
    step = 0.7 / len(groups)
    shades = [str(shade) for shade in np.linspace(0, 0.65, len(groups))]
    for place, (name, shade) in enumerate(zip(groups, shades, strict=True)):
        part = rows.filter(left_out=name)
        height = at + (len(groups) / 2 - 0.5 - place) * step
        _dots(axes[0, 0], part, "tau", height, color=shade, marker="os^Dv<>"[place % 7], label=f"without {name}")
    axes[0, 0].set_yticks(at, [shortened(name) for name in found.measures])
    axes[0, 0].set_ylim(-0.6, len(at) - 0.4)
    axes[0, 0].set(xlabel="Kendall τ with the order by all judgments")
    if with_teams:
        part = rows.filter(left_out=TEAM)
        for i, name in enumerate(found.measures):
            _dots(axes[0, 1], part[i : i + 1], "places", at[i : i + 1], color=colour_of(name), marker="o")
        axes[0, 1].axvline(0, color="#777777", linewidth=0.8)
        axes[0, 1].set(xlabel="places a left-out team's systems lose")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    drawn.legend(handles, labels, loc="outside lower center", ncols=len(groups), frameon=False)
    return titled(drawn, "Do orders of systems hold without some of the judgments? (95% intervals)")


def _dots(axis: Any, part: pl.DataFrame, what: str, height: Any, **look: Any) -> None:
    value, low, high = (part[name].to_numpy() for name in (what, f"{what}_low", f"{what}_high"))
    ends = np.stack([value - low, high - value])
    axis.errorbar(value, height, xerr=ends, linestyle="none", markersize=3.5, linewidth=1, **look)
