"""Each bad file gets one clear message: the file, the line where there is one, what was expected, what to do."""

import gzip
import io
import os
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import zstandard

import rankdev as rd
from rankdev import RankdevError, RankdevWarning, UsageError
from rankdev.errors import FileFormatError
from rankdev.io import read_grades, read_lists, read_references, read_run, streams
from tests.io.samples import GRADE_FILES, REFERENCE_FILES, RUN_FILES

A, B = "q1 Q0 d1 1 0.9 t\n", "q1 Q0 d2 2 0.5 t\n"
MANY = "".join(f"q1 Q0 x{i} 1 {i} t\n" for i in range(50))

# name of the file, content, line, what the message says
RUNS: list[tuple[str, str | bytes, int | None, str]] = [
    ("a.run", "", None, "the file is empty"),
    ("a.run", " \n\n\t\r\n", None, "the file is empty"),
    ("a.run", A + "q1 Q0 d2 2\n", 2, "4 columns; expected 6: query Q0 item rank score tag; it looks like qrels"),
    ("a.run", A + "q1 d2\n", 2, "2 columns; expected 6: query Q0 item rank score tag"),
    ("a.run", A + "q1 Q0 a name 2 0.5 t\n", 2, "7 columns; expected 6: query Q0 item rank score tag"),
    ("a.run", A + "\n\n" + "q1 Q0 d2 2 high t\n", 4, "the score is 'high'; expected a finite number"),
    ("a.run", A + "q1 Q0 d2 2 NaN t\n", 2, "the score is 'NaN'; expected a finite number"),
    ("a.run", A + "q1 Q0 d2 2 -inf t\n", 2, "the score is '-inf'; expected a finite number"),
    ("a.run", A + "q1 Q0 d2 2 1e999 t\n", 2, "the score is '1e999'; expected a finite number"),
    ("a.run", A + "q1 Q0 d2 2 1_000 t\n", 2, "the score is '1_000'; expected a finite number"),
    ("a.run", A + "q1 Q0 d2 2 1,5 t\n", 2, "the score is '1,5'; expected a finite number"),
    ("a.run", A + "q1 Q0 d2 2 ١ t\n", 2, "the score is '١'; expected a finite number"),
    ("a.run", f"{A}q\u00a01 Q0 d\x0b 2 1 t\nq1 Q0 d2 2 x t\n", 3, "the score is 'x'"),
    ("a.run", f"{A}q1 Q0 d2 2 {'9' * 5000}x t\n", 2, "expected a finite number"),
    ("a.run", MANY + "q1 Q0 d2 2 x t\n", 51, "the score is 'x'"),
    ("a.run", MANY.replace(" ", "\t") + "\n" + "q1 Q0 d2 2 x t\n", 52, "the score is 'x'"),
    ("a.run", A + B + "q1 Q0 d1 3 0.4 t\n", 3, "query 'q1': item 'd1' has two scores, 0.9 and 0.4; keep one"),
    ("a.run", A + "\n" + B + "\tq1 Q0 d1 3 0.4 t\n", 4, "query 'q1': item 'd1' has two scores, 0.9 and 0.4"),
    ("a.run", A.encode() + b"q1 Q0 caf\xe9 2 0.5 t\n", 2, "not UTF-8; save the file as UTF-8"),
    ("a.run", A.encode("utf-16"), None, "the file is UTF-16; save it as UTF-8"),
    ("a.run", b"\x7fELF\x00\x01\x02", None, "this is a binary file; expected text or Parquet"),
    ("a.run", b"\x89PNG\r\n\x1a\n\x00\x00", None, "this is a binary file"),
    ("a.run", gzip.compress(MANY.encode())[:-20], None, "cannot be read to its end .*; it may be damaged"),
    ("a.run", gzip.compress(MANY.encode())[:50] + b"garbage" * 9, None, "it may be damaged"),
    ("a.run", zstandard.compress(MANY.encode())[:-20], None, "cannot be read to its end .*; it may be damaged"),
    ("a.run", zstandard.compress(MANY.encode())[:30] + b"garbage" * 9, None, "it may be damaged"),
    ("a.run", gzip.compress(b""), None, "the file is empty"),
    ("a.csv", "query,item,score\n", None, "the table has no rows"),
    ("a.csv", "query,item\nq1,d1\n", None, "column 'score' is missing; found query, item"),
    ("a.csv", "query,score\nq1,1\n", None, "column 'item' is missing; found query, score"),
    ("a.csv", "q1,d1,0.5\nq1,d2,0.4\n", None, "column 'query' is missing; found q1, d1, 0.5"),
    ("a.csv", "query,item,score\nq1,d1,0.5\nq1,d2\n", 3, "2 columns; the header has 3"),
    ("a.csv", "query,item,score\nq1,d1,0.5\n\nq1,d2,0.5,9\n", 4, "4 columns; the header has 3"),
    ("a.csv", "query,item,item,score\nq1,d1,d2,0.5\n", 1, "the column 'item' appears twice in the header"),
    ("a.csv", "query,item,score\nq1,d1,0.5\nq1,d2,high\n", 3, "query 'q1', item 'd2': the score is 'high'"),
    ("a.csv", "query,item,score\nq1,d1,0.5\nq1,d2,\n", 3, "the score is ''; expected a finite number"),
    ("a.csv", "query,item,score\nq1,d1,inf\n", 2, "query 'q1', item 'd1': the score is 'inf'"),
    ("a.csv", "query,item,score\nq1,,0.5\n", 2, "no item; every row needs one"),
    ("a.csv", 'query,item,score\n"q\n1",d1,0.5\nq1,d2,x\n', 4, "the score is 'x'"),
    ("a.csv", 'query,item,score\nq1,"d1"x,0.5\n', 2, "this is not a table"),
    ("a.csv", b"query,item,score\nq1,d1,1\nq1,\xff,1\n", 3, "this line is not UTF-8; save the file as UTF-8"),
    ("a.csv", "query,item,score\nq1,d1,1\nq1,d1,2\n", 3, "query 'q1': item 'd1' has two scores, 1 and 2; keep one"),
    ("a.csv", "query,item,rank\nq1,d1,1\nq1,d2,1\n", 3, "query 'q1': rank 1 appears twice"),
    ("a.csv", '""\n""\n', None, "the table is empty"),
    ("a.tsv", "query\titem\tscore\nq1\td1\n", 2, "2 columns; the header has 3"),
    ("a.jsonl", '{"query": "q1", "item": "d1", "score": 1}\n{"query": "q1"\n', 2, "this line is not JSON"),
    ("a.jsonl", '{"query": "q1", "item": "d1", "score": 1}\n[1]\n', 2, "this line is not a JSON object"),
    ("a.jsonl", '{"query": "q1", "item": "d1", "score": 1}\n\n{"query": "q1", "score": 1}\n', 3, "no item"),
    ("a.jsonl", '{"query": "q1", "item": "d1", "score": 1}\n{"query": "q1", "item": "d2"}\n', 2, "the score is None"),
    ("a.jsonl", '{"query": "q1", "item": "d1", "score": NaN}\n', 1, "the score is nan"),
    (
        "a.jsonl",
        '{"query": "q1", "item": "d1", "score": 1}\n{"query": "q1", "item": "d2", "score": "x"}\n',
        2,
        "is 'x'",
    ),
    ("a.jsonl", '{"query": "q1", "item": "d1", "score": [1]}\n', None, "'score' holds List.*; expected numbers"),
    ("a.jsonl", '{"query": "q1", "item": null, "score": 1}\n', 1, "no item"),
    *(
        ("a.jsonl", f'{before}{{"query": "q1", {key}: {value}, "score": 1}}\n', line, f"whole number; got {got}")
        for value, got in {
            "true": "True",
            "1e2": "100.0",
            "1.5": "1.5",
            '["d1"]': r"\['d1'\]",
            '{"a": 1}': "{'a': 1}",
        }.items()
        for key in ('"item"', '"docno"')
        for before, line in (("", 1), ('{"query": "q1", "item": "d0", "score": 2}\n', 2))
    ),
    (
        "a.jsonl",
        '{"query": "q1", "item": "d1", "item": "d2", "score": 1}\n',
        1,
        "'item' appears twice in the same object",
    ),
    (
        "a.jsonl",
        '{"query": "q1", "item": "d1", "score": 1}\n{"query": "q1", "item": "d2", "score": 1, "score": 2}\n',
        2,
        "'score' appears twice in the same object; keep one",
    ),
    (
        "a.jsonl",
        '{"query": "q1", "item": "d1", "score": 1}\n{"query": "q", "item": "\\ud800", "score": 1}\n',
        2,
        "not JSON",
    ),
    (
        "a.jsonl",
        b'{"query": "q1", "item": "d1", "score": 1}\n{"query": "\xff", "item": "d1", "score": 1}\n',
        2,
        "not UTF-8",
    ),
    ("a.jsonl", A, None, "the content is not jsonl; check the file or its name"),
    ("a.json", '{"q1": {"d1": 1}', 1, "this is not JSON"),
    ("a.json", '{"q1":\n {"d1": 1},\n}', 3, "this is not JSON"),
    ("a.json", "{}", None, "expected a JSON object that maps each query to its items"),
    ("a.json", '[{"q1": {"d1": 1}}]', None, "expected a JSON object that maps each query to its items"),
    ("a.json", '{"q1": {"d1": "x"}}', None, "query 'q1', item 'd1': the score is 'x'; expected a finite number"),
    ("a.json", '{"q1": {"d1": Infinity}}', None, "query 'q1', item 'd1': the score is inf"),
    ("a.json", '{"q1": {"d1": 1, "d1": 2}}', None, "'d1' appears twice in the same object; keep one"),
    ("a.json", '{"q1": {"d1": 1}, "q1": {"d2": 2}}', None, "'q1' appears twice in the same object; keep one"),
    ("a.json", '{"q1": {"d1": 1}, "q2": ["d1"]}', None, "query 'q2' must be {item: score}; got list"),
    ("a.json", '{"q1": "d1", "q2": ["d1"]}', None, "column 'query' is missing; found q1, q2"),
    ("a.json", "q1", None, "the content is not a JSON object or a list of records; check the file or its name"),
    ("a.json", "[1, 2]", None, "the content is not a JSON object or a list of records; check the file or its name"),
    ("a.parquet", RUN_FILES["parquet"][:-9], None, "this Parquet file cannot be read"),
    ("a.parquet", "query,item", None, "the content is not parquet; check the file or its name"),
    ("a.qrels", GRADE_FILES["qrels"], 1, "it looks like qrels .*; give them as the references"),
    ("a.csv", GRADE_FILES["csv"], None, "this looks like references; give them before the runs"),
    ("a.jsonl", REFERENCE_FILES["jsonl"], None, "this looks like references; give them before the runs"),
    ("a.json", REFERENCE_FILES["json"], None, r"query 'q1': an item .* text or a whole number; got \['d1'\]"),
]

REFERENCES: list[tuple[str, str | bytes, int | None, str]] = [
    ("a.qrels", "", None, "the file is empty"),
    ("a.qrels", "q1 0 d1 1\nq1 0 d2\n", 2, "3 columns; expected 4: query 0 item grade"),
    ("a.qrels", "q1 0 d1 1\nq1 0 d2 good\n", 2, "the grade is 'good'; expected a finite number"),
    ("a.qrels", "q1 0 d1 1\nq1 0 d2 nan\n", 2, "the grade is 'nan'; expected a finite number"),
    ("a.qrels", "q1 0 d1 1\nq1 0 d2 1\nq1 0 d1 2\n", 3, "query 'q1': item 'd1' has two grades, 1 and 2; keep one"),
    ("a.run", RUN_FILES["run"], 1, "it looks like a run .*; give it as a run"),
    ("a.csv", RUN_FILES["csv"], None, "found query, item, score; it looks like a run"),
    ("a.jsonl", RUN_FILES["jsonl"], None, "found query, item, score; it looks like a run"),
    ("a.json", RUN_FILES["json"], None, "query 'q1' holds dict; .* use `rankdev refs grades`"),
    ("a.csv", "query,item,rank\nq1,d1,1\nq1,d2,0\n", 3, "query 'q1': ranks start at 0; they must start at 1"),
    ("a.csv", "query,item,rank\nq1,d1,1\nq1,d2,3\n", 3, "rank 1 is followed by 3; ranks must be consecutive"),
    ("a.csv", "query,item,rank\nq1,d1,1\nq1,d2,1.5\n", 3, "item 'd2' has the rank 1.5; ranks are whole numbers"),
    ("a.csv", "query,item,rank\nq1,d1,1\nq1,d1,2\n", 3, "item 'd1' has two ranks, 1 and 2; keep one"),
    ("a.csv", "query,item,rank\nq1,d1,first\n", 2, "query 'q1', item 'd1': the rank is 'first'"),
    ("a.csv", "query,item,rank,grade\nq1,d1,2,3\nq1,d2,1,1\n", None, "has the rank 2, but its grade 3 makes it 1"),
    ("a.csv", "query,name\nq1,d1\n", None, "expected the columns query, item and rank .*; found query, name"),
    ("a.csv", "query,item,rank\n", None, "the table has no rows"),
    ("a.csv", f'query,"item\n{"x" * 500}",rank\nq1,d1,1\n', None, "column 'item' is missing"),
    ("a.csv", "query,tiers\nq1,d1\n", None, "tiers must be .* on every line"),
    ("a.jsonl", '{"query": "q1", "tiers": [["d1"], []]}\n', 1, "a tier is empty"),
    ("a.jsonl", '{"query": "q1", "tiers": []}\n', None, "tiers must be .* on every line"),
    ("a.jsonl", '{"query": "q1", "tiers": [["d1"]]}\n{"query": "q2", "tiers": []}\n', 2, "a tier is empty"),
    (
        "a.jsonl",
        '{"query": "q1", "tiers": [["d1"]]}\n{"query": "q2", "tiers": [["d1", null]]}\n',
        2,
        "an item .*; got None",
    ),
    ("a.jsonl", '{"query": "q1", "tiers": ["d1"]}\n', None, "tiers must be .* on every line"),
    ("a.jsonl", '{"tiers": [["d1"]], "id": 1}\n', None, "column 'query' is missing; found tiers, id"),
    ("a.jsonl", '{"query": "q1", "tiers": [["d1"]]}\n{"query": "q2"}\n', 2, "a tier is empty"),
    (
        "a.jsonl",
        '{"query": "q1", "tiers": [["d1"]]}\n{"query": "q1", "tiers": [["d2"]]}\n',
        2,
        "'q1' appears on two lines",
    ),
    (
        "a.jsonl",
        '{"query": "q1", "tiers": [["d1"]]}\n{"query": "q2", "tiers": [["d1"], ["d1"]]}\n',
        2,
        "two ranks, 1 and 2",
    ),
    ("a.jsonl", '{"query": "q1", "tiers": [["d1"], ["d2"]], "grades": [1]}\n', 1, "one positive grade for each tier"),
    (
        "a.jsonl",
        '{"query": "q1", "tiers": [["d1"], ["d2"]], "grades": [1, 3]}\n',
        1,
        "grade for each tier, highest first",
    ),
    (
        "a.jsonl",
        '{"query": "q1", "tiers": [["d1"], ["d2"]], "grades": [1, 0]}\n',
        1,
        "one positive grade for each tier",
    ),
    ("a.jsonl", '{"query": "q1", "tiers": [["d1"]], "grades": 3}\n', None, "grades must be .number, …. on every line"),
    ("a.jsonl", '{"query": "q1", "tiers": [[1.5]]}\n', 1, "text or a whole number; got 1.5"),
    ("a.jsonl", '{"query": "q1", "tiers": [["a", true]]}\n', 1, "text or a whole number; got True"),
    ("a.jsonl", '{"query": "q1", "tiers": [["a"]], "tiers": [["b"]]}\n', 1, "'tiers' appears twice in the same object"),
    ("a.jsonl", '{"query": true, "item": "a", "rank": 1}\n', 1, "text or a whole number; got True"),
    ("a.json", '{"q1": [["d1"], []]}', None, "query 'q1': tier 2 is empty"),
    ("a.json", '{"q1": ["d1", "d1"]}', None, "query 'q1': item 'd1' has two ranks"),
    ("a.json", '{"q1": [["d1"], null]}', None, "query 'q1': an item .*; got None"),
]

OTHERS: list[tuple[Any, str, str | bytes, int | None, str]] = [
    (
        read_grades,
        "a.jsonl",
        REFERENCE_FILES["jsonl"],
        None,
        "ranks, not grades; it already is a reference",
    ),
    (read_grades, "a.csv", REFERENCE_FILES["csv"], None, "ranks, not grades"),
    (read_grades, "a.json", REFERENCE_FILES["json"], None, "query 'q1' must be {item: grade}; got list"),
    (read_grades, "a.json", '{"q1": {"d1": "good"}}', None, "query 'q1', item 'd1': the grade is 'good'"),
    (
        read_lists,
        "a.csv",
        "query,item\nq1,d1\nq1,d2\nq1,d1\n",
        4,
        "query 'q1': item 'd1' has two ranks, 1 and 3; keep one",
    ),
    (read_lists, "a.csv", "query,name\nq1,d1\n", None, "column 'item' is missing; found query, name"),
    (read_lists, "a.jsonl", '{"query": "q1", "items": [["d1"]]}\n', None, "items must be .* on every line"),
    (read_lists, "a.json", '{"q1": {"d1": 1}}', None, "query 'q1' holds dict"),
    (read_lists, "a.run", A + B + A.replace("0.9", "0.4"), 3, "item 'd1' has two scores"),
]

CASES = [(read_run, *case) for case in RUNS] + [(read_references, *case) for case in REFERENCES] + OTHERS


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0].__name__} {case[1]}: {case[4][:40]}")
def test_message(tmp_path: Path, case: tuple[Any, str, str | bytes, int | None, str]) -> None:
    read, name, content, line, message = case
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(FileFormatError) as caught:
        read(path)
    text = str(caught.value)
    assert text.startswith(f"{path}:{line}: " if line else f"{path}: ")
    assert re.search(message, text)
    assert caught.value.fields.get("line") == line
    assert caught.value.exit_status == 1
    assert "\n" not in text
    assert len(text) < len(str(path)) + 300


def test_lines_are_counted_over_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "BATCH_BYTES", 50)
    monkeypatch.setattr(streams, "HEAD_BYTES", 50)
    (tmp_path / "a.run").write_text(MANY + "\n\n" + "q1 Q0 d2 2 x t\n")
    with pytest.raises(FileFormatError, match=r"a.run:53: the score is 'x'"):
        read_run(tmp_path / "a.run")
    (tmp_path / "a.qrels").write_text("q1 0 d1 1\n\n" * 30 + "q1 0 d1 2\n")
    with pytest.raises(FileFormatError, match=r"a.qrels:61: .* two grades, 1 and 2"):
        read_references(tmp_path / "a.qrels")
    (tmp_path / "b.run").write_text(A + MANY + A.replace("0.9", "0.4"))  # the two scores lie in different batches
    with pytest.raises(FileFormatError, match=r"b.run: query 'q1': item 'd1' has two scores, 0.*; keep one"):
        read_run(tmp_path / "b.run")


@pytest.mark.parametrize("read", [read_run, read_references, read_grades, read_lists])
def test_paths_that_cannot_be_read(tmp_path: Path, read: Any) -> None:
    with pytest.raises(UsageError, match=r"nothing\.run: there is no such file"):
        read(tmp_path / "nothing.run")
    with pytest.raises(UsageError, match="this is a folder; give a file"):
        read(tmp_path)
    with pytest.raises(UsageError, match="name of a file"):
        read("a\0b")
    with pytest.raises(UsageError, match="cannot be opened"):
        read(tmp_path / ("x" * 5000))


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission(tmp_path: Path) -> None:
    (tmp_path / "a.run").write_text(A)
    (tmp_path / "a.run").chmod(0)
    with pytest.raises(UsageError, match="cannot be opened"):
        read_run(tmp_path / "a.run")


def test_standard_input_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(b"q1 Q0 d1 1 x t\n"))))  # type: ignore[arg-type]
    with pytest.raises(RankdevError, match="standard input:1: the score is 'x'"):
        read_run("-")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(REFERENCE_FILES["jsonl"]))))  # type: ignore[arg-type]
    with pytest.raises(RankdevError, match="standard input: this file has ranks, not grades"):
        read_grades("-")


def test_scores_in_json_have_no_ranks(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(RUN_FILES["json"])
    with pytest.raises(FileFormatError, match="has no ranks; order it by score"):
        read_run(tmp_path / "a.json", order="rank")


def test_ranks_that_are_words(tmp_path: Path) -> None:
    (tmp_path / "a.run").write_text(A + "q1 Q0 d2 second 0.5 t\n")
    assert dict(read_run(tmp_path / "a.run")) == {"q1": ["d1", "d2"]}  # the rank column does not count
    with pytest.raises(FileFormatError, match=r"a.run:2: the rank is 'second'; expected a finite number"):
        read_run(tmp_path / "a.run", order="rank")


def test_repeats_are_reported(tmp_path: Path) -> None:
    (tmp_path / "a.run").write_text(A + B + A)
    with pytest.warns(RankdevWarning, match="1 item is returned twice for the same query, such as 'd1' for 'q1'"):
        assert read_run(tmp_path / "a.run")["q1"] == ["d1", "d1", "d2"]
    (tmp_path / "a.json").write_text('{"q1": ["d1", "d2", "d1"]}')
    with pytest.warns(RankdevWarning, match="only the first occurrence counts"):
        assert read_run(tmp_path / "a.json")["q1"] == ["d1", "d2", "d1"]


@pytest.mark.parametrize(
    ("name", "opening"), [("deep.jsonl", '{"query": "q", "tiers": '), ("deep.json", '{"q": '), ("deep.json", "")]
)
@pytest.mark.parametrize("read", [read_run, read_references, read_lists])
def test_brackets_without_end(tmp_path: Path, read: Any, name: str, opening: str) -> None:
    path = tmp_path / name
    path.write_text(opening + "[" * 100_000)
    with pytest.raises(FileFormatError, match=r"not JSON|expected a JSON object"):
        read(path)


def test_a_line_is_not_counted_twice(tmp_path):
    """Lines count from 1 and have a header among them, rows of a table count from 0."""
    (tmp_path / "run.csv").write_text("query,item,score\nq,d1,1\nq,,2\n")
    with pytest.raises(rd.DataError, match=r"run\.csv:3: a run: this row has no item; every row needs one"):
        rd.read_run(tmp_path / "run.csv")
    with pytest.raises(rd.DataError, match=r"^a run: row 1 has no item; every row needs one"):
        rd.Run.of(pl.DataFrame({"query": "q", "item": ["d1", ""], "score": [1.0, 2.0]}))
