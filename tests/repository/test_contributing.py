"""The examples of CONTRIBUTING.md work: each is put where the page says, into a copy of the package."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

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
assert done.attempted > 5 and not done.failed
"""


def test_the_examples_work(tmp_path):
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "CONTRIBUTING.md", tmp_path)
    for match in FILE.finditer(PAGE):
        assert not (tmp_path / match["file"]).exists()
        (tmp_path / match["file"]).write_text(match["code"], encoding="utf-8")
    for match in LINE.finditer(PAGE):
        path = tmp_path / match["file"]
        start = rf"^ *\"?{match['table']}\b.*\{{\n"
        path.write_text(re.sub(start, rf"\g<0>{match['code']}", path.read_text(), flags=re.MULTILINE))
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "src")}
    command = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
