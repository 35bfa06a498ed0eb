"""Pairs, differences by query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankdev._common.arrays import Floats
from rankdev._common.checks import check_choice
from rankdev.display.cells import number, p_value, percent
from rankdev.display.dispatch import draws, reports
from rankdev.display.report import Report, Table, intervals, made_with, verdict
from rankdev.display.style import (
    COLOURS,
    PAGE,
    SHOWN,
    draw_intervals,
    figure,
    shortened,
    styled,
    titled,
)
from rankdev.errors import UsageError, counted, printable
from rankdev.evaluation.differences import QueryDifferences
from rankdev.evaluation.scores import Scores
from rankdev.statistics.leaderboard import grouped
from rankdev.statistics.panels import as_scores, panels
from rankdev.statistics.significance import Significance, significance

if TYPE_CHECKING:
    from matplotlib.figure import Figure


NAMED = 6  # pairs that a sentence names; more are counted


@reports(Significance)
def significance_report(found: Significance) -> Report:
    """Say which systems are better, with a row per pair and measure; differences that can be believed are marked."""
    rows = found.to_polars()
    adjusted = "p" if found.correction == "none" else f"p ({found.correction})"
    spread = f"{percent(1 - found.alpha)} interval"
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
    believed = {(i, adjusted) for i, p in enumerate(rows["p_adjusted"]) if p is not None and p <= found.alpha}
    table = Table(frame, title, best=believed, formats=formats, right=(spread, "w/t/l"))
    drawn = found.permutations > 0
    closing = (
        f"* {adjusted} ≤ {found.alpha:g}; w/t/l: queries that a wins, ties and loses",
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
            if row["p_adjusted"] is not None and row["p_adjusted"] <= found.alpha
        ]
        named = ", ".join(told[:NAMED]) + (", …" if len(told) > NAMED else "")
        yield f"{measure}: {counted(len(told), 'pair', of=pairs.height)} told apart{': ' if told else ''}{named}."


def one_pair(found: Significance, row: dict[str, Any]) -> str:
    """Say whether two systems are told apart, and which is better."""
    a, b, measure, p = row["a"], row["b"], row["measure"], row["p_adjusted"]
    if p is not None and p <= found.alpha:
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


LABELLED = 40  # queries up to which each bar carries its query's name


@draws(QueryDifferences)
def plot_query_differences(found: QueryDifferences, measure: str | None = None) -> Figure:
    """Draw the differences under one measure, the first unless named."""
    scores = Scores((found.a, found.b), found.queries, found.measures, found.values)
    return plot_differences(scores, found.a, found.b, measure or found.measures[0])


@styled
def plot_differences(scores: Any, a: str, b: str, measure: str) -> Figure:
    """Draw two systems query by query: their differences, largest first, and each query's two scores as a point."""
    chosen = as_scores(scores, [measure]).select(systems=[a, b])
    panel = panels(chosen)[0]
    apart = panel.values[:, 0, 0] - panel.values[:, 1, 0]
    order = np.argsort(-apart, kind="stable")
    counted = significance(chosen, test="t", correction="none").to_polars()  # what is only rounding is a tie there
    wins, ties, losses = (int(counted[name][0]) for name in ("wins", "ties", "losses"))
    drawn, (left, right) = _panels()
    _bars(left, apart[order], [chosen.queries[panel.queries[i]] for i in order])
    left.set_ylabel(f"difference in {measure}")
    _points(right, panel.values[:, :, 0])
    one, other = (shortened(printable(name)) for name in (a, b))
    right.set(xlabel=other, ylabel=one)
    return titled(drawn, f"{one} beats {other} on {wins}, ties on {ties} and loses on {losses} of {len(apart)} queries")


def _panels() -> tuple[Figure, Any]:
    drawn, axes = figure(PAGE, 3.1, columns=2, width_ratios=[1.5, 1])
    return drawn, axes[0]


def _bars(axis: Any, apart: Floats, names: list[str]) -> None:
    """Draw the differences in their order, with their mean as a line."""
    mean = apart.mean()
    colours = np.where(apart >= 0, COLOURS[0], COLOURS[1])
    axis.bar(range(len(apart)), apart, width=1.0 if len(apart) > 60 else 0.8, color=colours)
    axis.axhline(0, color="black", linewidth=0.6)
    axis.axhline(mean, color="#555555", linewidth=0.8, linestyle=(0, (4, 2)))
    axis.set(xlim=(-0.6, len(apart) - 0.4))
    axis.set_title(f"by difference; dashed: mean {mean:+.3f}".replace("-", "−"), loc="left")
    axis.grid(visible=False, axis="x")
    if len(apart) <= LABELLED:
        labels = [shortened(printable(name), 22) for name in names]
        axis.set_xticks(range(len(apart)), labels, rotation=90, fontsize=6)
    else:
        axis.set_xlabel(f"{len(apart):,} queries")


def _points(axis: Any, values: Floats) -> None:
    """Draw a point per query: the first system's score over the second's; on the line they are equal."""
    ends = [float(values.min()), float(values.max())]
    axis.plot(ends, ends, color="#777777", linewidth=0.8)
    first, second = values.T
    for side, sign, colour in ((first >= second, "o", COLOURS[0]), (first < second, "x", COLOURS[1])):
        axis.plot(second[side], first[side], sign, color=colour, markersize=4, alpha=0.6 if len(first) > 60 else 0.9)
    room = 0.04 * (ends[1] - ends[0]) or 0.1
    axis.set(xlim=(ends[0] - room, ends[1] + room), ylim=(ends[0] - room, ends[1] + room))
    axis.set_aspect("equal")
    axis.set_title("below the line: lost", loc="left")


@styled
def plot_groups(found: Significance, measure: str) -> Figure:
    """Draw every system's distance to the best with its interval; bars join systems that are not told apart."""
    order, behind = _behind(found, measure)
    groups = [(order.index(members[0]), order.index(members[-1])) for members in grouped(order, found, measure)]
    joined = [group for group in groups if group[0] < group[1]]
    lanes = _lanes(joined)
    wide = 0.015 * (max(lanes, default=0) + 1)
    drawn, axes = figure(PAGE, 1.2 + 0.17 * len(order), columns=2, sharey=True, width_ratios=[1 - wide, wide])
    left, right = axes[0]
    left.axvline(0, color="#777777", linewidth=0.8)
    for i, (difference, low, high, told) in enumerate(behind):
        left.plot([low, high], [i, i], color=COLOURS[0], linewidth=1.2)
        left.plot(difference, i, "o", color=COLOURS[0], markerfacecolor=COLOURS[0] if told else "white", markersize=4)
    left.set_yticks(range(len(order)), [shortened(printable(name)) for name in order])
    best = shortened(printable(order[0]), 30)
    label = f"{measure} less that of {best}, {percent(1 - found.alpha)} interval; filled: adjusted p ≤ {found.alpha:g}"
    left.set(xlabel=label, ylim=(len(order) - 0.5, -0.5))
    left.grid(visible=False, axis="y")
    for lane, (first, last) in zip(lanes, joined, strict=True):
        right.plot([lane, lane], [first - 0.2, last + 0.2], color="#333333", linewidth=2, solid_capstyle="round")
    right.set(xlim=(-0.7, max(lanes, default=0) + 0.7))
    right.axis("off")
    rivals = sum(not told for *_, told in behind)
    return titled(drawn, _words(order, rivals, measure, bool(joined)))


def _behind(found: Significance, measure: str) -> tuple[tuple[str, ...], list[tuple[float, float, float, bool]]]:
    """Give the systems, best first, and each one's difference to the best: it, its interval, whether it is believed."""
    rows = found.to_polars().filter(measure=measure)
    systems = tuple(dict.fromkeys([*rows["a"], *rows["b"]]))
    if not every_pair(rows):
        raise UsageError("groups of systems need every pair of them; test without baselines, or draw the pairs")
    known: dict[tuple[str, str], tuple[float, float, float, bool]] = {}
    for row in rows.iter_rows(named=True):
        difference, low, high = (row[name] or 0.0 for name in ("difference", "low", "high"))
        told = row["p_adjusted"] is not None and row["p_adjusted"] <= found.alpha
        known[row["a"], row["b"]] = (difference, low, high, told)
        known[row["b"], row["a"]] = (-difference, -high, -low, told)
    ahead = {system: sum(known[system, other][0] for other in systems if other != system) for system in systems}
    order = tuple(sorted(systems, key=lambda system: -ahead[system]))
    return order, [(0.0, 0.0, 0.0, True), *(known[system, order[0]] for system in order[1:])]


def every_pair(rows: pl.DataFrame) -> bool:
    """Tell whether verdicts are about every pair of their systems, and not of baselines alone."""
    systems = len({*rows["a"], *rows["b"]})
    return 2 * rows.height == systems * (systems - 1) * rows["measure"].n_unique()


def _lanes(groups: Sequence[tuple[int, int]]) -> list[int]:
    """Give each bar the first lane in which it touches no other."""
    ends: list[int] = []
    lanes = []
    for first, last in groups:
        lane = next((i for i, end in enumerate(ends) if end < first), len(ends))
        ends[lane : lane + 1] = [last]
        lanes.append(lane)
    return lanes


def _words(order: Sequence[str], rivals: int, measure: str, joined: bool) -> str:
    first = shortened(order[0])
    if not rivals:
        told = "told apart from every other system"
    elif rivals == len(order) - 1:
        told = "not told apart from any other system"
    else:
        told = f"not told apart from {rivals} of {len(order) - 1} others"
    bars = "; bars: neighbours of which no two are told apart" if joined else ""
    return f"{first} is {told} in {measure}{bars}"


@draws(Significance)
def plot_significance(found: Significance, show: str | None = None, measure: str | None = None) -> Figure:
    """Draw each pair's difference with its interval, or ``show="groups"``: which systems cannot be told apart.

    Groups are of one measure, the first unless named. Where the pairs are too many for a picture, it shows groups.
    """
    rows = found.to_polars()
    measures = rows["measure"].unique(maintain_order=True).to_list()
    if measure is not None:
        check_choice("measure", measure, measures)
        rows = rows.filter(measure=measure)
    chosen = show or ("groups" if rows.height > SHOWN and every_pair(rows) else "pairs")
    check_choice("show", chosen, ("pairs", "groups"))
    return plot_groups(found, measure or measures[0]) if chosen == "groups" else plot_pairs(found, rows)


@styled
def plot_pairs(found: Significance, rows: pl.DataFrame) -> Figure:
    """Draw each pair's difference with its interval; filled dots are differences that can be believed."""
    names = [(row["measure"], row["a"], row["b"]) for row in rows.iter_rows(named=True)]
    believed = (rows["p_adjusted"] <= found.alpha).fill_null(False).to_list()
    label = f"difference, {percent(1 - found.alpha)} interval; filled: adjusted p ≤ {found.alpha:g}"
    drawn = draw_intervals(rows, "difference", names, label, believed, zero=True, between=" − ")
    measures = rows["measure"].unique(maintain_order=True)
    under = f" in {measures[0]}" if len(measures) == 1 else f" in {len(measures)} measures"
    return titled(drawn, f"{sum(believed)} of {counted(rows.height, 'difference')} told apart{under}")
