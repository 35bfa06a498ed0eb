"""Reports and figures of power and stability."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankdev.display.cells import count, interval, number
from rankdev.display.dispatch import draws, reports
from rankdev.display.report import Report, Table, made_with, result_report
from rankdev.display.style import (
    COLUMN,
    figure,
    looks,
    over_queries,
    styled,
    titled,
)
from rankdev.errors import counted
from rankdev.statistics.power_result import Power
from rankdev.statistics.stability import Stability

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from rankdev._common.arrays import Floats


@draws(Power)
@styled
def plot_power(power: Power) -> Figure:
    """Draw the median power over pairs against the number of queries, one curve per measure.

    A single pair has a 95% band. Dotted: with replacement, at sizes above a quarter of the queries.
    """
    limits = power.limits[:, :, 0] if power.limits.shape[2] == 1 else None
    label = f"median power at level {power.alpha:g}"
    drawn = _curves(power, power.medians, label, (0, 1), limits)
    look, replaced = looks(power.measures), np.median(power.replaced, axis=1)
    for name, values in zip(power.measures, replaced, strict=True):
        drawn.axes[0].plot(power.sizes, values, color=look[name]["color"], linewidth=0.8, linestyle=":")
    if not np.isnan(replaced).all():
        drawn.axes[0].set_xlabel(f"{power.unit} n; thin dots: drawn with replacement")
    return titled(drawn, f"The higher a curve, the fewer {power.unit} a significant difference needs")


@draws(Stability)
@styled
def plot_stability(stability: Stability) -> Figure:
    """Draw the mean τ-b against the number of queries, one curve per measure."""
    bottom = min(0.0, float(np.nanmin(stability.tau, initial=0.0)))
    drawn = _curves(stability, stability.tau, "mean Kendall τ", (bottom, 1), None)
    return titled(
        drawn, f"The higher a curve, the fewer {stability.unit} reproduce the ranking on all {stability.unit}"
    )


def _curves(
    found: Power | Stability, values: Floats, label: str, span: tuple[float, float], limits: Floats | None
) -> Figure:
    sizes, measures = found.sizes, found.measures
    columns = 2 if max(map(len, measures)) <= 20 else 1
    drawn, axes = figure(COLUMN, 2.5 + 0.125 * np.ceil(len(measures) / columns))
    axis: Any = axes[0, 0]
    axis.axhline(0.8, color="#777777", linewidth=0.8)
    axis.annotate(
        "0.8",
        (1, 0.8),
        xycoords=("axes fraction", "data"),
        xytext=(2, -2),
        textcoords="offset points",
        fontsize=6.5,
        color="#777777",
    )
    best_first = np.argsort(-np.nan_to_num(values, nan=-2.0).mean(axis=1), kind="stable")
    look = looks(measures)
    for place in best_first:
        name = measures[place]
        axis.plot(sizes, values[place], label=name, linewidth=1.1, markersize=2.6, **look[name])
        if limits is not None:
            axis.fill_between(sizes, *limits[:, place], color=look[name]["color"], alpha=0.12, linewidth=0)
    over_queries(axis, sizes)
    axis.set(xlabel=f"{found.unit} n", ylabel=label, ylim=(span[0] - 0.02, span[1] + 0.02))
    drawn.legend(loc="outside lower center", ncols=columns, frameon=False, handlelength=3.2, labelspacing=0.25)
    return drawn


@reports(Power)
def power_report(found: Power, *, n: int | None = None) -> Report:
    """Show percentiles of power over pairs at n queries, N80, and the medians within buckets."""
    place = found._size(n)
    at = found.sizes[place]
    frame = found.summary(at)
    pairs, right = found.verdicts()["pairs"], []
    if pairs == 1:  # of several, no interval of a percentile is known to hold
        limits = [interval(low, high, 3) for low, high in found.limits[:, :, 0, place].T.tolist()]
        frame = frame.select("measure", pl.col("p50").alias("power"), pl.Series("power, 95%", limits), "n80")
        right = ["power, 95%"]
    replaced = np.median(found.replaced[:, :, place], axis=1)
    if not np.isnan(replaced).all():
        frame = frame.insert_column(frame.columns.index("n80"), pl.Series("replaced", replaced))
    if found.buckets:
        medians = found.bucket_summary(at).pivot("bucket", index="measure", values="p50", maintain_order=True)
        frame = frame.join(medians, on="measure", how="left", maintain_order="left")
    title = f"Power at {at} {found.unit} over {counted(pairs, 'pair')}"
    formats = {"n80": lambda value: f"> {count(found.sizes[-1])}" if value == np.inf else count(value)}
    bars = ("power" if pairs == 1 else "p50",)
    table = Table(frame, title, digits=3, formats=formats, right=right, bars=bars)
    more = {"pairs": found.to_polars(intervals=True).filter(n=at)}
    if found.buckets:
        more["buckets"] = found.bucket_summary()
    closing = [
        _significant_pairs(found),
        f"Monte Carlo standard error of one pair's power: at most {number(found.largest_error, 3)}",
        *(
            ["replaced: median power with queries drawn with replacement, as new ones"]
            if "replaced" in frame.columns
            else []
        ),
        *enumerated_sizes(found.sizes, found.permutations),
        made_with(found, "sizes", "clusters", "complete"),
    ]
    return result_report(found, "power", [table], (), closing, summary=found.summary(at), more=more)


def enumerated_sizes(sizes: Sequence[int], permutations: int) -> list[str]:
    """State at which sizes tests enumerate all sign flips, which are no more than would be drawn."""
    few = [n for n in sizes if 2 ** (n - 1) <= permutations]
    if not few:
        return []
    upto = "" if len(few) == len(sizes) else f" up to n = {max(few)}"
    return [f"p-values are exact{upto}: all sign flips are enumerated there"]


def _significant_pairs(found: Power) -> str:
    counts = found.verdicts()
    if len(found.measures) == 1:
        return f"On all queries, {counted(counts['any'], 'pair', 'differs', of=counts['pairs'])} significantly."
    return (
        f"On all queries, {counted(counts['all'], 'pair', 'differs', of=counts['pairs'])} significantly under every"
        f" measure, {counts['most']} under more than half, {counts['any']} under at least one, {counts['none']} under"
        " none."
    )


@reports(Stability)
def stability_report(found: Stability) -> Report:
    """Show τ at some sizes, the area under the curve and the first n with τ ≥ 0.8."""
    frame = found.summary()
    counts = [name for name in frame.columns if "at_0.8" in name]
    of = found.unit
    table = Table(frame, f"Stability (τ) of the ranking on n {of}", digits=3, formats=dict.fromkeys(counts, count))
    closing = [
        f"tau: against the ranking on all {of}, which include the n; even equal systems look stable as n grows",
        f"split: between two disjoint sets of n {of}, as with new {of}",
        made_with(found, "sizes", "clusters"),
    ]
    return result_report(found, "stability", [table], (), closing)
