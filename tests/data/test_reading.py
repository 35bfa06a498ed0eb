"""Every format, packed in every way, gives the same run or references; texts are read as they are handed round."""

import gzip
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import zstandard

from rankdev import DataError, References, Run
from rankdev.data.files import read_grades, read_references, read_run
from rankdev.data.texts import read_texts
from tests.data.samples import GRADE_FILES, GRADE_JSON, GRADES, RANKS, REFERENCE_FILES, RUN, RUN_FILES
from tests.raising import raises

PACKED: dict[str, Callable[[bytes], bytes]] = {
    "": lambda content: content,
    ".gz": gzip.compress,
    ".zst": zstandard.compress,
}


class Case(NamedTuple):
    read: Callable[[Any], object]
    suffix: str
    content: bytes
    expected: object

    def __str__(self) -> str:
        return f"{self.read.__name__} {self.suffix}"


GRADED = References.from_grades(GRADES)
CASES = [
    *(Case(read_run, *file, Run.from_scores(RUN)) for file in RUN_FILES.items()),
    *(Case(read_references, *file, GRADED) for file in GRADE_FILES.items()),
    *(Case(read_grades, *file, GRADED) for file in (GRADE_FILES | GRADE_JSON).items()),
    *(Case(read_references, *file, References.from_ranks(RANKS)) for file in REFERENCE_FILES.items()),
]


@pytest.mark.parametrize("packing", PACKED)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_files_and_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: Case, packing: str) -> None:
    content = PACKED[packing](case.content)
    path = tmp_path / f"file.{case.suffix}{packing}"
    path.write_bytes(content)
    assert case.read(path) == case.read(str(path)) == case.expected
    stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(content)))  # type: ignore[arg-type]
    monkeypatch.setattr("sys.stdin", stdin)
    assert case.read("-") == case.expected
    assert not stdin.closed


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
        ("a.jsonl", '{"_id": "d1", "title": "", "text": "one"}\n{"_id": "d2", "title": "Two", "text": "words"}\n'),
    ],
)
def test_texts_are_read(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    assert read_texts(tmp_path / name, "item", {"d1", "d2"}) == {"d1": "one", "d2": "Two – words"}


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
