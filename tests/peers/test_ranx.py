"""ranx: where it gives the same numbers, and where it does not."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

import rankdev as rd

BINARY = {"q1": {"d1": 1, "d2": 1, "d3": 1}, "q2": {"d4": 1}}
GRADED = {"q1": {"d1": 3, "d2": 1, "d3": 2}, "q2": {"d4": 3}}
RUN = {"q1": {"d1": 5.0, "x1": 4.0, "d3": 3.0, "x2": 2.0}, "q2": {"x1": 2.0, "d4": 1.0}}
SAME = {"RBP(p=0.8)": "rbp.80", "nDCG@3": "ndcg@3", "AP": "map", "P@3": "precision@3", "R@3": "recall@3", "RR": "mrr"}
SAME |= {"F1@3": "f1@3", "DCG@3": "dcg@3", "DCG(dcg=exp-log2)@3": "dcg_burges@3"}
SCRIPT = """
import json, sys
import ranx
judgments, run, names = json.load(sys.stdin)
means = [ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), names) for qrels in judgments]
import rankdev as rd
taken = rd.evaluate(ranx.Qrels(judgments[1]), {"a": ranx.Run(run)}, ["RDQ@3", "nDCG@3"]).means[0].tolist()
print(json.dumps([*means, taken]))
"""


@pytest.fixture(scope="module")
def theirs():
    """Ask ranx in a process of its own, where it runs as plain Python: compiling it takes minutes."""
    if find_spec("ranx") is None:
        pytest.skip("ranx is not installed")
    command = [sys.executable, "-c", SCRIPT]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    told = json.dumps([[BINARY, GRADED], RUN, list(SAME.values())])
    done = subprocess.run(command, input=told, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def ours(qrels):
    means = rd.evaluate(rd.References.from_grades(qrels), {"a": RUN}, list(SAME)).means[0]
    return dict(zip(SAME.values(), means, strict=True))


def test_the_same_for_binary_judgments(theirs):
    assert ours(BINARY) == pytest.approx(theirs[0])


def test_rbp_there_multiplies_by_the_grade(theirs):
    """Ours sums over relevant items, whatever their grade; all else is the same for graded judgments too."""
    got, expected = ours(GRADED), theirs[1]
    # hits at 1 (grade 3) and 3 (grade 2), and at 2 (grade 3)
    assert expected.pop("rbp.80") == pytest.approx((0.2 * (3 + 2 * 0.8**2) + 0.2 * 3 * 0.8) / 2)
    assert got.pop("rbp.80") == pytest.approx((0.2 * (1 + 0.8**2) + 0.2 * 0.8) / 2)
    assert got == pytest.approx(expected)


def test_their_objects_are_taken_as_they_are(theirs):
    expected = rd.evaluate(rd.References.from_grades(GRADED), {"a": RUN}, ["RDQ@3", "nDCG@3"]).means[0]
    assert theirs[2] == pytest.approx(expected)
