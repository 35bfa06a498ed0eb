"""Verdicts from clicks as a report: how many there are on each two systems."""

from __future__ import annotations

from rankdev.learning.verdicts_from_clicks import OUTCOMES, ClickVerdicts
from rankdev.reporting.door import reports
from rankdev.reporting.report import Report, Table


@reports(ClickVerdicts)
def click_verdicts_report(found: ClickVerdicts) -> Report:
    """Show how often each of two systems won, by what was compared."""
    names = {"prefer_a": "for a", "prefer_b": "for b", "tie": "neither"}
    table = Table(found.summary().rename(names), f"Verdicts from clicks: {OUTCOMES[found.outcome]}")
    return Report(found.verdicts, [table], remarks=found.remarks, parameters=found.parameters, summary=found.summary())
