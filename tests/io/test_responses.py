"""Answers of search engines as runs, ratings of their tools as references."""

import json

import pytest

import rankdev as rd
from rankdev.errors import RankdevWarning
from tests.io.responses import (
    ELASTIC,
    ENGINES,
    FILES,
    LINES,
    QUEPID_JSON,
    RANK_EVAL_REQUEST,
    RANK_EVAL_RESPONSE,
    SOLR,
)

HITS = ["s2", "s1", "s7"]


def read(tmp_path, content, name="answers.json", **options):
    path = tmp_path / name
    path.write_text(content if isinstance(content, str) else json.dumps(content, indent=name == "answers.json" or None))
    return rd.read_run(path, **options)


def both(tmp_path, answer):
    """Read an answer from Python, and from files on one line and on many."""
    runs = [rd.Run.of(answer), read(tmp_path, answer), read(tmp_path, answer, "one-line.json")]
    assert runs[0] == runs[1] == runs[2]
    return dict(runs[0])


@pytest.mark.parametrize("engine", ENGINES)
def test_the_order_of_the_hits(tmp_path, engine):
    assert both(tmp_path, {"q1": ENGINES[engine], "q2": ENGINES[engine]}) == {"q1": HITS, "q2": HITS}


def test_a_query_on_each_line(tmp_path):
    assert dict(read(tmp_path, FILES["jsonl"].decode(), "a.jsonl")) == dict.fromkeys(ENGINES, HITS)
    assert dict(rd.Run.of(LINES)) == dict.fromkeys(ENGINES, HITS)
    assert dict(read(tmp_path, LINES)) == dict.fromkeys(ENGINES, HITS)
    inside = [{"qid": name, "query": "red shoes", "response": answer} for name, answer in ENGINES.items()]
    assert dict(rd.Run.of(inside)) == dict.fromkeys(ENGINES, HITS)
    long = {"query": "q1", **ELASTIC, "profile": "x" * 100_000}  # longer than what tells the kind of a file
    assert dict(read(tmp_path, json.dumps({**ELASTIC, "profile": "x" * 100_000, "query": "q1"}) + "\n", "b.jsonl"))
    assert dict(read(tmp_path, json.dumps(long) + "\n" + json.dumps({**long, "query": "q2"}), "c.jsonl")) == {
        "q1": HITS,
        "q2": HITS,
    }


def test_answers_to_several_queries(tmp_path):
    assert both(tmp_path, {"took": 1, "queries": ["a", "b"], "responses": [ELASTIC, ELASTIC]}) == {"a": HITS, "b": HITS}
    assert both(tmp_path, RANK_EVAL_RESPONSE) == {"red shoes": HITS}
    assert both(tmp_path, {"rank_eval": RANK_EVAL_RESPONSE}) == {"red shoes": HITS}


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"took": 1, "responses": [ELASTIC]}, 'does not name its query; write .*"queries": '),
        (ELASTIC, "does not name its query"),
        ({"queries": ["a"], "responses": [ELASTIC, ELASTIC]}, "must list the queries of the 2 responses"),
        (
            {"q": {"error": {"reason": "no such index"}, "status": 404}},
            "returned an error .'no such index'",
        ),
        ({"responses": [{"status": 404, "error": "Not found."}]}, "does not name its query"),
        ({"q": {"status": 404, "error": "Not found."}}, "returned an error .'Not found.'"),
        ({"q": ELASTIC, "r": {"d1": 1.0}}, "query 'r': this is not the response of a search engine"),
        ({"q": {"hits": {"hits": [{"_source": {}}]}}}, "query 'q': hit 1 has no _id"),
        ({"q": {"response": {"docs": [{"sku": 1}]}}}, "hit 1 has no id; return that field, or name another"),
        ({"q": {**SOLR, "response": {**SOLR["response"], "start": 10}}}, "begin at 10"),
        ({"q": {**SOLR, "responseHeader": {"status": 500}}}, "Solr answered with status 500"),
        ([ELASTIC, ELASTIC], "does not name its query"),
        ([{"query": "q", **ELASTIC}] * 2, "query 'q' is answered twice"),
        ({**RANK_EVAL_RESPONSE, "failures": {"red shoes": {}}}, "query 'red shoes' failed"),
    ],
)
def test_what_is_refused(tmp_path, answer, message):
    for attempt in (
        lambda: rd.Run.of(answer),
        lambda: read(tmp_path, answer),
        lambda: read(tmp_path, answer, "a.json"),
    ):
        with pytest.raises(rd.DataError, match=message):
            attempt()


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        ({**ELASTIC, "timed_out": True}, "it timed out"),
        ({**ELASTIC, "_shards": {"total": 5, "failed": 2}}, "2 of its shards failed"),
        ({**SOLR, "responseHeader": {"status": 0, "partialResults": True}}, "partialResults"),
    ],
)
def test_an_answer_that_is_not_complete(response, reason):
    with pytest.warns(RankdevWarning, match=f"1 of 2 answers is not complete, such as that for query 'q': .*{reason}"):
        run = rd.Run.of({"q": response, "r": ELASTIC})
    assert run["q"] == HITS
    with pytest.raises(rd.DataError, match=reason):
        rd.evaluate({"q": ["s1"]}, {"a": {"q": response}}, "RR", strict=True)


def test_no_hits_and_repeated_hits():
    nothing = {"took": 1, "timed_out": False, "hits": {"hits": []}}
    assert dict(rd.Run.of({"q": nothing, "r": {"response": {"docs": []}}})) == {"q": [], "r": []}
    twice = {"hits": {"hits": [{"_id": "a"}, {"_id": "b"}, {"_id": "a"}]}}
    assert dict(rd.Run.of({"q": twice}, duplicates="first")) == {"q": ["a", "b"]}


def test_evaluate_reads_them(tmp_path):
    (tmp_path / "new.json").write_text(json.dumps({"red shoes": ELASTIC}))
    references = tmp_path / "ratings.json"
    references.write_text(json.dumps(RANK_EVAL_REQUEST))
    scores = rd.evaluate(references, {"new": tmp_path / "new.json", "python": {"red shoes": SOLR}}, "RR")
    assert scores.means.tolist() == [[1.0], [1.0]]


@pytest.mark.parametrize(
    "ratings", [RANK_EVAL_REQUEST, {**RANK_EVAL_REQUEST, "max_concurrent_searches": 2}, QUEPID_JSON]
)
def test_ratings(tmp_path, ratings):
    expected = rd.References.from_grades({"red shoes": {"s1": 3, "s2": 1, "s9": 0}})
    assert rd.References.of(ratings) == expected
    for indent in (None, 1):
        (tmp_path / "a.json").write_text(json.dumps(ratings, indent=indent))
        assert rd.read_references(tmp_path / "a.json") == expected


@pytest.mark.parametrize(
    ("ratings", "message"),
    [
        ({"requests": [{"id": "q", "ratings": [{"_id": "a"}]}]}, "request 'q': expected a rating with _id and rating"),
        ({"requests": [{"id": "q", "ratings": {}}]}, "ratings must be a list"),
        ({"requests": [{"ratings": [{"_id": "a", "rating": 1}]}]}, "no query"),
        ({"queries": [{"query": "q", "ratings": ["a"]}]}, "ratings must be .item: rating."),
        ({"requests": [{"id": "q", "ratings": [{"_id": "a", "rating": "high"}]}]}, "the grade is 'high'"),
    ],
)
def test_ratings_that_are_refused(tmp_path, ratings, message):
    (tmp_path / "a.json").write_text(json.dumps(ratings))
    for attempt in (lambda: rd.References.of(ratings), lambda: rd.read_references(tmp_path / "a.json")):
        with pytest.raises(rd.DataError, match=message):
            attempt()
