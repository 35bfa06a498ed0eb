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


# power is simulated on machines with NumPy and an accelerator only; measures are named while a shell completes words,
# and formats in a help text
WITHOUT_POLARS = {
    "results",
    "tabular",
    "references/columns",
    "references/items",
    "evaluation/scores",
    "meta/power_result",
    "meta/power_resume",
    "reporting/encodings/data",
}


def test_polars_is_imported_late_only_where_something_runs_without_it():
    script = "import sys, rankdev.meta.power; sys.exit('polars' in sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)
    root = Path(rankdev.__file__).parent
    late = {path for path in root.rglob("*.py") if "\n    import polars" in path.read_text(encoding="utf-8")}
    names = {str(path.relative_to(root).with_suffix("")) for path in late}
    assert {name for name in names if not name.startswith("cli/")} == WITHOUT_POLARS


def test_help_is_shown_without_what_computes():
    """Most of the time of a short command is what it loads."""
    script = f"""
import sys
from rankdev.cli import main
sys.argv = ["rankdev", "eval", "--help"]
main()
print([name for name in {["numpy", *HEAVY]} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "Usage: rankdev eval" in done.stdout
    assert done.stdout.splitlines()[-1] == "['click']"
