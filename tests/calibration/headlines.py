"""What the documentation says about coverage and error rates: numbers that follow from the worst row of calibration.

A number is followed by an invisible marker, ``.93<!-- worst: CLAIM; SETTING -->`` (``most:`` for error rates): the
lowest (highest) of the rows with that claim (``CLAIM*``: that begin so) and in whose setting SETTING occurs (or, after
``not``, does not), rounded to the pessimistic side. `python -m tests.calibration` rewrites them, and a test compares.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/calibration.md"
MARK = re.compile(r"(?:1\.0+|\.\d+)<!-- (worst|most): ([^;>]+?)(?:; ([^>]+?))? -->")


def rows(page: str) -> list[tuple[str, str, float]]:
    """Return claim, setting and how often it held, of every row."""
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line[:1] == "|"]
    return [(row[0], row[1], float(row[2].strip("*"))) for row in cells if len(row) == 5 and row[3][:1].isdigit()]


def headline(found: list[tuple[str, str, float]], kind: str, claim: str, setting: str | None) -> str:
    """Return the number of a marker."""
    wanted, _, unwanted = (setting or "").partition("not ")
    held = [
        share
        for name, where, share in found
        if (name.startswith(claim[:-1]) if claim.endswith("*") else name == claim)
        and wanted.strip() in where
        and not (unwanted and unwanted.strip() in where)
    ]
    if not held:
        raise LookupError(f"docs/calibration.md has no row of {claim!r} with {setting!r}")
    share = math.floor(100 * min(held) + 1e-9) if kind == "worst" else math.ceil(100 * max(held) - 1e-9)
    return f"{share / 100:.2f}".lstrip("0") if share < 100 else "1.00"


def updated(text: str, page: str | None = None) -> str:
    """Return a page with the numbers that calibration has."""
    found = rows(PAGE.read_text(encoding="utf-8") if page is None else page)

    def written(mark: re.Match[str]) -> str:
        old = mark[0]
        return headline(found, mark[1], mark[2], mark[3]) + old[old.index("<!--") :]

    return MARK.sub(written, text)


def pages() -> list[Path]:
    return [page for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")) if page != PAGE]


def rewrite() -> None:
    for page in pages():
        text = page.read_text(encoding="utf-8")
        page.write_text(updated(text), encoding="utf-8")
