"""Answers of search engines as runs, ratings of their tools as references."""

import json

import pytest

import rankdev as rd
from tests.data.responses import ELASTIC, ENGINES, FILES, LINES, QUEPID_JSON, RANK_EVAL_REQUEST, SOLR
from tests.raising import raises, warns

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


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ({"took": 1, "responses": [ELASTIC]}, "nameless-response"),
        (ELASTIC, "nameless-response"),
        ({"queries": ["a"], "responses": [ELASTIC, ELASTIC]}, "queries-of-responses"),
        ({"q": {"error": {"reason": "no such index"}, "status": 404}}, "engine-error"),
        ({"responses": [{"status": 404, "error": "Not found."}]}, "nameless-response"),
        ({"q": {"status": 404, "error": "Not found."}}, "engine-error"),
        ({"q": ELASTIC, "r": {"d1": 1.0}}, "not-a-response"),
        ({"q": {"hits": {"hits": [{"_source": {}}]}}}, "no-id-of-hit"),
        ({"q": {"response": {"docs": [{"sku": 1}]}}}, "no-id-of-hit"),
        ({"q": {**SOLR, "response": {**SOLR["response"], "start": 10}}}, "later-page"),
        ({"q": {**SOLR, "responseHeader": {"status": 500}}}, "engine-error"),
        ([ELASTIC, ELASTIC], "nameless-response"),
        ([{"query": "q", **ELASTIC}] * 2, "query-twice"),
    ],
)
def test_what_is_refused(tmp_path, answer, kind):
    for attempt in (
        lambda: rd.Run.of(answer),
        lambda: read(tmp_path, answer),
        lambda: read(tmp_path, answer, "a.json"),
    ):
        with raises(kind, rd.DataError):
            attempt()


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        ({**ELASTIC, "timed_out": True}, "timed_out"),
        ({**ELASTIC, "_shards": {"total": 5, "failed": 2}}, "_shards.failed"),
        ({**SOLR, "responseHeader": {"status": 0, "partialResults": True}}, "partialResults"),
    ],
)
def test_an_answer_that_is_not_complete(response, reason):
    with warns("partial-answers", count=1, answers=2, query="q", why=reason):
        run = rd.Run.of({"q": response, "r": ELASTIC})
    assert run["q"] == HITS
    with raises("partial-answers", rd.DataError, why=reason):
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
    ("ratings", "kind"),
    [
        ({"requests": [{"id": "q", "ratings": [{"_id": "a"}]}]}, "wrong-form"),
        ({"requests": [{"id": "q", "ratings": {}}]}, "no-queries"),
        ({"requests": [{"ratings": [{"_id": "a", "rating": 1}]}]}, "not-an-id"),
        ({"queries": [{"query": "q", "ratings": ["a"]}]}, "wrong-form"),
        ({"requests": [{"id": "q", "ratings": [{"_id": "a", "rating": "high"}]}]}, "word-for-grade"),
    ],
)
def test_ratings_that_are_refused(tmp_path, ratings, kind):
    (tmp_path / "a.json").write_text(json.dumps(ratings))
    for attempt in (lambda: rd.References.of(ratings), lambda: rd.read_references(tmp_path / "a.json")):
        with raises(kind, rd.DataError):
            attempt()
