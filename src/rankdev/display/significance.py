"""Reports and figures of decisions about pairs of systems, and of discriminative power."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankdev._common.checks import check_choice
from rankdev.display.cells import Cell, p_header, p_value, percent
from rankdev.display.dispatch import draws, reports
from rankdev.display.report import (
    Report,
    Table,
    best_cells,
    intervals,
    made_with,
    ranks,
    report_by_segment,
    result_report,
)
from rankdev.display.style import PAGE, draw_intervals, figure, looks, styled, titled
from rankdev.errors import counted
from rankdev.statistics.inputs import ALL
from rankdev.statistics.power_result import DiscriminativePower
from rankdev.statistics.significance import NAMES, Significance

if TYPE_CHECKING:
    from matplotlib.figure import Figure


LOOKS = {"better": "best", "worse": "bad", "pass": "best", "fail": "bad"}
LISTED = 3  # systems that a cell names; more are counted


@reports(Significance)
def significance_report(found: Significance, *, pairs: bool = False) -> Report:
    """State what is decided; two systems have a row per measure, more of them a leaderboard, or all ``pairs``."""
    if found.segments:
        return _by_segment(found, pairs)
    method, shares = found.method, f"; {found.unjudged}" if found.unjudged else ""
    if len(found.systems) == 2:
        tables = [_two(found)]
        closing = [f"{method}; w/t/l: queries won, tied and lost{shares}.", *filter(None, [found.losses])]
    elif found.baselines or pairs:
        tables = [_pairs(found)]
        closing = [f"{method}; w/t/l: queries that a won, tied and lost{shares}."]
    else:
        tables = [_leaderboard(found, measure) for measure in found.measures]
        number = counted(found.decisions[0].queries, found.decisions[0].unit)
        closing = [f"{method}, {number}; --pairs shows them all{shares}."]
    return result_report(found, "compare", tables, found.conclusion.splitlines(), closing, brief=True)


def verdict_cell(word: str) -> Cell:
    """Write a verdict."""
    return Cell(word, LOOKS.get(word, ""))


def signed(value: float) -> str:
    """Write a difference with its sign.

    >>> signed(0.0301), signed(-0.5), signed(0.0)
    ('+0.0301', '-0.5000', '0.0000')
    """
    return f"{value:+.4f}" if round(value, 4) else "0.0000"


LOOK: dict[str, Any] = {
    "formats": {"change": signed, "a − b": signed, "p": p_value, "verdict": verdict_cell},
    "right": ("95%", "w/t/l", "rank is", "runs"),
}


def pair_columns(alpha: float) -> list[pl.Expr]:
    """Write the interval of a difference, and how many queries won, tied and lost."""
    return [
        intervals(digits=3).alias(percent(1 - alpha)),
        pl.format("{}/{}/{}", "wins", "ties", "losses").alias("w/t/l"),
    ]


def _look(found: Significance) -> dict[str, Any]:
    """Write changes with their sign, and p-values and verdicts as such."""
    adjusted = p_header(found.correction)
    return {
        "formats": {**LOOK["formats"], adjusted: p_value},
        "right": (percent(1 - found.alpha), *LOOK["right"]),
    }


def two_headers(baseline: str, candidate: str, taken: Sequence[str]) -> list[str]:
    """Return the names of two systems as headers that are unlike those of other columns."""
    return [name if name not in taken else f"mean of {name}" for name in (baseline, candidate)]


def _two(found: Significance) -> Table:
    """Show both means, their difference and the verdict of each measure."""
    rows = found.to_polars()
    (b, a), before = (
        (rows["b"][0], rows["a"][0]),
        ("measure", "change", percent(1 - found.alpha), "w/t/l", "p", "verdict"),
    )
    places = [found.systems.index(name) for name in (b, a)]
    means = [pl.Series(name, found.means[i]) for name, i in zip(two_headers(b, a, before), places, strict=True)]
    frame = rows.select(
        "measure",
        *means,
        pl.col("difference").alias("change"),
        *pair_columns(found.alpha),
        pl.col("p_adjusted").alias("p"),
        "verdict",
    )
    return Table(frame, **_look(found), names=("measure",))


def _pairs(found: Significance) -> Table:
    rows = found.to_polars()
    frame = rows.select(
        "measure",
        "a",
        "b",
        pl.col("difference").alias("a − b"),
        *pair_columns(found.alpha),
        pl.col("p_adjusted").alias(p_header(found.correction)),
        "verdict",
    )
    if found.replicates:
        runs = [f"{found.replicates[a]}/{found.replicates[b]}" for a, b in rows.select("a", "b").iter_rows()]
        frame.insert_column(3, pl.Series("runs", runs))
    if len(found.measures) > 1:
        return Table(frame, **_look(found), names=("measure", "a", "b"))
    return Table(frame.drop("measure"), found.measures[0], **_look(found), names=("a", "b"))


def _leaderboard(found: Significance, measure: str) -> Table:
    """Order systems by their means, with the ranks that the decisions leave them, and who cannot be told from whom."""
    rows, alike = found.standing(measure), found.not_told_from(measure)
    ahead = (rows["mean"] - rows["mean"].shift(-1)) * (-1 if measure in found.lower_is_better else 1)
    frame = rows.select(
        "rank",
        "system",
        "mean",
        ranks().alias("rank is"),
        ahead.alias("ahead of the next"),
        pl.Series("not told from", [_some(alike[name]) for name in rows["system"]]),
    )
    title = measure if len(found.measures) > 1 else ""
    formats = {"ahead of the next": signed}
    return Table(frame, title, formats=formats, right=("rank is",), prose=("not told from",), names=("system",))


def _some(names: Sequence[str]) -> str:
    named = ", ".join(names[:LISTED])
    return f"{named} and {len(names) - LISTED} more" if len(names) > LISTED else named


def _by_segment(found: Significance, pairs: bool) -> Report:
    """Show all queries and each segment."""
    parts = {name: significance_report(part, pairs=pairs) for name, part in found.parts.items()}
    whole = report_by_segment(parts)
    own = [line for name, part in parts.items() if name != ALL for line in (f"{name}: {text}" for text in part.opening)]
    together = found.pairs * len(found.segments)
    corrected = f"Segments: {NAMES[found.correction]} over {together} pairs." if found.correction in NAMES else ""
    closing = [*parts[ALL].closing, *filter(None, [corrected])]
    conclusion = found.conclusion
    return replace(whole, opening=[*conclusion.splitlines(), *own], closing=closing, conclusion=conclusion)


@draws(Significance)
@styled
def plot_significance(found: Significance, measure: str | None = None) -> Figure:
    """Draw each pair's difference with its interval, of all measures or one; filled dots are told apart."""
    found = found.parts[ALL]
    rows = found.to_polars()
    if measure is not None:
        check_choice("measure", measure, found.measures)
        rows = rows.filter(measure=measure)
    told = rows["verdict"].is_in(["better", "worse"]).to_list()
    names = [(row["measure"], row["a"], row["b"]) for row in rows.iter_rows(named=True)]
    label = f"difference, {percent(1 - found.alpha)} interval; filled: better or worse"
    drawn = draw_intervals(rows, "difference", names, label, told, zero=True, between=" − ")
    if found.margin is not None:
        drawn.axes[0].axvspan(-found.margin, found.margin, color="#009E73", alpha=0.15, linewidth=0)
    measures = rows["measure"].unique(maintain_order=True)
    under = f" in {measures[0]}" if len(measures) == 1 else f" in {len(measures)} measures"
    return titled(drawn, f"{sum(told)} of {counted(rows.height, 'difference')} significant{under}")


@reports(DiscriminativePower)
def discriminative_power_report(found: DiscriminativePower) -> Report:
    """Show the fraction of pairs that differ significantly under each measure, and the difference needed."""
    frame = found.summary()
    title = f"Pairs that differ significantly at level {found.alpha:g}"
    closing = (
        "needed: the difference that would just be significant, median over pairs; needed_by_all: largest",
        "the fractions are those of these queries",
        made_with(found),
    )
    best = best_cells(frame, ["fraction"])
    return result_report(
        found, "compare --discriminative-power", [Table(frame, title, best=best, bars=("fraction",))], (), closing
    )


@draws(DiscriminativePower)
@styled
def plot_discriminative_power(found: DiscriminativePower) -> Figure:
    """Draw each measure's achieved significance levels in descending order; the lower, the more discriminative."""
    summary = found.summary()
    measures = summary["measure"].to_list()
    drawn, axes = figure(PAGE, 3.4 + 0.125 * len(measures))
    axis: Any = axes[0, 0]
    look = looks(measures)
    for row in summary.sort("fraction", descending=True, maintain_order=True).iter_rows(named=True):
        levels = found.curve(row["measure"])[::-1]
        label = f"{row['measure']}: {row['significant']} of {row['pairs']}"
        every = max(1, len(levels) // 20)
        axis.plot(np.arange(1, len(levels) + 1), levels, label=label, markevery=every, **look[row["measure"]])
    axis.axhline(found.alpha, color="#777777", linewidth=0.8)
    axis.xaxis.get_major_locator().set_params(integer=True)
    top = max(3 * found.alpha, 0.15)
    axis.set(xlabel="pairs of systems, by level", ylabel="achieved significance level (p)", ylim=(-0.02 * top, top))
    drawn.legend(loc="outside lower center", ncols=2, frameon=False)
    return titled(drawn, f"The further left a curve falls below {found.alpha:g}, the more pairs differ significantly")
