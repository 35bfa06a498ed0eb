"""Reports and figures of significance tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from rankdev._common.checks import check_choice
from rankdev.display.cells import interval, number, p_header, p_value, percent
from rankdev.display.dispatch import draws, reports
from rankdev.display.report import Report, Table, intervals, made_with, report_by_segment, result_report
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
from rankdev.errors import counted, printable
from rankdev.statistics.groups import differences_to_best, grouped, has_all_pairs
from rankdev.statistics.significance.result import Significance

if TYPE_CHECKING:
    from matplotlib.figure import Figure


NAMED = 6  # pairs that a sentence names; more are counted
MANY = 30  # pairs of a measure above which a leaderboard is shown


@reports(Significance)
def significance_report(found: Significance, *, pairs: bool = False) -> Report:
    """State which systems are better, with a row per pair and measure; significant differences are marked.

    Where pairs are many there is a leaderboard instead, unless ``pairs`` asks for them.
    """
    if found.segments:
        return _by_segment(found, pairs)
    rows = found.to_polars()
    adjusted = p_header(found.correction)
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
    if found.replicates:
        runs = [f"{found.replicates[a]}/{found.replicates[b]}" for a, b in rows.select("a", "b").iter_rows()]
        frame.insert_column(3, pl.Series("runs", runs))
    measures = rows["measure"].unique()
    title = "Differences a − b"
    if len(measures) == 1:
        frame, title = frame.drop("measure"), f"{title} in {measures[0]}"
    formats = {adjusted: p_value, "effect": lambda value: number(value, 2)}
    significant = {(i, adjusted) for i, differs in enumerate(found.significant) if differs}
    tables = [Table(frame, title, best=significant, formats=formats, right=(spread, "w/t/l", "runs"))]
    legend = f"* {adjusted} ≤ {found.alpha:g}; w/t/l: queries that a wins, ties and loses"
    if not pairs and has_all_pairs(rows) and len(measures) * MANY < rows.height:
        tables = [_leaderboard(found, measure) for measure in rows["measure"].unique(maintain_order=True)]
        legend = (
            f"* {adjusted} ≤ {found.alpha:g}, against the best; systems with the same letter do not differ"
            f" significantly; all {rows.height:,} pairs: --pairs, --format csv, to_polars()"
        )
    told = ["clusters", "replicates", "enumerated"]  # notes describe them
    if found.interval_permutations == found.permutations:
        told.append("interval_permutations")
    closing = (
        legend,
        *([exact_p_values(found.enumerated, rows.height)] if found.enumerated else []),
        made_with(found, *told),
    )
    more = {"effect_sizes": found.effect_sizes()}
    opening = [*found.conclusion.splitlines(), *_who_is_better(found, rows)]
    return result_report(found, "compare", tables, opening, closing, more=more)


def _leaderboard(found: Significance, measure: str) -> Table:
    """Order systems by their means, with the difference of each to the best, and letters of groups."""
    behind = differences_to_best(found, measure)
    groups = grouped(tuple(row.system for row in behind), found, measure)
    letters = [_letter(i) for i in range(len(groups))]
    adjusted = p_header(found.correction)
    spread = f"{percent(1 - found.alpha)} interval"
    frame = pl.DataFrame(
        {
            "rank": range(1, len(behind) + 1),
            "system": [row.system for row in behind],
            "to the best": [None, *(row.difference for row in behind[1:])],
            spread: [None, *(interval(row.low, row.high) for row in behind[1:])],
            adjusted: [row.p for row in behind],
            "groups": [
                " ".join(letter for letter, group in zip(letters, groups, strict=True) if row.system in group)
                for row in behind
            ],
        }
    )
    significant = {(i, adjusted) for i, row in enumerate(behind) if row.significant}
    title = f"{measure}: {len(behind)} systems, best first"
    return Table(
        frame,
        title,
        best=significant,
        formats={adjusted: p_value},
        right=(spread,),
        left=("groups",),
        names=("system",),
    )


def _letter(place: int) -> str:
    """Return a, b, …, z, aa, ab, …

    >>> _letter(0), _letter(25), _letter(26), _letter(700)
    ('a', 'z', 'aa', 'zy')
    """
    return (_letter(place // 26 - 1) if place >= 26 else "") + chr(ord("a") + place % 26)


def _by_segment(found: Significance, pairs: bool) -> Report:
    """Show all queries and each segment."""
    parts = {name: significance_report(replace(part, conclusion=""), pairs=pairs) for name, part in found.parts.items()}
    whole = replace(report_by_segment(parts), conclusion=found.conclusion)
    together = counted(len(found.segments), "segment")
    closing = [*whole.closing, f"p-values of segments are corrected together, over all pairs of {together}"]
    if found.correction == "none":
        closing.pop()
    opening = [*found.conclusion.splitlines(), *whole.opening]
    return replace(whole, opening=opening, closing=closing)


def by_segment_in_short(found: Significance) -> Iterator[str]:
    """State what the tests of segments show."""
    for name, part in found.segments.items():
        yield from (f"{name}: {text}" for text in _who_is_better(part, part.to_polars()))


def exact_p_values(enumerated: int, comparisons: int) -> str:
    """State which p-values are exact."""
    if enumerated < comparisons:
        return f"exact: {enumerated:,} of {comparisons:,} p-values, from all sign flips; the others from random ones"
    one = comparisons == 1
    return f"{'p is' if one else 'p-values are'} exact: all sign flips were enumerated"


def _who_is_better(found: Significance, rows: pl.DataFrame) -> Iterator[str]:
    rows = rows.with_columns(significant=pl.Series(found.significant))
    for (measure,), pairs in rows.group_by("measure", maintain_order=True):
        if pairs.height == 1:
            yield one_pair(found, pairs.row(0, named=True))
            continue
        better = [" > ".join(_better_first(found, row)) for row in pairs.filter("significant").iter_rows(named=True)]
        counts = counted(len(better), "pair", "differs", of=pairs.height)
        named = ", ".join(better[:NAMED]) + (", …" if len(better) > NAMED else "")
        some = f": {named}" if better and pairs.height <= MANY else ""
        yield f"{measure}: {counts} significantly{some}."


def one_pair(found: Significance, row: dict[str, Any]) -> str:
    """State whether two systems differ significantly, and which is better."""
    a, b, measure, p = row["a"], row["b"], row["measure"], row["p_adjusted"]
    if p is not None and p <= found.alpha:
        better, worse = _better_first(found, row)
        by = number(abs(row["difference"]))
        return f"{better} is better than {worse} in {measure} by {by} (p {_equals(p)})."
    queries = counted(row["wins"] + row["ties"] + row["losses"], "query")
    return f"{a} and {b} do not differ significantly in {measure} on {queries} (p {_equals(p)})."


def _better_first(found: Significance, row: dict[str, Any]) -> tuple[str, str]:
    a_is_better = (row["difference"] > 0) != (row["measure"] in found.lower_is_better)
    return (row["a"], row["b"]) if a_is_better else (row["b"], row["a"])


def _equals(p: float | None) -> str:
    return p_value(p).replace("<", "< ") if p is not None and p < 0.0001 else f"= {p_value(p)}"


@styled
def plot_groups(found: Significance, measure: str) -> Figure:
    """Draw each difference to the best system with its interval; bars join groups with no significant difference."""
    behind = differences_to_best(found, measure)
    order = tuple(row.system for row in behind)
    groups = [(order.index(members[0]), order.index(members[-1])) for members in grouped(order, found, measure)]
    joined = [group for group in groups if group[0] < group[1]]
    lanes = _lanes(joined)
    wide = 0.015 * (max(lanes, default=0) + 1)
    drawn, axes = figure(PAGE, 1.2 + 0.17 * len(order), columns=2, sharey=True, width_ratios=[1 - wide, wide])
    left, right = axes[0]
    left.axvline(0, color="#777777", linewidth=0.8)
    for i, row in enumerate(behind):
        face = COLOURS[0] if row.significant or i == 0 else "white"
        left.plot([row.low, row.high], [i, i], color=COLOURS[0], linewidth=1.2)
        left.plot(row.difference, i, "o", color=COLOURS[0], markerfacecolor=face, markersize=4)
    left.set_yticks(range(len(order)), [shortened(printable(name)) for name in order])
    best = shortened(printable(order[0]), 30)
    label = f"{measure} less that of {best}, {percent(1 - found.alpha)} interval; filled: adjusted p ≤ {found.alpha:g}"
    left.set(xlabel=label, ylim=(len(order) - 0.5, -0.5))
    left.grid(visible=False, axis="y")
    for lane, (first, last) in zip(lanes, joined, strict=True):
        right.plot([lane, lane], [first - 0.2, last + 0.2], color="#333333", linewidth=2, solid_capstyle="round")
    right.set(xlim=(-0.7, max(lanes, default=0) + 0.7))
    right.axis("off")
    tied = sum(not row.significant for row in behind[1:])
    return titled(drawn, _groups_title(order, tied, measure, bool(joined)))


def _lanes(groups: Sequence[tuple[int, int]]) -> list[int]:
    """Return for each bar the first lane in which it touches no other."""
    taken: list[int] = []  # the last system in each lane
    lanes = []
    for first, last in groups:
        lane = next((i for i, end in enumerate(taken) if end < first), len(taken))
        taken[lane : lane + 1] = [last]
        lanes.append(lane)
    return lanes


def _groups_title(order: Sequence[str], tied: int, measure: str, joined: bool) -> str:
    first = shortened(order[0])
    if not tied:
        others = "significantly different from every other system"
    elif tied == len(order) - 1:
        others = "not significantly different from any other system"
    else:
        others = f"not significantly different from {tied} of {len(order) - 1} others"
    bars = "; bars: groups with no significant difference inside" if joined else ""
    return f"{first} is {others} in {measure}{bars}"


@draws(Significance)
def plot_significance(found: Significance, show: str | None = None, measure: str | None = None) -> Figure:
    """Draw each pair's difference with its interval, or with ``show="groups"`` groups without significant differences.

    Groups are of one measure, the first unless named. Where the pairs are too many for a figure, it shows groups.
    """
    found = found.parts["all"]
    rows = found.to_polars().with_columns(significant=pl.Series(found.significant))
    measures = rows["measure"].unique(maintain_order=True).to_list()
    if measure is not None:
        check_choice("measure", measure, measures)
        rows = rows.filter(measure=measure)
    chosen = show or ("groups" if rows.height > SHOWN and has_all_pairs(rows) else "pairs")
    check_choice("show", chosen, ("pairs", "groups"))
    return plot_groups(found, measure or measures[0]) if chosen == "groups" else plot_pairs(found, rows)


@styled
def plot_pairs(found: Significance, rows: pl.DataFrame) -> Figure:
    """Draw each pair's difference with its interval; filled dots are significant differences."""
    names = [(row["measure"], row["a"], row["b"]) for row in rows.iter_rows(named=True)]
    significant = rows["significant"].to_list()
    label = f"difference, {percent(1 - found.alpha)} interval; filled: adjusted p ≤ {found.alpha:g}"
    drawn = draw_intervals(rows, "difference", names, label, significant, zero=True, between=" − ")
    measures = rows["measure"].unique(maintain_order=True)
    under = f" in {measures[0]}" if len(measures) == 1 else f" in {len(measures)} measures"
    return titled(drawn, f"{sum(significant)} of {counted(rows.height, 'difference')} significant{under}")
