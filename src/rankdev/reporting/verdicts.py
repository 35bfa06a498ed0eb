"""Verdicts as reports: significance, power, stability, sensitivity, agreement and plans."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import polars as pl

from rankdev.errors import counted
from rankdev.meta.agreement import Agreement
from rankdev.meta.planning import Plan
from rankdev.meta.power_result import Power
from rankdev.meta.query_differences import QueryDifferences
from rankdev.meta.sensitivity import Sensitivity
from rankdev.meta.significance import Significance
from rankdev.meta.stability import Stability
from rankdev.reporting.cells import count, number, p_value, percent
from rankdev.reporting.door import reports
from rankdev.reporting.report import Report, Table, count_intervals, intervals
from rankdev.results import Result

NAMED = 6  # pairs that a sentence names; more are counted
# a level is called so on the screen, because α is a parameter of RDQ as well
WORDS = {"alpha": "level", "p_value": "p-value"}


@reports(Significance)
def significance_report(found: Significance) -> Report:
    """Say which systems are better, with a row per pair and measure; differences that can be believed are marked."""
    rows = found.to_polars()
    adjusted = "p" if found.correction == "none" else f"p ({found.correction})"
    spread = f"{percent(found.confidence)} interval"
    frame = rows.select(
        "measure",
        "a",
        "b",
        pl.col("difference").alias("a − b"),
        intervals().alias(spread),
        pl.col("effect").round(2),
        pl.format("{}/{}/{}", "wins", "ties", "losses").alias("w/t/l"),
        pl.col("p_adjusted").alias(adjusted),
    )
    measures = rows["measure"].unique()
    title = "Differences a − b"
    if len(measures) == 1:
        frame, title = frame.drop("measure"), f"{title} in {measures[0]}"
    formats = {adjusted: p_value, "effect": lambda value: number(value, 2)}
    believed = {(i, adjusted) for i, p in enumerate(rows["p_adjusted"]) if p is not None and p <= found.level}
    table = Table(frame, title, best=believed, formats=formats, right=(spread, "w/t/l"))
    drawn = found.permutations > 0
    closing = (
        f"* {adjusted} ≤ {found.level:g}; w/t/l: queries that a wins, ties and loses",
        made_with(found, *(() if drawn else ("permutations", "p_value", "seed"))),
    )
    return verdict(found, "compare", [table], list(_who_is_better(found, rows)), closing)


def _who_is_better(found: Significance, rows: pl.DataFrame) -> Iterator[str]:
    for (measure,), pairs in rows.group_by("measure", maintain_order=True):
        if pairs.height == 1:
            yield one_pair(found, pairs.row(0, named=True))
            continue
        told = [
            f"{row['a']} > {row['b']}" if row["difference"] > 0 else f"{row['b']} > {row['a']}"
            for row in pairs.iter_rows(named=True)
            if row["p_adjusted"] is not None and row["p_adjusted"] <= found.level
        ]
        named = ", ".join(told[:NAMED]) + (", …" if len(told) > NAMED else "")
        yield f"{measure}: {counted(len(told), 'pair', of=pairs.height)} told apart{': ' if told else ''}{named}."


def one_pair(found: Significance, row: dict[str, Any]) -> str:
    """Say whether two systems are told apart, and which is better."""
    a, b, measure, p = row["a"], row["b"], row["measure"], row["p_adjusted"]
    if p is not None and p <= found.level:
        better, worse = (a, b) if row["difference"] > 0 else (b, a)
        by = number(abs(row["difference"]))
        return f"{better} is better than {worse} in {measure} by {by} (p {_equals(p)})."
    queries = counted(row["wins"] + row["ties"] + row["losses"], "query", "does")
    return f"{queries} not tell {a} and {b} apart in {measure} (p {_equals(p)})."


def _equals(p: float | None) -> str:
    return p_value(p).replace("<", "< ") if p is not None and p < 0.0001 else f"= {p_value(p)}"


@reports(QueryDifferences)
def query_differences_report(found: QueryDifferences) -> Report:
    """Show the scores of two systems for every query, where the first did worst on top."""
    rows = found.to_polars()
    tables = [
        Table(
            rows.filter(measure=measure).select("query", "a", "b", pl.col("difference").alias("a − b")),
            f"{measure}, worst for a first: a is {found.a}, b is {found.b}",
        )
        for measure in found.measures
    ]
    return verdict(found, "compare", tables, [], ())


@reports(Power)
def power_report(found: Power, *, n: int | None = None) -> Report:
    """Show percentiles of power over pairs at n queries, N80, and the medians within buckets."""
    at = found.sizes[found._size(n)]
    frame = found.summary(at).select("measure", "p10", "p50", "p90", "n80", *_ends(found))
    if found.buckets:
        medians = found.bucket_summary(at).pivot("bucket", index="measure", values="p50", maintain_order=True)
        frame = frame.join(medians, on="measure", how="left", maintain_order="left")
    clear = None if found.doubt is None else found.clearly_best(at)
    best = {(i, "p50") for i, name in enumerate(found.measures) if name == clear}
    pairs = counted(found.verdicts()["pairs"], "pair")
    title = f"Power at {at} queries over {pairs}{'; * clearly the highest' if best else ''}"
    right = frame.columns[5:7]
    table = Table(frame, title, best=best, digits=3, formats={"n80": count}, right=right, bars=("p50",))
    error = f"Monte-Carlo standard error of one pair's power: at most {number(found.largest_error, 3)}"
    if found.doubt is None:
        error += "; other queries would move it more: intervals say how far"
    more = {"buckets": found.bucket_summary()} if found.buckets else {}
    if found.doubt is not None:
        more["differences"] = found.differences(at)
    closing = [_told_apart(found), error, made_with(found, "sizes", "complete", "data")]
    return verdict(found, "power", [table], (), closing, summary=found.summary(at), more=more)


def _ends(found: Power) -> Iterator[pl.Expr]:
    """Give the intervals of the median power and of N80 as text, where there are any."""
    if found.doubt is not None:
        yield intervals("p50_low", "p50_high", 3).alias("p50, 95%")
        yield count_intervals("n80_low", "n80_high").alias("n80, 95%")


def _told_apart(found: Power) -> str:
    counts = found.verdicts()
    if len(found.measures) == 1:
        return f"On all queries, {counts['any']} of {counted(counts['pairs'], 'pair')} told apart."
    return (
        f"On all queries, {counts['all']} of {counted(counts['pairs'], 'pair')} told apart by every measure,"
        f" {counts['most']} by more than half, {counts['any']} by at least one, {counts['none']} by none."
    )


@reports(Stability)
def stability_report(found: Stability) -> Report:
    """Show τ at some sizes, the area under the curve and the first n with τ ≥ .8."""
    frame = found.summary()
    counts = [name for name in frame.columns if "at_0.8" in name]
    table = Table(frame, "Agreement (τ) of the order on n queries", digits=3, formats=dict.fromkeys(counts, count))
    closing = [
        "tau: with the order on all queries, which include the n: even equal systems seem stable as n grows",
        "split: between two sets of n queries that share none, as with new queries",
        made_with(found, "sizes"),
    ]
    return verdict(found, "stability", [table], (), closing)


@reports(Sensitivity)
def sensitivity_report(found: Sensitivity) -> Report:
    """Show the median power of each cell, as a grid where there are two parameters."""
    frame = found.to_polars()
    if len(found.axes) == 2:
        first, second = found.axes
        frame = frame.pivot(second, index=first, values="power", maintain_order=True)
        named = {name: f"{second}={name}" for name in frame.columns if name != first}
        frame = frame.select(pl.format(f"{first}={{}}", pl.col(first)).alias(found.measure), pl.exclude(first))
        frame = frame.rename(named)
    title = f"Median power at {found.n} queries"
    return verdict(found, "sensitivity", [Table(frame, title, digits=3)], (), [made_with(found, "measure", "n")])


@reports(Agreement)
def agreement_report(found: Agreement) -> Report:
    """Show τ, r and τ_ap of each pair of measures, and the intervals of τ and τ_ap where there are any."""
    frame, closing = found.summary(), []
    if found.tau_ends is not None:
        for name, low, high in (("tau", "low", "high"), ("tau_ap", "tau_ap_low", "tau_ap_high")):
            ends = frame.select(intervals(low, high, 3).alias(f"{name}, 95%")).to_series()
            frame = frame.insert_column(frame.columns.index(name) + 1, ends)
        frame = frame.drop("low", "high", "tau_ap_low", "tau_ap_high")
        closing = ["95%: between the orders that ever more queries would give"]
    if len(found.datasets) == 1:
        frame = frame.drop("dataset")
    right = [name for name in frame.columns if "95%" in name]
    table = Table(frame, "Agreement between measures over system means", digits=3, right=right)
    return verdict(found, "agreement", [table], (), closing)


@reports(Plan)
def plan_report(found: Plan) -> Report:
    """Say in words how many queries are needed, with the power at numbers around it."""
    table = Table(found.to_polars(), "Power by number of queries", digits=3)
    return verdict(found, "plan", [table], [plan_in_words(found)])


def plan_in_words(found: Plan) -> str:
    """Say how many queries are needed."""
    beside = "" if found.resampled is None else f" Resampling the pilot says {_queries(found.resampled)}."
    return (
        f"To detect a difference of {found.difference:.4g} in {found.measure} between {found.a} and {found.b}"
        f" with {percent(found.power)} power at level {found.alpha:g}, plan for {_queries(found.queries)} queries"
        f" (95% interval, for what the pilot leaves open: {_queries(found.low)} to {_queries(found.high)});"
        f" with {_queries(found.assured)} that power is reached with 90% certainty."
        f"{beside} The {found.pilot} queries of the pilot detect differences of {found.detectable:.4g} or"
        f" more; it observed {found.observed:.4g}."
    )


def _queries(n: float) -> str:
    return "more than ten million" if math.isinf(n) else count(n)


def verdict(
    found: Result, command: str, tables: list[Table], opening: Any = (), closing: Any = (), **more: Any
) -> Report:
    """Make a report that says how the result was made, and holds all that was computed."""
    known = {"summary": found.summary(), **more}
    return Report(found.to_polars(), tables, opening, closing, found.remarks, command, found.parameters, **known)


def made_with(found: Result, *without: str) -> str:
    """Name the parameters of a result."""
    shown = {WORDS.get(name, name): value for name, value in found.parameters.items() if name not in without}
    return ", ".join(
        f"{name} = {value:,}" if type(value) is int else f"{name} = {value}" for name, value in shown.items()
    )
