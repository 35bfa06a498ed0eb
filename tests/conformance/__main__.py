"""Compare rankdev with other programs: python -m tests.conformance [--trec-eval DIR]

Writes the tables of docs/coming-from.md and docs/trust.md and exits with 1 where a difference has no explanation.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

from rankdev.evaluation.conventions import CONVENTIONS
from tests.conformance import comparisons, page, programs
from tests.conformance.cases import cases
from tests.conformance.comparisons import Row

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("RANKDEV_DATA", ROOT.parent / "shared/data"))
ARCHIVES = {"trec_eval-9": "trec_eval-9.*.tar.gz", "trec_eval-10": "trec_eval-10.*.tar.gz"}
NAMES, COMPARED, BUILD = ROOT / "docs/coming-from.md", ROOT / "docs/trust.md", ROOT / "build/conformance"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("--trec-eval", type=Path, default=DATA / "trec_eval", metavar="DIR", help="source archives")
    parser.add_argument("--data", type=Path, default=DATA, metavar="DIR", help="folder with trec-dl/passage/dl21")
    parser.add_argument("--files", type=int, default=600, metavar="N", help="how many random files")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = list(all_rows(options.trec_eval, options.data, options.files, options.seed))
    write(NAMES, conventions=page.conventions(), names=page.names())
    write(COMPARED, compared=page.results(rows))
    wrong = [line for row in rows for line in row.unexplained]
    print("\n".join(wrong[:50]), file=sys.stderr)
    sys.exit(1 if wrong else 0)


def write(path: Path, **tables: str) -> None:
    path.write_text(page.filled(path.read_text(encoding="utf-8"), **tables), encoding="utf-8")
    print(f"{path} is written")


def all_rows(archives: Path, data: Path, files: int, seed: int) -> Iterator[Row]:
    """Yield every comparison for which the other side is here, and name those that are left out."""
    several = list(cases(files, seed))
    folder = BUILD / "files"
    for like, pattern in ARCHIVES.items():
        found = sorted(archives.glob(pattern))
        if not found:
            yield from shown([Row(f"left out: no {pattern} in the folder of archives", CONVENTIONS[like].program)])
            continue
        home = programs.build_trec_eval(found[-1], BUILD)
        yield from shown(comparisons.nist(home, like))
        yield from shown(comparisons.fuzz_trec_eval(home, like, several, folder))
        yield from shown(comparisons.gain_maps(home, like, several, folder))
    for name, compare in (
        ("pytrec_eval", lambda: comparisons.fuzz_pytrec_eval(several)),
        ("ir_measures", lambda: comparisons.fuzz_ir_measures(several)),
        ("gdeval", lambda: comparisons.fuzz_gdeval(several, folder)),
        ("ranx", lambda: comparisons.fuzz_ranx([case for case in several if not case.name.startswith("deep")])),
        ("ir_measures", lambda: comparisons.fuzz_compatibility(several)),
    ):
        left_out = [Row("left out: it is not installed", name)]
        yield from shown(compare() if programs.installed(name) else left_out)
    yield from shown(comparisons.transcriptions(files))
    if (data / "trec-dl/passage/dl21").exists():
        yield from shown(comparisons.leaderboards(data))


def shown(rows: object) -> Iterator[Row]:
    for row in rows:  # type: ignore[attr-defined]
        print(f"{row.what}; {row.program}: {row.values:,} values, {row.differ} differ", flush=True)
        yield row


if __name__ == "__main__":
    main()
