"""Reports as HTML, LaTeX and Markdown."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from rankdev.display.cells import NOT_AVAILABLE
from rankdev.display.encodings import report_format
from rankdev.errors import printable

if TYPE_CHECKING:
    from rankdev.display.cells import Cell
    from rankdev.display.report import Report, Table


_PAGE = """
:root { color-scheme: light dark; }
body { margin: 0 auto; max-width: 70rem; padding: 1rem; font: 1rem/1.5 system-ui, sans-serif; }
table { border-collapse: collapse; margin: 1.5rem 0 .5rem; font-variant-numeric: tabular-nums; }
caption { padding-bottom: .3rem; font-weight: 600; white-space: nowrap; }
th, td { padding: .2rem .8rem .2rem 0; border-bottom: 1px solid #8886; white-space: nowrap; }
p { margin: .4rem 0; overflow-wrap: anywhere; }
"""
_FIRST = ".rankdev > p:first-child { font-size: 1.25rem; font-weight: 600; }\n"


@report_format("html", ".html", holds_remarks=True)
def as_html(report: Report) -> bytes:
    """Return a page with the fragment, and with a style, which a notebook has of its own."""
    title = escape(printable(report.conclusion.partition("\n")[0] or " ".join(["rankdev", report.command]).strip()))
    head = f'<meta charset="utf-8">\n<meta name="viewport" content="width=device-width">\n<title>{title}</title>'
    first = _FIRST if report.conclusion else ""
    return f'<!doctype html>\n<html lang="en">\n{head}\n<style>{_PAGE}{first}</style>\n{fragment(report)}'.encode()


def fragment(report: Report) -> str:
    """Return a report as a fragment of a page."""
    parts = [_html_paragraph(text) for text in report.opening]
    for table in report.tables:
        parts += [_html_table(table), *map(_html_paragraph, _below(table))]
    parts += [_html_paragraph(text) for text in report.closing]
    parts += [_html_paragraph(text, ' style="color:#a15c00"') for text in report.remarks]
    return f'<div class="rankdev" style="overflow-x:auto">{"".join(parts)}</div>\n'


def _below(table: Table) -> list[str]:
    return [text for text in (table.caption, *table.notes) if text]


def _starred(cell: Cell, table: Table) -> str:
    """Return the text of a cell, without a star where a caption explains what is bold."""
    return cell.bare if table.caption else cell.level


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
            f'<td style="text-align:{side}{_bar(cell)}">{_html_cell(cell, table)}</td>'
            for side, cell in zip(sides, row, strict=True)
        ]
        lines.append(f"<tr>{''.join(cells)}</tr>")
    caption = f'<caption style="text-align:left">{escape(printable(table.title))}</caption>' if table.title else ""
    return f"<table>{caption}<thead>{lines[0]}</thead><tbody>{''.join(lines[1:])}</tbody></table>"


def _bar(cell: Cell) -> str:
    """Draw a bar behind a number: see-through, so that it serves light and dark notebooks."""
    if cell.fraction is None:
        return ""
    end = f"{100 * cell.fraction:.3g}%"
    return f";background:linear-gradient(to right,rgba(0,114,178,.3) {end},transparent {end});min-width:6em"


def _html_cell(cell: Cell, table: Table) -> str:
    text = escape(_starred(cell, table)) + (f"<sup>{escape(cell.raised)}</sup>" if cell.raised else "")
    if cell.style == "bar":
        full = cell.text.count("▇")
        empty = len(cell.text) - full
        return f'<span style="color:#009E73">{"▇" * full}</span><span style="color:#D55E00">{"░" * empty}</span>'
    looks = {"best": "font-weight:bold", "bad": "color:#b03000", "dim": "opacity:.6"}
    return f'<span style="{looks[cell.style]}">{text}</span>' if cell.style in looks else text


_LATEX = {
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", NOT_AVAILABLE: "--"},
    **{"∞": r"$\infty$", "≤": r"$\leq$", "≥": r"$\geq$", "−": "$-$", "τ": r"$\tau$", "α": r"$\alpha$"},
    **{"ρ": r"$\rho$", "λ": r"$\lambda$", "Φ": r"$\Phi$", "≠": r"$\neq$", "√": r"$\surd$", "₂": "$_2$"},
    **{"▇": r"\rule{.4em}{1.2ex}", "░": r"\rule{.4em}{.2ex}"},
    **{"†": r"\dag{}", "‡": r"\ddag{}", "§": r"\S{}", "¶": r"\P{}", "↓": r"$\downarrow$"},
    **{"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}"},
}


@report_format("latex", ".tex")
def as_latex(report: Report) -> bytes:
    """Return each table as a tabular, with its caption if it has one; the best values are bold."""
    tables = report.tables_or_rows
    titled = len(tables) > 1
    parts = [(f"% {printable(table.title)}\n" if titled else "") + _tabular(table) for table in tables]
    return "\n".join(parts).encode()


def _tabular(table: Table) -> str:
    columns = table.columns
    lines = [f"\\begin{{tabular}}{{{''.join('r' if column.right else 'l' for column in columns)}}}", "\\toprule"]
    lines += [_protected(" & ".join(_in_latex(column.header) for column in columns)) + " \\\\", "\\midrule"]
    for row in zip(*(column.cells for column in columns), strict=True):
        lines.append(_protected(" & ".join(map(_latex_cell, row))) + " \\\\")
    lines += ["\\bottomrule", "\\end{tabular}"]
    if table.caption:
        caption = f"\\caption{{{_in_latex(printable(table.caption))}}}"
        lines = ["\\begin{table}", "\\centering", caption, *lines, "\\end{table}"]
    return "\n".join([*lines, ""])


def _latex_cell(cell: Cell) -> str:
    text = _in_latex(cell.bare)
    raised = f"\\textsuperscript{{{_in_latex(cell.raised)}}}" if cell.raised else ""
    return (f"\\textbf{{{text}}}" if cell.style == "best" else text) + raised


def _protected(row: str) -> str:
    """Keep a row that begins with [ or * from being read as an option of the rule or the line end before it."""
    return f"{{}}{row}" if row.startswith(("[", "*")) else row


def _in_latex(text: str) -> str:
    return "".join(_LATEX.get(char, f"\\{char}" if char in "&%$#_{}" else char) for char in text)


@report_format("markdown", ".md", holds_remarks=True)
def as_markdown(report: Report) -> bytes:
    """Return everything, the best values in bold."""
    parts = [_in_markdown(text) for text in report.opening]
    for table in report.tables:
        parts += [f"**{_in_markdown(table.title)}**"] if table.title else []
        parts += [_pipe_table(table), *map(_in_markdown, _below(table))]
    parts += [_in_markdown(text) for text in (*report.closing, *report.remarks)]
    return ("\n\n".join(parts) + "\n").encode()


def _pipe_table(table: Table) -> str:
    rows = [[_in_markdown(column.header) for column in table.columns]]
    rows.append(["---:" if column.right else "---" for column in table.columns])
    for row in zip(*(column.cells for column in table.columns), strict=True):
        rows.append([_markdown_cell(cell, table) for cell in row])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _markdown_cell(cell: Cell, table: Table) -> str:
    text = _in_markdown(_starred(cell, table))
    raised = f"<sup>{_in_markdown(cell.raised)}</sup>" if cell.raised else ""
    return (f"**{text}**" if cell.style == "best" else text) + raised


def _in_markdown(text: str) -> str:
    return "".join(f"\\{char}" if char in "\\`*_{}[]<>|~#&!$" else char for char in printable(text))
