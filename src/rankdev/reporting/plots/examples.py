"""Rankings drawn position by position, each with its scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rankdev.reporting.plots.style import colour_of, figure, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from rankdev.evaluation.explain import Explanation

OUTSIDE = "#9a9a9a"


@dataclass(frozen=True)
class Example:
    """One ranking: what it is called, its reference in words, RDQ explanations and scores by measure."""

    name: str
    reference: str
    explanations: Mapping[str, Explanation]
    scores: Mapping[str, float | None]


@styled
def plot_examples(examples: Sequence[Example], labels: Mapping[str, str]) -> Figure:
    """Draw a line for each example: bars as high as the positions' weights, and all scores.

    A bar is filled as far as the first explanation gives credit; the others' credits are short lines in their
    colours. ``labels`` gives the heading of each measure.
    """
    drawn, panels = figure(17, 0.6 + 1.05 * len(examples), len(examples), 2, layout=None, width_ratios=[1, 1.9])
    drawn.subplots_adjust(left=0.01, right=0.995, bottom=0.005, top=0.965, wspace=0.02, hspace=0.12)
    for (left, right), example in zip(panels, examples, strict=True):
        _draw_positions(left, example)
        _draw_scores(right, example)
    _draw_headings(panels[0], labels, next(iter(examples[0].explanations)))
    return drawn


def _draw_positions(axes: Any, example: Example) -> None:
    first, *others = example.explanations
    for entry in example.explanations[first].positions:
        at = entry.position
        axes.bar(at, entry.weight, width=0.8, color="white", edgecolor="#555555", linewidth=0.8)
        axes.bar(at, entry.weight * entry.credit, width=0.8, color=colour_of(first))
        for measure in others:
            other = example.explanations[measure].positions[at - 1]
            level = other.weight * other.credit
            axes.plot([at - 0.4, at + 0.4], [level, level], color=colour_of(measure), linewidth=2.2)
        label = "empty" if entry.item is None else entry.item if entry.rank else "0"
        axes.text(at, -0.08, label, ha="center", va="top", color="black" if entry.rank else OUTSIDE, fontsize=9)
    axes.set(xlim=(-2.9, 5.6), ylim=(-0.32, 1.08))
    axes.text(-2.85, 0.95, example.name, ha="left", va="top", fontsize=11, fontweight="bold")
    axes.text(-2.85, 0.55, example.reference, ha="left", va="top", fontsize=8)
    axes.axis("off")


def _draw_scores(axes: Any, example: Example) -> None:
    for i, (measure, value) in enumerate(example.scores.items()):
        colour = colour_of(measure)
        if value is None:
            axes.text(i, 0.3, "–", ha="center", va="center", color=OUTSIDE, fontsize=10)
            continue
        axes.bar(i, 0.5 * max(value, 0.0), bottom=0.42, width=0.7, color=colour)
        axes.plot([i - 0.35, i + 0.35], [0.92, 0.92], color="#cccccc", linewidth=0.8)
        axes.text(i, 0.3, f"{value:.4f}", ha="center", va="top", color="black", fontsize=9)
    axes.set(xlim=(-0.6, len(example.scores) - 0.4), ylim=(-0.05, 1.08))
    axes.axis("off")


def _draw_headings(panels: Any, labels: Mapping[str, str], first: str) -> None:
    what = f"height: weight of the position; filled: credit of {labels[first]}; lines: the other RDQ"
    panels[0].set_title(what, fontsize=9, loc="left")
    for i, (measure, label) in enumerate(labels.items()):
        panels[1].text(i, 1.18, label, ha="center", va="bottom", color=colour_of(measure), fontsize=9, weight="bold")
