"""Figures of the points-of-interest study."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rankdev.reporting.canvas import save_figure
from rankdev.reporting.study_plots import Grid, curves, heatmap
from rankdev.studies.poi import Poi

REPORTED = {(1.0, 0.2), (4.0, 0.2)}  # (α, λ) of the main experiments, in red boxes


def save_poi_figures(study: Poi, folder: str | Path) -> list[Path]:
    """Write figure1.png (sensitivity), power.png and stability.png; give their paths."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    power, stability = study.power, study.stability
    medians = dict(zip(power.measures, np.median(power.power, axis=1), strict=True))
    orders = dict(zip(stability.measures, stability.tau, strict=True))
    figures = {
        "figure1.png": heatmap(_sensitivity_grid(study)),
        "power.png": curves(f"Median power over pairs ({study.source})", "power", power.sizes, medians, 0.8),
        "stability.png": curves(f"Order of systems ({study.source})", "Kendall τ-b", stability.sizes, orders, 0.8),
    }
    for name, figure in figures.items():
        save_figure(figure, target / name)
    return [target / name for name in figures]


def _sensitivity_grid(study: Poi) -> Grid:
    found = study.sensitivity
    alphas, lams = (list(dict.fromkeys(cell[i] for cell in found.cells)) for i in (0, 1))
    values = found.power.reshape(len(alphas), len(lams)).tolist()
    marked = frozenset((alphas.index(a), lams.index(b)) for a, b in found.cells if (a, b) in REPORTED)
    title = f"Median power at {found.n} queries"
    rows, columns = ([f"{value:g}" for value in axis] for axis in (alphas, lams))
    return Grid(title, rows, columns, values, marked, "α", "λ")
