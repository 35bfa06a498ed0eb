"""How far measures agree with people, as a report and as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rankdev.errors import counted
from rankdev.meta.agreement_with_people import PeopleAgreement
from rankdev.reporting.cells import number, percent
from rankdev.reporting.door import draws, reports
from rankdev.reporting.plots.intervals import draw_intervals
from rankdev.reporting.plots.style import styled, titled
from rankdev.reporting.report import Report, Table, intervals

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMED = 10  # pairs of measures of which a line says which agrees more


@reports(PeopleAgreement)
def people_agreement_report(found: PeopleAgreement) -> Report:
    """Show each measure's agreement, best first, and which measure clearly agrees more than which."""
    rows = found.to_polars()
    spread = f"{percent(found.confidence)} interval"
    best_first = rows.sort("agreement", descending=True, maintain_order=True)
    frame = best_first.select("measure", "agreement", intervals(digits=3).alias(spread))
    said = f"{counted(len(found.preferred), 'verdict')} with a preference"
    title = f"How often a measure prefers what people prefer: {said}, {counted(found.queries, 'query')}"
    sides = found.between()
    clear = sides.filter((pl.col("low") > 0) | (pl.col("high") < 0))
    notes = [
        f"{row['a'] if row['difference'] > 0 else row['b']} agrees more than"
        f" {row['b'] if row['difference'] > 0 else row['a']}, by {number(abs(row['difference']), 3)}"
        for row in clear.head(NAMED).iter_rows(named=True)
    ]
    if clear.height > NAMED:
        notes.append(f"and so on for {counted(clear.height - NAMED, 'more pair')} of measures")
    if not notes and sides.height:
        notes = ["no measure clearly agrees more than another"]
    ceiling = [] if found.ceiling is None else [f"one judge predicts another in {number(found.ceiling, 3)}"]
    closing = [*notes, *ceiling, f"{counted(found.ties, 'verdict')} without a preference; 0.5 is chance"]
    return Report(
        rows,
        [Table(frame, title, digits=3, right=(spread,), bars=("agreement",))],
        closing=closing,
        remarks=found.remarks,
        command="agreement",
        parameters=found.parameters,
        summary=rows,
        more={"between": sides, "by_size": found.by_size()},
    )


@draws(PeopleAgreement)
@styled
def plot_people_agreement(found: PeopleAgreement) -> Figure:
    """Draw each measure's agreement with its interval."""
    rows = found.to_polars()
    label = f"share of people's verdicts predicted, {percent(found.confidence)} interval; 0.5 is chance"
    drawn = draw_intervals(rows, "agreement", [("", name) for name in rows["measure"]], label)
    return titled(drawn, "How often each measure prefers what people prefer")
