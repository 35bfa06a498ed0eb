import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.common.examples import examples

import rankdev as rd
from rankdev.studies.trec_dl._rankers import Cache, Reranker, default_folder, read_texts, write_texts
from rankdev.studies.trec_dl.pipeline import Pipeline


@pytest.fixture
def cache(tmp_path):
    """A cache that writes down what it says, and a step that counts how often it is made."""
    said, made = [], []

    def make():
        made.append(1)
        return b"content"

    box = Cache(tmp_path, said.append)
    return box, lambda *inputs: box.step("a/b.txt", inputs, make), said, made


def test_a_step_is_made_once(cache):
    _, step, said, made = cache
    assert step("x").read_bytes() == b"content"
    step("x")
    assert len(made) == 1
    assert said == []


def test_other_inputs_make_a_step_again(cache):
    _, step, said, made = cache
    step("x")
    step("y")
    assert len(made) == 2
    assert said == []


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b"cont"),
        lambda path: path.write_bytes(b"cOntent"),
        lambda path: path.with_name("b.txt.seal").unlink(),
        lambda path: path.with_name("b.txt.seal").write_text('{"key": "'),
        lambda path: path.with_name("b.txt.seal").write_text("[]"),
    ],
    ids=["cut short", "changed", "no seal", "half a seal", "another seal"],
)
def test_what_is_damaged_is_noticed_and_made_again(cache, damage):
    _, step, said, made = cache
    damage(step("x"))
    assert step("x").read_bytes() == b"content"
    assert len(made) == 2
    assert len(said) == 1
    assert "redone" in said[0]


def test_a_step_that_fails_leaves_nothing_behind(tmp_path):
    def fail():
        raise ConnectionError

    with pytest.raises(ConnectionError):
        Cache(tmp_path).step("a.txt", [], fail)
    assert list(tmp_path.rglob("*")) == []


def test_the_default_folder_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_folder() == tmp_path / "rankdev" / "trec-dl"


@given(st.dictionaries(st.text(min_size=1, max_size=5), st.text(max_size=20), min_size=1))
@examples(25)
def test_texts_come_back_as_they_were_written(tmp_path_factory, texts):
    path = tmp_path_factory.mktemp("texts") / "texts.jsonl"
    path.write_bytes(write_texts(texts))
    assert read_texts(path) == texts


def test_texts_are_read_from_tabs_and_from_documents_in_parts(tmp_path):
    path = tmp_path / "texts"
    path.write_text('1\tone\ttwo\r\n\n{"docid": 2, "title": "T", "headings": "", "body": "B"}\n')
    assert read_texts(path) == {"1": "one\ttwo", "2": "T B"}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("no tab", ":2: expected an id, a tab and a text"),
        ("{", ":2: this is not JSON"),
        ('{"id": 1}', r":2: expected an id \(id, _id"),
    ],
)
def test_a_line_that_is_not_a_text_is_named(tmp_path, line, message):
    path = tmp_path / "texts"
    path.write_text(f"1\tone\n{line}\n")
    with pytest.raises(rd.DataError, match=message):
        read_texts(path)


def test_files_replace_judgments_queries_and_runs(tmp_path):
    (tmp_path / "qrels").write_text("1 0 a 2\n1 0 b 1\n")
    (tmp_path / "queries").write_text("1\tone\n")
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "x.run").write_text("1 Q0 b 1 2.0 x\n")
    pipeline = Pipeline(
        qrels={"2019": str(tmp_path / "qrels")},
        queries={"2019": str(tmp_path / "queries")},
        runs={"2019": str(tmp_path / "runs")},
        cache=tmp_path / "cache",
    )
    year = pipeline.collect("2019")
    assert year.references["1"].tiers == [["a"], ["b"]]
    assert year.runs["x"]["1"] == ["b"]
    assert pipeline.topics("2019") == {"1": "one"}
    assert not (tmp_path / "cache").exists()


def test_candidates_that_are_kept_need_no_library(tmp_path):
    texts = tmp_path / "texts"
    texts.write_text("d\tpier\n")
    pipeline = Pipeline(texts={"": str(texts)}, cache=tmp_path / "cache")
    content = json.dumps({"scores": {"1": {"d": 1.0}}, "texts": {"d": "pier"}}).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Pipeline, "_search", lambda *arguments: content)
        first = pipeline.candidates("2019", {"1": "pier"})
    assert pipeline.candidates("2019", {"1": "pier"}) == first
    assert first.to_polars().rows() == [("1", "d", 1.0)]


def test_two_models_of_the_same_name_are_refused():
    with pytest.raises(rd.UsageError, match="two models are called 'x'"):
        Pipeline(models=["a/x", "b/x/"])


def test_a_retrained_model_is_another_one(tmp_path):
    (tmp_path / "weights").write_bytes(b"old")
    before = Reranker(str(tmp_path)).identity
    assert Reranker(str(tmp_path)).identity == before
    (tmp_path / "weights").write_bytes(b"newer")
    assert Reranker(str(tmp_path)).identity != before
    assert "bge-reranker-base" in Reranker("BAAI/bge-reranker-base").identity
