"""Records of ragas, LangChain and LlamaIndex, and chunks of documents."""

import json
from types import SimpleNamespace

import pytest

import rankdev as rd
from tests.raising import raises, warns

# https://docs.ragas.io/en/stable/concepts/components/eval_sample/
RAGAS = {
    "user_input": "How tall is it?",
    "retrieved_contexts": ["The tower is 300 m tall.", "It  is\nin Paris.", "A cake."],
    "reference_contexts": ["It is in Paris.", "The tower is 300 m tall."],
    "response": "300 m",
}
OLD_RAGAS = {"question": "How tall is it?", "contexts": RAGAS["retrieved_contexts"], "ground_truth": "300 m"}
WITH_IDS = {**RAGAS, "retrieved_context_ids": ["c1", 2, "c3"], "reference_context_ids": [2, "c1"]}
# https://docs.llamaindex.ai/en/stable/module_guides/evaluating/usage_pattern_retrieval/ (RetrievalEvalResult)
LLAMA = {"query": "How tall is it?", "expected_ids": ["2", "c1"], "retrieved_ids": ["c1", "2", "c3"], "mode": "text"}
TEXTS = ["The tower is 300 m tall.", "It is in Paris.", "A cake."]
QUESTION = "How tall is it?"


def document(text, **fields):
    """A Document of LangChain: page_content, metadata, id."""
    return {"page_content": text, "metadata": {"source": "a.pdf"}, **fields}


LANGCHAIN = {"query": QUESTION, "result": "300 m", "source_documents": [document("x", id="c1"), document("A  cake.")]}


@pytest.mark.parametrize(
    ("record", "items"),
    [
        (RAGAS, TEXTS),
        (OLD_RAGAS, TEXTS),
        (WITH_IDS, ["c1", "2", "c3"]),
        (LLAMA, ["c1", "2", "c3"]),
        (LANGCHAIN, ["c1", "A cake."]),
        ({"question": QUESTION, "source_nodes": [{"node": {"id_": "n1", "text": "x"}, "score": 0.5}]}, ["n1"]),
        ({"question": QUESTION, "source_documents": [SimpleNamespace(page_content="x y", id=None)]}, ["x y"]),
    ],
)
def test_what_was_retrieved(tmp_path, record, items):
    assert dict(rd.Run.of([record])) == {QUESTION: items}
    if "namespace" not in str(record):
        for name, content in {"a.jsonl": json.dumps(record) + "\n", "a.json": json.dumps([record], indent=1)}.items():
            (tmp_path / name).write_text(content)
            assert dict(rd.read_run(tmp_path / name)) == {QUESTION: items}


@pytest.mark.parametrize(("record", "items"), [(RAGAS, TEXTS[:2]), (WITH_IDS, ["2", "c1"]), (LLAMA, ["2", "c1"])])
def test_what_was_right_is_one_tier(tmp_path, record, items):
    expected = rd.References.from_grades({QUESTION: dict.fromkeys(items, 1)})
    with warns("unordered-gold"):
        assert rd.References.of([record]) == expected
    for name, content in {"a.jsonl": json.dumps(record) + "\n", "a.json": json.dumps([record], indent=1)}.items():
        (tmp_path / name).write_text(content)
        with warns("unordered-gold"):
            assert rd.read_references(tmp_path / name) == expected
        with warns("unordered-gold"):
            scores = rd.evaluate(tmp_path / name, {"mine": tmp_path / name}, ["RDQ@3", "nDCG@3"])
        assert scores.means.tolist() == [[1.0, 1.0]]


def test_gold_in_order_and_records_with_scores(tmp_path):
    record = {"question": "q", "gold_chunk_ids": ["c2", "c1"]}
    record["retrieved"] = [
        {"chunk_id": "c1", "score": 0.5},
        {"chunk_id": "c2", "score": 0.7},
        {"chunk_id": "x", "score": 0},
    ]
    (tmp_path / "a.jsonl").write_text(json.dumps(record) + "\n" + json.dumps({**record, "question": "r"}))
    assert rd.read_references(tmp_path / "a.jsonl")["q"].tiers == [["c2"], ["c1"]]
    assert dict(rd.read_run(tmp_path / "a.jsonl")) == {"q": ["c2", "c1", "x"], "r": ["c2", "c1", "x"]}
    assert rd.evaluate([record], {"a": [record]}, "RDQ@5").means.item() == 1
    ordered = rd.evaluate([WITH_IDS], {"a": [WITH_IDS]}, "RDQ@5", columns={"items": "reference_context_ids"})
    assert ordered.means.item() < 1


def test_a_field_names_the_document():
    run = rd.Run.of([LANGCHAIN], columns={"item": "metadata.source"}, duplicates="first")
    assert (dict(run), run.left_out) == ({QUESTION: ["a.pdf"]}, 1)


@pytest.mark.parametrize(
    ("record", "kind"),
    [
        ({"user_input": "q", "retrieved_contexts": [""]}, "no-id-of-hit"),
        ({"user_input": "q", "retrieved_contexts": [{"metadata": {}}]}, "no-id-of-hit"),
        ({"retrieved_contexts": ["a"]}, "nameless-response"),
    ],
)
def test_what_is_refused(record, kind):
    with raises(kind, rd.DataError):
        rd.Run.of([record])


def test_chunks_of_documents(tmp_path):
    path = tmp_path / "chunks.run"
    path.write_text("q Q0 d1#2 1 9 t\nq Q0 d2#1 2 8 t\nq Q0 d1#7 3 7 t\nq Q0 a#b#0 4 6 t\nq Q0 whole 5 5 t\n")
    run = rd.read_run(path, collapse="#")
    assert (run["q"], run.left_out) == (["d1", "d2", "a#b", "whole"], 1)
    assert rd.read_run(path, collapse="#", duplicates="last")["q"] == ["d2", "d1", "a#b", "whole"]
    assert rd.Run.of({"q": ["d1#2", "d2#1", "d1#7"]}, collapse="#")["q"] == ["d1", "d2"]
    assert rd.Run.of({"q": {"d1::2": 0.1, "d2::1": 0.2, "d1::7": 0.3}}, collapse="::")["q"] == ["d1", "d2"]
    with raises("not-a-separator", rd.UsageError):
        rd.read_run(path, collapse="")
