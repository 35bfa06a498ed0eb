import csv
import gzip
import io
import json

import polars as pl
import pytest

import rankdev as rd
from rankdev.cli.options import named_runs
from rankdev.errors import UsageError
from rankdev.io.tables import system_name

RUNS = ("nearest.run", "popular.run", "blended.run")


def test_json_is_a_list_of_records_with_null_queries_for_means(rankdev):
    done = rankdev("eval", "places.jsonl", *RUNS, "-m", "RDQ@5", "-m", "AP@5", "--format", "json")
    records = json.loads(done.out)
    assert done.status == 0
    assert [set(record) for record in records] == [{"system", "query", "measure", "value"}] * 6
    assert {record["query"] for record in records} == {None}
    expected = rd.evaluate("places.jsonl", {"blended": "blended.run"}, "RDQ@5").means[0, 0]
    values = {(record["system"], record["measure"]): record["value"] for record in records}
    assert values["blended", "RDQ@5"] == expected


def test_q_adds_each_query(rankdev):
    records = json.loads(rankdev("eval", "places.jsonl", "blended.run", "-q", "--format", "json").out)
    queries = [record["query"] for record in records]
    assert len(queries) == 11
    assert queries.count(None) == 1
    mean = sum(record["value"] for record in records if record["query"]) / 10
    assert records[queries.index(None)]["value"] == pytest.approx(mean)


def test_formats_hold_the_same_values(rankdev, folder):
    arguments = ("eval", "places.jsonl", *RUNS, "-m", "RDQ@5")
    records = json.loads(rankdev(*arguments, "--format", "json").out)
    rows = list(csv.DictReader(io.StringIO(rankdev(*arguments, "--format", "csv").out)))
    assert [float(row["value"]) for row in rows] == [record["value"] for record in records]
    assert rankdev(*arguments, "-o", "scores.parquet").status == 0
    assert pl.read_parquet(folder / "scores.parquet").to_dicts() == records


def test_table_marks_the_best_system(rankdev):
    lines = rankdev("eval", "places.jsonl", *RUNS, "-m", "RDQ@5").out.splitlines()
    marked = [line.split() for line in lines if "*" in line and "best" not in line]
    assert marked == [["blended", "0.8322*"]]


def test_latex_can_go_into_a_paper(rankdev):
    text = rankdev(
        "eval", "places.jsonl", *RUNS, "--name", "a_1", "--name", "b&c", "--name", "d", "--format", "latex"
    ).out
    assert text.startswith("\\begin{tabular}{lr}\n\\toprule\nsystem & RDQ@10 \\\\\n\\midrule\na\\_1 & 0.")
    assert "b\\&c" in text
    assert text.count("\\textbf{") == 1
    assert text.rstrip().endswith("\\bottomrule\n\\end{tabular}")


def test_a_measure_that_is_not_available_is_null_and_a_dash(rankdev):
    arguments = ("eval", "places.jsonl", "nearest.run", "-m", "Tau@3")
    assert json.loads(rankdev(*arguments, "--format", "json").out)[0]["value"] is None
    assert "–" in rankdev(*arguments).out


def test_how_often_a_measure_is_available_is_said(rankdev):
    done = rankdev("eval", "places.jsonl", "nearest.run", "blended.run", "-m", "Tau@5")
    assert "nearest 10, blended 8: up to 10 of 10 queries have no value of Tau@5" in done.err


def test_the_name_of_the_output_says_how_to_write(rankdev, folder):
    rankdev("eval", "places.jsonl", "blended.run", "-o", "scores.json.gz")
    assert json.loads(gzip.decompress((folder / "scores.json.gz").read_bytes()))[0]["system"] == "blended"


def test_what_is_missing_on_either_side_is_said(rankdev, folder):
    (folder / "short.run").write_text("museums Q0 art-hall 1 1 t\nmuseums Q0 zoo 2 1 t\nelsewhere Q0 a 1 1 t\n")
    done = rankdev("eval", "places.jsonl", "short.run")
    assert "9 of 10 queries are not in the run; they score 0" in done.err
    assert "1 query has no reference; it is skipped" in done.err
    assert "1 of 10 queries is affected by tied scores; ties are broken by trec_eval" in done.err


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("runs/bm25.run", "bm25"),
        ("bm25.run.gz", "bm25"),
        ("bm25.v1.2.txt.zst", "bm25.v1.2"),
        ("bm25", "bm25"),
        (".run", ".run"),
        ("a.parquet", "a"),
        ("-", "stdin"),
    ],
)
def test_systems_are_named_after_their_files(path, name):
    assert system_name(path) == name


def test_two_systems_need_two_names():
    with pytest.raises(UsageError, match=r"two systems are called 'a' \(x/a.run and y/a.txt\).*--name"):
        named_runs("refs", ["x/a.run", "y/a.txt"], [])
    assert named_runs("refs", ["x/a.run", "y/a.txt"], ["one", "two"]) == {"one": "x/a.run", "two": "y/a.txt"}
    with pytest.raises(UsageError, match="1 --name for 2 runs"):
        named_runs("refs", ["x/a.run", "y/a.txt"], ["one"])


def test_order_options_reach_the_run(rankdev, folder):
    (folder / "r.run").write_text("hotel-astoria Q0 other 2 9 t\nhotel-astoria Q0 hotel-astoria 1 1 t\n")
    arguments = ("eval", "places.jsonl", "r.run", "-m", "RR", "--format", "json")
    by_score = json.loads(rankdev(*arguments).out)[0]["value"]
    by_rank = json.loads(rankdev(*arguments, "--order", "rank").out)[0]["value"]
    assert (by_score, by_rank) == (0.05, 0.1)
