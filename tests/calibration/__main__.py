"""Simulate every claim at length and write docs/calibration: python -m tests.calibration [SECTION...]"""

import sys

from tests.calibration import pages
from tests.calibration.claims import CLAIMS
from tests.calibration.headlines import rewrite
from tests.calibration.simulations import Finding


def main() -> None:
    fine = True
    unknown = [name for name in sys.argv[1:] if name not in CLAIMS]
    if unknown:
        sys.exit(f"no section {unknown[0]!r}; there are: {', '.join(CLAIMS)}")
    for name in sys.argv[1:] or CLAIMS:
        rows = show(name)
        fine &= all(row.fine for row in rows)
        pages.write(name, rows)
        pages.FRONT.write_text(pages.front(pages.found()), encoding="utf-8")
    rewrite()
    sys.exit(0 if fine else 1)


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
