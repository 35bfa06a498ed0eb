"""What judges agree on, as reports."""

from __future__ import annotations

from rankdev.errors import counted
from rankdev.judging import Collected
from rankdev.preferences import JudgeAgreement, PositionBias
from rankdev.reporting.door import reports
from rankdev.reporting.report import Report, Table


@reports(JudgeAgreement)
def agreement_report(found: JudgeAgreement) -> Report:
    """Show a row per fact; what chance gives is beside it."""
    table = found.to_polars()
    notes = []
    if found.position is not None and found.position.swapped:
        notes.append(swapped_note(found.position))
    return Report(table, [Table(table, "What the judges agree on")], closing=notes, remarks=found.remarks)


@reports(PositionBias)
def position_report(found: PositionBias) -> Report:
    """Show the bias of all judges; that of each is in the table."""
    table = found.to_polars()
    notes = [f"{counted(len(found.workers), 'worker')}, each in a row of to_polars()"] if found.workers else []
    if found.swapped:
        notes.append(swapped_note(found))
    shown = Table(table.head(1).drop("worker"), "Does the item shown first win?")
    return Report(table, [shown], closing=notes, remarks=found.remarks)


def swapped_note(found: PositionBias) -> str:
    """Say how many pairs were judged in both orders, and how often the order decided."""
    pairs = counted(found.swapped, "pair", "was")
    return f"{pairs} judged in both orders; in {found.changed:,} the answer changed with the order"


@reports(Collected)
def collected_report(found: Collected) -> Report:
    """Say what was asked, why it ended and what came out; a row per query."""
    lines = [f"{counted(found.asked, 'judgment')}; {found.stopped}."]
    if found.verdict is not None:
        better = found.verdict
        chance = "more than 0.999" if better.probability >= 0.9995 else f"{better.probability:.3f}"
        lines.append(
            f"{better.system} is better than {better.other} with probability {chance};"
            f" {better.measure} differs by {better.difference:.4f}."
        )
    return Report(found.to_polars(), [Table(found.summary(), "What was asked")], opening=lines, remarks=found.remarks)
