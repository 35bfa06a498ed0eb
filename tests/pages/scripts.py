"""Check the pages' scripts, page by page as a browser loads them: ``python -m tests.pages.scripts``.

oxlint comes with the other tools of `make setup`. TypeScript reads the types in the comments; it needs Node, and
without it that part is left out, and said to be.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from rankdev.html_report.page import PAGE as REPORT
from rankdev.html_report.playground import PLAYGROUND

ROOT = Path(__file__).parents[2]
SHARED, WEB = ROOT / "src/rankdev/html_report/assets", ROOT / "src/rankdev/judging/assets"
JUDGE = re.findall(r'<script src="([\w.]+)"', (WEB / "judge.html").read_text(encoding="utf-8"))
PAGES = {
    "report": [SHARED / name for name in REPORT.scripts],
    "playground": [SHARED / name for name in PLAYGROUND.scripts],
    "judge": [SHARED / name if (SHARED / name).exists() else WEB / name for name in JUDGE],
}
TSC = ["npx", "--yes", "--package", "typescript@5.9.3", "tsc", "--noEmit", "--allowJs", "--checkJs", "--strict"]
TSC += ["--noUnusedLocals", "--noUnusedParameters", "--target", "es2023", "--lib", "es2023,dom,dom.iterable"]


def main() -> int:
    """Give the number of checks that failed."""
    oxlint = Path(sys.executable).parent / "oxlint"
    failed = int(subprocess.run([oxlint, "-c", ".oxlintrc.json", "src"], cwd=ROOT, check=False).returncode != 0)
    if shutil.which("npx") is None:
        print("types of the pages' scripts were not checked: that needs Node (npx)")
        return failed
    for page, scripts in PAGES.items():
        wrong = subprocess.run([*TSC, *scripts], cwd=ROOT, check=False).returncode != 0
        print(f"types of {page}: {'wrong' if wrong else 'right'}")
        failed += wrong
    return failed


if __name__ == "__main__":
    sys.exit(main())
