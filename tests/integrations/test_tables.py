"""Tables of other tools as runs: DuckDB's relations, folders of Parquet files; and means as others log them."""

import posixpath
import re
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rankdev as rd
from tests.common.one_ranking import rdq
from tests.raising import raises

PARTS = [("q1", "d1", 2.0), ("q1", "d2", 1.0)], [("q2", "d3", 1.0), ("q1", "d3", 3.0)], []


def written(folder, parts=PARTS):
    for i, rows in enumerate(parts):
        schema = {"query": pl.String, "item": pl.String, "score": pl.Float64}
        pl.DataFrame(rows, schema=schema, orient="row").write_parquet(folder / f"part-{i}.parquet")
    return folder


@pytest.mark.parametrize("depth", [None, 1])
def test_a_folder_of_parquet_files_is_one_run(tmp_path, depth):
    """A query may lie in several files, and a file may be empty."""
    whole = rd.Run.of([dict(zip(("query", "item", "score"), row, strict=True)) for rows in PARTS for row in rows])
    run = rd.read_run(written(tmp_path), depth=depth)
    assert {query: run[query][:depth] for query in run} == {query: whole[query][:depth] for query in whole}
    scores = rd.evaluate({"q1": ["d3"], "q2": ["d3"]}, {"a": str(tmp_path)}, "RDQ@1")
    assert scores.values.ravel().tolist() == [1.0, 1.0]


def test_references_may_be_a_folder_too(tmp_path):
    for query, grade in (("a", 2), ("b", 1)):
        (tmp_path / f"query={query}").mkdir()
        pl.DataFrame({"item": ["d1", "d2"], "grade": [grade, 0]}).write_parquet(tmp_path / f"query={query}/0.parquet")
    expected = rd.References.from_grades({"a": {"d1": 2, "d2": 0}, "b": {"d1": 1, "d2": 0}})
    assert rd.read_references(tmp_path) == expected


def test_a_folder_without_a_table_is_refused(tmp_path):
    with raises("is-folder", rd.UsageError):
        rd.read_run(tmp_path)
    with raises("no-rows", rd.DataError, what="table"):
        rd.read_run(written(tmp_path, [[], []]))


def test_columns_may_be_in_the_names_of_folders(tmp_path):
    """As Hive lays out partitions; a slash in a name is written %2F there."""
    for query, item in (("a/1", "d1"), ("b", "d2")):
        part = tmp_path / f"day=7/query={query.replace('/', '%2F')}"
        part.mkdir(parents=True)
        pl.DataFrame({"item": [item], "score": [1.0]}).write_parquet(part / "data.pq")
    assert dict(rd.read_run(tmp_path)) == {"a/1": ["d1"], "b": ["d2"]}
    nowhere = tmp_path / "day=7/query=__HIVE_DEFAULT_PARTITION__"
    nowhere.mkdir()
    pl.DataFrame({"item": ["d3"], "score": [1.0]}).write_parquet(nowhere / "data.PARQUET")
    with raises("no-value", rd.DataError, name="query"):
        rd.read_run(tmp_path)


@pytest.mark.parametrize("name", ["_temporary/0/part-9.parquet", ".part-9.parquet", "_SUCCESS", "README.md", ".x.crc"])
def test_what_is_unfinished_hidden_or_no_data_is_no_part_of_a_run(tmp_path, name):
    whole = rd.read_run(written(tmp_path))
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    pl.DataFrame({"query": ["q1"], "item": ["d9"], "score": [9.0]}).write_parquet(tmp_path / name)
    assert rd.read_run(tmp_path) == whole


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("more.csv", "more.csv: of a folder only .parquet files are read"),
        ("sub/bm25.run.gz", "bm25.run.gz: of a folder only .parquet files are read"),
        ("_delta_log/0.json", "its log lists which files count"),
    ],
)
def test_what_would_be_left_out_of_a_folder_is_refused(tmp_path, name, message):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("query,item,score\nq1,d9,9\n")
    with pytest.raises(rd.UsageError, match=re.escape(message)):
        rd.read_run(written(tmp_path))


def test_runs_of_several_systems_are_not_one_run(tmp_path):
    """With different items, they would be merged without a word."""
    both = pl.DataFrame({"system": ["a", "b"], "query": "q", "item": ["d1", "d2"], "score": [1.0, 2.0]})
    with raises("several-systems", rd.DataError):
        rd.evaluate({"q": ["d1"]}, {"mine": both}, "RDQ@5")
    for name in both["system"]:
        (tmp_path / f"system={name}").mkdir()
        both.filter(system=name).drop("system").write_parquet(tmp_path / f"system={name}/0.parquet")
    with raises("several-systems", rd.DataError):
        rd.read_run(tmp_path)
    assert rd.read_run(tmp_path / "system=a")["q"] == ["d1"]
    assert rd.Run.of(both.filter(system="b"))["q"] == ["d2"]


@pytest.mark.parametrize("make", [np.array, pd.Series, pl.Series, pd.Index, iter])
def test_lists_may_be_columns_of_other_tools(make):
    assert rd.evaluate({"q": ["a", "b"]}, {"mine": {"q": make(["b", "a"])}}, "RDQ@5").means.item() == rdq(
        ["a", "b"], ["b", "a"], k=5
    )


FRAME = pd.DataFrame({"query": ["q", "q"], "item": ["a", "b"], "score": [1.0, 2.0]})


def test_the_index_of_a_pandas_frame_may_hold_columns():
    for frame in (FRAME.set_index("query"), FRAME.set_index(["query", "item"]), FRAME.set_index("item", drop=False)):
        assert rd.Run.of(frame)["q"] == ["b", "a"]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (FRAME["score"], "series-for-table"),
        (FRAME.set_index(["query", "item"])["score"], "series-for-table"),
        (pd.concat([FRAME, FRAME[["score"]]], axis=1), "column-twice"),
        (pl.DataFrame({"query": ["q"]}).lazy().select("item"), "unusable-table"),
        (pl.scan_parquet("nowhere.parquet"), "unusable-table"),
        (FRAME[:0], "no-rows"),
    ],
)
def test_what_is_no_table_is_refused(table, message):
    if message == "series-for-table" and pd.__version__ < "3":
        pytest.skip("a Series of pandas 2 is taken for a list, and refused as one")
    with raises(message, rd.DataError):
        rd.evaluate({"q": ["a"]}, {"mine": table}, "RDQ@5")


@pytest.mark.skipif(find_spec("duckdb") is None, reason="needs duckdb")
def test_a_relation_of_duckdb_is_a_table():
    """In a process of its own, which may print what DuckDB has to say when it ends."""
    code = """
import duckdb, rankdev
rows = "select 'q' as query, 'd' || i as item, 9.0 - i as score from range(3) t(i)"
relation = duckdb.sql(rows)
print(rankdev.Run.of(relation)["q"], rankdev.Run.of(relation)["q"] == rankdev.Run.of(relation)["q"])

# references and runs of one connection, which threads may not use at once
references = duckdb.sql("select 'q' as query, 'd' || i as item, 1 + i as rank from range(3) t(i)")
scores = rankdev.evaluate(references, {f"{i}": duckdb.sql(rows) for i in range(20)}, "RDQ@5")
print(scores.means.min())
print(rankdev.Run.of(duckdb.sql("select 1::hugeint as query, 'd' as item, 1 as score"))["1"])

connection = duckdb.connect()
late = connection.sql(rows)
connection.close()
try:
    rankdev.Run.of(late)
except rankdev.DataError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert lines[:3] == ["['d0', 'd1', 'd2'] True", "1.0", "['d']"]
    assert "this DuckDBPyRelation cannot be used as a table (" in lines[3]


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
