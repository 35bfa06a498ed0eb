"""Controlled examples: the paper's Table 1."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from importlib.resources import files
from typing import Any

import polars as pl

import rankdev as rd
from rankdev.data.references import Reference
from rankdev.display.report import Report, Table
from rankdev.measures.rdq import RDQ


def run_controlled() -> pl.DataFrame:
    """Compute every cell through the public API.

    One row per cell: experiment, label (the paper's), measure, value, published, and whether the two agree to four
    decimals; values are null where a measure is not available.
    """
    table = json.loads(files("rankdev").joinpath("data/studies/controlled.json").read_text("utf-8"))
    rows = []
    for example in table["experiments"]:
        for (label, text), published in zip(table["measures"].items(), example["published"], strict=True):
            value = _score(example, text)
            cell = {"experiment": example["experiment"], "label": label, "measure": text}
            rows.append(cell | {"value": value, "published": published, "agrees": agree(value, published)})
    return pl.DataFrame(rows, infer_schema_length=None)


def _score(example: dict[str, Any], text: str) -> float | None:
    measure = rd.parse(text)
    if "weights" in example and isinstance(measure, RDQ):
        measure = replace(measure, weights=tuple(example["weights"]))
    value = rd.score(Reference(example["reference"]), example["ranking"], measure)
    return None if math.isnan(value) else value


def agree(value: float | None, published: float | None) -> bool:
    """Tell whether two values are the same to four decimals, or both not available."""
    if value is None or published is None:
        return value is published
    return f"{value:.4f}" == f"{published:.4f}"


def controlled_report(cells: pl.DataFrame) -> Report:
    """Show ours and the published value of each cell, and whether they agree."""
    rows = [
        {"example": experiment, "": name, **dict(zip(part["label"], part[source], strict=True))}
        for (experiment,), part in cells.group_by("experiment", maintain_order=True)
        for name, source in (("rankdev", "value"), ("paper", "published"))
    ]
    agreeing, whole = int(cells["agrees"].sum()), len(cells)
    agreed = f"all {whole} cells agree to four decimals" if agreeing == whole else f"{agreeing} of {whole} cells agree"
    wrong = [
        f"{cell['experiment']} {cell['measure']}: {cell['value']} ≠ {cell['published']}"
        for cell in cells.filter(~pl.col("agrees")).iter_rows(named=True)
    ]
    display = pl.DataFrame(rows, infer_schema_length=None)
    return Report(cells, [Table(display, "Table 1: controlled examples")], closing=(agreed, *wrong))
