"""The tests of ranx where it is not compiled, in a process of their own: seconds instead of more than a minute."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(find_spec("ranx") is None, reason="ranx is not installed")


@pytest.fixture(scope="module")
def finished():
    file = str(Path(__file__).with_name("test_ranx.py"))
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-m", "", file]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    environment = {name: value for name, value in environment.items() if not name.startswith("PYTEST_")}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_references_runs_scores_and_reports_go_out_and_come_back(finished):
    assert finished.returncode == 0, finished.stdout
    assert "12 passed" in finished.stdout
