"""Texts for a report from ir_datasets: what it has, what it lacks, and what is said where it cannot be read."""

import sys

import pytest

import rankdev as rd
from rankdev.data.texts import DatasetTexts
from tests.raising import raises


@pytest.fixture
def dataset(tmp_path):
    ir_datasets = pytest.importorskip("ir_datasets", reason="texts come from ir_datasets")
    (tmp_path / "queries.tsv").write_text("q1\tWhere is it?\nq2\tWhy?\n")
    (tmp_path / "docs.tsv").write_text("d1\tOne <b>\nd2\tTwo\n")
    made = ir_datasets.create_dataset(
        docs_tsv=str(tmp_path / "docs.tsv"), queries_tsv=str(tmp_path / "queries.tsv"), qrels_trec=None
    )
    name = f"rankdev-texts-{tmp_path.name}"
    ir_datasets.registry.register(name, made)
    return name


def test_texts_of_queries_and_items(dataset):
    found = DatasetTexts(dataset)
    assert found.of_queries({"q1", "q9"}) == {"q1": "Where is it?"}
    assert found.of_items({"d1", "d9"}) == {"d1": "One <b>"}


def test_what_cannot_be_read_is_one_line(dataset, monkeypatch):
    with raises("unknown-dataset", rd.UsageError, name="nope"):
        DatasetTexts("nope")
    found = DatasetTexts(dataset)

    class Broken:
        def has_docs(self):
            return True

        def docs_store(self):
            raise OSError("no network\n" * 100)

    found._dataset = Broken()
    with raises("unreadable-texts", rd.DataError, instead="item_texts") as caught:
        found.of_items({"d1"})
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    with raises("no-ir-datasets", rd.UsageError):
        DatasetTexts(dataset)
