"""The decision of a gate as a report, and for continuous integration."""

from __future__ import annotations

from xml.sax.saxutils import escape, quoteattr

import polars as pl

from rankdev.display.cells import Cell
from rankdev.display.dispatch import reports
from rankdev.display.report import Report, Table, intervals, made_with, result_report
from rankdev.errors import printable
from rankdev.statistics.gate import Gate
from rankdev.statistics.segments import ALL

WORDS = {"pass": "pass", "fail": "fail", "undecided": "cannot tell"}
WORST = 5  # queries that are shown


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
