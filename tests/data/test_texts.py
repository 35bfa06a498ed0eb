"""Texts of queries and items, in the forms in which collections are handed round."""

import pytest

import rankdev as rd
from rankdev.data.texts import read_texts
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
