"""Markdown, with the tables that GitHub and most others know."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankdev.errors import printable
from rankdev.reporting.encodings.registry import report_format

if TYPE_CHECKING:
    from rankdev.reporting.report import Report, Table


@report_format("markdown", ".md", holds_remarks=True)
def as_markdown(report: Report) -> bytes:
    """Give everything, the best values in bold."""
    parts = [_in_markdown(text) for text in report.opening]
    for table in report.tables:
        parts += [f"**{_in_markdown(table.title)}**"] if table.title else []
        parts += [_pipe_table(table), *map(_in_markdown, table.notes)]
    parts += [_in_markdown(text) for text in (*report.closing, *report.remarks)]
    return ("\n\n".join(parts) + "\n").encode()


def _pipe_table(table: Table) -> str:
    rows = [[_in_markdown(column.header) for column in table.columns]]
    rows.append(["---:" if column.right else "---" for column in table.columns])
    for row in zip(*(column.cells for column in table.columns), strict=True):
        rows.append(
            [
                f"**{_in_markdown(c.text.rstrip())}**" if c.style == "best" else _in_markdown(c.text.rstrip())
                for c in row
            ]
        )
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _in_markdown(text: str) -> str:
    return "".join(f"\\{char}" if char in "\\`*_{}[]<>|~#&!$" else char for char in printable(text))
