"""What the documentation says about coverage and error rates: numbers that follow from the worst row of calibration.

A number is followed by an invisible marker, ``.93<!-- worst: CLAIM; SETTING -->`` (``most:`` for error rates): the
lowest (highest) of the rows with that claim (``CLAIM*``: that begin so) and in whose setting SETTING occurs (or, after
``not``, does not), rounded to the pessimistic side. `python -m tests.calibration` rewrites them, and a test compares.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.calibration import pages as calibration
from tests.calibration.simulations import Finding

ROOT = Path(__file__).parents[2]
MARK = re.compile(r"\d*\.\d+<!-- (worst|most): ([^;>]+?)(?:; ([^>]+?))? -->")


def headline(found: Iterable[Finding], kind: str, claim: str, setting: str | None) -> str:
    """Return the number of a marker."""
    wanted, _, unwanted = (setting or "").partition("not ")
    rows = [
        row
        for row in found
        if (row.claim.startswith(claim[:-1]) if claim.endswith("*") else row.claim == claim)
        and wanted.strip() in row.setting
        and not (unwanted and unwanted.strip() in row.setting)
    ]
    if not rows:
        raise LookupError(f"docs/calibration has no row of {claim!r} with {setting!r}")
    held = [row.held for row in rows]
    share = math.floor(100 * min(held) + 1e-9) if kind == "worst" else math.ceil(100 * max(held) - 1e-9)
    return f"{share / 100:.2f}".lstrip("0") if share < 100 else "1.00"


def updated(text: str, found: Sequence[Finding]) -> str:
    """Return a page with the numbers that calibration has."""

    def written(mark: re.Match[str]) -> str:
        old = mark[0]
        return headline(found, mark[1], mark[2], mark[3]) + old[old.index("<!--") :]

    return MARK.sub(written, text)


def rows() -> list[Finding]:
    """Return all rows of the calibration."""
    return [row for rows in calibration.found().values() for row in rows]


def pages() -> list[Path]:
    return [page for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")) if page != calibration.FRONT]


def rewrite() -> None:
    found = rows()
    for page in pages():
        text = page.read_text(encoding="utf-8")
        page.write_text(updated(text, found), encoding="utf-8")
