"""Simulate claims at length; write docs/calibration.csv and docs/trust.md: benchmarks.calibration [SECTION...]."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from benchmarks.calibration import estimates, judgments, simulations
from benchmarks.calibration.simulations import ALPHA, Finding

Found: TypeAlias = Mapping[str, Sequence[Finding]]
# by section: what simulates it, and how many trials long and short runs have
CLAIMS = {name: claim for part in (simulations, estimates, judgments) for name, claim in part.CLAIMS.items()}
PAGE = Path(__file__).parents[2] / "docs/trust.md"
ROWS = PAGE.with_name("calibration.csv")
MARK = "<!-- written by make calibrate -->\n"
# what is stated where it is neither 95% nor α, nor the goal itself
ONE_SIDED = ('false "better", real pairs', 'false "better", most skewed tenth of real pairs', "gate, wrong pass")
STATED = {"`plan`, `assured` is enough": 0.9} | dict.fromkeys(ONE_SIDED, ALPHA / 2)


def read() -> dict[str, list[Finding]]:
    """Return all rows by section."""
    found: dict[str, list[Finding]] = {}
    with ROWS.open(encoding="utf-8", newline="") as file:
        for section, claim, setting, held, goal, trials, _ in list(csv.reader(file))[1:]:
            row = Finding(claim, setting, float(held), int(trials), float(goal[2:] or 0), goal[:1] == "≤")
            found.setdefault(section, []).append(row)
    return found


def write(found: Found) -> None:
    """Write all rows, and the page's table."""
    with ROWS.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(("section", "claim", "setting", "held", "goal", "trials", "misses"))
        for section, rows in found.items():
            short = {
                (row.claim, row.setting): f"{_goal(row)} by {-reserve(row):.3f}" for row in stated(rows) if misses(row)
            }
            for row in rows:
                named = short.get((row.claim, row.setting), "")
                lines.writerow((section, row.claim, row.setting, f"{row.held:.3f}", _goal(row), row.trials, named))
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), found), encoding="utf-8")


def page(text: str, found: Found) -> str:
    """Return the page with the table of these rows."""
    before, _, rest = text.partition(MARK)
    return before + MARK + table(found) + "\n" + rest.partition("\n\n")[2]


def table(found: Found) -> str:
    """Return the worst setting of every claim that a setting misses by more than its error."""
    lines = ["claim | stated | worst | trials | setting | settings that miss it", "---|---|---|---|---|---"]
    for rows in found.values():
        known = list(stated(rows))
        for claim in dict.fromkeys(row.claim for row in known):
            beside = [row for row in known if row.claim == claim]
            if not any(map(misses, beside)):
                continue
            worst, missing = min(beside, key=reserve), sum(map(misses, beside))
            cells = (claim, _goal(worst), f"{worst.held:.3f}", f"{worst.trials:,}", worst.setting.partition(";")[0])
            lines.append(" | ".join((*cells, f"{missing} of {len(beside)}")))
    return "".join(f"{line}\n" for line in lines)


def misses(row: Finding) -> bool:
    """Whether what is stated is missed by more than the Monte Carlo error."""
    return reserve(row) < -row.error


def stated(rows: Sequence[Finding]) -> Iterator[Finding]:
    """Give the rows with a claim, each with what is stated in place of a goal that allows for hard settings."""
    known = [row for row in rows if _goal(row)]
    for row in known:
        goals = [each.goal for each in known if each.claim == row.claim]
        usual = ALPHA <= min(goals) < 2 * ALPHA if row.at_most else min(goals) > 0.75
        goal = (ALPHA if row.at_most else 1 - ALPHA) if usual else row.goal
        yield replace(row, goal=STATED.get(row.claim, goal))


def reserve(row: Finding) -> float:
    return row.goal - row.held if row.at_most else row.held - row.goal


def _goal(row: Finding) -> str:
    return f"{'≤' if row.at_most else '≥'} {row.goal:.3g}" if row.goal != float(row.at_most) else ""


def main() -> None:
    fine, asked = True, sys.argv[1:] or [*CLAIMS]
    if unknown := [name for name in asked if name not in CLAIMS]:
        sys.exit(f"no section {', '.join(unknown)}; there are {', '.join(CLAIMS)}")
    for name in asked:
        simulate, trials, _ = CLAIMS[name]
        rows = []
        for row in simulate(trials):
            print(f"{row.claim}: {row.setting}: {row.held:.3f}{'' if row.fine else '  FALLS SHORT'}", flush=True)
            rows.append(replace(row, held=round(row.held, 3)))  # as the file has it
            fine &= row.fine
            write({**read(), name: rows})  # as they come: sections take hours, and run beside each other
    sys.exit(not fine)


if __name__ == "__main__":
    main()
