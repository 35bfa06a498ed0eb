"""Simulate every claim at length and write docs/calibration.md: python -m tests.calibration [CLAIM...]"""

import sys
from pathlib import Path

from tests.calibration.claims import CLAIMS
from tests.calibration.simulations import Finding

PAGE = Path(__file__).parents[2] / "docs/calibration.md"
HEAD = """# What was checked

Every interval and every error rate that rankdev reports is a claim. Here each is put to a test whose truth is known:
scores are drawn again and again, and the share of trials in which the claim held is counted. `make calibrate`
rewrites this page; short runs of the same simulations are part of `make test`. Intervals are 95% ones, tests are
at α = .05. *normal*, *exponential* (skewed), *discrete* (five values) and *tied* (half of the differences are zero) are
the distributions of per-query differences; AP@5 and RDQ@5 are differences between two systems of the simulator of the
paper's POI study. What falls short is in the table too.
"""


def main() -> None:
    chosen = sys.argv[1:] or list(CLAIMS)
    findings = [finding for name in chosen for finding in show(name)]
    if len(chosen) == len(CLAIMS):
        PAGE.write_text(HEAD + "".join(lines(findings)), encoding="utf-8")
    sys.exit(0 if all(finding.fine for finding in findings) else 1)


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


def lines(findings: list[Finding]) -> list[str]:
    text = ["\n| claim | setting | held | of trials | ± |\n|---|---|---|---|---|\n"]
    for one in findings:
        held = f"{one.held:.3f}" if one.fine else f"**{one.held:.3f}**"
        text.append(f"| {one.claim} | {one.setting} | {held} | {one.trials:,} | {one.error:.3f} |\n")
    return text


if __name__ == "__main__":
    main()
