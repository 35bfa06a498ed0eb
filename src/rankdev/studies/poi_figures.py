"""Figures of the points-of-interest study."""

from __future__ import annotations

from pathlib import Path

from rankdev.reporting.plots import plot_power, plot_sensitivity, plot_stability, save
from rankdev.studies.poi import Poi

REPORTED = [(1, 0.2), (4, 0.2)]  # (α, λ) of the main experiments, in red frames


def save_poi_figures(study: Poi, folder: str | Path) -> list[Path]:
    """Write figure1.png (sensitivity), power.png and stability.png; give their paths."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    figures = {
        "figure1.png": plot_sensitivity(study.sensitivity, REPORTED),
        "power.png": plot_power(study.power),
        "stability.png": plot_stability(study.stability),
    }
    return [save(figure, target / name) for name, figure in figures.items()]
