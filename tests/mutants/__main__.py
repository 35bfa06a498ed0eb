"""Mutate the arithmetic of rankdev and see whether its tests notice: python -m tests.mutants --help."""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue

from tests.mutants.operators import Mutant, mutant, places

ROOT = Path(__file__).parents[2]
TESTS = {  # what must notice a fault in a package; the tests of the package itself come first
    "statistics": ["tests/statistics", "tests/calibration", "tests/golden"],
    "preferences": ["tests/preferences", "tests/judging/test_collecting.py", "tests/golden"],
    "evaluation": ["tests/evaluation", "tests/common", "tests/data", "tests/golden"],
    "measures": ["tests/measures", "tests/common", "tests/evaluation", "tests/peers", "tests/golden"],
}


def main() -> int:
    """Draw mutants, run the tests of their package on each, list those that live."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("packages", nargs="*", default=list(TESTS), help="packages or files below src/rankdev")
    parser.add_argument("-n", type=int, default=100, help="mutants (default 100)")
    parser.add_argument("--seed", type=int, default=0, help="which of all mutants (default 0)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="mutants at a time (default: cores)")
    parser.add_argument("--seconds", type=float, default=300, help="after which a mutant counts as noticed")
    parser.add_argument("--output", type=Path, default=ROOT / "build/mutants.md")
    options = parser.parse_args()
    drawn = _drawn(options.packages, options.n, options.seed)
    started = time.monotonic()
    copies: Queue[Path] = Queue()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.jobs) as pool:
        for number in range(options.jobs):
            copies.put(Path(shutil.copytree(ROOT / "src", Path(folder, str(number), "src"))))

        for path in {one.parts[1]: one for one, _ in drawn}.values():  # where tests fail by themselves, all would die
            same = Mutant(0, "", "", (ROOT / "src" / path).read_text(encoding="utf-8"))
            if not _lives(Path(folder, "0", "src"), path, same, 3600):
                sys.exit(f"the tests of {path.parts[1]} fail without any mutant; mend them first")

        def lives(one: tuple[Path, Mutant]) -> bool:
            path, changed = one
            source = copies.get()
            try:
                return _lives(source, path, changed, options.seconds)
            finally:
                copies.put(source)

        survivors = []
        for (path, one), alive in zip(drawn, pool.map(lives, drawn), strict=True):
            survivors += [(path, one)] if alive else []
            said = f"{path}:{one.line}  {_cell(one.before)}  →  {_cell(one.after)}"
            print("LIVES" if alive else "dies ", said, flush=True)
    table = [
        f"{len(survivors)} of {len(drawn)} mutants live (seed {options.seed}, {time.monotonic() - started:,.0f} s)",
        *("", "| place | before | after |", "|---|---|---|"),
        *(f"| {path}:{one.line} | `{_cell(one.before)}` | `{_cell(one.after)}` |" for path, one in survivors),
    ]
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text("\n".join(table) + "\n", encoding="utf-8")
    print(f"{table[0]}; {options.output}")
    return 0


def _drawn(packages: list[str], number: int, seed: int) -> list[tuple[Path, Mutant]]:
    """Take mutants at random, the same for the same seed, in the order of their files."""
    made = []
    for package in packages:
        place = ROOT / "src/rankdev" / package
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            short = path.relative_to(ROOT / "src")
            source = path.read_text(encoding="utf-8")
            made += [(short, source, *place) for place in places(source)]
    chosen = random.Random(seed).sample(range(len(made)), min(number, len(made)))
    return [(path, mutant(*rest)) for path, *rest in (made[place] for place in sorted(chosen))]


def _lives(source: Path, path: Path, changed: Mutant, seconds: float) -> bool:
    original = (source / path).read_text(encoding="utf-8")
    (source / path).write_text(changed.text, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1", "RANKDEV_PROFILE": "fast"}
    environment["NUMBA_CACHE_DIR"] = str(source.parent / "numba")  # compiled code follows its source by time and size
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *_tests(path)]
    try:
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return False  # a loop that never ends is noticed
    finally:
        (source / path).write_text(original, encoding="utf-8")
    return done.returncode == 0


def _tests(path: Path) -> list[str]:
    """The tests of a module first: those named as it, then those of its package."""
    folders = TESTS[path.parts[1]]
    stem = path.stem.lstrip("_")
    named = [str(one.relative_to(ROOT)) for one in sorted((ROOT / folders[0]).glob(f"test_*{stem}*.py"))]
    return [*named, *folders]


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")[:90]


if __name__ == "__main__":
    sys.exit(main())
