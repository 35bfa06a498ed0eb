"""The pipeline with its real libraries on data made here: a BM25 index, a cross-encoder of a few thousand weights."""

import math
import os
import re
from collections import Counter

import numpy as np
import pytest
from tests.common.tiny_bert import save_tiny_berts

import rankdev as rd
from rankdev.studies.trec_dl import _rankers as reranking
from rankdev.studies.trec_dl._rankers import K1, B, Cache, Candidates, Reranker, Reranking, search_texts
from rankdev.studies.trec_dl.pipeline import MissingStepError, Pipeline, load_judgments, load_queries

WORDS = ["amber", "basin", "cedar", "delta", "ember", "fjord", "grove", "harbor"]
WORDS += ["island", "jetty", "kelp", "lagoon", "marsh", "north", "ocean", "pier"]
EXTRA = "install the extra to run this: pip install 'rankdev[trec-dl]'"
QUERIES = {"1": "amber harbor", "2": "cedar kelp ocean", "3": "pier", "4": "zzz"}


def make_texts(count=60, seed=0):
    rng = np.random.default_rng(seed)
    return {f"d{i:02}": " ".join(rng.choice(WORDS, rng.integers(4, 20))) for i in range(count)}


@pytest.fixture(scope="module")
def tiny_model(tmp_path_factory):
    sentence_transformers = pytest.importorskip("sentence_transformers", reason=EXTRA)
    folder = tmp_path_factory.mktemp("models")
    save_tiny_berts(folder, WORDS, 64)
    sentence_transformers.CrossEncoder(str(folder / "cross"), device="cpu").save_pretrained(str(folder / "tiny"))
    return str(folder / "tiny")


@pytest.fixture
def dataset(tmp_path, monkeypatch):
    """Register a data set with ir_datasets, made of files as they are published."""
    monkeypatch.setitem(os.environ, "IR_DATASETS_HOME", str(tmp_path / "home"))
    ir_datasets = pytest.importorskip("ir_datasets", reason=EXTRA)
    (tmp_path / "queries.tsv").write_text("".join(f"{query}\t{text}\n" for query, text in QUERIES.items()))
    (tmp_path / "qrels.txt").write_text("1 0 d01 3\n1 0 d02 0\n2 0 d03 1\n3 0 d04 2\n4 0 d05 1\n")
    made = ir_datasets.create_dataset(queries_tsv=str(tmp_path / "queries.tsv"), qrels_trec=str(tmp_path / "qrels.txt"))
    name = f"rankdev-{tmp_path.name}/dl-2019"
    ir_datasets.registry.register(name, made)
    return name.replace("2019", "{year}")


def lucene_bm25(query, texts):
    """Lucene's BM25, word by word; the made-up words have no stop words, and Porter's stemmer maps them one to one."""
    documents = {name: Counter(text.split()) for name, text in texts.items()}
    average = np.mean([sum(words.values()) for words in documents.values()])
    scores = {}
    for name, words in documents.items():
        score = 0.0
        for word in query.split():
            df = sum(word in other for other in documents.values())
            idf = math.log(1 + (len(documents) - df + 0.5) / (df + 0.5))
            score += idf * words[word] / (words[word] + K1 * (1 - B + B * sum(words.values()) / average))
        scores[name] = score
    return {name: score for name, score in scores.items() if score > 0}


def test_bm25_over_texts_scores_as_lucene_does():
    pytest.importorskip("bm25s", reason=EXTRA)
    texts = make_texts()
    found = search_texts(QUERIES, texts)
    for query, text in QUERIES.items():
        expected = lucene_bm25(text, texts)
        assert found.scores[query] == pytest.approx(expected, rel=1e-4)
    assert found.scores["4"] == {}
    assert set(found.texts) == {item for items in found.scores.values() for item in items}


def test_bm25_keeps_the_best_and_puts_them_first():
    pytest.importorskip("bm25s", reason=EXTRA)
    texts = make_texts()
    found = search_texts({"1": QUERIES["1"]}, texts, depth=5).scores["1"]
    best = sorted(lucene_bm25(QUERIES["1"], texts).values(), reverse=True)[:5]
    assert list(found.values()) == pytest.approx(best, rel=1e-4)


def test_a_cross_encoder_scores_pairs_as_the_model_does_one_by_one(tiny_model):
    import torch
    import transformers

    model = transformers.AutoModelForSequenceClassification.from_pretrained(tiny_model).eval()
    assert sum(weights.numel() for weights in model.parameters()) < 10_000
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_model)
    pairs = [(QUERIES["1"], text) for text in make_texts(7).values()]
    with torch.no_grad():
        expected = [float(model(**tokenizer(*pair, return_tensors="pt")).logits[0, 0]) for pair in pairs]
    assert len({round(value, 3) for value in expected}) == 7
    assert Reranker(tiny_model, device="cpu", batch_size=3).score(pairs) == pytest.approx(expected, abs=1e-4)


def test_reranking_goes_on_where_it_was_interrupted(tiny_model, tmp_path, monkeypatch):
    monkeypatch.setattr(reranking, "BLOCK", 2)
    texts = make_texts(8)
    queries = {str(i): WORDS[i] for i in range(5)}
    candidates = Candidates({query: dict.fromkeys(texts, 1.0) for query in queries}, texts)
    calls = []
    score = Reranker.score

    def failing(self, pairs):
        calls.append(len(pairs))
        if len(calls) == 2:
            raise KeyboardInterrupt
        return score(self, pairs)

    monkeypatch.setattr(Reranker, "score", failing)
    reranker = Reranker(tiny_model, device="cpu")
    with pytest.raises(KeyboardInterrupt):
        Reranking(Cache(tmp_path), reranker).run("2019", queries, candidates)
    run = Reranking(Cache(tmp_path), reranker).run("2019", queries, candidates)
    assert calls == [16, 16, 16, 8]  # block 1 once; block 2 failed, then blocks 2 and 3
    assert {query: len(run[query]) for query in run} == dict.fromkeys(queries, 8)
    Reranking(Cache(tmp_path), reranker).run("2019", queries, candidates)
    assert len(calls) == 4


def test_judgments_and_queries_come_through_ir_datasets(dataset):
    assert load_queries("2019", dataset) == QUERIES
    assert load_judgments("2019", dataset).splitlines()[:2] == [b"1 0 d01 3", b"1 0 d02 0"]


def test_the_whole_pipeline_from_judgments_to_runs(dataset, tiny_model, tmp_path):
    pytest.importorskip("bm25s", reason=EXTRA)
    texts = make_texts()
    (tmp_path / "texts.tsv").write_text("".join(f"{name}\t{text}\n" for name, text in texts.items()))
    options = {"texts": {"": str(tmp_path / "texts.tsv")}, "models": [tiny_model], "dataset": dataset, "device": "cpu"}
    lines = []
    pipeline = Pipeline(**options, cache=tmp_path / "cache", report=lines.append)
    year = pipeline.collect("2019")
    assert len(year.references) == 4
    assert list(year.runs) == ["tiny"]
    run = year.runs["tiny"]
    assert set(run["1"]) == set(lucene_bm25(QUERIES["1"], texts))
    assert rd.evaluate(year.references, dict(year.runs), "RDQ@10").coverage[0].missing == 1  # nothing for zzz
    for path in (tmp_path / "cache" / "2019").rglob("*.json*"):
        if not path.name.endswith(".seal"):
            path.write_bytes(path.read_bytes()[:-5])
    assert pipeline.collect("2019").runs["tiny"] == run
    assert sum("redone" in line for line in lines) == 3  # queries, candidates and the block of scores


def test_a_step_that_cannot_be_done_names_the_file_that_replaces_it(tmp_path):
    nothing = Pipeline(dataset="nowhere/{year}", cache=tmp_path)
    with pytest.raises(MissingStepError, match=r"2019: no judgments \(.*\); --qrels 2019=FILE replaces this step"):
        nothing.judgments("2019")
    with pytest.raises(MissingStepError, match=r"2020: no queries \(.*\); --query-texts 2020=FILE replaces this step"):
        nothing.topics("2020")
    with pytest.raises(
        MissingStepError, match=re.escape("--item-texts 2021=FILE (BM25 over your texts) or --runs 2021=DIR")
    ):
        nothing.candidates("2021", {"1": "pier"})
    absent = Pipeline(models=[str(tmp_path / "absent")], cache=tmp_path)
    with pytest.raises(MissingStepError, match=r"2022: no reranked run of absent \(.*--runs 2022=DIR replaces"):
        absent.reranked("2022", {"1": "pier"}, Candidates({"1": {"d": 1.0}}, {"d": "pier"}))
