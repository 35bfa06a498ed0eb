"""Records of what was retrieved and what is right: of search engines, ragas, LangChain, LlamaIndex and their users."""

import json
from types import SimpleNamespace

import pandas as pd
import pytest

import rankdev as rd
from tests.data.responses import ELASTIC, ENGINES, LINES, QUEPID_JSON, RANK_EVAL_REQUEST, SOLR
from tests.raising import raises, warns

HITS = ["s2", "s1", "s7"]
BY_ID = [{"qid": name, "query": "red shoes", "response": ENGINES[name]} for name in ENGINES]
QUESTION = "How tall is it?"
TEXTS = ["The tower is 300 m tall.", "It is in Paris.", "A cake."]
# https://docs.ragas.io/en/stable/concepts/components/eval_sample/
RAGAS = {
    "user_input": QUESTION,
    "retrieved_contexts": ["The tower is 300 m tall.", "It  is\nin Paris.", "A cake."],
    "reference_contexts": ["It is in Paris.", "The tower is 300 m tall."],
    "response": "300 m",
}
OLD_RAGAS = {"question": QUESTION, "contexts": RAGAS["retrieved_contexts"], "ground_truth": "300 m"}
WITH_IDS = {**RAGAS, "retrieved_context_ids": ["c1", 2, "c3"], "reference_context_ids": [2, "c1"]}
# https://docs.llamaindex.ai/en/stable/module_guides/evaluating/usage_pattern_retrieval/ (RetrievalEvalResult)
LLAMA = {"query": QUESTION, "expected_ids": ["2", "c1"], "retrieved_ids": ["c1", "2", "c3"], "mode": "text"}


def document(text, **fields):
    """A Document of LangChain: page_content, metadata, id."""
    return {"page_content": text, "metadata": {"source": "a.pdf"}, **fields}


LANGCHAIN = {"query": QUESTION, "result": "300 m", "source_documents": [document("x", id="c1"), document("A  cake.")]}


def written(folder, content, name="a.json"):
    (folder / name).write_text(content if isinstance(content, str) else json.dumps(content))
    return folder / name


def everywhere(folder, value):
    """The same value in Python, as a file on one line and on many, and as lines where it is a list."""
    found = [value, written(folder, value), written(folder, json.dumps(value, indent=1), "b.json")]
    if isinstance(value, list):
        found.append(written(folder, "".join(json.dumps(record) + "\n" for record in value), "c.jsonl"))
    return found


def read(kind, value):
    files = {rd.Run: rd.read_run, rd.References: rd.read_references}
    return kind.of(value) if isinstance(value, dict | list) else files[kind](value)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        *(({"q1": answer, "q2": answer}, {"q1": HITS, "q2": HITS}) for answer in ENGINES.values()),
        (LINES, dict.fromkeys(ENGINES, HITS)),
        (BY_ID, dict.fromkeys(ENGINES, HITS)),
        ({"took": 1, "queries": ["a", "b"], "responses": [ELASTIC, ELASTIC]}, {"a": HITS, "b": HITS}),
        ({"q": ELASTIC["hits"]["hits"]}, {"q": HITS}),
        ({"q": [{"_id": hit, "_score": score} for hit, score in zip(HITS, (0.5, 2.5, 1.5), strict=True)]}, {"q": HITS}),
        ({"q": {"hits": {"hits": []}}, "r": {"response": {"docs": []}}}, {"q": [], "r": []}),
        ([RAGAS], {QUESTION: TEXTS}),
        ([OLD_RAGAS], {QUESTION: TEXTS}),
        ([WITH_IDS], {QUESTION: ["c1", "2", "c3"]}),
        ([LLAMA], {QUESTION: ["c1", "2", "c3"]}),
        ([LANGCHAIN], {QUESTION: ["c1", "A cake."]}),
        ([{"question": "q", "source_nodes": [{"node": {"id_": "n1", "text": "x"}, "score": 0.5}]}], {"q": ["n1"]}),
    ],
)
def test_what_was_retrieved(tmp_path, answer, expected):
    for value in everywhere(tmp_path, answer):
        assert dict(read(rd.Run, value)) == expected


def test_what_only_python_or_long_files_have(tmp_path):
    objects = {"question": "q", "source_documents": [SimpleNamespace(page_content="x y", id=None)]}
    assert dict(rd.Run.of([objects])) == {"q": ["x y"]}
    with raises("wrong-form", rd.DataError, query="r", value=5):
        rd.Run.of({"q": [{"id": "a"}], "r": 5})
    long = {**ELASTIC, "profile": "x" * 100_000}  # longer than what tells the kind of a file
    lines = [json.dumps({**long, "query": "q1"}), json.dumps({"query": "q2", **long})]
    assert dict(rd.read_run(written(tmp_path, "\n".join(lines), "a.jsonl"))) == {"q1": HITS, "q2": HITS}


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
        ({"q": [ELASTIC["hits"]["hits"][0], {"title": "x"}]}, "no-id-of-hit"),
        ({"q": {**SOLR, "response": {**SOLR["response"], "start": 10}}}, "later-page"),
        ({"q": {**SOLR, "responseHeader": {"status": 500}}}, "engine-error"),
        ([ELASTIC, ELASTIC], "nameless-response"),
        ([{"query": "q", **ELASTIC}] * 2, "query-twice"),
        ([{"user_input": "q", "retrieved_contexts": [""]}], "no-id-of-hit"),
        ([{"user_input": "q", "retrieved_contexts": [{"metadata": {}}]}], "no-id-of-hit"),
        ([{"retrieved_contexts": ["a"]}], "nameless-response"),
        ([{"query": ["q"], "hits": {"hits": []}}], "nameless-response"),
        ({"q": [{"id": "a"}], "r": [5.5]}, "no-id-of-hit"),
    ],
)
def test_runs_that_are_refused(tmp_path, answer, kind):
    for value in everywhere(tmp_path, answer):
        with raises(kind, rd.DataError):
            read(rd.Run, value)


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


@pytest.mark.parametrize(
    "ratings", [RANK_EVAL_REQUEST, {**RANK_EVAL_REQUEST, "max_concurrent_searches": 2}, QUEPID_JSON]
)
def test_ratings(tmp_path, ratings):
    expected = rd.References.from_grades({"red shoes": {"s1": 3, "s2": 1, "s9": 0}})
    for value in everywhere(tmp_path, ratings):
        assert read(rd.References, value) == expected
        assert rd.evaluate(value, {"python": {"red shoes": SOLR}}, "RR").means.item() == 1


@pytest.mark.parametrize(("record", "items"), [(RAGAS, TEXTS[:2]), (WITH_IDS, ["2", "c1"]), (LLAMA, ["2", "c1"])])
def test_what_was_right_is_one_tier(tmp_path, record, items):
    expected = rd.References.from_grades({QUESTION: dict.fromkeys(items, 1)})
    for value in everywhere(tmp_path, [record]):
        with warns("unordered-gold"):
            assert read(rd.References, value) == expected
        with warns("unordered-gold"):
            scores = rd.evaluate(value, {"mine": value}, ["RDQ@3", "nDCG@3"])
        assert scores.means.tolist() == [[1.0, 1.0]]


def test_gold_in_order_and_records_with_scores(tmp_path):
    retrieved = [{"chunk_id": "c1", "score": 0.5}, {"chunk_id": "c2", "score": 0.7}, {"chunk_id": "x", "score": 0}]
    record = {"question": "q", "gold_chunk_ids": ["c2", "c1"], "retrieved": retrieved}
    for value in everywhere(tmp_path, [record, {**record, "question": "r"}]):
        assert read(rd.References, value)["q"].tiers == [["c2"], ["c1"]]
        assert dict(read(rd.Run, value)) == {"q": ["c2", "c1", "x"], "r": ["c2", "c1", "x"]}
    ordered = rd.evaluate([WITH_IDS], {"a": [WITH_IDS]}, "RDQ@5", columns={"items": "reference_context_ids"})
    assert ordered.means.item() < 1


RETRIEVED = {"user_input": "q", "retrieved_contexts": ["b", "a"]}
RIGHT = {**RETRIEVED, "reference_contexts": ["a"]}


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ({"requests": [{"id": "q", "ratings": [{"_id": "a"}]}]}, "wrong-form"),
        ({"requests": [{"id": "q", "ratings": {}}]}, "no-queries"),
        ({"requests": [{"ratings": [{"_id": "a", "rating": 1}]}]}, "not-an-id"),
        ({"queries": [{"query": "q", "ratings": ["a"]}]}, "wrong-form"),
        ({"requests": [{"id": "q", "ratings": [{"_id": "a", "rating": "high"}]}]}, "word-for-grade"),
        ({"q": ELASTIC}, "looks-like-run"),
        ([{"query": "q", "response": ELASTIC}], "looks-like-run"),
        ([RIGHT, {**RIGHT, "user_input": "r", "reference_contexts": None}], "no-contexts"),
        ([RETRIEVED], "no-contexts"),
        ([{"term": "q", "stars": 3}], "not-references"),
    ],
)
def test_references_that_are_refused(tmp_path, value, kind):
    for given in everywhere(tmp_path, value):
        with raises(kind, rd.DataError) as caught:
            read(rd.References, given)
        if kind == "no-contexts" and len(value) == 2:
            assert caught.value.fields["row"] == 1
            assert caught.value.fields.get("line") == (2 if str(given).endswith("jsonl") else None)
    with raises("not-json", rd.DataError, line=2):
        rd.read_references(written(tmp_path, "\n".join(map(json.dumps, [RIGHT, RIGHT]))[:-9], "a.jsonl"))


def test_two_lists_of_one_kind():
    right, found = {"gold_ids": ["a"], "relevant_ids": ["b"]}, {"retrieved_ids": ["a"], "retrieved_doc_ids": ["b"]}
    record = {"question": "q", **right, **found, "mine": ["b", "c"], "yours": ["c", "b"]}
    for kind, name in ((rd.Run, "retrieved"), (rd.References, "items")):
        with raises("two-columns", rd.DataError, name=name):
            kind.of([record])
    for one in [*right, "yours"]:
        for other in [*found, "mine"]:
            expected = rd.evaluate({"q": record[one]}, {"a": {"q": record[other]}}, "RDQ@2").means
            columns = {"items": one, "retrieved": other}
            assert rd.evaluate([record], {"a": [record]}, "RDQ@2", columns=columns).means == expected


def test_a_field_that_was_chosen_names_all_items():
    hits = [{"_id": "1", "_source": {"sku": "d1", "meta": {"ean": 7}}}]
    assert dict(rd.Run.of({"q": {"hits": {"hits": hits}}}, columns={"item": "sku"})) == {"q": ["d1"]}
    assert dict(rd.Run.of({"q": hits}, columns={"item": "meta.ean"})) == {"q": ["7"]}
    assert dict(rd.Run.of([{"term": "q", "hits": {"hits": hits}}], columns={"query": "term"})) == {"q": ["1"]}
    run = rd.Run.of([LANGCHAIN], columns={"item": "metadata.source"}, duplicates="first")
    assert (dict(run), run.left_out) == ({QUESTION: ["a.pdf"]}, 1)
    for other in (ELASTIC, {"hits": {"hits": [{"_id": "2"}]}}):  # ids of one kind here, another there find nothing
        with raises("no-id-of-hit", rd.DataError, query="r", name="meta.ean"):
            rd.Run.of({"q": {"hits": {"hits": hits}}, "r": other}, columns={"item": "meta.ean"})


def test_what_orders_a_list_may_be_deep_in_its_records():
    records = [{"id": "a", "found": {"by": {"score": 1.0}}}, {"id": "b", "found": {"by": {"score": 2.0}}}]
    assert rd.Run.of({"q": records}, columns={"score": "found.by.score"})["q"] == ["b", "a"]
    with raises("unknown-order", rd.DataError, name="found.by.score"):
        rd.Run.of({"q": records})


def test_chunks_of_documents(tmp_path):
    path = written(
        tmp_path, "q Q0 d1#2 1 9 t\nq Q0 d2#1 2 8 t\nq Q0 d1#7 3 7 t\nq Q0 a#b#0 4 6 t\nq Q0 whole 5 5 t\n", "a.run"
    )
    run = rd.read_run(path, collapse="#")
    assert (run["q"], run.left_out) == (["d1", "d2", "a#b", "whole"], 1)
    assert rd.read_run(path, collapse="#", duplicates="last")["q"] == ["d2", "d1", "a#b", "whole"]
    assert rd.Run.of({"q": ["d1#2", "d2#1", "d1#7"]}, collapse="#")["q"] == ["d1", "d2"]
    assert rd.Run.of({"q": {"d1::2": 0.1, "d2::1": 0.2, "d1::7": 0.3}}, collapse="::")["q"] == ["d1", "d2"]
    with raises("not-a-separator", rd.UsageError):
        rd.read_run(path, collapse="")


def test_choices_of_reading_in_evaluate():
    table = pd.DataFrame({"user": [1, 1, 1], "sku": ["a#1", "b#1", "a#2"], "place": [1, 1, 3]})
    how = {"columns": {"item": "sku", "rank": "place"}, "ranks": "competition", "collapse": "#"}
    scores = rd.evaluate({1: ["b"]}, {"x": table}, "RR", **how)
    assert dict(rd.Run.of(table, **how)) == {"1": ["b", "a"]}
    assert (scores.means.tolist(), scores.coverage[0].left_out) == ([[1.0]], 1)
    with raises("unknown-column", rd.UsageError, name="itm", near="item"):
        rd.evaluate({1: ["b"]}, {"x": table}, "RR", columns={"itm": "sku"})
    with raises("no-column", rd.DataError, name="item"):
        rd.evaluate({1: ["b"]}, {"x": table}, "RR", columns={"rank": "place"})
    with raises("bad-column", rd.DataError, name="item"):  # ids that are floats
        rd.evaluate(pd.DataFrame({"user_id": [1], "item_id": [2.0], "rating": [3]}), {"x": {1: [2]}}, "RR")
