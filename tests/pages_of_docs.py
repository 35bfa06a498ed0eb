"""Examples of README.md and docs/: Python prompts, and `$ rankdev …` commands with their output.

Files of tests/cli/approved/ hold what each command prints in the same way, with its exit status where that is not 0.
"""

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import warnings
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE
from importlib.util import find_spec
from pathlib import Path
from unittest.mock import patch

from sybil import Example, Sybil
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser, SkipParser

ROOT = Path(__file__).parents[1]
HOME = Path.cwd()
APPROVED = ROOT / "tests/cli/approved"


PLAIN = re.compile(r"rankdev(?!.*--import)( [^|<>;&*?$`~]*)?")  # nothing for a shell, and nothing that stays loaded


def printed(command: str, page: str) -> list[str]:
    """Run a command and return the lines it prints, without blanks at their ends."""
    text, status = (_in_this_process if PLAIN.fullmatch(command) else _in_a_shell)(command)
    lines = [line.rstrip() for line in text.splitlines()]
    return [*lines, f"(exit status {status})"] if status and APPROVED in Path(page).parents else lines


def _in_this_process(command: str) -> tuple[str, int]:
    """Save the start of a process, most of whose time is for imports."""
    from rankdev.cli import main

    status = 0
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with (
        patch.object(sys, "argv", shlex.split(command)),
        patch.dict(os.environ, COLUMNS="80"),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("always")
        try:
            main()
        except SystemExit as done:
            status = int(done.code or 0)
    return "".join(stream.buffer.getvalue().decode() for stream in (out, err)), status  # type: ignore[attr-defined]


def _in_a_shell(command: str) -> tuple[str, int]:
    environment = {
        **os.environ,
        "COLUMNS": "80",
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    done = subprocess.run(command, shell=True, capture_output=True, text=True, env=environment, check=False)
    return done.stdout + done.stderr, done.returncode


def run_console(example: Example) -> str | None:
    """Run each `$` line; the lines below it must be what it prints. Empty lines do not count."""
    expected: list[str] = []
    found: list[str] = []
    for line in example.parsed.splitlines():
        if line.startswith("$ "):
            found += filter(None, printed(line[2:], example.path))
        elif line.rstrip():
            expected.append(line.rstrip())
    return None if expected == found else "\n".join(["expected:", *expected, "", "printed:", *found])


def in_demo_folder(namespace: dict[str, object]) -> None:
    """Examples find the files of `rankdev demo --save` where they run, and no measure of another page or a test."""
    from rankdev.measures.base import REGISTRY

    namespace["registered"] = dict(REGISTRY)
    _register(_of_rankdev())
    folder = tempfile.mkdtemp()
    shutil.copytree(ROOT / "src/rankdev/data/demo", folder, dirs_exist_ok=True)
    namespace["folder"] = folder
    namespace["not_on_sail"] = not (find_spec("pysail") and find_spec("pyspark"))
    for library in ("torch", "sentence_transformers"):
        namespace[f"without_{library}"] = not find_spec(library)
    os.chdir(folder)


def back_home(namespace: dict[str, object]) -> None:
    """Leave the folder and take it away, and with it the measures that the page defined."""
    _register({**namespace["registered"], **_of_rankdev()})  # type: ignore[dict-item]
    os.chdir(HOME)
    shutil.rmtree(str(namespace["folder"]), ignore_errors=True)


def _of_rankdev() -> dict[str, type]:
    from rankdev.measures import REGISTRY

    return {name: kind for name, kind in REGISTRY.items() if kind.__module__.startswith("rankdev.")}


def _register(measures: dict[str, type]) -> None:
    from rankdev.measures.base import REGISTRY

    REGISTRY.clear()
    REGISTRY.update(measures)


PAGES = Sybil(
    parsers=[
        PythonCodeBlockParser(doctest_optionflags=NORMALIZE_WHITESPACE | ELLIPSIS),
        CodeBlockParser("console", run_console),
        SkipParser(),
    ],
    path=str(ROOT),
    patterns=["README.md", "docs/*.md", "tests/cli/approved/*.md"],
    setup=in_demo_folder,
    teardown=back_home,
)
