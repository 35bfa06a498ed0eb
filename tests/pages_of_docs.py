"""Examples of README.md and docs/: Python prompts, and `$ rankdev …` commands with their output."""

import os
import shutil
import subprocess
import sys
import tempfile
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE
from importlib.util import find_spec
from pathlib import Path

from sybil import Example, Sybil
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser, SkipParser

ROOT = Path(__file__).parents[1]
HOME = Path.cwd()


def printed(command: str) -> list[str]:
    """Run a command in a shell and return the lines it prints, without blanks at their ends."""
    environment = {
        **os.environ,
        "COLUMNS": "80",
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    done = subprocess.run(command, shell=True, capture_output=True, text=True, env=environment, check=False)
    return [line.rstrip() for line in (done.stdout + done.stderr).splitlines()]


def run_console(example: Example) -> str | None:
    """Run each `$` line; the lines below it must be what it prints. Empty lines do not count."""
    expected: list[str] = []
    found: list[str] = []
    for line in example.parsed.splitlines():
        if line.startswith("$ "):
            found += filter(None, printed(line[2:]))
        elif line.rstrip():
            expected.append(line.rstrip())
    return None if expected == found else "\n".join(["expected:", *expected, "", "printed:", *found])


def in_demo_folder(namespace: dict[str, object]) -> None:
    """Examples find the files of `rankdev demo --save` where they run."""
    folder = tempfile.mkdtemp()
    shutil.copytree(ROOT / "src/rankdev/data/demo", folder, dirs_exist_ok=True)
    namespace["folder"] = folder
    namespace["not_on_sail"] = not (find_spec("pysail") and find_spec("pyspark"))
    for library in ("torch", "sentence_transformers"):
        namespace[f"without_{library}"] = not find_spec(library)
    os.chdir(folder)


def back_home(namespace: dict[str, object]) -> None:
    """Leave the folder and take it away."""
    os.chdir(HOME)
    shutil.rmtree(str(namespace["folder"]), ignore_errors=True)


PAGES = Sybil(
    parsers=[
        PythonCodeBlockParser(doctest_optionflags=NORMALIZE_WHITESPACE | ELLIPSIS),
        CodeBlockParser("console", run_console),
        SkipParser(),
    ],
    path=str(ROOT),
    patterns=["README.md", "docs/*.md"],
    setup=in_demo_folder,
    teardown=back_home,
)
