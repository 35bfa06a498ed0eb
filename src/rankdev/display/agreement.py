"""Reports and figures about measures: agreement and sensitivity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankdev._common.arrays import Bools, Floats
from rankdev._common.checks import check_choice
from rankdev.display.cells import number, percent
from rankdev.display.dispatch import draws, reports
from rankdev.display.power import enumerated_sizes
from rankdev.display.report import Report, Table, intervals, made_with, result_report
from rankdev.display.style import COLUMN, PAGE, draw_intervals, figure, shortened, styled, titled
from rankdev.errors import UsageError, counted, printable
from rankdev.statistics.agreement import Agreement
from rankdev.statistics.agreement_with_people import AgreementWithPeople
from rankdev.statistics.sensitivity import Sensitivity

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@draws(Sensitivity)
@styled
def plot_sensitivity(sensitivity: Sensitivity, chosen: Sequence[Sequence[Any]] = ()) -> Figure:
    """Draw median power over a grid of one or two parameters; ``chosen`` cells, as (1, 0.2), get a red frame."""
    if len(sensitivity.axes) > 2:
        raise UsageError("many-axes", axes=sensitivity.axes)
    down, across = sensitivity.axes if len(sensitivity.axes) == 2 else ("", *sensitivity.axes)
    grid = [(cell[0] if down else "", cell[-1]) for cell in sensitivity.cells]
    rows, columns = (list(dict.fromkeys(values)) for values in zip(*grid, strict=True))
    cells = sensitivity.power.reshape(len(rows), len(columns))
    drawn, axes = figure(COLUMN, 1.2 + 0.33 * len(rows))
    axis: Any = axes[0, 0]
    limits = (float(cells.min()), float(cells.max()))
    if limits[1] - limits[0] < 1e-9:
        limits = (0.0, 1.0)
    image = _heatmap(axis, cells, columns, rows, colours="viridis", limits=limits, text="{:.3f}")
    for cell in chosen:
        if tuple(cell) not in sensitivity.cells:
            raise UsageError("not-a-cell", cell=tuple(cell), axes=sensitivity.axes)
        _frame(axis, columns.index(cell[-1]), rows.index(cell[0]) if down else 0)
    symbols = {"alpha": "α", "lam": "λ"}
    axis.set(xlabel=symbols.get(across, across), ylabel=symbols.get(down, down))
    drawn.colorbar(image, ax=axis, label=f"median power at n = {sensitivity.n}", pad=0.02)
    spread = f"{cells.min():.3f} to {cells.max():.3f}"
    return titled(drawn, f"Power of {sensitivity.measure}, by its parameters: {spread}")


@draws(Agreement)
@styled
def plot_agreement(
    agreement: Agreement, rows: Sequence[str] | None = None, columns: Sequence[str] | None = None
) -> Figure:
    """Draw τ (above) and r (below) between measures, one panel per data set; τ with its interval where there is one.

    ``rows`` and ``columns`` name some measures; without them each pair of measures is drawn once.
    """
    everything = rows is None and columns is None and len(agreement.measures) > 1
    rows, columns = (agreement.measures[1:], agreement.measures[:-1]) if everything else (rows, columns)
    chosen = [list(names or agreement.measures) for names in (rows, columns)]
    for name in (*chosen[0], *chosen[1]):
        check_choice("measure", name, agreement.measures)
    down, across = ([agreement.measures.index(name) for name in names] for names in chosen)
    count = len(agreement.datasets)
    width = PAGE if count > 1 or len(across) > 3 else COLUMN
    hidden = np.triu(np.ones((len(down), len(across)), bool), 1) if everything else None
    lowest = min(
        float(np.nanmin(values[:, down][:, :, across], initial=1.0)) for values in (agreement.tau, agreement.r)
    )
    look: dict[str, Any] = {"colours": "viridis", "limits": (np.floor(10 * lowest) / 10, 1)}
    if lowest < 0:
        look = {"colours": "RdBu", "limits": (-1, 1)}
    each = 0.2 if agreement.tau_limits is None else 0.3  # space for intervals
    drawn, axes = figure(width, 1.5 + 2 * each * len(down) + 0.05 * max(map(len, chosen[1])), 2, count)
    for i, dataset in enumerate(agreement.datasets):
        for axis, values, symbol in zip(axes[:, i], (agreement.tau, agreement.r), ("τ", "r"), strict=True):
            cells = values[i][np.ix_(down, across)]
            names = (chosen[1] if symbol == "r" else [], chosen[0] if i == 0 else [])
            image = _heatmap(axis, cells, *names, text="{:.2f}", hidden=hidden, panels=count, **look)
            if symbol == "τ" and agreement.tau_limits is not None:
                _add_limits(axis, agreement.tau_limits[:, i][:, down][:, :, across])
            axis.set_title(f"{dataset}: {symbol}" if count > 1 or dataset != "all" else symbol)
            axis.tick_params("x", rotation=90)
    drawn.colorbar(image, ax=axes, label="correlation", pad=0.01, aspect=40)
    return titled(drawn, "Do the measures order (τ) and space (r) the systems alike?")


def _heatmap(
    axis: Any,
    cells: Floats,
    columns: Sequence[Any],
    rows: Sequence[Any],
    *,
    colours: str,
    limits: tuple[float, float],
    text: str,
    hidden: Bools | None = None,
    panels: int = 1,
) -> Any:
    masked = np.zeros(cells.shape, bool) if hidden is None else hidden
    image = axis.imshow(np.where(masked, np.nan, cells), cmap=colours, vmin=limits[0], vmax=limits[1], aspect="auto")
    axis.grid(visible=False)
    axis.set_xticks(range(len(columns)), [shortened(printable(str(name))) for name in columns])
    axis.set_yticks(range(len(rows)), [shortened(printable(str(name))) for name in rows])
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)
    size = 7 if panels * cells.shape[1] <= 6 else 5
    for i, j in np.argwhere(~masked):
        value = cells[i, j]
        label = "–" if np.isnan(value) else text.format(value)
        red, green, blue, _ = image.cmap(image.norm(value)) if np.isfinite(value) else (1, 1, 1, 1)
        light = 0.299 * red + 0.587 * green + 0.114 * blue > 0.5
        axis.text(j, i, label, ha="center", va="center", fontsize=size, color="black" if light else "white")
    return image


def _add_limits(axis: Any, limits: Floats) -> None:
    """Write the interval under the number of each cell."""
    for label in axis.texts:
        j, i = (int(coordinate) for coordinate in label.get_position())
        low, high = limits[:, i, j]
        if np.isfinite(low):
            label.set_text(f"{label.get_text()}\n[{low:.2f}, {high:.2f}]")
            label.set_fontsize(label.get_fontsize() - 1)


def _frame(axis: Any, column: int, row: int) -> None:
    from matplotlib.patches import Rectangle

    axis.add_patch(Rectangle((column - 0.47, row - 0.47), 0.94, 0.94, fill=False, edgecolor="#E8000B", linewidth=1.6))


NAMED = 10  # pairs of measures that are compared in a line each


@reports(AgreementWithPeople)
def people_agreement_report(found: AgreementWithPeople) -> Report:
    """Show each measure's agreement, best first, and which measures agree significantly more than others."""
    rows = found.to_polars()
    spread = f"{percent(1 - found.alpha)} interval"
    best_first = rows.sort("agreement", descending=True, maintain_order=True)
    frame = best_first.select("measure", "agreement", intervals(digits=3).alias(spread))
    judged = f"{counted(len(found.preferred), 'preference')}, {counted(found.queries, 'query')}"
    title = f"How often each measure prefers the list that assessors prefer: {judged}"
    pairs = found.between()
    clear = pairs.filter(pl.Series(found.significant, dtype=pl.Boolean))
    notes = [
        f"{row['a'] if row['difference'] > 0 else row['b']} agrees significantly more than"
        f" {row['b'] if row['difference'] > 0 else row['a']}, by {number(abs(row['difference']), 3)}"
        for row in clear.head(NAMED).iter_rows(named=True)
    ]
    if clear.height > NAMED:
        notes.append(f"and {counted(clear.height - NAMED, 'more pair')} of measures")
    if not notes and pairs.height:
        notes = ["no measure agrees significantly more than another"]
    ceiling = [] if found.ceiling is None else [f"agreement between judges: {number(found.ceiling, 3)}"]
    closing = [*notes, *ceiling, f"{counted(found.ties, 'tie')} left out; 0.5 is chance"]
    return Report(
        rows,
        [Table(frame, title, digits=3, right=(spread,), bars=("agreement",))],
        closing=closing,
        remarks=found.remarks,
        command="agreement",
        parameters=found.parameters,
        summary=rows,
        more={"between": pairs, "by_size": found.by_size()},
    )


@draws(AgreementWithPeople)
@styled
def plot_people_agreement(found: AgreementWithPeople) -> Figure:
    """Draw each measure's agreement with its interval."""
    rows = found.to_polars()
    label = f"fraction of the preferences predicted, {percent(1 - found.alpha)} interval; 0.5 is chance"
    drawn = draw_intervals(rows, "agreement", [("", name) for name in rows["measure"]], label)
    return titled(drawn, "How often each measure prefers the list that assessors prefer")


@reports(Sensitivity)
def sensitivity_report(found: Sensitivity) -> Report:
    """Show the median power of each cell, as a grid where there are two parameters."""
    frame = found.to_polars()
    if len(found.axes) == 2:
        first, second = found.axes
        frame = frame.pivot(second, index=first, values="power", maintain_order=True)
        named = {name: f"{second}={name}" for name in frame.columns if name != first}
        frame = frame.select(pl.format(f"{first}={{}}", pl.col(first)).alias(found.measure), pl.exclude(first))
        frame = frame.rename(named)
    title = f"Median power at {found.n} {found.unit}"
    closing = [*enumerated_sizes([found.n], found.permutations), made_with(found, "measure", "n", "clusters")]
    return result_report(found, "sensitivity", [Table(frame, title, digits=3)], (), closing)


@reports(Agreement)
def agreement_report(found: Agreement) -> Report:
    """Show τ, r and τ_ap of each pair of measures, and the interval of τ where there is one."""
    frame = found.summary()
    if found.tau_limits is not None:
        limits = intervals("tau_low", "tau_high", 3).alias("tau, 95%")
        frame = frame.select("dataset", "a", "b", "tau", limits, "r", "tau_ap")
    if len(found.datasets) == 1:
        frame = frame.drop("dataset")
    table = Table(frame, "Agreement between measures over system means", digits=3, right=("tau, 95%",))
    return result_report(found, "agreement", [table])
