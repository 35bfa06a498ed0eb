import json

import pytest

import rankdev as rd
from rankdev.data.files import system_name

RUNS = ("nearest.run", "popular.run", "blended.run")


def test_json_is_a_list_of_records_with_null_queries_for_means(rankdev):
    done = rankdev("eval", "places.jsonl", *RUNS, "-m", "RDQ@5", "-m", "AP@5", "-q", "--format", "json")
    records = json.loads(done.out)
    assert done.status == 0
    assert [set(record) for record in records] == [{"system", "query", "measure", "value"}] * 66
    expected = rd.evaluate("places.jsonl", {"blended": "blended.run"}, "RDQ@5")
    values = {(record["system"], record["query"], record["measure"]): record["value"] for record in records}
    assert values["blended", None, "RDQ@5"] == expected.means[0, 0]
    assert values["blended", "museums", "RDQ@5"] == expected.values[0, expected.queries.index("museums"), 0]


def test_a_measure_that_is_not_available_is_null_and_a_dash(rankdev):
    arguments = ("eval", "places.jsonl", "nearest.run", "-m", "Tau@3")
    assert json.loads(rankdev(*arguments, "--format", "json").out)[0]["value"] is None
    assert "–" in rankdev(*arguments).out


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


def test_order_options_reach_the_run(rankdev, folder):
    (folder / "r.run").write_text("hotel-astoria Q0 other 2 9 t\nhotel-astoria Q0 hotel-astoria 1 1 t\n")
    arguments = ("eval", "places.jsonl", "r.run", "-m", "RR", "--format", "json")
    by_score = json.loads(rankdev(*arguments).out)[0]["value"]
    by_rank = json.loads(rankdev(*arguments, "--order", "rank").out)[0]["value"]
    assert (by_score, by_rank) == (0.05, 0.1)


def test_grades_may_be_words(rankdev, folder):
    words = {"Exact": 3, "Substitute": 2, "Irrelevant": 0}
    rows = [("q", "a", "Exact"), ("q", "b", "Substitute"), ("q", "c", "Irrelevant")]
    (folder / "esci.csv").write_text("query,item,grade\n" + "".join(",".join(row) + "\n" for row in rows))
    (folder / "esci.qrels").write_text("".join(f"{query} 0 {item} {word}\n" for query, item, word in rows))
    (folder / "a.run").write_text("q Q0 b 1 2 t\nq Q0 a 2 1 t\n")
    grades = rd.References.from_grades({"q": {item: words[word] for _, item, word in rows}})
    expected = rd.evaluate(grades, {"a": "a.run"}, "nDCG@5").means.item()
    said = ",".join(f"{word}={grade}" for word, grade in words.items())
    for file in ("esci.csv", "esci.qrels"):
        refused = rankdev("eval", file, "a.run", "-m", "nDCG@5")
        assert (refused.status, "--grades Exact=" in refused.err) == (1, True)
        done = rankdev("eval", file, "a.run", "-m", "nDCG@5", "--format", "json", "--grades", said)
        assert json.loads(done.out)[0]["value"] == expected
        assert rankdev("refs", "grades", file, "--grades", said, "-o", "refs.jsonl").status == 0
        assert rd.read_references("refs.jsonl") == grades
    assert rankdev("eval", file, "a.run", "--grades", "Exact=high").status == 2
