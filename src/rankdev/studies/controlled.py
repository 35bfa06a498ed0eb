"""Controlled examples: the paper's Table 1."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

import rankdev as rd
from rankdev.data.reference import Reference
from rankdev.display.report import Report, Table
from rankdev.display.style import check_name, colour_of, figure, save, styled
from rankdev.measures import Measure
from rankdev.measures.rdq import RDQ

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from rankdev.evaluation.explain import Explanation


DIGITS = 4
DRAWN = ("RDQ@5", "RDQ(alpha=4)@5", "RDQ(penalty=m1)@5")


@dataclass(frozen=True)
class Cell:
    """One value of the table: ours, and the published one; None where a measure is not available."""

    experiment: str
    label: str
    measure: str
    value: float | None
    published: float | None

    @property
    def agrees(self) -> bool:
        """Whether both are the same number to four decimals."""
        if self.value is None or self.published is None:
            return self.value is self.published
        return f"{self.value:.{DIGITS}f}" == f"{self.published:.{DIGITS}f}"


@dataclass(frozen=True)
class Controlled:
    """All cells of Table 1."""

    experiments: tuple[str, ...]
    cells: tuple[Cell, ...]
    examples: tuple[dict[str, Any], ...] = field(default=(), repr=False)

    def to_polars(self) -> pl.DataFrame:
        """One row per cell: experiment, label (the paper's), measure, value, published, agrees."""
        return pl.DataFrame([{**vars(cell), "agrees": cell.agrees} for cell in self.cells], infer_schema_length=None)


def run_controlled() -> Controlled:
    """Compute every cell through the public API."""
    table = json.loads(files("rankdev").joinpath("data/studies/controlled.json").read_text("utf-8"))
    cells = [
        Cell(example["experiment"], label, text, _score(example, text), published)
        for example in table["experiments"]
        for (label, text), published in zip(table["measures"].items(), example["published"], strict=True)
    ]
    examples = tuple(table["experiments"])
    return Controlled(tuple(example["experiment"] for example in examples), tuple(cells), examples)


def controlled_report(study: Controlled) -> Report:
    """Show ours and the published value of each cell, and whether they agree."""
    rows = []
    for experiment in study.experiments:
        cells = [cell for cell in study.cells if cell.experiment == experiment]
        for source in ("value", "published"):
            name = {"value": "rankdev", "published": "paper"}[source]
            rows.append({"example": experiment, "": name, **{cell.label: getattr(cell, source) for cell in cells}})
    agreeing = sum(cell.agrees for cell in study.cells)
    whole = len(study.cells)
    agreed = f"all {whole} cells agree to four decimals" if agreeing == whole else f"{agreeing} of {whole} cells agree"
    display = pl.DataFrame(rows, infer_schema_length=None)
    wrong = [
        f"{cell.experiment} {cell.measure}: {cell.value} ≠ {cell.published}" for cell in study.cells if not cell.agrees
    ]
    return Report(study.to_polars(), [Table(display, "Table 1: controlled examples")], closing=(agreed, *wrong))


def controlled_figure(study: Controlled, path: str | Path) -> None:
    """Draw every example position by position, with its scores."""
    check_name(path)
    labels = {cell.measure: cell.label for cell in study.cells}
    drawings = []
    for example in study.examples:
        explanations = {
            text: rd.explain(Reference(example["reference"]), example["ranking"], measure=_measure(example, text))
            for text in DRAWN
        }
        scores = {cell.measure: cell.value for cell in study.cells if cell.experiment == example["experiment"]}
        drawings.append(Example(example["experiment"], _as_text(example), explanations, scores))
    save(plot_examples(drawings, labels), path)


def _as_text(example: dict[str, Any]) -> str:
    """Write the reference as tiers, long ones shortened, and weights that are not the default."""
    tiers = Reference(example["reference"]).tiers
    names = [" = ".join(tier) for tier in tiers]
    shown = names if len(names) <= 6 else [*names[:2], "…", names[-1]]
    weights = f"\nweights {', '.join(f'{weight:g}' for weight in example['weights'])}" if "weights" in example else ""
    return f"{' > '.join(shown)}{weights}"


def _measure(example: dict[str, Any], text: str) -> Measure:
    measure = rd.parse(text)
    if "weights" in example and isinstance(measure, RDQ):
        return replace(measure, weights=tuple(example["weights"]))
    return measure


def _score(example: dict[str, Any], text: str) -> float | None:
    value = rd.score(Reference(example["reference"]), example["ranking"], _measure(example, text))
    return None if math.isnan(value) else value


OUTSIDE = "#9a9a9a"


@dataclass(frozen=True)
class Example:
    """One ranking: its name, its reference as text, RDQ explanations and scores by measure."""

    name: str
    reference: str
    explanations: Mapping[str, Explanation]
    scores: Mapping[str, float | None]


@styled
def plot_examples(examples: Sequence[Example], labels: Mapping[str, str]) -> Figure:
    """Draw a line for each example: bars as high as the positions' weights, and all scores.

    A bar is filled in proportion to the credit in the first explanation; the others' credits are short lines in their
    colours. ``labels`` are the headings of the measures.
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
