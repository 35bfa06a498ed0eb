"""How scores were made travels in pickles and Parquet files; text files hold values, which are read back."""

import pickle
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import rankdev as rd
from rankdev.display.encodings import choose_format
from rankdev.display.view import report_of
from rankdev.measures.base import PARSED, REGISTRY, Measure, MeasureInfo
from tests.raising import kinds, raises


def saved(scores: rd.Scores, path: Path) -> Path:
    path.write_bytes(choose_format(None, str(path)).encode(report_of(scores, per_query=True)))
    return path


def test_a_measure_that_is_not_known_any_more_keeps_its_sum_and_its_direction(tmp_path):
    @dataclass(frozen=True, kw_only=True)
    class Waste(Measure):
        """Seconds that users lose."""

        name = "Waste"
        aggregate = "sum"
        higher_is_better = False
        range = (0.0, float("inf"))

        def score(self, match):
            return match.lengths.astype(float)

    runs = {"a": {"q1": ["x", "y"], "q2": ["x"]}, "b": {"q1": ["x"]}}
    made = rd.evaluate({"q1": ["x"], "q2": ["x"]}, runs, ["Waste", "P@1"])
    (tmp_path / "scores.pickle").write_bytes(pickle.dumps(made))
    saved(made, tmp_path / "scores.parquet")
    del REGISTRY["Waste"]
    PARSED.clear()
    for scores in (
        pickle.loads((tmp_path / "scores.pickle").read_bytes()),
        rd.read_scores(tmp_path / "scores.parquet"),
    ):
        assert scores.means[:, 0].tolist() == [3.0, 1.0]  # 2 + 1 and 1 + 0 items, added up
        assert scores.kinds[0] == MeasureInfo("Waste", "sum", False, (0.0, np.inf))
        assert scores.sorted_by("Waste").systems == ("b", "a")
        lines = str(scores).splitlines()
        assert next(line for line in lines if line.startswith("b")).split()[1] == "1*"
        assert kinds(scores.remarks) == ["missing"]


def noteworthy() -> rd.Scores:
    references = rd.References.from_grades({"1": {"x": 2, "y": 1}, "2": {"x": 0}, "3": {"x": 1}})
    runs = {"a": {"1": {"x": 1.0, "y": 1.0}, "4": {"x": 1.0}}, "b": {"1": {"y": 1.0}, "3": {"x": 1.0}}}
    return rd.evaluate(references, runs, ["RDQ@5", "NumRet", "nDCG(dcg=exp-log2)@3", "Tau@5"], ties="descending")


def test_how_scores_were_made_travels_in_parquet(tmp_path):
    scores = noteworthy()
    found = rd.read_scores(saved(scores, tmp_path / "scores.parquet"))
    assert len(scores.remarks) == 5
    assert found.remarks == scores.remarks
    assert kinds(found.remarks) == kinds(scores.remarks)
    assert (found.order, found.ties, found.empty) == (None, "descending", "zero")
    assert found.kinds == scores.kinds
    assert found.coverage == scores.coverage
    assert found.reference_sizes.tolist() == [2, 0, 1]
    assert np.array_equal(found.values, scores.values, equal_nan=True)


@pytest.mark.parametrize("form", ["csv", "tsv", "json", "jsonl"])
def test_text_holds_values_that_are_read_back_by_rankdev_and_by_polars(tmp_path, form):
    scores = noteworthy()
    path = saved(scores, tmp_path / f"scores.{form}")
    readers = {"csv": pl.read_csv, "json": pl.read_json, "jsonl": pl.read_ndjson}
    frames = [readers[form](path)] if form in readers else []
    for found in (rd.read_scores(path), *map(rd.Scores.from_table, frames)):
        assert (found.systems, found.queries, found.measures) == (scores.systems, scores.queries, scores.measures)
        assert np.array_equal(found.values, scores.values, equal_nan=True)
        assert set(kinds(found.remarks)) <= {"unavailable"}
    assert all(frame.columns == ["system", "query", "measure", "value"] for frame in frames)


@pytest.mark.parametrize("text", ['{"measures"', '{"measures": 1}', '{"measures": [{"label": "P@1"}]}'])
def test_a_provenance_that_was_changed_is_refused(tmp_path, text):
    path = tmp_path / "scores.parquet"
    frame = pl.DataFrame({"system": ["a"], "query": ["q"], "measure": ["P@1"], "value": [1.0]})
    frame.write_parquet(path, metadata={"rankdev": text})
    with raises("bad-provenance", rd.DataError, path=str(path)):
        rd.read_scores(path)


def test_means_alone_are_no_scores(tmp_path):
    frame = pl.DataFrame({"system": ["a"], "query": [None], "measure": ["P@1"], "value": [1.0]})
    with raises("means-only", rd.DataError):
        rd.Scores.from_table(frame)


@pytest.mark.parametrize("name", ["all", "mean", "AMEAN", "average", None])
def test_rows_of_means_are_left_out(name):
    rows = [("a", "q", "P@1", 1.0), ("a", "r", "P@1", 0.0), ("a", name, "P@1", 0.5), ("b", "q", "P@1", 0.0)]
    frame = pl.DataFrame([*rows, ("b", name, "P@1", 0.0)], schema=["system", "query", "measure", "value"], orient="row")
    scores = rd.Scores.from_table(frame)
    assert (scores.queries, scores.means[:, 0].tolist()) == (("q", "r"), [0.5, 0.0])
    assert [(note.kind, note.fields) for note in scores.notes] == (
        [("means-left-out", {"count": 2, "name": name})] if name else []
    )
    if name:  # a query that is called so, and has a value of its own
        other = frame.with_columns(value=pl.when(system="b", query=name).then(1.0).otherwise("value"))
        assert rd.Scores.from_table(other).queries == ("q", "r", name)
