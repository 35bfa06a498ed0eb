"""Pictures of verdicts, for papers: each function returns a matplotlib figure; :func:`save` writes it."""

from rankdev.reporting.plots import intervals, means
from rankdev.reporting.plots.curves import plot_power, plot_stability
from rankdev.reporting.plots.differences import plot_differences
from rankdev.reporting.plots.examples import Example, plot_examples
from rankdev.reporting.plots.heatmaps import plot_agreement, plot_sensitivity
from rankdev.reporting.plots.style import check_name, colour_of, save

__all__ = [
    "Example",
    "check_name",
    "colour_of",
    "intervals",
    "means",
    "plot_agreement",
    "plot_differences",
    "plot_examples",
    "plot_power",
    "plot_sensitivity",
    "plot_stability",
    "save",
]
