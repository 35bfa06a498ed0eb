"""The fixture rankdev_gate in a project of its own: what passes, fails and warns, and what loading it costs."""

import subprocess
import sys
from pathlib import Path

import rankdev as rd
from rankdev.cli import cli

DATA = """
REFERENCES = {f"q{i}": ["a", "b", "c"] for i in range(40)}
ORDERS = [["c", "b", "a"], ["b", "c", "a"], ["c", "a", "b"], ["b", "a", "c"]]
GOOD = {query: ["a", "b", "c"] for query in REFERENCES}
BAD = {query: ORDERS[i % 4] for i, query in enumerate(REFERENCES)}
NEAR = {**GOOD, "q0": ORDERS[0]}
"""
CALLS = [  # and what the test prints; the empty text where it passes
    ('GOOD, "RDQ@3", baseline=BAD', ""),
    ('BAD, "RDQ@3", baseline=GOOD', "candidate is worse than baseline by"),
    ('NEAR, "RDQ@3", baseline=GOOD', ""),
    ('NEAR, "RDQ@3", baseline=GOOD, undecided="fail"', "candidate may be up to "),
    ('dict(GOOD), "RDQ@3", baseline=GOOD, undecided="fail"', ""),
    ('NEAR, "RDQ@3", baseline=GOOD, required=["q0"]', "required query 'q0' lost "),
    ('GOOD, "RDQ@3"', "give baseline or against"),
    ('GOOD, "RDQ@3", baseline=BAD, against="base.parquet"', "give baseline or against"),
    ('GOOD, "RDQ@3", baseline=BAD, undecided="x"', "unknown undecided 'x'"),
    ('GOOD, "RDQ@3", against="base.parquet", undecided="fail"', ""),
    ('BAD, "RDQ@3", against="base.parquet"', "candidate is worse than good by"),
    ('{q: ["x"] for q in GOOD}, "RDQ@5", baseline=GOOD', "No decision: candidate returns no relevant item"),
    ('GOOD, "AP@5", against="base.parquet"', "baseline: it has no scores by AP@5"),
    ('GOOD, "RDQ@3", against="plain.csv"', "against: it does not state its references"),
    ('GOOD, "RDQ@3", against="nowhere.csv"', "nowhere.csv"),
]


def test_a_candidate_that_is_worse_fails_the_test(tmp_path, monkeypatch):
    data = {}
    exec(DATA, data)
    monkeypatch.chdir(tmp_path)
    rd.write_references(rd.References.from_lists(data["REFERENCES"]), "refs.jsonl")
    rd.write_run(rd.Run.from_lists(data["GOOD"]), "good.json")
    cli.main(["gate", "refs.jsonl", "good.json", "-m", "RDQ@3", "--save", "base.parquet"], standalone_mode=False)
    Path("plain.csv").write_text("system,query,measure,value\nx,q1,RDQ@3,1\n")
    tests = "".join(
        f"def test_{i}(rankdev_gate):\n    rankdev_gate(REFERENCES, {call}, margin=0.01)\n"
        for i, (call, _) in enumerate(CALLS)
    )
    Path("test_it.py").write_text(DATA + tests)
    # by its module, whether or not the entry point is installed; in a process of its own, which shows what users see
    words = ["-p", "no:rankdev", "-p", "rankdev.integrations.pytest_plugin", "-p", "no:cacheprovider", "-rA"]
    text = subprocess.run([sys.executable, "-m", "pytest", *words], capture_output=True, text=True, check=False).stdout
    for i, (call, said) in enumerate(CALLS):
        assert f"{'FAILED' if said else 'PASSED'} test_it.py::test_{i}" in text, call
        part = text.partition(f" test_{i} ___")[2].partition("\n___")[0]
        assert said in part, (call, part)
    assert text.count("RankdevWarning: candidate may be up to ") == 1


def test_pytest_starts_without_loading_what_computes():
    heavy = "{'numpy', 'polars', 'scipy', 'click'}"
    line = f"import pytest, sys; import rankdev.integrations.pytest_plugin; print({heavy} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", line], capture_output=True, text=True, check=True).stdout == "set()\n"


def test_the_entry_point_names_the_plugin():
    import tomllib

    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"]["pytest11"] == {"rankdev": "rankdev.integrations.pytest_plugin"}
