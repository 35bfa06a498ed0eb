"""HTML: a fragment for a notebook or a page, without scripts; every text from outside is escaped."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from rankdev.errors import printable
from rankdev.reporting.encodings.registry import report_format

if TYPE_CHECKING:
    from rankdev.reporting.cells import Cell
    from rankdev.reporting.report import Report, Table


@report_format("html", ".html", holds_remarks=True)
def as_html(report: Report) -> bytes:
    """Give a page that says no more than the fragment."""
    return f'<!doctype html>\n<meta charset="utf-8">\n<title>rankdev</title>\n{fragment(report)}'.encode()


def fragment(report: Report) -> str:
    """Give a report as a fragment of a page."""
    parts = [_html_paragraph(text) for text in report.opening]
    for table in report.tables:
        parts += [_html_table(table), *map(_html_paragraph, table.notes)]
    parts += [_html_paragraph(text) for text in report.closing]
    parts += [_html_paragraph(text, ' style="color:#a15c00"') for text in report.remarks]
    return f'<div class="rankdev" style="overflow-x:auto">{"".join(parts)}</div>\n'


def _html_paragraph(text: str, look: str = "") -> str:
    return f"<p{look}>{escape(printable(text))}</p>"


def _html_table(table: Table) -> str:
    sides = ["right" if column.right else "left" for column in table.columns]
    heads = [
        f'<th style="text-align:{side}">{escape(column.header)}</th>'
        for side, column in zip(sides, table.columns, strict=True)
    ]
    lines = [f"<tr>{''.join(heads)}</tr>"]
    for row in zip(*(column.cells for column in table.columns), strict=True):
        cells = [
            f'<td style="text-align:{side}{_bar(cell)}">{_html_cell(cell)}</td>'
            for side, cell in zip(sides, row, strict=True)
        ]
        lines.append(f"<tr>{''.join(cells)}</tr>")
    caption = f'<caption style="text-align:left">{escape(printable(table.title))}</caption>' if table.title else ""
    return f"<table>{caption}<thead>{lines[0]}</thead><tbody>{''.join(lines[1:])}</tbody></table>"


def _bar(cell: Cell) -> str:
    """Draw a bar behind a number: see-through, so that it serves light and dark notebooks."""
    if cell.share is None:
        return ""
    end = f"{100 * cell.share:.3g}%"
    return f";background:linear-gradient(to right,rgba(0,114,178,.3) {end},transparent {end});min-width:6em"


def _html_cell(cell: Cell) -> str:
    text = escape(cell.text.rstrip())
    if cell.style == "bar":
        full = cell.text.count("▇")
        empty = len(cell.text) - full
        return f'<span style="color:#009E73">{"▇" * full}</span><span style="color:#D55E00">{"░" * empty}</span>'
    looks = {"best": "font-weight:bold", "bad": "color:#b03000", "dim": "opacity:.6"}
    return f'<span style="{looks[cell.style]}">{text}</span>' if cell.style in looks else text
