"""Formats that are known without a name; grades and ranks in files; texts, read as they are handed round."""

from pathlib import Path
from typing import Any

import pytest

from rankdev import DataError, References
from rankdev.data.files import read_grades, read_references, read_run
from rankdev.data.texts import read_texts
from tests.data.samples import GRADE_FILES, GRADE_JSON, GRADES, RANKS, REFERENCE_FILES
from tests.raising import raises


@pytest.mark.parametrize(
    ("files", "read", "expected"),
    [
        (GRADE_FILES | GRADE_JSON, read_grades, References.from_grades(GRADES)),
        (REFERENCE_FILES, read_references, References.from_ranks(RANKS)),
        (
            {"tsv": GRADE_FILES["qrels"].replace(b" ", b"\t")},
            read_references,
            References.from_grades(GRADES),
        ),  # MS MARCO
    ],
)
def test_grades_and_ranks(tmp_path: Path, files: dict[str, bytes], read: Any, expected: References) -> None:
    for suffix, content in files.items():
        (tmp_path / f"a.{suffix}").write_bytes(content)
        assert read(tmp_path / f"a.{suffix}") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[q1] Q0 {d} 1 0.5 t\n", {"[q1]": ["{d}"]}),
        ("{q1} Q0 d 1 0.5 t\n", {"{q1}": ["d"]}),
        ("x^2 Q0 d 1 0.5 t\n", {"x^2": ["d"]}),
        ("PAR1 Q0 d 1 0.5 t\n", {"PAR1": ["d"]}),
        ('"1 Q0 d" 1 +.5 t\n', {'"1': ['d"']}),
        ("q,1 Q0 item,query 1 0.5 t\n", {"q,1": ["item,query"]}),
        ("q\u00a01 Q0 d\u2003 1 0.5 t\n", {"q\u00a01": ["d\u2003"]}),
    ],
)
def test_odd_names_in_a_trec_run(tmp_path: Path, text: str, expected: dict[str, list[str]]) -> None:
    (tmp_path / "a").write_text(text)
    assert dict(read_run(tmp_path / "a")) == expected


@pytest.mark.parametrize(
    "text",
    [
        '{\n "q1": {\n  "d1": 1\n }\n}',
        '{"q1":\n{"d1": 1}}',
        '{"query": "q1", "item": "d1", "score": 1}',
        '{"score": 1, "qid": "q1", "docno": "d1"}',
        "qid,docno,score\nq1,d1,1\n",
        '"query_id"\t"doc_id"\t"score"\r\nq1\td1\t1\r\n',
    ],
)
def test_kinds_are_known_without_a_name(tmp_path: Path, text: str) -> None:
    (tmp_path / "file").write_text(text)
    assert dict(read_run(tmp_path / "file")) == {"q1": ["d1"]}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.tsv", "d1\tone\nd2\tTwo – words\nd3\tthree\n"),
        ("a.tsv", "url\ttext\tdocid\nu\tone\td1\nv\tTwo – words\td2\n"),
        ("a.csv", "docno,text\nd1,one\nd2,Two – words\n"),
        ("a.csv", "Product ID,text\nd1,one\nd2,Two – words\n"),
        ("a.jsonl", '{"_id": "d1", "title": "", "text": "one"}\n{"_id": "d2", "title": "Two", "text": "words"}\n'),
    ],
)
def test_texts_are_read(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    assert read_texts(tmp_path / name, "item", {"d1", "d2"}) == {"d1": "one", "d2": "Two – words"}
    for begin in ("qid,query", "id,query_text", "query,text"):
        (tmp_path / "queries.csv").write_text(f"{begin}\nq1,a museum\n")
        assert read_texts(tmp_path / "queries.csv", "query", None) == {"q1": "a museum"}


@pytest.mark.parametrize(
    ("content", "kind", "fields"),
    [
        ("q1\tone\nq1\tother\n", "two-texts", {"key": "query", "name": "q1"}),
        ("q1\tone\nq2\n", "column-count", {"line": 2}),
    ],
)
def test_texts_that_are_refused(tmp_path: Path, content: str, kind: str, fields: dict[str, Any]) -> None:
    path = tmp_path / "a.tsv"
    path.write_text(content)
    with raises(kind, DataError, **fields):
        read_texts(path, "query", {"q1"})
