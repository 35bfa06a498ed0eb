"""The decision of a gate as a report, and for continuous integration; means over time."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape, quoteattr

import polars as pl

from rankdev.display.cells import Cell
from rankdev.display.dispatch import draws, reports
from rankdev.display.report import Report, Table, intervals, made_with, result_report
from rankdev.display.style import COLOURS, MARKERS, PAGE, figure, shortened, styled, titled
from rankdev.errors import counted, printable
from rankdev.statistics.gate import Gate
from rankdev.statistics.history import History
from rankdev.statistics.segments import ALL

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WORDS = {"pass": "pass", "fail": "fail", "undecided": "cannot tell"}
WORST = 5  # queries that are shown
ONE = ""  # the line of systems that have one mean each


@reports(Gate)
def gate_report(found: Gate) -> Report:
    """State the decision in a sentence, then the measures and the queries that lost most."""
    several = [name for name in ("against", "segment") if found.to_polars()[name].n_unique() > 1]
    frame = found.to_polars().select(
        "measure",
        *several,
        "baseline",
        "candidate",
        pl.col("difference").alias("change"),
        intervals().alias("interval"),
        pl.format("{}/{}/{}", "wins", "ties", "losses").alias("w/t/l"),
        "verdict",
    )
    looks = {"pass": "best", "fail": "bad"}
    formats = {"verdict": lambda word: Cell(WORDS[word], looks.get(word, ""))}
    title = f"{found.candidate} against {found.baseline}"
    tables = [Table(frame, title, formats=formats, right=("interval", "w/t/l"))]
    if found.worst.height:
        alone = found.worst["measure"].n_unique() == 1
        lost = found.worst.group_by("measure", maintain_order=True).head(WORST)
        tables.append(Table(lost.drop("measure") if alone else lost, "Queries that lost most"))
    unused = [name for name in ("release", "query_margin") if getattr(found, name) is None]
    closing = ("w/t/l: queries that the candidate wins, ties and loses", made_with(found, *unused))
    return result_report(found, "gate", tables, [found.conclusion], closing, more={"queries": found.worst})


def junit_of(found: Gate) -> bytes:
    """Write a test case per measure and segment, as continuous integration reads them."""
    cases = []
    for row in found.to_polars().iter_rows(named=True):
        what = row["measure"] if row["segment"] == ALL else f"{row['measure']}, {row['segment']}"
        name = quoteattr(f"{found.candidate} against {row['against']}: {printable(what)}")
        text = escape(printable(row["reason"]))
        inside = {
            "pass": f"<system-out>{text}</system-out>",
            "fail": f"<failure>{text}</failure>",
            "undecided": f"<skipped>{text}</skipped>",
        }[row["verdict"]]
        cases.append(f'<testcase classname="rankdev.gate" name={printable(name)}>{inside}</testcase>')
    verdicts = found.to_polars()["verdict"].to_list()
    counts = f'tests="{len(cases)}" failures="{verdicts.count("fail")}" skipped="{verdicts.count("undecided")}"'
    lines = [f'<testsuite name="rankdev gate" {counts}>', *cases, "</testsuite>"]
    return ('<?xml version="1.0" encoding="utf-8"?>\n' + "\n".join(lines) + "\n").encode()


@reports(History)
def history_report(found: History) -> Report:
    """Show the means in the order of time, with what gates decided and what was changed, where there is any."""
    frame = found.to_polars()
    shown = [name for name in ("verdict", "changed") if (frame[name].fill_null("") != "").any()]
    table = frame.select("time", "system", "measure", "mean", intervals().alias("interval"), "queries", *shown)
    formats = {"verdict": lambda word: Cell(WORDS.get(word, word or ""), {"pass": "best", "fail": "bad"}.get(word, ""))}
    title = f"Means at {counted(frame['time'].n_unique(), 'time')}, 95% intervals over queries"
    return result_report(found, "history", [Table(table, title, formats=formats, right=("interval",))])


@draws(History)
@styled
def plot_history(found: History) -> Figure:
    """Draw the mean of each measure over time, with intervals and what gates decided; a change breaks the line."""
    frame = found.to_polars().with_columns(at=pl.col("time").map_elements(datetime.fromisoformat, pl.Object))
    measures = frame["measure"].unique(maintain_order=True).to_list()
    drawn, axes = figure(PAGE, 0.7 + 1.7 * len(measures), len(measures), sharex=True)
    once = frame.group_by("system", "measure").len()["len"].max() == 1
    systems = [ONE] if once else frame["system"].unique(maintain_order=True).to_list()
    for axis, measure in zip(axes[:, 0], measures, strict=True):
        of_measure = frame.filter(measure=measure).with_columns(part=(pl.col("changed") != "").cum_sum())
        times, changes = of_measure["at"].to_list(), of_measure["changed"].to_list()
        for before, after, what in zip(times, times[1:], changes[1:], strict=False):
            if not what:
                continue
            time = before + (after - before) / 2
            axis.axvline(time, color="#777777", linewidth=0.8, linestyle=(0, (4, 1.5)))
            axis.annotate(
                what, (time, 1), xycoords=("data", "axes fraction"), fontsize=6, rotation=90, va="top", ha="right"
            )
        for place, system in enumerate(systems):
            rows = of_measure if once else of_measure.filter(system=system)
            _draw_line(axis, rows, COLOURS[place % len(COLOURS)], MARKERS[place % len(MARKERS)], system)
        axis.set_ylabel(measure)
    axes[-1, 0].tick_params(axis="x", labelrotation=30)
    if len(systems) > 1:
        handles, labels = axes[0, 0].get_legend_handles_labels()
        drawn.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    marked = (frame["changed"] != "").any()
    title = f"{', '.join(measures)} over time" + ("; dashed: not comparable before and after" if marked else "")
    return titled(drawn, f"{title}; × a gate failed" if (frame["verdict"] == "fail").any() else title)


def _draw_line(axis: Any, rows: pl.DataFrame, colour: str, marker: str, system: str) -> None:
    """Draw the means of one system, each stretch without a change by itself."""
    label = shortened(printable(system))
    for _, part in rows.group_by("part", maintain_order=True):
        times = part["at"].to_list()
        axis.plot(
            times,
            part["mean"].fill_null(float("nan")).to_list(),
            color=colour,
            marker=marker,
            markersize=3.5,
            linewidth=1,
            label=label,
        )
        label = "_nolegend_"
        known = part.filter(pl.col("low").is_not_null())
        axis.vlines(known["at"].to_list(), known["low"].to_list(), known["high"].to_list(), color=colour, linewidth=0.8)
    failed = rows.filter(pl.col("mean").is_not_null(), verdict="fail")
    axis.plot(failed["at"].to_list(), failed["mean"].to_list(), "x", color="#B00020", markersize=8, markeredgewidth=1.5)
