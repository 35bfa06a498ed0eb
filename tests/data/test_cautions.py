"""Files and tables that could give a wrong number without a word: each is refused, or gets a line, in every form."""

import gzip
import io
import unicodedata
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
import zstandard

import rankdev as rd
from tests.raising import raises

Rows = list[tuple[str, str, float, int, str]]  # query, item, score, rank, tag
COLUMNS = ("query", "item", "score", "rank", "tag")
TWO: Rows = [("q", "x", 9.0, 1, "a"), ("q", "d1", 8.0, 2, "a"), ("q", "d1", 8.0, 1, "b")]
ONE: Rows = [("q", "d1", 3.0, 1, "a"), ("q", "x", 2.0, 2, "a")]
DISTANCES: Rows = [("q", "d1", 0.1, 1, "a"), ("q", "x", 0.2, 2, "a"), ("q", "y", 0.3, 3, "a"), ("p", "z", 0, 1, "a")]
REFERENCES = rd.References.from_grades({"q": {"d1": 1, "d2": 0}})


def trec(rows: Rows) -> bytes:
    return "".join(f"{q} Q0 {item} {rank} {score} {tag}\n" for q, item, score, rank, tag in rows).encode()


def frame(rows: Rows, **names: str) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=COLUMNS, orient="row").rename(names)


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def parquet(rows: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    rows.write_parquet(buffer)
    return buffer.getvalue()


FORMS: dict[str, Callable[[Path, Rows], Any]] = {
    "trec": lambda folder, rows: written(folder / "a.run", trec(rows)),
    "trec, spaced": lambda folder, rows: written(folder / "a.run", trec(rows).replace(b" ", b"  ")),
    "gzip": lambda folder, rows: written(folder / "a.run.gz", gzip.compress(trec(rows))),
    "zstd": lambda folder, rows: written(folder / "a.run.zst", zstandard.compress(trec(rows))),
    "csv": lambda folder, rows: written(folder / "a.csv", frame(rows).write_csv().encode()),
    "jsonl": lambda folder, rows: written(folder / "a.jsonl", frame(rows).write_ndjson().encode()),
    "parquet": lambda folder, rows: written(folder / "a.parquet", parquet(frame(rows))),
    "polars": lambda folder, rows: frame(rows),
    "pandas": lambda folder, rows: pd.DataFrame(rows, columns=COLUMNS),
    "records": lambda folder, rows: [dict(zip(COLUMNS, row, strict=True)) for row in rows],
}
forms = pytest.mark.parametrize("form", FORMS)


def lines(references: Any, runs: Any, measure: str = "RR", **options: Any) -> list[str]:
    """What is said of an evaluation, each line at this very file."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rd.evaluate(references, runs, measure, **options)
    assert all(entry.filename == __file__ for entry in caught)
    return [str(entry.message) for entry in caught]


@forms
def test_the_runs_of_several_systems_are_refused_or_read_as_several(tmp_path: Path, form: str) -> None:
    runs = FORMS[form](tmp_path, TWO)
    with raises("several-systems", rd.DataError, column="tag"):
        rd.evaluate(REFERENCES, {"mine": runs}, "RR")
    scores = rd.evaluate(REFERENCES, runs, "RR")
    assert (scores.systems, scores.means.tolist()) == (("a", "b"), [[0.5], [1.0]])
    by_rank = rd.evaluate(REFERENCES, runs, "RR", order="rank")
    assert by_rank.means.tolist() == [[0.5], [1.0]]
    one = rd.evaluate(REFERENCES, FORMS[form](tmp_path, ONE), "RR")
    assert (one.systems, one.means.tolist()) == (("a",), [[1.0]])


def test_what_names_no_systems_is_refused(tmp_path: Path) -> None:
    for runs in (frame(ONE).drop("tag"), written(tmp_path / "a.csv", frame(ONE).drop("tag").write_csv().encode())):
        with raises("no-systems", rd.DataError):
            rd.evaluate(REFERENCES, runs, "RR")
    with raises("no-systems", rd.DataError):
        rd.evaluate(REFERENCES, written(tmp_path / "a.json", b'{"q": {"d1": 1}}'), "RR")
    untagged = b"q Q0 d1 1 1\n"
    with raises("no-value", rd.DataError, name="tag"):
        rd.evaluate(REFERENCES, written(tmp_path / "a.run", untagged), "RR")
    with raises("nameless-runs", rd.UsageError):
        rd.evaluate(REFERENCES, rd.Run.from_lists({"q": ["d1"]}), "RR")  # type: ignore[arg-type]


@forms
def test_scores_that_rise_with_the_ranks_get_a_line(tmp_path: Path, form: str) -> None:
    runs = FORMS[form](tmp_path, DISTANCES)
    (line,) = lines(REFERENCES, {"mine": runs})
    assert "on every line the score rises with the rank" in line
    assert line.endswith("order='rank'")
    assert not lines(REFERENCES, {"mine": runs}, order="rank")
    with raises("rising-scores", rd.DataError):
        rd.evaluate(REFERENCES, {"mine": runs}, "RR", strict=True)
    for agreeing in ((2, "y", 0.15), (0, "d1", 0.35)):  # one line is enough
        at, item, score = agreeing
        changed = [
            (q, item, score, r, t) if i == at else (q, d, s, r, t) for i, (q, d, s, r, t) in enumerate(DISTANCES)
        ]
        assert not lines(REFERENCES, {"mine": FORMS[form](tmp_path, changed)})
    tied = [(q, d, 1.0, r, t) for q, d, _, r, t in DISTANCES]
    assert not lines(REFERENCES, {"mine": FORMS[form](tmp_path, tied)})


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress])
@pytest.mark.parametrize("last", ["q Q0 y 3 1", "q Q0 y 3 1.", "q Q0 y 3 1 ", "q Q0 y 3 1 bm", "q Q0  y 3 1 b"])
def test_a_last_line_that_is_cut_is_refused(tmp_path: Path, last: str, pack: Callable[[bytes], bytes]) -> None:
    before = "q Q0 d1 1 3 bm25\nq Q0 x 2 2 bm25\n"
    with raises("cut-short", rd.DataError, tag="bm25", line=3):
        rd.evaluate(REFERENCES, {"mine": written(tmp_path / "a.run", pack((before + last).encode()))}, "RR")
    for whole in (before.rstrip(), before + "q Q0 y 3 1 bm25", before + "q Q0 y 3 1\n", "q Q0 d1 1 3\nq Q0 x 2 2"):
        path = written(tmp_path / "a.run", pack(whole.encode()))
        assert rd.evaluate(REFERENCES, {"mine": path}, "RR").means.tolist() == [[1.0]]


ALIKE = {
    "case": ("D1", "d1"),
    "blanks": ("d1\u00a0", "d1"),
    "Unicode form": (unicodedata.normalize("NFD", "café"), unicodedata.normalize("NFC", "café")),
    "case, blanks or Unicode form": ("\u00a0É1", "é1"),
}


def run_forms(rows: Rows, folder: Path) -> Mapping[str, Any]:
    made = {form: make(folder, rows) for form, make in FORMS.items()}
    scores: dict[str, dict[str, float]] = {}
    for query, item, score, *_ in rows:
        scores.setdefault(query, {})[item] = score
    return made | {"scores": scores, "lists": {query: list(items) for query, items in scores.items()}}


@pytest.mark.parametrize(
    ("kind", "measure"),
    [("case", "RR"), *(pytest.param(kind, k, marks=pytest.mark.slow) for kind in ALIKE for k in ("RR", "RR@1"))],
)
def test_ids_that_differ_by_accident_get_a_line(tmp_path: Path, kind: str, measure: str) -> None:
    one, other = ALIKE[kind]
    items = rd.References.from_lists({"q": [other]})
    queries = rd.References.from_lists({"q": ["z"], other: ["z"]})
    for form, runs in run_forms([("q", one, 2.0, 1, "t"), ("q", "z", 1.0, 2, "t")], tmp_path).items():
        found = lines(items, {"mine": runs}, measure)
        assert len(found) == 1, form
        assert f"1 item differs from the references by {kind} only, such as" in found[0]
        assert found[0].endswith("for query 'q'; use the same ids")
        assert found[0].startswith("system 'mine': " if not isinstance(runs, Path) else str(runs))
        with raises("items-differ", rd.DataError, count=1):
            rd.evaluate(items, {"mine": runs}, measure, strict=True)
    for form, runs in run_forms([("q", "z", 2.0, 1, "t"), (one, "z", 1.0, 2, "t")], tmp_path).items():
        found = lines(queries, {"mine": runs}, measure)
        assert len(found) == 1, form
        assert f"1 query differs from the references by {kind} only, such as" in found[0]


def test_items_that_look_alike_are_searched_where_most_queries_have_no_item_of_the_references() -> None:
    references = {"p": ["d1", "d2"], "q": ["d1"], "r": ["d1"]}
    one, two = {"p": ["d1", "D2"], "q": ["d1"], "r": ["D1"]}, {"p": ["d1", "D2"], "q": ["D1"], "r": ["D1", "d7"]}
    assert not lines(references, {"mine": one})
    (line,) = lines(references, {"mine": two})
    assert "2 items differ from the references by case only, such as 'D1' and 'd1' for query 'q'" in line


def test_strict_refuses_queries_that_only_one_side_has() -> None:
    references = {"q": ["d1"], "p": ["d1"]}
    with raises("missing", rd.DataError, runs=(("mine", 1),)):
        rd.evaluate(references, {"mine": {"q": ["d1"]}}, "RR", strict=True)
    with raises("unreferenced", rd.DataError, runs=(("mine", 1),)):
        rd.evaluate(references, {"mine": {"q": ["d1"], "p": ["d1"], "z": ["d1"]}}, "RR", strict=True)
    with raises("returned-twice", rd.DataError, system="mine", count=1):
        rd.evaluate(references, {"mine": {"q": ["d1", "d1"], "p": ["d1"]}}, "RR", strict=True)
    rows = [{"query": "q", "item": "d1", "grade": 1}] * 2
    with raises("repeated-rows", rd.DataError, count=1):
        rd.evaluate(rows, {"mine": {"q": ["d1"]}}, "RR", strict=True)
    tied = rd.evaluate(references, {"mine": {"q": {"d1": 1, "x": 1}, "p": {"d1": 1}}}, "RR", strict=True)
    assert tied.coverage[0].tied == 1  # a rule decides, which the scores name
    with raises("not-a-flag", rd.UsageError, name="strict"):
        rd.evaluate(references, {"mine": {"q": ["d1"]}}, "RR", strict="yes")  # type: ignore[arg-type]


BEIR = "query-id\tcorpus-id\tscore\nq\td1\t2\nq\td2\t0\n"


def test_qrels_of_beir_are_references_and_no_run(tmp_path: Path) -> None:
    expected = rd.References.from_grades({"q": {"d1": 2, "d2": 0}})
    table = pl.DataFrame({"query-id": ["q", "q"], "corpus-id": ["d1", "d2"], "score": [2, 0]})
    files = [
        written(tmp_path / "test.tsv", BEIR.encode()),
        written(tmp_path / "test", BEIR.encode()),
        written(tmp_path / "test.tsv.gz", gzip.compress(BEIR.encode())),
        written(tmp_path / "test.parquet", parquet(table)),
        written(tmp_path / "test.jsonl", table.write_ndjson().encode()),
    ]
    for path in files:
        assert rd.read_references(path) == expected
        with raises("looks-like-references", rd.DataError):
            rd.evaluate(expected, {"mine": path}, "RR")
    for form in (table, table.to_pandas(), table.to_dicts()):
        assert rd.References.of(form) == expected
        with raises("looks-like-references", rd.DataError):
            rd.evaluate(expected, {"mine": form}, "RR")


def test_warnings_point_at_the_line_that_called(tmp_path: Path) -> None:
    path = written(tmp_path / "a.run", b"q Q0 d1 1 1 t\nq Q0 d1 1 1 t\n")
    calls: list[Callable[[], Any]] = [
        lambda: rd.read_run(path),
        lambda: rd.Run.from_lists({"q": ["d1", "d1"]}),
        lambda: rd.References.from_grades([{"query": "q", "item": "d1", "grade": 1}] * 2),
        lambda: rd.bounds(REFERENCES, {"mine": path}, "RDQ@5"),
    ]
    for call in calls:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call()
        assert [(entry.filename, entry.lineno) for entry in caught] == [(__file__, call.__code__.co_firstlineno)]
