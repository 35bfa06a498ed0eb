"""What people bring who have not read the manual: their files as they are, and what they are told where it fails."""

import json

import pandas as pd

import rankdev as rd
from tests.raising import raises

HITS = [{"_id": "d2", "_score": 2.5, "_source": {"sku": "s2"}}, {"_id": "d1", "_score": 1.5, "_source": {"sku": "s1"}}]
RESPONSES = {"q": {"took": 3, "hits": {"hits": HITS}}}
RECORD = {"user_input": "q", "retrieved_contexts": ["b", "a"], "reference_contexts": ["a"]}
RETRIEVED = {"user_input": "q", "retrieved_contexts": ["b", "a"]}


def written(folder, content, name="a.json"):
    (folder / name).write_text(content if isinstance(content, str) else json.dumps(content))
    return folder / name


def test_lists_of_hits(tmp_path):
    expected = {"q": ["d2", "d1"]}
    assert dict(rd.Run.of({"q": HITS})) == dict(rd.read_run(written(tmp_path, {"q": HITS}))) == expected
    assert dict(rd.Run.of({"q": [{"id": 7, "score": 2}, {"id": 3, "score": 1}]})) == {"q": ["7", "3"]}
    assert dict(rd.Run.of({"q": HITS}, columns={"item": "sku"})) == {"q": ["s2", "s1"]}
    assert dict(rd.Run.of({"q": [{"id": 3, "score": 1}, {"id": 7, "score": 2}]})) == {"q": ["7", "3"]}
    with raises("no-id-of-hit", rd.DataError, query="q", name="id"):
        rd.Run.of({"q": [HITS[0], {"title": "x"}]})


def test_choices_of_reading_in_evaluate():
    table = pd.DataFrame({"user": [1, 1, 1], "sku": ["a#1", "b#1", "a#2"], "place": [1, 1, 3]})
    columns = {"item": "sku", "rank": "place"}
    how = {"columns": columns, "ranks": "competition", "collapse": "#"}
    references = {1: ["b"]}
    scores = rd.evaluate(references, {"x": table}, "RR", **how)
    assert dict(rd.Run.of(table, **how)) == {"1": ["b", "a"]}
    assert scores.means.tolist() == [[1.0]]
    assert scores.coverage[0].left_out == 1
    with raises("unknown-column", rd.UsageError, name="itm", near="item"):
        rd.evaluate(references, {"x": table}, "RR", columns={"itm": "sku"})
    with raises("no-column", rd.DataError, name="item"):
        rd.evaluate(references, {"x": table}, "RR", columns={"rank": "place"})


def test_a_run_in_the_place_of_references(tmp_path):
    with raises("looks-like-run", rd.DataError):
        rd.read_references(written(tmp_path, RESPONSES))
    lines = written(tmp_path, json.dumps({"query": "q", "response": RESPONSES["q"]}) + "\n", "a.jsonl")
    with raises("looks-like-run", rd.DataError):
        rd.read_references(lines)
    with raises("not-references", rd.DataError):
        rd.read_references(written(tmp_path, "term,stars\nq,3\n", "a.csv"))


def test_records_without_right_contexts(tmp_path):
    lines = [RECORD, {**RECORD, "user_input": "r", "reference_contexts": None}]
    with raises("no-contexts", rd.DataError, row=1):
        rd.References.of(lines)
    with raises("no-contexts", rd.DataError, line=2):
        rd.read_references(written(tmp_path, "\n".join(map(json.dumps, lines)), "a.jsonl"))
    with raises("not-json", rd.DataError, line=2):
        rd.read_references(written(tmp_path, "\n".join(map(json.dumps, [RECORD, RECORD]))[:-9], "a.jsonl"))
    with raises("no-contexts", rd.DataError):
        rd.read_references(written(tmp_path, json.dumps(RETRIEVED), "a.jsonl"))


def test_ids_that_are_floats():
    with raises("bad-column", rd.DataError, name="item"):
        rd.evaluate(pd.DataFrame({"user_id": [1], "item_id": [2.0], "rating": [3]}), {"x": {1: [2]}}, "RR")
