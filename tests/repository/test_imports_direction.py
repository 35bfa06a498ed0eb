"""Data flows one way: each step imports only the steps before it."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]


def test_the_contracts_of_pyproject_are_kept():
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"]
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "data flows one way KEPT" in done.stdout


def test_the_contracts_have_no_exceptions():
    assert [name for contract in CONTRACTS for name in contract if name.startswith(("ignore", "unmatched"))] == []


def test_every_room_is_on_the_page_about_the_architecture():
    rooms = [room.strip() for layer in CONTRACTS[0]["layers"] for room in layer.split("|")]
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    places = [page.find(f"`{room}/`") if f"`{room}/`" in page else page.find(f"`{room}.py`") for room in rooms]
    assert -1 not in places
    assert places == sorted(places)
