"""Figure 2: how RDQ and other measures agree on the order of systems, year by year."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rankdev.reporting.canvas import save_figure
from rankdev.reporting.study_plots import Grid, heatmaps
from rankdev.studies.trec_dl.study import BASELINES, RDQ, TrecDl


def save_trec_dl_figures(study: TrecDl, folder: str | Path) -> list[Path]:
    """Write figure2.png, and give its path; nothing where there are no runs."""
    found = study.agreement
    if found is None:
        return []
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    rows, columns = ([found.measures.index(text) for text in group] for group in (RDQ, BASELINES))
    names = [[text.partition("@")[0] for text in group] for group in (RDQ, BASELINES)]
    grids = [
        [
            Grid(f"{label}, {year}", names[0], names[1], _cells(values[at][np.ix_(rows, columns)]))
            for at, year in enumerate(found.datasets)
        ]
        for label, values in (("Kendall τ", found.tau), ("Pearson r", found.r))
    ]
    save_figure(heatmaps(grids, "RdBu", -1.0, 1.0), target / "figure2.png")
    return [target / "figure2.png"]


def _cells(values: np.ndarray) -> list[list[float | None]]:
    return [[None if np.isnan(value) else float(value) for value in row] for row in values]
