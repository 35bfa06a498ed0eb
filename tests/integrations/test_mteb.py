"""MTEB: its prediction files become runs, which score here as they do there."""

import json

import numpy as np
import pytest

import rankdev as rd
from rankdev.integrations.mteb import read_run, references
from tests.raising import raises

META = {"model_name": "org/model", "revision": "1"}
FOUND = {"q1": {"d1": 0.9, "d2": 0.95, "q1": 1.0}, "q2": {"d3": 0.1}}


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "predictions"
    folder.mkdir()
    contents = {
        "NFCorpus": {"default": {"test": FOUND}},
        "Several": {"en": {"dev": FOUND, "test": {"q9": {"d9": 1.0}}}, "de": {"test": FOUND}},
        "Banking": {"default": {"test": {"predictions": [[1, 2]]}}},
    }
    for task, content in contents.items():
        (folder / f"{task}_predictions.json").write_text(json.dumps({"mteb_model_meta": META, **content}))
    return folder


def test_predictions_become_runs(folder):
    run = read_run(folder, "NFCorpus")
    assert {query: run[query] for query in run} == {"q1": ["q1", "d2", "d1"], "q2": ["d3"]}
    assert read_run(folder / "NFCorpus_predictions.json", ignore_identical_ids=True)["q1"] == ["d2", "d1"]
    assert list(read_run(folder, "Several", subset="en", split="test")) == ["q9"]
    assert list(read_run(folder, "Several", subset="de")) == ["q1", "q2"]


@pytest.mark.parametrize(
    ("asked", "kind", "fields"),
    [
        ({}, "not-a-choice", {"name": "task", "value": None, "known": ("Banking", "NFCorpus", "Several")}),
        ({"task": "NFCorpora"}, "not-a-choice", {"name": "task", "value": "NFCorpora", "near": "NFCorpus"}),
        ({"task": "Several"}, "not-a-choice", {"name": "subset", "known": ("en", "de")}),
        ({"task": "Several", "subset": "en"}, "not-a-choice", {"name": "split", "known": ("dev", "test")}),
        ({"task": "Banking"}, "bad-value", {"name": "the split"}),
    ],
)
def test_what_is_not_clear_is_asked_for(folder, asked, kind, fields):
    with raises(kind, **fields):
        read_run(folder, **asked)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('{"mteb_model_meta": null, "default": {"test": {"q": {"d": 1}}}}', "not-of-mteb"),
        ('{"mteb_model_meta": {}, "default": []}', "bad-value"),
        ('{"mteb_model_meta": {}}', "empty"),
        ('{"mteb_model_meta": {}, "default": {"test": {}}}', "empty"),
        ("{", "not-json"),
        ("[]", "not-of-mteb"),
        ('{"mteb_model_meta": {}, "default": {"test": {"q": {"d": "x"}}}}', None),
        ('{"mteb_model_meta": {}, "default": {"test": {"q": {}, "q": {}}}}', None),
    ],
)
def test_other_files_are_refused(tmp_path, text, kind):
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(rd.DataError) as caught:
        read_run(path)
    assert caught.value.fields["path"] == str(path)
    assert kind in (None, caught.value.kind)


def test_a_folder_has_predictions_and_a_task_is_one(tmp_path):
    with raises("no-predictions", rd.UsageError, path=str(tmp_path)):
        read_run(tmp_path)
    with raises("not-a-type", rd.UsageError, name="task"):
        references("NFCorpus")


def test_a_task_scores_here_as_there(tmp_path):
    mteb = pytest.importorskip("mteb")
    from datasets import Dataset
    from mteb.abstasks import AbsTaskRetrieval
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import BoW

    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(40)]
    corpus = {f"d{i}": " ".join(rng.choice(words, 12)) for i in range(60)}
    queries = {f"q{i}": " ".join(rng.choice(words, 3)) for i in range(8)}
    judged = {query: {f"d{i}": int(rng.integers(0, 3)) for i in rng.choice(60, 10, replace=False)} for query in queries}

    class Tiny(AbsTaskRetrieval):
        metadata = mteb.TaskMetadata(
            name="Tiny", description="made here", reference=None, type="Retrieval", category="t2t", modalities=["text"],
            dataset={"path": "made/here", "revision": "1"}, eval_splits=["test"], eval_langs=["eng-Latn"],
            main_score="ndcg_at_10", date=None, domains=None, task_subtypes=None, license=None,
            annotations_creators=None, dialect=None, sample_creation=None, bibtex_citation=None,
        )  # fmt: skip

        def load_data(self, *_, **__):
            def table(texts):
                return Dataset.from_list([{"id": name, "text": text, "title": ""} for name, text in texts.items()])

            split = {"corpus": table(corpus), "queries": table(queries), "relevant_docs": judged, "top_ranked": None}
            self.dataset = {"default": {"test": split}}
            self.data_loaded = True

    task = Tiny()
    model = SentenceTransformer(modules=[BoW(words)], device="cpu")
    done = mteb.evaluate(model, task, cache=None, prediction_folder=tmp_path, show_progress_bar=False)
    theirs = done.task_results[0].scores["test"][0]
    ours = rd.evaluate(references(Tiny()), {"model": read_run(tmp_path, "Tiny")}, ["nDCG@10", "AP@10", "R@10"])
    wanted = [theirs[name] for name in ("ndcg_at_10", "map_at_10", "recall_at_10")]
    assert ours.means[0].tolist() == pytest.approx(wanted, abs=1e-5)  # MTEB rounds to five digits
