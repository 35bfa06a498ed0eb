"""What people bring who have not read the manual: their files as they are, and what they are told where it fails."""

import json

import pandas as pd
import pytest

import rankdev as rd

HITS = [{"_id": "d2", "_score": 2.5, "_source": {"sku": "s2"}}, {"_id": "d1", "_score": 1.5, "_source": {"sku": "s1"}}]
RESPONSES = {"q": {"took": 3, "hits": {"hits": HITS}}}
QUEPID = "Team Name,Case ID,Query Text,Doc ID,Doc Position,Rating\nt,7,q,d1,1,3\nt,7,q,d2,2,\nt,7,q,d3,3,0\n"
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
    with pytest.raises(rd.DataError, match=r"query 'q': these records are not in the order of their scores; sort them"):
        rd.Run.of({"q": [{"id": 3, "score": 1}, {"id": 7, "score": 2}]})
    with pytest.raises(rd.DataError, match=r"query 'q': hit 2 has no _id; return that field, or name another"):
        rd.Run.of({"q": [HITS[0], {"title": "x"}]})


def test_names_of_one_input_are_not_asked_of_another(tmp_path):
    """Ratings have columns of their own, and hits have ids."""
    rated = written(tmp_path, "term,sku,stars\nq,d1,3\n", "ratings.csv")
    columns = {"query": "term", "item": "sku", "grade": "stars"}
    hits = [{"_id": hit["_id"]} for hit in HITS]
    scores = rd.evaluate(rated, {"x": written(tmp_path, {"q": hits})}, "RR", columns=columns)
    assert scores.means.tolist() == [[0.5]]
    with pytest.warns(rd.RankdevWarning, match="columns names 'sukk', which no input has; check the spelling"):
        rd.evaluate({"q": ["d1"]}, {"x": {"q": HITS}}, "RR", columns={"item": "sukk"})
    bare = [{"_id": "d1"}]
    for answers in ({"q": HITS, "r": bare}, {"q": {"hits": {"hits": HITS}}, "r": {"hits": {"hits": bare}}}):
        with pytest.raises(rd.DataError, match="query 'r': hit 1 has no sku"):
            rd.Run.of(answers, columns={"item": "sku"})
    with pytest.raises(rd.DataError, match="hit 2 has no sku"):
        rd.Run.of({"q": [HITS[0], {"_id": "d1"}]}, columns={"item": "sku"})


def test_choices_of_reading_in_evaluate():
    table = pd.DataFrame({"user": [1, 1, 1], "sku": ["a#1", "b#1", "a#2"], "place": [1, 1, 3]})
    columns = {"item": "sku", "rank": "place"}
    how = {"columns": columns, "ranks": "competition", "collapse": "#"}
    references = {1: ["b"]}
    scores = rd.evaluate(references, {"x": table}, "RR", **how)
    assert dict(rd.Run.of(table, **how)) == {"1": ["b", "a"]}
    assert scores.means.tolist() == [[1.0]]
    assert scores.coverage[0].left_out == 1
    with pytest.raises(rd.UsageError, match="columns names 'itm'; did you mean item"):
        rd.evaluate(references, {"x": table}, "RR", columns={"itm": "sku"})
    with pytest.raises(
        rd.DataError, match=r"'item' is missing; found query, sku, rank; .* name it with columns=\{'item': …\}"
    ):
        rd.evaluate(references, {"x": table}, "RR", columns={"rank": "place"})


def test_ratings_that_are_missing(tmp_path):
    path = written(tmp_path, QUEPID, "a.csv")
    expected = rd.References.from_grades({"q": {"d1": 3, "d3": 0}})
    for read in (rd.read_references, lambda path: rd.References.of(pd.read_csv(path))):
        with pytest.warns(rd.RankdevWarning, match="1 row has no rating; it is left out"):
            assert read(path) == expected
    with pytest.raises(rd.DataError, match=r"a.csv:4: query 'q', item 'd3': the grade is 'x'"), pytest.warns():
        rd.read_references(written(tmp_path, QUEPID.replace("d3,3,0", "d3,3,x"), "a.csv"))
    with pytest.raises(rd.DataError, match="the grade is ''"):
        rd.read_references(written(tmp_path, "query,docid,rating\nq,d1,\n", "a.csv"))


def test_a_run_in_the_place_of_references(tmp_path):
    with pytest.raises(rd.DataError, match="these are answers of a search engine: a run; references come before runs"):
        rd.read_references(written(tmp_path, RESPONSES))
    lines = written(tmp_path, json.dumps({"query": "q", "response": RESPONSES["q"]}) + "\n", "a.jsonl")
    with pytest.raises(rd.DataError, match="found query, response; it looks like a run: give it as a run"):
        rd.read_references(lines)
    with pytest.raises(
        rd.DataError, match=r"found term, stars; if they have other names, name them: columns=\{'grade': …\}"
    ):
        rd.read_references(written(tmp_path, "term,stars\nq,3\n", "a.csv"))


def test_tables_of_questions_and_contexts(tmp_path):
    table = pd.DataFrame([RECORD])
    assert rd.References.of(table) == rd.References.of([RECORD])
    assert dict(rd.Run.of(table)) == dict(rd.Run.of([RECORD])) == {"q": ["b", "a"]}
    table.to_csv(tmp_path / "a.csv")
    with pytest.raises(rd.DataError, match="records with lists of contexts are read from JSON and JSONL"):
        rd.read_references(tmp_path / "a.csv")


def test_records_without_right_contexts(tmp_path):
    lines = [RECORD, {**RECORD, "user_input": "r", "reference_contexts": None}]
    why = r"this record names no relevant contexts \(reference_contexts\); leave it out"
    with pytest.raises(rd.DataError, match=f"record 2: {why}"):
        rd.References.of(lines)
    with pytest.raises(rd.DataError, match=f"a.jsonl:2: {why}"):
        rd.read_references(written(tmp_path, "\n".join(map(json.dumps, lines)), "a.jsonl"))
    with pytest.raises(rd.DataError, match=r"^[^:]*a.jsonl:2: this line is not JSON"):
        rd.read_references(written(tmp_path, "\n".join(map(json.dumps, [RECORD, RECORD]))[:-9], "a.jsonl"))
    with pytest.raises(rd.DataError, match=r"references also need the relevant contexts \(reference_contexts\)"):
        rd.read_references(written(tmp_path, json.dumps(RETRIEVED), "a.jsonl"))


def test_ids_that_are_floats():
    with pytest.raises(rd.DataError, match=r"'item' holds Float64; .*; convert float ids to integers or text first"):
        rd.evaluate(pd.DataFrame({"user_id": [1], "item_id": [2.0], "rating": [3]}), {"x": {1: [2]}}, "RR")


def test_tabs_in_a_csv(tmp_path):
    run = rd.read_run(written(tmp_path, "query\titem\tscore\nq a\td1\t1\nq a\td2\t2\n", "a.csv"))
    assert dict(run) == {"q a": ["d2", "d1"]}
    kept = rd.read_run(written(tmp_path, "query,item\tid,score\nq,d1,1\n", "a.csv"), columns={"item": "item\tid"})
    assert dict(kept) == {"q": ["d1"]}


def test_the_same_fault_is_named_once(tmp_path):
    path = written(tmp_path, "q 0 d\n", "a.txt")
    with pytest.raises(rd.DataError) as error:
        rd.evaluate({"q": ["d"]}, {"x": path, "y": path}, "RR")
    assert str(error.value).count("a.txt") == 1
