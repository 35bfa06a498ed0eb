"""Tables of other tools as runs: DuckDB's relations, folders of Parquet files; and means as others log them."""

import posixpath
import re
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import polars as pl
import pytest

import rankdev as rd

PARTS = [("q1", "d1", 2.0), ("q1", "d2", 1.0)], [("q2", "d3", 1.0), ("q1", "d3", 3.0)], []


def written(folder, parts=PARTS):
    for i, rows in enumerate(parts):
        schema = {"query": pl.String, "item": pl.String, "score": pl.Float64}
        pl.DataFrame(rows, schema=schema, orient="row").write_parquet(folder / f"part-{i}.parquet")
    return folder


@pytest.mark.parametrize("depth", [None, 1])
def test_a_folder_of_parquet_files_is_one_run(tmp_path, depth):
    """A query may lie in several files, and a file may be empty."""
    whole = rd.Run.of(
        pl.DataFrame([row for rows in PARTS for row in rows], schema=["query", "item", "score"], orient="row")
    )
    run = rd.read_run(written(tmp_path), depth=depth)
    assert {query: run[query][:depth] for query in run} == {query: whole[query][:depth] for query in whole}
    scores = rd.evaluate({"q1": ["d3"], "q2": ["d3"]}, {"a": str(tmp_path)}, "RDQ@1")
    assert scores.values.ravel().tolist() == [1.0, 1.0]


def test_a_folder_without_a_table_is_refused(tmp_path):
    with pytest.raises(rd.UsageError, match="this is a folder; give a file, or a folder that holds"):
        rd.read_run(tmp_path)
    with pytest.raises(rd.DataError, match="the tables have no rows"):
        rd.read_run(written(tmp_path, [[], []]))


def test_what_is_wrong_in_a_folder_is_found_in_its_file(tmp_path):
    with pytest.raises(rd.DataError, match=re.escape("part-1.parquet")):
        rd.read_run(written(tmp_path, [[("q", "a", 1.0)], [("q", "b", float("nan"))]]))
    with pytest.raises(rd.DataError, match="item 'a' has two scores"):
        rd.read_run(written(tmp_path, [[("q", "a", 1.0)], [("q", "a", 2.0)]]))


@pytest.mark.skipif(find_spec("duckdb") is None, reason="needs duckdb")
def test_a_relation_of_duckdb_is_a_table():
    """In a process of its own, which may print what DuckDB has to say when it ends."""
    code = """
import duckdb, rankdev
relation = duckdb.sql("select 'q' as query, 'd' || i as item, 9.0 - i as score from range(3) t(i)")
print(rankdev.Run.of(relation)["q"])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "['d0', 'd1', 'd2']\n"


def test_means_are_logged_under_names_that_mlflow_takes():
    scores = rd.Scores(("a b", "c"), ("q",), ("RDQ@5", "Tau@5"), np.array([[[0.5, np.nan]], [[1.0, 0.0]]]))
    assert scores.to_metrics() == {"a b/RDQ_5": 0.5, "c/RDQ_5": 1.0, "c/Tau_5": 0.0}


SYSTEMS = ["../runs/bm25", "/data/dense.run", "./a//b", "Größe", "模型", "a\\b", "x (y)"]


def test_paths_and_names_of_any_alphabet_are_logged():
    """MLflow takes letters, digits and _ - . : / and blanks, and no name that leads to another as a path."""
    scores = rd.Scores(tuple(SYSTEMS), ("q",), ("RDQ@5",), np.ones((len(SYSTEMS), 1, 1)))
    names = list(scores.to_metrics())
    assert names == [
        f"{name}/RDQ_5" for name in ("runs/bm25", "data/dense.run", "a/b", "Größe", "模型", "a_b", "x _y_")
    ]
    for name in names:
        assert re.fullmatch(r"[/\w.\- :]+", name)
        assert posixpath.normpath(name) == name
        assert not name.startswith(("/", ".."))


def test_names_that_would_be_one_are_refused():
    scores = rd.Scores(("a@", "a("), ("q",), ("AP@5",), np.ones((2, 1, 1)))
    with pytest.raises(rd.UsageError, match="two means would both be called 'a_/AP_5'"):
        scores.to_metrics()
