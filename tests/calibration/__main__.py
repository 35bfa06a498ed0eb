"""Simulate claims at length; write docs/calibration.csv and docs/trust.md: python -m tests.calibration [SECTION...]"""

import sys

from tests.calibration.table import CLAIMS, read, write


def main() -> None:
    unknown = [name for name in sys.argv[1:] if name not in CLAIMS]
    if unknown:
        sys.exit(f"no section {unknown[0]!r}; there are: {', '.join(CLAIMS)}")
    fine = True
    for name in sys.argv[1:] or CLAIMS:
        simulate, trials, _ = CLAIMS[name]
        rows = []
        for row in simulate(trials):
            print(f"{row.claim}: {row.setting}: {row.held:.3f}{'' if row.fine else '  FALLS SHORT'}", flush=True)
            rows.append(row)
            fine &= row.fine
            write({**read(), name: rows})  # as they come: sections take hours, and run beside each other
    sys.exit(not fine)


if __name__ == "__main__":
    main()
