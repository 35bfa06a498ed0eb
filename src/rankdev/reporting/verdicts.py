"""Verdicts as reports: significance, power, stability, sensitivity, agreement and plans."""

from __future__ import annotations

import math
from typing import Any

import polars as pl

from rankdev.meta.agreement import Agreement
from rankdev.meta.planning import Plan
from rankdev.meta.power_result import Power
from rankdev.meta.sensitivity import Sensitivity
from rankdev.meta.significance import Significance
from rankdev.meta.stability import Stability
from rankdev.reporting.door import reports
from rankdev.reporting.tables import Report, best_cells, count_cell


@reports(Significance)
def significance_report(verdict: Significance) -> Report:
    """Show a row a pair and measure; p-values that can be believed are marked."""
    table = verdict.to_polars()
    level = round(1 - verdict.confidence, 10)
    name = f"p ({verdict.correction})"
    display = table.select(
        "measure",
        "a",
        "b",
        "difference",
        pl.format("[{}, {}]", pl.col("low").round(4), pl.col("high").round(4)).alias(
            f"{verdict.confidence:.0%} interval"
        ),
        "effect",
        pl.format("{}/{}/{}", "wins", "ties", "losses").alias("w/t/l"),
        pl.col("p").map_elements(_p, return_dtype=pl.String),
        pl.col("p_adjusted").map_elements(_p, return_dtype=pl.String).alias(name),
    )
    believed = frozenset((i, name) for i, p in enumerate(table["p_adjusted"]) if p is not None and p <= level)
    names = ("test", "correction", "correction_over", "permutations", "p_value", "seed")
    note = f"* p ≤ {level:g}. " + _parameters(verdict, *names)
    return Report(table, display, "Differences a − b", (*verdict.remarks, note), believed)


@reports(Power)
def power_report(found: Power, n: int | None = None) -> Report:
    """Show percentiles of power over pairs at n queries, N80, and the medians within buckets."""
    at = found.sizes[found._size(n)]
    display = found.summary(at).with_columns(pl.col("n80").map_elements(count_cell, return_dtype=pl.String))
    if found.buckets:
        medians = found.bucket_summary(at).pivot("bucket", index="measure", values="p50", maintain_order=True)
        display = display.join(medians, on="measure", how="left", maintain_order="left")
    verdicts = found.verdicts()
    error = 0.5 / math.sqrt(found.subsamples)
    notes = [
        f"{verdicts['pairs']} pairs on all queries: {verdicts['all']} told apart by every measure,"
        f" {verdicts['most']} by more than half, {verdicts['any']} by at least one, {verdicts['none']} by none",
        f"Monte-Carlo standard error of one pair's power: at most {error:.3f}",
        _parameters(found, "subsamples", "permutations", "alpha", "p_value", "seed"),
    ]
    columns = [name for name in display.columns if name not in ("measure", "n80")]
    title = f"Power at {at} queries over {verdicts['pairs']} pairs; * highest"
    return Report(found.to_polars(), display, title, tuple(notes), best_cells(display, columns, 3), digits=3)


@reports(Stability)
def stability_report(found: Stability) -> Report:
    """Show τ at some sizes, the area under the curve and the first n with τ ≥ .8."""
    display = found.summary().with_columns(pl.col("n_at_0.8").map_elements(count_cell, return_dtype=pl.String))
    columns = [name for name in display.columns if name not in ("measure", "n_at_0.8")]
    note = _parameters(found, "subsamples", "seed")
    title = "Agreement (τ) of the order on n queries with the order on all; * highest"
    return Report(found.to_polars(), display, title, (note,), best_cells(display, columns, 3), digits=3)


@reports(Sensitivity)
def sensitivity_report(found: Sensitivity) -> Report:
    """Show the median power of each cell, as a grid where there are two parameters."""
    table = found.to_polars()
    display = table
    if len(found.axes) == 2:
        first, second = found.axes
        display = table.pivot(second, index=first, values="power", maintain_order=True)
        named = {name: f"{second} = {name}" for name in display.columns if name != first}
        display = display.with_columns(pl.col(first).cast(pl.String)).rename(named)
    note = _parameters(found, "measure", "subsamples", "permutations", "alpha", "p_value", "seed")
    return Report(table, display, f"Median power at {found.n} queries", (note,), digits=3)


@reports(Agreement)
def agreement_report(found: Agreement) -> Report:
    """Show τ and r of each pair of measures."""
    table = found.to_polars()
    return Report(table, table, "Agreement between measures over system means", (), digits=3)


@reports(Plan)
def plan_report(found: Plan) -> Report:
    """Say in words how many queries are needed, with the power at numbers around it."""
    return Report(found.summary(), found.to_polars(), "Power by number of queries", (_plan_in_words(found),), digits=3)


def _plan_in_words(found: Plan) -> str:
    beside = "" if found.resampled is None else f" Resampling the pilot says {_count(found.resampled)}."
    return (
        f"To detect a difference of {found.difference:.4g} in {found.measure} between {found.a} and {found.b}"
        f" with {found.power:.0%} power at α = {found.alpha:g}, plan for {_count(found.queries)} queries"
        f" (95% interval, for what the pilot leaves open: {_count(found.low)} to {_count(found.high)})."
        f"{beside} The {found.pilot} queries of the pilot detect differences of {found.detectable:.4g} or"
        f" more; it observed {found.observed:.4g}."
    )


def _count(n: float) -> str:
    return f"{int(n):,}" if math.isfinite(n) else "more than ten million"


def _parameters(result: Any, *names: str) -> str:
    return ", ".join(f"{name} = {getattr(result, name)}" for name in names)


def _p(value: float) -> str:
    return "<0.0001" if value < 0.0001 else f"{value:.4f}"
