"""What an import brings with it."""

import json
import subprocess
import sys

import pytest

HEAVY = ["polars", "scipy", "matplotlib", "rich", "pandas", "numba", "click", "torch", "pyarrow"]
SCRIPT = "import json, sys, {module}; print(json.dumps([name for name in {heavy} if name in sys.modules]))"


@pytest.mark.parametrize("module", ["rankdev", "rankdev.measures", "rankdev.evaluation.scores", "rankdev.data.tables"])
def test_heavy_libraries_are_imported_on_use(module):
    """In a process of its own, for this one has imported them all."""
    command = [sys.executable, "-c", SCRIPT.format(module=module, heavy=HEAVY)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []
