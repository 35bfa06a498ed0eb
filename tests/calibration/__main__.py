"""Simulate every claim at length and write docs/calibration.md: python -m tests.calibration [CLAIM...]"""

import inspect
import sys
from pathlib import Path

from tests.calibration.claims import CLAIMS
from tests.calibration.headlines import rewrite
from tests.calibration.simulations import Finding

PAGE = Path(__file__).parents[2] / "docs/calibration.md"
HEAD = """# Calibration

Every interval and every error rate that rankdev reports is a claim. Here each claim is tested by simulation: scores
are drawn repeatedly from a known truth, and the fraction of trials in which the claim held is counted; ± is the Monte
Carlo error of that fraction. Slow settings use fewer trials. `make calibrate` rewrites this page, `python -m
tests.calibration NAME` one section; short runs of the same simulations are part of `make test`. Intervals are at 95%,
tests at α = .05. *normal*, *exponential* (skewed), *discrete* (five values) and *tied* (half of the differences are
zero) are the distributions of per-query differences; those of sparse differences, of which most are zero, are named.
AP@5 and RDQ@5 are differences between two systems of the simulator of the paper's POI study. Claims that fall short
are included: in bold if they are more than four errors below their goal.
"""


def main() -> None:
    page, fine = written(), True
    for name in sys.argv[1:] or CLAIMS:
        findings = show(name)
        fine &= all(finding.fine for finding in findings)
        page[name] = section(name, findings)
        PAGE.write_text(HEAD + "".join(page[each] for each in CLAIMS if each in page), encoding="utf-8")
    rewrite()
    sys.exit(0 if fine else 1)


def written() -> dict[str, str]:
    """Return the sections that the page has already, by claim."""
    parts = PAGE.read_text(encoding="utf-8").split("\n## ")[1:]
    return {part.partition("\n")[0].lower(): f"\n## {part}" for part in parts}


def section(name: str, findings: list[Finding]) -> str:
    simulated = inspect.getdoc(CLAIMS[name][0])
    title = f"\n## {name[0].upper()}{name[1:]}\n\n{simulated}\n\n"
    return title + "| claim | setting | held | of trials | ± |\n|---|---|---|---|---|\n" + "".join(map(line, findings))


def line(one: Finding) -> str:
    held = f"{one.held:.3f}" if one.fine else f"**{one.held:.3f}**"
    return f"| {one.claim} | {one.setting} | {held} | {one.trials:,} | {one.error:.3f} |\n"


def show(name: str) -> list[Finding]:
    simulate, trials = CLAIMS[name]
    found = []
    for finding in simulate(trials):
        print(
            f"{finding.claim}: {finding.setting}: {finding.held:.3f}{'' if finding.fine else '  FALLS SHORT'}",
            flush=True,
        )
        found.append(finding)
    return found


if __name__ == "__main__":
    main()
