"""The examples of CONTRIBUTING.md work, and pass ``make check``: each is put where the page says, into a copy."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
CODE = r":\n\n```python\n(?P<code>.*?)```"
FILE = re.compile(rf"(?:^|\s)In\s`(?P<file>\S+\.py)`{CODE}", re.DOTALL)
LINE = re.compile(rf"a line to `(?P<table>\w+)` of `(?P<file>\S+\.py)`[^`]*(?:`[^`]+`[^`]*)?{CODE}", re.DOTALL)
SCRIPT = """
import doctest, pathlib, rankdev as rd
parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
page = pathlib.Path("CONTRIBUTING.md").read_text(encoding="utf-8").replace("```", "\\n")
done = runner.run(parser.get_doctest(page, {"rd": rd}, "CONTRIBUTING.md", None, 0))
assert done.attempted > 10 and not done.failed

from click.testing import CliRunner
from rankdev.cli import cli

def printed(*words):
    return " ".join(CliRunner().invoke(cli, [*words]).output.split())

for words, added in {
    ("--help",): ("winners",),
    ("compare", "--help-all"): ("sign", "sidak", "org", "arrow", "single_ascending"),
    ("refs", "preferences", "--help-all"): ("win-rate", "halves"),
    ("measures",): ("Hits Number of reference items in the first k",),
}.items():
    missing = [name for name in added if name not in printed(*words)]
    assert not missing, (words, missing)
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """Return a folder with a copy of the package and all that the page adds to it."""
    folder = tmp_path_factory.mktemp("copy")
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "CONTRIBUTING.md"):
        shutil.copy(ROOT / name, folder)
    for match in FILE.finditer(PAGE):
        path = folder / match["file"]
        known = path.read_text(encoding="utf-8") + "\n\n" if path.exists() else ""
        path.write_text(known + match["code"], encoding="utf-8")
    for match in LINE.finditer(PAGE):
        path = folder / match["file"]
        text = re.sub(
            rf"^ *\"?{match['table']}\b.*\{{\n", rf"\g<0>{match['code']}", path.read_text(), flags=re.MULTILINE
        )
        path.write_text(text.replace("Ties = Literal[", 'Ties = Literal["single_ascending", '), encoding="utf-8")
    return folder


def run(folder, *command):
    environment = {**os.environ, "PYTHONPATH": str(folder / "src")}
    done = subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_page_has_an_example_of_everything():
    files, tables = [match["file"] for match in FILE.finditer(PAGE)], [match["table"] for match in LINE.finditer(PAGE)]
    assert len(files) == len(set(files)) == 9
    assert tables == ["TIE_RULES", "Everyday"]


def test_the_examples_work(copy):
    run(copy, "-c", SCRIPT)


def test_the_examples_pass_the_linter(copy):
    pytest.importorskip("ruff", reason="ruff is not installed")
    files = sorted({match["file"] for pattern in (FILE, LINE) for match in pattern.finditer(PAGE)})
    run(copy, "-m", "ruff", "check", "--no-cache", *files)
    run(copy, "-m", "ruff", "format", "--no-cache", "--check", *files)


@pytest.mark.slow  # mypy reads everything the first time
def test_the_examples_pass_the_type_checker(copy):
    pytest.importorskip("mypy", reason="mypy is not installed")
    run(copy, "-m", "mypy", "--cache-dir", str(ROOT / ".mypy_cache" / "contributing"))
