"""The examples of CONTRIBUTING.md work: each is put where the page says, into a copy of the package."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
ADDED = re.compile(r"(?:^|\s)In\s`(?P<file>\S+\.py)`:\n\n```python\n(?P<code>.*?)```", re.DOTALL)
LINE = re.compile(r"A line in `(?P<table>\w+)`:\n\n```python\n(?P<code>.*?)```", re.DOTALL)
SCRIPT = """
import doctest, pathlib, rankdev as rd
parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
page = pathlib.Path("CONTRIBUTING.md").read_text(encoding="utf-8").replace("```", "\\n")
done = runner.run(parser.get_doctest(page, {"rd": rd}, "CONTRIBUTING.md", None, 0))
assert done.attempted > 10 and not done.failed

from click.testing import CliRunner
from rankdev.cli import cli

def said(*words):
    return " ".join(CliRunner().invoke(cli, [*words]).output.split())

for words, added in {
    ("compare", "--help"): ("sign", "sidak", "org", "arrow", "single_ascending"),
    ("refs", "preferences", "--help"): ("win-rate", "halves"),
    ("measures",): ("Hits Number of reference items in the first k",),
}.items():
    missing = [name for name in added if name not in said(*words)]
    assert not missing, (words, missing)
"""


def test_the_examples_work_in_a_copy_of_the_package(tmp_path):
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    files = [match["file"] for match in ADDED.finditer(PAGE)]
    assert len(files) == len(set(files)) == 8
    for match in ADDED.finditer(PAGE):
        path = tmp_path / match["file"]
        known = path.read_text(encoding="utf-8") + "\n\n" if path.exists() else ""
        path.write_text(known + match["code"], encoding="utf-8")
    ordering = tmp_path / "src/rankdev/core/ordering.py"
    (line,) = LINE.finditer(PAGE)
    text = ordering.read_text(encoding="utf-8")
    ordering.write_text(re.sub(rf"^{line['table']}: .*\{{\n", rf"\g<0>{line['code']}", text, flags=re.MULTILINE))
    (tmp_path / "CONTRIBUTING.md").write_text(PAGE, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "src")}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
