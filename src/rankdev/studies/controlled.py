"""Controlled examples: the paper's Table 1."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

import polars as pl

import rankdev as rd
from rankdev.data.references import Reference
from rankdev.display.report import Report, Table
from rankdev.measures import Measure
from rankdev.measures.rdq import RDQ

DIGITS = 4


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
    return Controlled(tuple(example["experiment"] for example in table["experiments"]), tuple(cells))


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


def _measure(example: dict[str, Any], text: str) -> Measure:
    measure = rd.parse(text)
    if "weights" in example and isinstance(measure, RDQ):
        return replace(measure, weights=tuple(example["weights"]))
    return measure


def _score(example: dict[str, Any], text: str) -> float | None:
    value = rd.score(Reference(example["reference"]), example["ranking"], _measure(example, text))
    return None if math.isnan(value) else value
