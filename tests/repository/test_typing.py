"""What a type checker tells a user about the public names."""

import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

import rankdev as rd

ROOT = Path(__file__).parents[2]
RIGHT = """
import rankdev as rd
from rankdev import results

scores: rd.Scores = rd.evaluate({"q": ["d1", "d2"]}, {"mine": {"q": ["d2", "d1"]}}, ["RDQ@5"])
power: results.Power = rd.power(scores, sizes=[5], seed=1)
text: str = str(power)
remarks: tuple[str, ...] = power.remarks
records = [{"query": "q", "item": "d1", "rank": 1}]
rd.losses(records, {"file": "a.run", "lists": {"q": ["d1"]}, "scores": {"q": {"d1": 0.5}}}, "RDQ@5")
rd.significance(scores.to_polars())
rd.significance(scores.to_pandas())
"""
WRONG = """
import rankdev as rd

rd.evaluate(refrences=3)
rd.power(rd.read_scores("s.csv"), subsample=3)
rd.evalute
rd.evaluate(3, {"mine": 4}, ["RDQ@5"])
rd.stability(5)
"""


def checked(folder, text):
    """Check a file outside the project, as a user's is."""
    (folder / "user.py").write_text(text)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(ROOT / ".mypy_cache" / "user"), "user.py"]
    environment = {**os.environ, "MYPYPATH": "", "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return [line for line in done.stdout.splitlines() if "error:" in line]


def test_every_public_function_says_its_types():
    """What mypy below finds takes it seconds; that there is something to find does not."""
    assert (ROOT / "src/rankdev/py.typed").exists()
    for name in rd.__all__:
        public = getattr(rd, name)
        if inspect.isfunction(public):
            signature = inspect.signature(public)
            untyped = [key for key, one in signature.parameters.items() if one.annotation is one.empty]
            assert not untyped, f"{name}: {untyped}"
            assert signature.return_annotation is not signature.empty, name


@pytest.mark.slow
def test_public_names_have_types(tmp_path):
    pytest.importorskip("mypy", reason="mypy is not installed")
    assert checked(tmp_path, RIGHT) == []
    errors = checked(tmp_path, WRONG)
    assert len(errors) == 6
    assert 'Unexpected keyword argument "refrences" for "evaluate"; did you mean "references"?' in errors[0]
    assert 'Unexpected keyword argument "subsample" for "power"' in errors[1]
    assert 'has no attribute "evalute"' in errors[2]
    assert 'Argument 1 to "evaluate" has incompatible type "int"' in errors[3]
    assert 'Dict entry 0 has incompatible type "str": "int"' in errors[4]
    assert 'Argument 1 to "stability" has incompatible type "int"' in errors[5]
