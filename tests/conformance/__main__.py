"""Compare rankdev with other programs: python -m tests.conformance [--trec-eval DIR] [--command 'CMD {qrels} {run}']

Writes the tables of docs/coming-from.md and docs/trust.md and exits with 1 where a difference has no explanation.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

from rankdev.data.files import read_references
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
    parser.add_argument("--command", metavar="CMD", help="compare this program only: 'CMD {qrels} {run}'")
    parser.add_argument(
        "--like", choices=list(CONVENTIONS), help="what --command does as; default: rankdev's own rules"
    )
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.command:
        if not all(place in options.command for place in ("{qrels}", "{run}")):
            parser.error("--command needs {qrels} and {run}, where the names of the two files go")
        rows = list(of_command(options.command, options.like, options.files, options.seed))
        print(page.results(rows))
    else:
        rows = list(all_rows(options.trec_eval, options.data, options.files, options.seed))
        write(NAMES, conventions=page.conventions(), names=page.names())
        write(COMPARED, compared=page.results(rows))
    wrong = [line for row in rows for line in row.unexplained]
    if not any(row.values for row in rows):
        wrong.append("no value was compared; lines have three columns, measure query value or query measure value")
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


def of_command(command: str, like: str | None, files: int, seed: int) -> Iterator[Row]:
    """Compare what a command prints for random files, as ``measure query value`` or ``query measure value``."""
    row = Row("random files", command)
    for case in cases(files, seed):
        qrels, run = case.write(BUILD / "files")
        words = [word.replace("{qrels}", str(qrels)).replace("{run}", str(run)) for word in shlex.split(command)]
        try:
            done = subprocess.run(words, capture_output=True, check=False, text=True)
        except OSError as error:
            sys.exit(f"{words[0]}: cannot be run ({error.strerror})")
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            row.unexplained.append(f"{case.name}: the command ended with {done.returncode}: {last}")
            continue
        printed = parse_printed(done.stdout, {*read_references(qrels).queries, "all"})
        ours = comparisons.values_of(like, dict.fromkeys(name for _, name in printed), qrels, run)
        for key, text in printed.items():
            row.add(ours, {key: float(text)}, half_a_digit(text), case.name)
    yield row


def parse_printed(text: str, queries: set[str]) -> dict[tuple[str, str], str]:
    """Read lines of three columns in either layout; the query is the column that names one, or ``all``."""
    found = {}
    for line in text.splitlines():
        fields = line.split()
        if len(fields) == 3 and is_number(fields[2]):
            first, second, value = fields
            found[(second, first) if second in queries else (first, second)] = value
    return found


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def half_a_digit(text: str) -> float:
    """Return how far a value may be from what was printed: half of its last digit; 17 digits are all there are."""
    decimals = len(text.lower().partition("e")[0].partition(".")[2])
    return max(0.5000001 * 10.0**-decimals, comparisons.EXACT)


if __name__ == "__main__":
    main()
