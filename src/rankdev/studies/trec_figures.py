"""Pictures of the study of a whole track."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rankdev.meta.sensitivity import Sensitivity
from rankdev.reporting.plots import plot_agreement, plot_power, plot_sensitivity, plot_stability, save
from rankdev.reporting.plots.style import PAGE, figure, looks, styled, titled
from rankdev.studies.trec import KINDS, Track

if TYPE_CHECKING:
    from matplotlib.figure import Figure

REPORTED = [(1, 0.2), (4, 0.2)]  # (α, λ) of the paper's experiments, in red frames


def save_trec_figures(study: Track, folder: str | Path) -> list[Path]:
    """Write the pictures of what is finished, and give their paths."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    figures = {"power.png": plot_power(study.power)}
    if study.grid is not None:
        figures["figure1.png"] = plot_sensitivity(_grid(study), REPORTED)
    if study.agreement is not None:
        figures["figure2.png"] = plot_agreement(study.agreement, *study.measures)
    if study.stability is not None:
        figures["stability.png"] = plot_stability(study.stability)
    if study.buckets:
        figures["buckets.png"] = plot_buckets(study)
    return [save(drawn, target / name) for name, drawn in figures.items()]


def _grid(study: Track) -> Sensitivity:
    assert study.grid is not None
    found = study.grid
    median = np.median(found.power[:, :, 0], axis=1)
    made = (found.subsamples, found.permutations, found.alpha, found.p_value, found.seed)
    measure = study.measures[0][0]
    return Sensitivity(measure, ("alpha", "lam"), study.cells, found.measures, median, study.n, *made)


@styled
def plot_buckets(study: Track) -> Figure:
    """Draw the median power of every measure in each bucket, with its interval; one panel per kind of bucket."""
    kinds = [kind for kind in KINDS if any(part.kind == kind for part in study.buckets)]
    measures = list(study.scores.measures)
    drawn, axes = figure(PAGE, 3.6, 1, len(kinds), sharey=True)
    look, step = looks(measures), 0.8 / len(measures)
    for axis, kind in zip(axes[0], kinds, strict=True):
        parts = [part for part in study.buckets if part.kind == kind]
        for m, measure in enumerate(measures):
            rows = [part.power.summary(study.n).row(m, named=True) for part in parts]
            value, low, high = (np.array([row[name] for row in rows]) for name in ("p50", "p50_low", "p50_high"))
            at = np.arange(len(parts)) + (m - len(measures) / 2 + 0.5) * step
            style: dict[str, Any] = {"color": look[measure]["color"], "marker": look[measure]["marker"]}
            ends = np.stack([value - low, high - value])
            axis.errorbar(at, value, ends, linestyle="none", markersize=3, linewidth=0.8, label=measure, **style)
        axis.set_xticks(range(len(parts)), [f"{part.label}\n{part.queries} queries" for part in parts])
        axis.grid(visible=False, axis="x")
        axis.set(xlabel=f"{kind} (items)", ylim=(0, 1.02))
    axes[0, 0].set_ylabel(f"median power at {study.n} queries")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    drawn.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=6)
    return titled(drawn, "Which measure tells systems apart, by what references are like (95% intervals)")
