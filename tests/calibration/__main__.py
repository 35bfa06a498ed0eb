"""Simulate claims at length; write docs/calibration.csv and docs/trust.md: python -m tests.calibration [SECTION...]"""

import sys
from collections.abc import Iterator

from tests.calibration.simulations import Finding
from tests.calibration.table import CLAIMS, read, write


def main() -> None:
    unknown = [name for name in sys.argv[1:] if name not in CLAIMS]
    if unknown:
        sys.exit(f"no section {unknown[0]!r}; there are: {', '.join(CLAIMS)}")
    found = read()
    names = sys.argv[1:] or CLAIMS
    for name in names:
        found[name] = list(show(name))
        write(found)
    sys.exit(0 if all(row.fine for name in names for row in found[name]) else 1)


def show(name: str) -> Iterator[Finding]:
    simulate, trials, _ = CLAIMS[name]
    for row in simulate(trials):
        print(f"{row.claim}: {row.setting}: {row.held:.3f}{'' if row.fine else '  FALLS SHORT'}", flush=True)
        yield row


if __name__ == "__main__":
    main()
