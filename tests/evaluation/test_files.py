"""Scores carry how they were made: in memory, in pickles and in files."""

import json
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rankdev as rd
from rankdev.display.dispatch import report_of
from rankdev.display.encodings import choose_format
from rankdev.measures.base import MeasureInfo
from tests.raising import kinds, raises

FORMATS = ["csv", "tsv", "json", "jsonl", "parquet"]
PLUGIN = """
from dataclasses import dataclass
from rankdev.measures import Measure

@dataclass(frozen=True, kw_only=True)
class {name}(Measure):
    "Seconds that users lose."
    name = "{name}"
    aggregate = "sum"
    higher_is_better = False
    range = (0.0, float("inf"))
    def score(self, match):
        return match.lengths.astype(float)
"""
SCRIPT = """
import pickle, sys, rankdev as rd
from rankdev.measures import load_file
load_file(sys.argv[1])
runs = {"a": {"q1": ["x", "y"], "q2": ["x"]}, "b": {"q1": ["x"]}}
scores = rd.evaluate({"q1": ["x"], "q2": ["x"]}, runs, ["Waste", "P@1"])
from rankdev.display.dispatch import report_of
from rankdev.display.encodings import choose_format
open("scores.pickle", "wb").write(pickle.dumps(scores))
for form in ("csv", "tsv", "json", "jsonl", "parquet"):
    open(f"scores.{form}", "wb").write(choose_format(form, None).encode(report_of(scores, per_query=True)))
"""


def saved(scores: rd.Scores, path: Path) -> Path:
    path.write_bytes(choose_format(None, str(path)).encode(report_of(scores, per_query=True)))
    return path


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Scores of a measure that this process does not know."""
    folder = tmp_path_factory.mktemp("plugin")
    (folder / "own.py").write_text(PLUGIN.format(name="Waste"))
    subprocess.run([sys.executable, "-c", SCRIPT, "own.py"], cwd=folder, check=True)
    return folder


@pytest.mark.parametrize("form", ["pickle", *FORMATS])
def test_a_measure_of_one_s_own_keeps_its_sum_and_its_direction(written, form):
    path = written / f"scores.{form}"
    scores = pickle.loads(path.read_bytes()) if form == "pickle" else rd.read_scores(path)
    assert scores.means[:, 0].tolist() == [3.0, 1.0]  # 2 + 1 and 1 + 0 items, added up
    assert scores.kinds[0] == MeasureInfo("Waste", "sum", False, (0.0, np.inf))
    assert scores.sorted_by("Waste").systems == ("b", "a")
    lines = str(scores).splitlines()
    assert next(line for line in lines if line.startswith("b")).split()[1] == "1*"
    assert kinds(scores.remarks) == ["missing"]


@pytest.mark.parametrize("form", FORMATS)
def test_how_scores_were_made_travels_in_files(tmp_path, form):
    references = rd.References.from_grades({"q1": {"x": 2, "y": 1}, "q2": {"x": 0}, "q3": {"x": 1}})
    runs = {"a": {"q1": {"x": 1.0, "y": 1.0}, "q4": {"x": 1.0}}, "b": {"q1": {"y": 1.0}, "q3": {"x": 1.0}}}
    scores = rd.evaluate(references, runs, ["RDQ@5", "NumRet"], ties="descending")
    found = rd.read_scores(saved(scores, tmp_path / f"scores.{form}"))
    assert len(scores.remarks) == 4
    assert found.remarks == scores.remarks
    assert kinds(found.remarks) == kinds(scores.remarks)
    assert (found.order, found.ties, found.empty) == (None, "descending", "zero")
    assert found.kinds == scores.kinds
    assert found.coverage == scores.coverage
    assert found.reference_sizes.tolist() == [2, 0, 1]
    assert np.array_equal(found.values, scores.values)


@pytest.mark.parametrize("form", ["csv", "jsonl", "json"])
def test_a_table_has_four_columns_where_there_is_nothing_to_be_known(tmp_path, form):
    scores = rd.evaluate({"q": ["x"]}, {"a": {"q": ["x"]}}, "RDQ@5")
    text = saved(scores, tmp_path / f"scores.{form}").read_text()
    assert "provenance" not in text
    assert rd.read_scores(tmp_path / f"scores.{form}").remarks == ()


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"measures": 1}', '{"measures": [{"label": "P@1"}]}'])
def test_a_provenance_that_was_changed_is_refused(tmp_path, text):
    path = tmp_path / "scores.jsonl"
    row = {"system": "a", "query": "q", "measure": "P@1", "value": 1.0, "provenance": text}
    path.write_text(json.dumps(row) + "\n")
    with raises("bad-provenance", rd.DataError, path=str(path)):
        rd.read_scores(path)
