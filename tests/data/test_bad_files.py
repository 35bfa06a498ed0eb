"""Each bad file gets one clear message: the file, the line where there is one, what was expected, what to do."""

import gzip
import io
import os
from pathlib import Path
from typing import Any

import pytest
import zstandard

from rankdev import Preferences, RankdevError, References, Run, Scores, UsageError
from rankdev.data import sources
from rankdev.data.files import read_grades, read_lists, read_references, read_run
from rankdev.errors import DataError
from tests.data.samples import GRADE_FILES, REFERENCE_FILES, RUN_FILES
from tests.raising import raises

A, B = "q1 Q0 d1 1 0.9 t\n", "q1 Q0 d2 2 0.5 t\n"
MANY = "".join(f"q1 Q0 x{i} 1 {i} t\n" for i in range(50))
FIRST = '{"query": "q1", "item": "d1", "score": 1}\n'
TIERS = '{"query": "q1", "tiers": [["d1"]]}\n'

# name of the file, content, line, kind of the error
RUNS: list[tuple[str, str | bytes, int | None, str]] = [
    ("a.run", "", None, "empty-file"),
    ("a.run", " \n\n\t\r\n", None, "empty-file"),
    ("a.run", A + "q1 Q0 d2 2\n", 2, "column-count"),
    ("a.run", f"{A}q1 Q0 d2 2 {'9' * 5000}x t\n", 2, "not-finite"),
    ("a.run", MANY + "q1 Q0 d2 2 x t\n", 51, "not-finite"),
    ("a.run", MANY.replace(" ", "\t") + "\n" + "q1 Q0 d2 2 x t\n", 52, "not-finite"),
    ("a.run", A + B + "q1 Q0 d1 3 0.4 t\n", 3, "two-in-run"),
    ("a.run", A + "\n" + B + "\tq1 Q0 d1 3 0.4 t\n", 4, "two-in-run"),
    ("a.run", A.encode() + b"q1 Q0 caf\xe9 2 0.5 t\n", 2, "not-utf8"),
    ("a.run", A.encode("utf-16"), None, "not-utf8"),
    ("a.run", b"\x7fELF\x00\x01\x02", None, "binary-file"),
    ("a.run", b"\x89PNG\r\n\x1a\n\x00\x00", None, "binary-file"),
    ("a.run", gzip.compress(MANY.encode())[:-20], None, "damaged"),
    ("a.run", gzip.compress(MANY.encode())[:50] + b"garbage" * 9, None, "damaged"),
    ("a.run", zstandard.compress(MANY.encode())[:-20], None, "damaged"),
    ("a.run", zstandard.compress(MANY.encode())[:30] + b"garbage" * 9, None, "damaged"),
    ("a.run", gzip.compress(b""), None, "empty-file"),
    ("a.csv", "query,item,score\n", None, "no-rows"),
    ("a.csv", "query,item\nq1,d1\n", None, "no-column"),
    ("a.csv", "query,score\nq1,1\n", None, "no-column"),
    ("a.csv", "q1,d1,0.5\nq1,d2,0.4\n", None, "no-columns"),
    ("a.csv", "query,item,score\nq1,d1,0.5\nq1,d2\n", 3, "column-count"),
    ("a.csv", "query,item,score\nq1,d1,0.5\n\nq1,d2,0.5,9\n", 4, "column-count"),
    ("a.csv", "query,item,item,score\nq1,d1,d2,0.5\n", 1, "column-twice"),
    ("a.csv", "query,item,score\nq1,d1,0.5\nq1,d2,high\n", 3, "not-finite"),
    ("a.csv", "query,item,score\nq1,d1,0.5\nq1,d2,\n", 3, "not-finite"),
    ("a.csv", "query,item,score\nq1,,0.5\n", 2, "no-value"),
    ("a.csv", 'query,item,score\n"q\n1",d1,0.5\nq1,d2,x\n', 4, "not-finite"),
    ("a.csv", 'query,item,score\nq1,"d1"x,0.5\n', 2, "unusable-table"),
    ("a.csv", b"query,item,score\nq1,d1,1\nq1,\xff,1\n", 3, "not-utf8"),
    ("a.csv", "query,item,score\nq1,d1,1\nq1,d1,2\n", 3, "two-in-run"),
    ("a.csv", "query,item,rank\nq1,d1,1\nq1,d2,1\n", 3, "rank-twice"),
    ("a.csv", '""\n""\n', None, "no-rows"),
    ("a.tsv", "query\titem\tscore\nq1\td1\n", 2, "column-count"),
    ("a.jsonl", FIRST + '{"query": "q1"\n', 2, "not-json"),
    ("a.jsonl", FIRST + "[1]\n", 2, "not-an-object"),
    ("a.jsonl", FIRST + '\n{"query": "q1", "score": 1}\n', 3, "no-value"),
    ("a.jsonl", FIRST + '{"query": "q1", "item": "d2"}\n', 2, "not-finite"),
    ("a.jsonl", FIRST + '{"query": "q1", "item": "d2", "score": "x"}\n', 2, "not-finite"),
    ("a.jsonl", '{"query": "q1", "item": "d1", "score": [1]}\n', None, "bad-column"),
    ("a.jsonl", '{"query": "q1", "item": null, "score": 1}\n', 1, "no-value"),
    *(
        ("a.jsonl", f'{before}{{"query": "q1", {key}: {value}, "score": 1}}\n', line, "not-an-id")
        for value in ("true", "1e2", "1.5", '["d1"]', '{"a": 1}')
        for key in ('"item"', '"docno"')
        for before, line in (("", 1), (FIRST, 2))
    ),
    ("a.jsonl", '{"query": "q1", "item": "d1", "item": "d2", "score": 1}\n', 1, "name-twice"),
    ("a.jsonl", FIRST + '{"query": "q1", "item": "d2", "score": 1, "score": 2}\n', 2, "name-twice"),
    ("a.jsonl", FIRST + '{"query": "q", "item": "\\ud800", "score": 1}\n', 2, "not-json"),
    ("a.jsonl", FIRST.encode() + b'{"query": "\xff", "item": "d1", "score": 1}\n', 2, "not-utf8"),
    ("a.jsonl", A, None, "wrong-content"),
    ("a.json", '{"q1": {"d1": 1}', 1, "not-json"),
    ("a.json", '{"q1":\n {"d1": 1},\n 7}', 3, "not-json"),
    ("a.json", "{}", None, "not-by-query"),
    ("a.json", '[{"q1": {"d1": 1}}]', None, "no-columns"),
    ("a.json", '{"q1": {"d1": Infinity}}', None, "not-finite"),
    ("a.json", '{"q1": {"d1": 1, "d1": 2}}', None, "name-twice"),
    ("a.json", '{"q1": {"d1": 1}, "q1": {"d2": 2}}', None, "name-twice"),
    ("a.json", '{"q1": {"d1": 1}, "q2": ["d1"]}', None, "wrong-form"),
    ("a.json", '{"q1": "d1", "q2": ["d1"]}', None, "no-columns"),
    ("a.json", "q1", None, "wrong-content"),
    ("a.json", "[1, 2]", None, "wrong-content"),
    ("a.parquet", RUN_FILES["parquet"][:-9], None, "damaged"),
    ("a.parquet", "query,item", None, "wrong-content"),
    ("a.qrels", GRADE_FILES["qrels"], 1, "looks-like-references"),
    ("a.csv", GRADE_FILES["csv"], None, "looks-like-references"),
    ("a.jsonl", REFERENCE_FILES["jsonl"], None, "looks-like-references"),
    ("a.json", REFERENCE_FILES["json"], None, "not-an-id"),
]

REFERENCES: list[tuple[str, str | bytes, int | None, str]] = [
    ("a.qrels", "", None, "empty-file"),
    ("a.qrels", "q1 0 d1 1\nq1 0 d2\n", 2, "column-count"),
    ("a.qrels", "q1 0 d1 1\nq1 0 d2 good\n", 2, "word-for-grade"),
    ("a.qrels", "q1 0 d1 1\nq1 0 d2 nan\n", 2, "not-finite"),
    ("a.qrels", "q1 0 d1 1\nq1 0 d2 1\nq1 0 d1 2\n", 3, "two-values"),
    ("a.run", RUN_FILES["run"], 1, "looks-like-run"),
    ("a.csv", RUN_FILES["csv"], None, "looks-like-run"),
    ("a.csv", "query,item,rank,score\nq1,d1,1,9\n", None, "looks-like-run"),
    ("a.jsonl", RUN_FILES["jsonl"], None, "looks-like-run"),
    ("a.json", RUN_FILES["json"], None, "grades-or-ranks"),
    ("a.csv", "query,item,rank\nq1,d1,1\nq1,d2,0\n", 3, "not-a-rank"),
    ("a.csv", "query,item,rank\nq1,d1,1\nq1,d2,3\n", 3, "rank-missing"),
    ("a.csv", "query,item,rank\nq1,d1,1\nq1,d1,2\n", 3, "two-values"),
    ("a.csv", "query,item,rank\nq1,d1,first\n", 2, "not-finite"),
    ("a.csv", "query,item,rank,grade\nq1,d1,2,3\nq1,d2,1,1\n", None, "rank-against-grade"),
    ("a.csv", "query,name\nq1,d1\n", None, "not-references"),
    ("a.csv", "query,item\nq1,d1\nq1,d2\n", None, "not-references"),  # without a user they could be in order
    ("a.csv", "query,item,rank\n", None, "no-rows"),
    ("a.csv", f'query,"item\n{"x" * 500}",rank\nq1,d1,1\n', None, "no-column"),
    ("a.csv", "query,tiers\nq1,d1\n", 2, "wrong-form"),
    ("a.jsonl", '{"query": "q1", "tiers": [["d1"], []]}\n', 1, "empty-tier"),
    ("a.jsonl", TIERS + '{"query": "q2", "tiers": []}\n', 2, "empty-tier"),
    ("a.jsonl", TIERS + '{"query": "q2", "tiers": [["d1", null]]}\n', 2, "not-an-id"),
    ("a.jsonl", '{"query": "q1", "tiers": ["d1"]}\n', 1, "wrong-form"),
    ("a.jsonl", '{"tiers": [["d1"]], "id": 1}\n', 1, "no-value"),
    ("a.jsonl", TIERS + '{"query": "q2"}\n', 2, "empty-tier"),
    ("a.jsonl", TIERS + '{"query": "q1", "tiers": [["d2"]]}\n', 2, "query-twice"),
    ("a.jsonl", TIERS + '{"query": "q2", "tiers": [["d1"], ["d1"]]}\n', 2, "two-values"),
    *(
        ("a.jsonl", f'{{"query": "q1", "tiers": [["d1"], ["d2"]], "grades": {wrong}}}\n', 1, "tier-grades")
        for wrong in ([1], [1, 3], [1, 0])
    ),
    ("a.jsonl", '{"query": "q1", "tiers": [["d1"]], "grades": 3}\n', 1, "wrong-form"),
    ("a.jsonl", '{"query": "q1", "tiers": [["d1"]], "grades": [null]}\n', 1, "wrong-form"),
    ("a.jsonl", '{"query": "q1", "tiers": [[1.5]]}\n', 1, "not-an-id"),
    ("a.jsonl", '{"query": "q1", "tiers": [["a", true]]}\n', 1, "not-an-id"),
    ("a.jsonl", '{"query": "q1", "tiers": [["a"]], "tiers": [["b"]]}\n', 1, "name-twice"),
    ("a.jsonl", '{"query": true, "item": "a", "rank": 1}\n', 1, "not-an-id"),
    ("a.json", '{"q1": [["d1"], []]}', None, "empty-tier"),
    ("a.json", '{"q1": ["d1", "d1"]}', None, "two-values"),
    ("a.json", '{"q1": [["d1"], null]}', None, "not-an-id"),
]

OTHERS: list[tuple[Any, str, str | bytes, int | None, str]] = [
    (read_grades, "a.jsonl", REFERENCE_FILES["jsonl"], None, "not-graded"),
    (read_grades, "a.csv", REFERENCE_FILES["csv"], None, "not-graded"),
    (read_grades, "a.json", REFERENCE_FILES["json"], None, "wrong-form"),
    (read_grades, "a.json", '{"q1": {"d1": "good"}}', None, "word-for-grade"),
    (read_lists, "a.csv", "query,item\nq1,d1\nq1,d2\nq1,d1\n", 4, "two-values"),
    (read_lists, "a.csv", "query,name\nq1,d1\n", None, "no-column"),
    (read_lists, "a.jsonl", '{"query": "q1", "items": [["d1"]]}\n', 1, "wrong-form"),
    (read_lists, "a.json", '{"q1": {"d1": 1}}', None, "grades-or-ranks"),
    (read_lists, "a.run", A + B + A.replace("0.9", "0.4"), 3, "two-in-run"),
]

CASES = [(read_run, *case) for case in RUNS] + [(read_references, *case) for case in REFERENCES] + OTHERS


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0].__name__} {case[1]}: {case[4][:40]}")
def test_message(tmp_path: Path, case: tuple[Any, str, str | bytes, int | None, str]) -> None:
    read, name, content, line, kind = case
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with raises(kind, DataError, path=str(path), line=line) as caught:
        read(path)
    text = str(caught.value)
    assert text.startswith(f"{path}:{line}: " if line else f"{path}: ")
    assert "\n" not in text
    assert len(text) < len(str(path)) + 300


@pytest.mark.parametrize("read", [read_run, read_lists])
@pytest.mark.parametrize(("name", "line"), [("a.run", "q{0} Q0 d{0} 1 1 t\n"), ("a.csv", "q{0},d{0},1\n")])
def test_a_hole_where_lines_were(tmp_path: Path, read: Any, name: str, line: str) -> None:
    lines = [line.format(at) for at in range(sources.PART_BYTES // 10)]
    content = (("query,item,score\n" if name == "a.csv" else "") + "".join(lines)).encode()
    begin, end = (content.index(b"d%d" % at) + 1 for at in (len(lines) - 500, len(lines) - 100))
    (tmp_path / name).write_bytes(content[:begin] + bytes(end - begin) + content[end:])
    with raises("binary-file", DataError):
        read(tmp_path / name)


@pytest.mark.parametrize("read", [read_run, read_references, read_grades, read_lists])
def test_paths_that_cannot_be_read(tmp_path: Path, read: Any) -> None:
    with raises("no-file", UsageError):
        read(tmp_path / "nothing.run")
    with raises("is-folder", UsageError):
        read(tmp_path)
    with raises("not-a-path", UsageError):
        read("a\0b")
    with raises("cannot-open", UsageError):
        read(tmp_path / ("x" * 5000))


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission(tmp_path: Path) -> None:
    (tmp_path / "a.run").write_text(A)
    (tmp_path / "a.run").chmod(0)
    with pytest.raises(UsageError, match="cannot be opened"):
        read_run(tmp_path / "a.run")


def test_standard_input_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(b"q1 Q0 d1 1 x t\n"))))  # type: ignore[arg-type]
    with raises("not-finite", RankdevError, name="score", value="x", line=1):
        read_run("-")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(REFERENCE_FILES["jsonl"]))))  # type: ignore[arg-type]
    with raises("not-graded", RankdevError):
        read_grades("-")


def test_scores_in_json_have_no_ranks(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(RUN_FILES["json"])
    with raises("no-ranks", DataError):
        read_run(tmp_path / "a.json", order="rank")


@pytest.mark.parametrize(
    ("name", "opening"), [("deep.jsonl", '{"query": "q", "tiers": '), ("deep.json", '{"q": '), ("deep.json", "")]
)
@pytest.mark.parametrize("read", [read_run, read_references, read_lists])
def test_brackets_without_end(tmp_path: Path, read: Any, name: str, opening: str) -> None:
    path = tmp_path / name
    path.write_text(opening + "[" * 100_000)
    with raises("not-json", DataError):
        read(path)


@pytest.mark.parametrize("make", [Run.of, References.of, Scores.from_table, Preferences.from_table])
def test_lists_in_lists_in_python(make: Any) -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    records = [{"query": "q", "item": "a", "score": deep, "winner": "a", "loser": "b"}]
    for value in (deep, {"q": deep}, {"q": ["a", deep]}, {"q": [{"id": "a", "score": deep}]}, records):
        with pytest.raises(DataError) as caught:
            make(value)
        assert len(str(caught.value)) < 400
