"""The decision of a gate as a report, and for continuous integration."""

from __future__ import annotations

from typing import Any
from xml.sax.saxutils import escape, quoteattr

import polars as pl

from rankdev.display.cells import percent
from rankdev.display.dispatch import reports
from rankdev.display.report import Report, Table, result_report
from rankdev.display.significance import pair_columns, signed, two_headers, verdict_cell
from rankdev.errors import printable
from rankdev.statistics.gate import Gate
from rankdev.statistics.inputs import ALL

WORST = 5  # queries that are shown


@reports(Gate)
def gate_report(found: Gate) -> Report:
    """State the decision in a sentence, then the measures and the queries that lost most."""
    rows = found.to_polars()
    spread = percent(1 - found.alpha)
    several = ["segment"] if rows["segment"].n_unique() > 1 else []
    taken = ("measure", *several, "change", spread, "w/t/l", "verdict")
    means = zip(("baseline", "candidate"), two_headers(found.baseline, found.candidate, taken), strict=True)
    frame = rows.select(
        *("measure", *several),
        *(pl.col(role).alias(name) for role, name in means),
        pl.col("difference").alias("change"),
        *pair_columns(found.alpha),
        "verdict",
    )
    formats: dict[str, Any] = {"change": signed, "verdict": verdict_cell}
    tables = [Table(frame, formats=formats, right=(spread, "w/t/l"), names=("measure", *several))]
    if found.worst.height:
        alone = found.worst["measure"].n_unique() == 1
        lost = found.worst.group_by("measure", maintain_order=True).head(WORST)
        tables.append(Table(lost.drop("measure") if alone else lost, "Queries that lost most"))
    shares = f"; {found.unjudged}" if found.unjudged else ""
    closing = [*filter(None, [found.losses]), f"w/t/l: queries won, tied and lost{shares}."]
    opening, more = [found.conclusion], {"queries": found.worst}
    return result_report(found, "gate", tables, opening, closing, more=more, brief=True)


def junit_of(found: Gate) -> bytes:
    """Write a test case per measure and segment, as continuous integration reads them."""
    cases = []
    for row in found.to_polars().iter_rows(named=True):
        what = row["measure"] if row["segment"] == ALL else f"{row['measure']}, {row['segment']}"
        name = quoteattr(f"{found.candidate} against {found.baseline}: {printable(what)}")
        text = escape(printable(row["reason"]))
        inside = {
            "pass": f"<system-out>{text}</system-out>",
            "fail": f"<failure>{text}</failure>",
            "undecided": f"<skipped>{text}</skipped>",
            "refused": f"<error>{escape(printable(found.conclusion))}</error>",
        }[row["verdict"]]
        cases.append(f'<testcase classname="rankdev.gate" name={printable(name)}>{inside}</testcase>')
    verdicts = found.to_polars()["verdict"].to_list()
    kinds = {"failures": "fail", "errors": "refused", "skipped": "undecided"}
    counts = " ".join(f'{name}="{verdicts.count(word)}"' for name, word in kinds.items())
    lines = [f'<testsuite name="rankdev gate" tests="{len(cases)}" {counts}>', *cases, "</testsuite>"]
    return ('<?xml version="1.0" encoding="utf-8"?>\n' + "\n".join(lines) + "\n").encode()
