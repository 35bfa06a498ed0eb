"""What an import brings with it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import rankdev

HEAVY = ["polars", "scipy", "matplotlib", "rich", "pandas", "numba", "click", "torch", "pyarrow"]
SCRIPT = "import json, sys, {module}; print(json.dumps([name for name in {heavy} if name in sys.modules]))"


@pytest.mark.parametrize("module", ["rankdev", "rankdev.measures", "rankdev.evaluation.scores", "rankdev.tabular"])
def test_heavy_libraries_are_imported_on_use(module):
    """In a process of its own, for this one has imported them all."""
    command = [sys.executable, "-c", SCRIPT.format(module=module, heavy=HEAVY)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []


# power is simulated on machines with NumPy and an accelerator only; measures are named while a shell completes words
WITHOUT_POLARS = {
    "results",
    "tabular",
    "references/columns",
    "evaluation/scores",
    "meta/power_result",
    "meta/power_resume",
}


def test_polars_is_imported_late_only_where_something_runs_without_it():
    script = "import sys, rankdev.meta.power; sys.exit('polars' in sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)
    root = Path(rankdev.__file__).parent
    late = {path for path in root.rglob("*.py") if "\n    import polars" in path.read_text(encoding="utf-8")}
    names = {str(path.relative_to(root).with_suffix("")) for path in late}
    assert {name for name in names if not name.startswith("cli/")} == WITHOUT_POLARS
