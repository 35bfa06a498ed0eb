"""What an import brings with it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import rankdev

HEAVY = ["polars", "scipy", "matplotlib", "rich", "pandas", "numba", "click", "torch", "pyarrow"]
SCRIPT = "import json, sys, {module}; print(json.dumps([name for name in {heavy} if name in sys.modules]))"


@pytest.mark.parametrize("module", ["rankdev", "rankdev.measures", "rankdev.evaluation.scores", "rankdev.data.tables"])
def test_heavy_libraries_are_imported_on_use(module):
    """In a process of its own, for this one has imported them all."""
    command = [sys.executable, "-c", SCRIPT.format(module=module, heavy=HEAVY)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []


def test_polars_is_imported_at_the_top():
    """By itself, or as the module of _common.libraries that is loaded on first use."""
    root = Path(rankdev.__file__).parent
    late = {
        str(path.relative_to(root))
        for path in root.rglob("*.py")
        if "\n        import polars" in path.read_text("utf-8")
    }
    assert late == set()
