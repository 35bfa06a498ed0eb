"""Formats of reports: text, the rows for machines, LaTeX and Markdown; and the HTML of notebooks."""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, Any, SupportsFloat

from rankdev import __version__
from rankdev._common.lazy import pl
from rankdev.data.write import is_stream, plain_suffix
from rankdev.display.cells import NOT_AVAILABLE, Cell
from rankdev.errors import UsageError, printable

if TYPE_CHECKING:
    from rankdev.display.report import Report, Table

    Make = Callable[[Report], bytes]


@dataclass(frozen=True)
class Format:
    """How to ``encode`` a report as the bytes of a file.

    A ``binary`` format is not for a terminal; one that ``holds_remarks`` includes the notes of the report.
    """

    name: str
    suffix: str
    encode: Make
    binary: bool = False
    holds_remarks: bool = False


FORMATS: dict[str, Format] = {}
UNLIMITED = 1_000_000  # columns of a file, which has no screen to fit


def report_format(name: str, suffix: str, **traits: bool) -> Callable[[Make], Make]:
    """Register a function as a format."""

    def register(make: Make) -> Make:
        FORMATS[name] = Format(name, suffix, make, **traits)
        return make

    return register


@report_format("table", ".txt", holds_remarks=True)
def as_text(report: Report) -> bytes:
    """Return what the command line prints, as wide as it is."""
    return report.text(UNLIMITED).encode()


def choose_format(form: str | None, output: str | None) -> Format:
    """Choose the format that was asked for, or that of the output's extension; a table by default."""
    if form is not None:
        return FORMATS[form]
    if output is None or is_stream(output):
        return FORMATS["table"]
    suffix = plain_suffix(output)
    for known in FORMATS.values():
        if suffix == known.suffix:
            return known
    raise UsageError("bad-ending", path=output, endings=[known.suffix for known in FORMATS.values()])


@report_format("json", ".json", holds_remarks=True)
def as_json(report: Report) -> bytes:
    """A result of a statistical command is an object with all that was computed; others are lists of records."""
    content: Any = records(report.rows)
    if report.command:
        content = {
            **_origin(report),
            "summary": records(report.rows if report.summary is None else report.summary),
            "rows": content,
            **{name: records(frame) for name, frame in report.more.items()},
            **({"conclusion": report.conclusion} if report.conclusion else {}),
            "remarks": list(report.remarks),
        }
    return (json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False) + "\n").encode()


@report_format("jsonl", ".jsonl")
def as_jsonl(report: Report) -> bytes:
    """Return one record per line."""
    lines = (json.dumps(row, ensure_ascii=False, allow_nan=False) for row in records(report.rows))
    return "".join(f"{line}\n" for line in lines).encode()


@report_format("csv", ".csv")
def as_csv(report: Report) -> bytes:
    """Return comma-separated rows; nothing between two commas where a value was not measured, inf for the infinite."""
    return report.rows.write_csv().encode()


@report_format("tsv", ".tsv")
def as_tsv(report: Report) -> bytes:
    """Return the same with tabs."""
    return report.rows.write_csv(separator="\t").encode()


@report_format("parquet", ".parquet", binary=True)
def as_parquet(report: Report) -> bytes:
    """Return the rows with their types; how they were made is in the file's metadata, under rankdev."""
    buffer = io.BytesIO()
    about = report.provenance or (json.dumps(_origin(report)) if report.command else "")
    report.rows.write_parquet(buffer, metadata={"rankdev": about} if about else None)
    return buffer.getvalue()


def _origin(report: Report) -> dict[str, Any]:
    return {"command": report.command, "version": __version__, "parameters": plain_value(report.parameters)}


def records(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """Return rows as JSON has them: null for what was not measured, the text "Infinity" for what is infinite."""
    found = frame.to_dicts()
    floats = [name for name, dtype in frame.schema.items() if dtype.is_float()]
    odd = [name for name in floats if not frame[name].is_finite().all()]
    for row in found if odd else []:
        row.update({name: plain_value(row[name]) for name in odd})
    return found


def plain_value(value: Any) -> Any:
    """Write a value so that JSON can hold it."""
    if isinstance(value, Mapping):
        return {str(name): plain_value(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain_value(part) for part in value]
    if value is None or isinstance(value, str | int):
        return value
    if not isinstance(value, SupportsFloat):
        return str(value)
    number = float(value)
    if math.isnan(number):
        return None
    return number if math.isfinite(number) else "Infinity" if number > 0 else "-Infinity"


def fragment(report: Report) -> str:
    """Return a report as HTML, for a notebook."""
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

    def line(tag: str, cells: Iterable[str]) -> str:
        inside = zip(sides, cells, strict=True)
        return "".join(f'<{tag} style="text-align:{side}">{cell}</{tag}>' for side, cell in inside)

    head = line("th", (escape(column.header) for column in table.columns))
    body = "".join(f"<tr>{line('td', (_html_cell(cell, table) for cell in row))}</tr>" for row in table.rows)
    caption = f'<caption style="text-align:left">{escape(printable(table.title))}</caption>' if table.title else ""
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _html_cell(cell: Cell, table: Table) -> str:
    text = escape(_starred(cell, table)) + (f"<sup>{escape(cell.raised)}</sup>" if cell.raised else "")
    if cell.style == "bar":
        full = cell.text.rstrip("░")
        empty = cell.text.removeprefix(full)
        return f'<span style="color:#0072B2">{full}</span><span style="color:#B84A00">{empty}</span>'
    looks = {"best": "font-weight:bold", "bad": "color:#b03000"}
    return f'<span style="{looks[cell.style]}">{text}</span>' if cell.style in looks else text


_LATEX = {
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", NOT_AVAILABLE: "--"},
    **{"∞": r"$\infty$", "≤": r"$\leq$", "≥": r"$\geq$", "−": "$-$", "τ": r"$\tau$", "α": r"$\alpha$"},
    **{"ρ": r"$\rho$", "λ": r"$\lambda$", "Φ": r"$\Phi$", "≠": r"$\neq$", "√": r"$\surd$", "₂": "$_2$"},
    **{"▇": r"\rule{.4em}{1.2ex}", "░": r"\rule{.4em}{.2ex}"},
    **{"†": r"\dag{}", "‡": r"\ddag{}", "§": r"\S{}", "¶": r"\P{}", "↓": r"$\downarrow$"},
    **{"±": r"$\pm$", "–": "--", "×": r"$\times$", "…": r"\dots{}"},
    **{"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}"},
}


WIDE = 42  # characters that fit into a column of a paper with two
MARKS = 1  # that fits into the space between columns


@report_format("latex", ".tex")
def as_latex(report: Report) -> bytes:
    """Return each table as a tabular, with its caption if it has one; the best values are bold."""
    tables = report.tables_or_rows
    titled = len(tables) > 1
    parts = [(f"% {printable(table.title)}\n" if titled else "") + _tabular(table) for table in tables]
    needed = ["% \\usepackage{booktabs,adjustbox}"] if any(table.caption for table in tables) else []
    return "\n".join([*needed, *parts]).encode()


def _tabular(table: Table) -> str:
    columns = table.columns
    heads = [table.groups.get(name, ("", name)) for name in table.shown.columns]
    longest = [max((cell.raised for cell in column.cells), key=len, default="") for column in columns]
    marks = [most if len(most) > MARKS else "" for most in longest]  # that need space of their own
    look = [(column.right, most) for column, most in zip(columns, marks, strict=True)]
    rows = ([_latex_cell(cell, *how) for cell, how in zip(row, look, strict=True)] for row in table.rows)
    sides = "".join("r" if column.right else "l" for column in columns)
    above = [f"\\begin{{tabular}}{{{sides}}}", "\\toprule", *_latex_groups(heads)]
    named = (_in_latex(printable(name)) for _, name in heads)
    centred = (f"\\multicolumn{{1}}{{c}}{{{text}}}" if most else text for text, most in zip(named, marks, strict=True))
    head = _latex_row(centred)
    lines = [*above, head, "\\midrule", *map(_latex_row, rows), "\\bottomrule", "\\end{tabular}"]
    if table.caption:
        cells = zip(heads, columns, strict=True)
        widths = [max([len(name), *(len(cell.bare) for cell in column.cells)]) for (_, name), column in cells]
        place = "table*" if sum(widths) + sum(map(len, marks)) + 2 * len(columns) > WIDE else "table"
        known = dict.fromkeys(group for group, _ in table.groups.values()) or [name for _, name in heads[1:]]
        label = re.sub("[^a-z0-9]+", "-", " ".join(known).lower()).strip("-")[:40]
        about = [f"\\caption{{{_in_latex(printable(table.caption))}}}", f"\\label{{tab:{label}}}"]
        begin, end = "\\begin{adjustbox}{max width=\\linewidth}", "\\end{adjustbox}"  # smaller where it would not fit
        lines = [f"\\begin{{{place}}}", "\\centering", *about, begin, *lines, end, f"\\end{{{place}}}"]
    return "\n".join([*lines, ""])


def _latex_groups(heads: Sequence[tuple[str, str]]) -> list[str]:
    """Return a row with the names of groups of columns, and the rules below them, where there are groups."""
    names, rules, at = [], [], 1
    for group, members in groupby(group for group, _ in heads):
        count = len(list(members))
        names.append(
            f"\\multicolumn{{{count}}}{{c}}{{{_in_latex(printable(group))}}}" if group else " & " * (count - 1)
        )
        rules += [f"\\cmidrule(lr){{{at}-{at + count - 1}}}"] if group else []
        at += count
    return [_latex_row(names), " ".join(rules)] if rules else []


def _latex_row(cells: Iterable[str]) -> str:
    """Write a row; one that begins with [ or * is no option of the rule or the line end before it."""
    row = " & ".join(cells)
    return ("{}" if row.startswith(("[", "*")) else "") + row + " \\\\"


def _latex_cell(cell: Cell, right: bool, space: str) -> str:
    """Write a value; marks of numbers stand beside the column, or in the space of the longest: digits stay aligned."""
    text = _in_latex(re.sub(r"(?<![\w.])-(?=[\d.])", "−", cell.bare) if right else cell.bare)
    raised = f"\\textsuperscript{{{_in_latex(cell.raised)}}}" if cell.raised else ""
    if right and raised:
        raised = f"\\rlap{{{raised}}}"
    if right and space:
        raised += f"\\hphantom{{\\textsuperscript{{{_in_latex(space)}}}}}"
    return (f"\\textbf{{{text}}}" if cell.style == "best" else text) + raised


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
    rows += [[_markdown_cell(cell, table) for cell in row] for row in table.rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _markdown_cell(cell: Cell, table: Table) -> str:
    text = _in_markdown(_starred(cell, table))
    raised = f"<sup>{_in_markdown(cell.raised)}</sup>" if cell.raised else ""
    return (f"**{text}**" if cell.style == "best" else text) + raised


def _in_markdown(text: str) -> str:
    return "".join(f"\\{char}" if char in "\\`*_{}[]<>|~#&!$" else char for char in printable(text))
