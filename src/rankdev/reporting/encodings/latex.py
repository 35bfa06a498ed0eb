"""LaTeX: tables to be put into a paper, with the rules of booktabs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankdev.errors import printable
from rankdev.reporting.cells import NOT_AVAILABLE
from rankdev.reporting.encodings.registry import report_format

if TYPE_CHECKING:
    from rankdev.reporting.report import Report, Table

_LATEX = {
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", NOT_AVAILABLE: "--"},
    **{"∞": r"$\infty$", "≤": r"$\leq$", "≥": r"$\geq$", "−": "$-$", "τ": r"$\tau$", "α": r"$\alpha$"},
    **{"ρ": r"$\rho$", "λ": r"$\lambda$", "Φ": r"$\Phi$", "≠": r"$\neq$", "√": r"$\surd$", "₂": "$_2$"},
    **{"▇": r"\rule{.4em}{1.2ex}", "░": r"\rule{.4em}{.2ex}"},
    **{"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}"},
}


@report_format("latex", ".tex")
def as_latex(report: Report) -> bytes:
    """Give each table as a tabular; the best values are bold."""
    tables = report.tables_or_rows
    titled = len(tables) > 1
    parts = [(f"% {printable(table.title)}\n" if titled else "") + _tabular(table) for table in tables]
    return "\n".join(parts).encode()


def _tabular(table: Table) -> str:
    columns = table.columns
    lines = [f"\\begin{{tabular}}{{{''.join('r' if column.right else 'l' for column in columns)}}}", "\\toprule"]
    lines += [_apart(" & ".join(_in_latex(column.header) for column in columns)) + " \\\\", "\\midrule"]
    for row in zip(*(column.cells for column in columns), strict=True):
        cells = [f"\\textbf{{{_in_latex(c.bare)}}}" if c.style == "best" else _in_latex(c.bare) for c in row]
        lines.append(_apart(" & ".join(cells)) + " \\\\")
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}", ""])


def _apart(row: str) -> str:
    """Keep a row that begins with [ or * from being read as an option of the rule or the line end before it."""
    return f"{{}}{row}" if row.startswith(("[", "*")) else row


def _in_latex(text: str) -> str:
    return "".join(_LATEX.get(char, f"\\{char}" if char in "&%$#_{}" else char) for char in text)
