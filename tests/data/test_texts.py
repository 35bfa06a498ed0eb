"""Texts of queries and items, in the forms in which collections are handed round, and from ir_datasets."""

import sys

import pytest

import rankdev as rd
from rankdev.data.texts import DatasetTexts, read_texts
from tests.raising import raises


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.tsv", "d1\tone\nd2\ttwo words\nd3\tthree\n"),
        ("a.tsv", "url\ttext\tdocid\nu\tone\td1\nv\ttwo words\td2\n"),
        ("a.csv", "docno,text\nd1,one\nd2,two words\n"),
        ("a.jsonl", '{"_id": "d1", "title": "", "text": "one"}\n{"_id": "d2", "title": "two words", "text": null}\n'),
    ],
)
def test_texts_are_read(tmp_path, name, content):
    (tmp_path / name).write_text(content, encoding="utf-8")
    assert read_texts(tmp_path / name, "item", {"d1", "d2"}) == {"d1": "one", "d2": "two words"}


def test_a_title_stands_before_the_text(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("item,title,text\nd1,Art Hall,Painting\n", encoding="utf-8")
    assert read_texts(path, "item", {"d1"}) == {"d1": "Art Hall – Painting"}


@pytest.mark.parametrize(
    ("content", "kind", "fields"),
    [
        ("q1\tone\nq1\tother\n", "two-texts", {"key": "query", "name": "q1"}),
        ("q1\tone\nq2\n", "column-count", {"line": 2}),
    ],
)
def test_what_is_refused(tmp_path, content, kind, fields):
    path = tmp_path / "a.tsv"
    path.write_text(content, encoding="utf-8")
    with raises(kind, rd.DataError, **fields):
        read_texts(path, "query", {"q1"})


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
