"""What benchmarks found: a table to read, a line to keep, and pages made of the newest lines.

A page names a table between ``<!-- table: NAME -->`` and ``<!-- end -->``, or some rows by ``NAME; ROW, ROW``; one that
was not measured yet stays empty. A number in its text is followed by the cell that it comes from,
``0.57<!-- measured: TABLE; ROW; COLUMN -->``, or ``ROW ÷ ROW`` for a ratio, ``COLUMN low`` and ``COLUMN high`` for
the ends of an interval, and keeps its decimals.
"""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeAlias

Row: TypeAlias = Mapping[str, str | int | float | None]

HISTORY = Path(__file__).with_name("history.jsonl")
ROOT = Path(__file__).parent.parent
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
MEASURED = re.compile(r"−?[\d.,]*\d(<!-- measured: ([^;]+); ([^;]+); (.+?) -->)")
MARKED = re.compile(r"(<!-- table: ([^\n]+?) -->\n)((?:(?!<!-- table: ).)*?)(<!-- end -->\n)", re.DOTALL)


def report(name: str, rows: Sequence[Row], *, keep: bool, device: str | None = None) -> None:
    """Print a table; where it is to be kept, add it to the history, with the GPU that was used."""
    print(f"\n{name}\n\n{markdown(rows)}", flush=True)
    if keep:
        with HISTORY.open("a", encoding="utf-8") as file:
            where = circumstances() | ({"device": device} if device else {})
            file.write(json.dumps({"table": name, **where, "rows": rows}, ensure_ascii=False) + "\n")


def circumstances() -> dict[str, Any]:
    """Record when and on what a benchmark ran: ratios within a table hold elsewhere, seconds do not."""
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "versions": {"Python": platform.python_version()}
        | {name: _version(name) for name in ("rankdev", "numpy", "polars")},
    }


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:  # a checkout that is not installed
        return str(import_module(name).__version__)


def markdown(rows: Sequence[Row]) -> str:
    """Write rows as a table, numbers to the right."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    numeric = [any(isinstance(row.get(name), int | float) for row in rows) for name in names]
    lines = [names, ["--:" if right else "---" for right in numeric]]
    lines += [[_cell(row.get(name)) for name in names] for row in rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cell(value: str | float | None) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}" if value >= 1 else f"{value:.3f}"


def shown(value: float, low: float, high: float, digits: int = 3) -> str:
    """Write a number of at most 1 with its interval: ``.607 [.47, .73]``."""
    text = f"{value:.{digits}f} [{low:.2f}, {high:.2f}]"
    return re.sub(r"\b0\.", ".", text).replace("-", "−")


def _number(row: Row, column: str) -> float:
    """Return the number of a cell, or of an end of the interval in it."""
    name, _, end = column.rpartition(" ")
    place = 0 if column in row else ("", "low", "high").index(end)
    cell = row[name if place else column]
    return float(re.findall(r"-?[\d.]+", str(cell).replace("−", "-"))[place])


def _name(row: Row) -> str:
    """Return how a text names a row: its first words, after the numbers before them."""
    cells = list(row.values())
    first = next((place for place, cell in enumerate(cells) if isinstance(cell, str)), 0)
    return " ".join(_cell(cell) for cell in cells[: first + 1])


def newest() -> dict[str, dict[str, Any]]:
    """Return the last line of each table."""
    lines = HISTORY.read_text(encoding="utf-8").splitlines() if HISTORY.exists() else []
    return {entry["table"]: entry for entry in map(json.loads, lines)}


def page(text: str) -> str:
    """Put the newest tables and numbers where a page names them."""
    tables = newest()

    def filled(found: re.Match[str]) -> str:
        name, _, only = found[2].partition("; ")
        if name not in tables and not found[3]:
            return found[0]
        entry = tables[name]
        rows = [row for row in entry["rows"] if not only or _name(row) in only.split(", ")]
        where = f" and {entry['device']}" if "device" in entry else ""
        caption = f"{entry['date']}, {entry['cores']} cores{where}, load {entry['load']}."
        return f"{found[1]}\n{markdown(rows)}\n*{caption}*\n\n{found[4]}"

    def measured(found: re.Match[str]) -> str:
        rows = {_name(row): row for row in tables[found[2]]["rows"]}
        values = [_number(rows[name], found[4]) for name in found[3].split(" ÷ ")]
        number = found[0].removesuffix(found[1])
        decimals = len(number.partition(".")[2])
        made = f"{values[0] / (values[1] if values[1:] else 1):,.{decimals}f}".replace("-", "−")
        return (re.sub(r"^(−?)0", r"\1", made) if number.lstrip("−").startswith(".") else made) + found[1]

    return MARKED.sub(filled, MEASURED.sub(measured, text))
