"""Reports and figures of two systems query by query."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankdev._common.arrays import Floats
from rankdev.display.dispatch import draws, reports
from rankdev.display.report import Report, Table, result_report
from rankdev.display.style import COLOURS, PAGE, figure, shortened, styled, titled
from rankdev.errors import printable
from rankdev.evaluation.scores import QueryDifferences, Scores, ScoresLike
from rankdev.measures.base import MeasureInfo
from rankdev.statistics.design import Design
from rankdev.statistics.inputs import as_scores

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@reports(QueryDifferences)
def query_differences_report(found: QueryDifferences) -> Report:
    """Show the scores of two systems for every query, where the first did worst on top."""
    rows = found.to_polars().cast({"query": pl.String})
    tables = [
        Table(
            rows.filter(measure=measure).select("query", "a", "b", pl.col("difference").alias("a − b")),
            f"{measure}, worst for a first: a is {found.a}, b is {found.b}",
        )
        for measure in found.measures
    ]
    return result_report(found, "compare", tables, [], ())


LABELLED = 60  # queries up to which each bar carries its query's name
EXTREMES = 3  # best and worst queries that are named where there are more


@draws(QueryDifferences)
def plot_query_differences(found: QueryDifferences, measure: str | None = None) -> Figure:
    """Draw the differences under one measure, the first unless named."""
    kinds = [
        MeasureInfo(name, higher_is_better=False if name in found.lower_is_better else None) for name in found.measures
    ]
    scores = Scores((found.a, found.b), found.queries, found.measures, found.values, kinds=tuple(kinds))
    return plot_differences(scores, found.a, found.b, measure or found.measures[0])


@styled
def plot_differences(scores: Any, a: str, b: str, measure: str) -> Figure:
    """Draw two systems query by query: their differences, largest first, and each query's two scores as a point."""
    pair = pair_by_query(scores, a, b, measure)
    lower_is_better = as_scores(scores, [measure]).kinds[0].higher_is_better is False
    drawn, (left, right) = _panels(len(pair.queries))
    _bars(left, pair, f"difference in {measure}", lower_is_better)
    _points(right, pair.scores[0], pair.scores[1], lower_is_better)
    one, other = (shortened(printable(name)) for name in (a, b))
    right.set(xlabel=other, ylabel=one)
    counts = f"beats {other} on {pair.wins}, ties on {pair.ties} and loses on {pair.losses}"
    return titled(drawn, f"{one} {counts} of {len(pair.queries)} queries")


def _panels(queries: int) -> tuple[Figure, Any]:
    """Return two panels, the first high enough for the names of so many queries."""
    height = max(3.1, 0.9 + 0.125 * queries) if queries <= LABELLED else 3.4
    drawn, axes = figure(PAGE, height, columns=2, width_ratios=[1.5, 1])
    return drawn, axes[0]


def _bars(axis: Any, pair: PairByQuery, label: str, lower_is_better: bool) -> None:
    """Draw the differences, largest first, with their mean as a line; each named, or the best and worst of many."""
    first, last = ("worst", "best") if lower_is_better else ("best", "worst")
    apart, mean = pair.differences, pair.mean
    colours = np.where(apart <= 0 if lower_is_better else apart >= 0, COLOURS[0], COLOURS[1])
    names = [shortened(printable(name), 22) for name in pair.queries]
    at = range(len(apart))
    dashed: Any = {"color": "#555555", "linewidth": 0.8, "linestyle": (0, (4, 2))}
    axis.set_title(f"by difference; dashed: mean {mean:+.3f}".replace("-", "−"), loc="left")
    if len(apart) <= LABELLED:
        axis.barh(at, apart, height=0.8, color=colours)
        axis.axvline(0, color="black", linewidth=0.6)
        axis.axvline(mean, **dashed)
        axis.set_yticks(at, names, fontsize=6)
        axis.set(xlabel=label, ylim=(len(apart) - 0.4, -0.6))
        axis.grid(visible=False, axis="y")
        return
    axis.bar(at, apart, width=1.0, color=colours)
    axis.axhline(0, color="black", linewidth=0.6)
    axis.axhline(mean, **dashed)
    axis.set(xlabel=f"{len(apart):,} queries", ylabel=label, xlim=(-0.6, len(apart) - 0.4))
    axis.grid(visible=False, axis="x")
    named: Any = {"transform": axis.transAxes, "fontsize": 6}  # where descending bars leave space
    axis.text(0.98, 0.98, "\n".join([f"{first}:", *names[:EXTREMES]]), ha="right", va="top", **named)
    axis.text(0.02, 0.02, "\n".join([f"{last}:", *names[: -EXTREMES - 1 : -1]]), ha="left", va="bottom", **named)


def _points(axis: Any, first: Floats, second: Floats, lower_is_better: bool) -> None:
    """Draw a point per query: the first system's score over the second's; on the line they are equal."""
    low, high = float(min(first.min(), second.min())), float(max(first.max(), second.max()))
    axis.plot([low, high], [low, high], color="#777777", linewidth=0.8)
    won = first <= second if lower_is_better else first >= second
    for side, sign, colour in ((won, "o", COLOURS[0]), (~won, "x", COLOURS[1])):
        axis.plot(second[side], first[side], sign, color=colour, markersize=4, alpha=0.6 if len(first) > 60 else 0.9)
    axis.set_title(f"{'above' if lower_is_better else 'below'} the line: lost", loc="left")
    margin = 0.04 * (high - low) or 0.1
    axis.set(xlim=(low - margin, high + margin), ylim=(low - margin, high + margin))
    axis.set_aspect("equal", anchor="N")


@dataclass(frozen=True, eq=False)
class PairByQuery:
    """Two systems query by query, largest difference a − b first: ``scores[system, query]``."""

    queries: tuple[str, ...]
    scores: Floats = field(repr=False)
    differences: Floats = field(repr=False)
    mean: float
    wins: int
    ties: int
    losses: int


def pair_by_query(scores: ScoresLike, a: str, b: str, measure: str) -> PairByQuery:
    """Compare two systems on the queries for which both have a value; equal up to rounding is a tie.

    >>> scores = Scores(("x", "y"), ("q1", "q2"), ("P@1",), np.array([[[0.5], [1.0]], [[0.5], [0.0]]]))
    >>> found = pair_by_query(scores, "x", "y", "P@1")
    >>> found.queries, found.mean, (found.wins, found.ties, found.losses)
    (('q2', 'q1'), 0.5, (1, 1, 0))
    """
    pair = as_scores(scores, [measure]).select(systems=[a, b])
    family = Design.of(pair).families(b)[0]
    values = family.values.T
    order = np.argsort(values[1] - values[0], kind="stable")
    wins, ties, losses = (int(family.statistics[name][0]) for name in ("wins", "ties", "losses"))
    queries = tuple(pair.queries[i] for i in family.queries[order])
    differences = (values[0] - values[1])[order]
    return PairByQuery(queries, values[:, order], differences, float(differences.mean()), wins, ties, losses)
