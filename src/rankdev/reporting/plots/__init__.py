"""Pictures of verdicts, for papers: each function returns a matplotlib figure; :func:`save` writes it."""

from rankdev.reporting.plots.curves import plot_power, plot_stability
from rankdev.reporting.plots.differences import plot_differences
from rankdev.reporting.plots.heatmaps import plot_agreement, plot_sensitivity
from rankdev.reporting.plots.style import FORMATS, save

__all__ = [
    "FORMATS",
    "plot_agreement",
    "plot_differences",
    "plot_power",
    "plot_sensitivity",
    "plot_stability",
    "save",
]
