"""Write what the examples of README.md and docs/ and the commands of tests/cli/approved/ print now into these pages:
``python -m tests.examples [PAGE …]``.

Code and prose are left as they are, and so is output that still matches, by an ellipsis or otherwise. An example that
raises an exception where none is shown is reported instead. Read the difference before you commit it.
"""

import sys
import traceback
from pathlib import Path
from unittest import SkipTest
from unittest.mock import patch

from sybil.example import SybilFailure

from tests.pages_of_docs import APPROVED, PAGES, ROOT, back_home, in_demo_folder, printed, run_console


def rerun_console(example):
    """Return a console block with what its commands print now, or None where that is what it shows."""
    commands = [line for line in example.parsed.splitlines() if line.startswith("$ ")]
    lines = [line for command in commands for line in (command, *printed(command[2:], example.path))]
    same = list(filter(None, lines)) == [line.rstrip() for line in example.parsed.splitlines() if line.strip()]
    return None if same else as_text(lines)


def report_output(out, test, example, got):
    """Report the output of a Python example as a page shows it; doctest calls this where it has changed."""
    lines = got.splitlines()
    if any(line.startswith("Traceback (most recent") for line in lines):
        lines = ["Traceback (most recent call last):", lines[-1]]
    out(as_text(line.rstrip() or "<BLANKLINE>" for line in lines) or "\n")  # Sybil takes "" for "as expected"


def as_text(lines):
    return "".join(f"{line}\n" for line in lines)


def output_place(example):
    """Return where in its page the output of an example begins and ends."""
    if example.region.evaluator is rerun_console:
        start = example.start + example.parsed.offset
        return start, start + len(example.parsed)
    lines = example.document.text[example.start :].splitlines(keepends=True)
    code, output = example.parsed.source.count("\n"), example.parsed.want.count("\n")
    start = example.start + len("".join(lines[:code]))
    return start, start + len("".join(lines[code : code + output]))


def rerun(path):
    """Return the text of a page with new outputs, and a line about each example that failed."""
    document, pieces, done, failed = PAGES.parse(path), [], 0, []

    def report_exception(out, test, example, exception):
        error = traceback.format_exception_only(*exception[:2])[-1].strip()
        failed.append(f"{path}:{now.line}: {error}")

    runner = PAGES.parsers[0].doctest_parser.evaluator.runner
    in_demo_folder(document.namespace)
    with patch.multiple(runner, report_failure=report_output, report_unexpected_exception=report_exception):
        for now in document:
            if now.region.evaluator is run_console:
                now.region.evaluator = rerun_console
            try:
                now.evaluate()
            except SkipTest:
                continue
            except SybilFailure as changed:
                start, end = output_place(now)
                pieces += [document.text[done:start], changed.result.lstrip("\n")]
                done = end
    back_home(document.namespace)
    return "".join(pieces) + document.text[done:], failed


def main(names):
    every = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md")), *sorted(APPROVED.glob("*.md"))]
    failed = []
    for path in [Path(name).resolve() for name in names] or every:
        text, errors = rerun(path)
        failed += errors
        if text != path.read_text(encoding="utf-8"):
            path.write_text(text, encoding="utf-8")
            print(path.relative_to(ROOT))
    print("\n".join(failed), file=sys.stderr, end="\n" if failed else "")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
