"""action.yml: the gate's status and report reach a runner, and nothing passes by mistake."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "action.yml").read_text(encoding="utf-8")
ACTION = yaml.safe_load(TEXT)
STEPS = ACTION["runs"]["steps"]


def test_nothing_from_outside_is_pasted_into_a_script():
    for step in STEPS:
        assert step["shell"] == "bash"
        assert "${{" not in step["run"]


@pytest.fixture
def runner(tmp_path):
    """Run a step as a runner does; return its status, what it printed and the files it wrote."""
    shutil.copytree(ROOT / "src/rankdev/data/demo", tmp_path / "work")
    (tmp_path / "bin").mkdir()
    shim = tmp_path / "bin/rankdev"
    shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m rankdev "$@"\n')
    shim.chmod(0o755)

    def run(step, arguments="", path=True):
        files = {name: tmp_path / name.lower() for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT", "GITHUB_PATH")}
        for file in files.values():
            file.write_text("")
        search = os.environ["PATH"]
        environment = {
            **os.environ,
            **{name: str(file) for name, file in files.items()},
            "RUNNER_TEMP": str(tmp_path),
            "ARGUMENTS": arguments,
            "SOURCE": str(ROOT),
            "PATH": f"{tmp_path / 'bin'}:{search}" if path else search,
        }
        words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", STEPS[step]["run"]]
        done = subprocess.run(
            words, cwd=tmp_path / "work", env=environment, capture_output=True, text=True, check=False
        )
        return done, {name: file.read_text() for name, file in files.items()}

    return run


@pytest.mark.parametrize(
    ("arguments", "status", "summary"),
    [
        ("places.jsonl popular.run blended.run -m RDQ@5 --margin 0.02", 0, "blended"),
        (
            "places.jsonl blended.run popular.run\n  -m RDQ@5 --margin 0.02\n  --name 'the \"old\" one' --name new",
            3,
            "| query",
        ),
        ("places.jsonl popular.run", 2, ""),
        ("places.jsonl blended.run popular.run -m RDQ@5 --margin 0.02 --name today's", 2, ""),
    ],
)
def test_the_gate_writes_its_report_to_the_summary(runner, arguments, status, summary):
    done, files = runner(1, arguments)
    assert done.returncode == status, done.stderr
    assert f"status={status}\n" in files["GITHUB_OUTPUT"]
    assert summary in files["GITHUB_STEP_SUMMARY"]
    comment = re.search(r"^comment=(.+)$", files["GITHUB_OUTPUT"], re.MULTILINE)
    assert (comment is not None) == (status != 2)
    if comment is not None:
        assert Path(comment[1]).read_text() == files["GITHUB_STEP_SUMMARY"]
