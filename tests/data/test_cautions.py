"""Files and tables that could give a wrong number without a word: each is refused, or gets a line, in every form."""

import gzip
import unicodedata
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import zstandard

import rankdev as rd
from tests.data.samples import all_doors, by_query, doors, references_of
from tests.raising import raises

Rows = list[tuple[str, str, float, int, str]]  # query, item, score, rank, tag
COLUMNS = ("query", "item", "score", "rank", "tag")
TWO: Rows = [("q", "x", 9.0, 1, "a"), ("q", "d1", 8.0, 2, "a"), ("q", "d1", 8.0, 1, "b")]
ONE: Rows = [("q", "d1", 3.0, 1, "a"), ("q", "x", 2.0, 2, "a")]
DISTANCES: Rows = [("q", "d1", 0.1, 1, "a"), ("q", "x", 0.2, 2, "a"), ("q", "y", 0.3, 3, "a"), ("p", "z", 0, 1, "a")]
REFERENCES = rd.References.from_grades({"q": {"d1": 1, "d2": 0}})


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def all_forms(folder: Path, rows: Rows) -> dict[str, Any]:
    """Rows through every door, those of TREC among them."""
    return all_doors(folder, rows, *COLUMNS, line="{0} Q0 {1} {3} {2} {4}\n")


def lines(references: Any, runs: Any, measure: str = "RR", **options: Any) -> list[str]:
    """What is said of an evaluation, each line at this very file."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rd.evaluate(references, runs, measure, **options)
    assert all(entry.filename == __file__ for entry in caught)
    return [str(entry.message) for entry in caught]


def test_the_runs_of_several_systems_are_refused_or_read_as_several(tmp_path: Path) -> None:
    for form, runs in all_forms(tmp_path, TWO).items():
        with raises("several-systems", rd.DataError, column="tag"):
            rd.evaluate(REFERENCES, {"mine": runs}, "RR")
        for order in (None, "rank"):
            scores = rd.evaluate(REFERENCES, runs, "RR", order=order)
            assert (scores.systems, scores.means.tolist()) == (("a", "b"), [[0.5], [1.0]]), form
    for form, runs in all_forms(tmp_path, ONE).items():
        one = rd.evaluate(REFERENCES, runs, "RR")
        assert (one.systems, one.means.tolist()) == (("a",), [[1.0]]), form


def test_what_names_no_systems_is_refused(tmp_path: Path) -> None:
    for runs in doors(tmp_path, [row[:4] for row in ONE], *COLUMNS[:4]).values():
        with raises("no-systems", rd.DataError):
            rd.evaluate(REFERENCES, runs, "RR")
    with raises("no-systems", rd.DataError):
        rd.evaluate(REFERENCES, written(tmp_path / "a.json", b'{"q": {"d1": 1}}'), "RR")
    untagged = b"q Q0 d1 1 1\n"
    with raises("no-value", rd.DataError, name="tag"):
        rd.evaluate(REFERENCES, written(tmp_path / "a.run", untagged), "RR")
    with raises("nameless-runs", rd.UsageError):
        rd.evaluate(REFERENCES, rd.Run.from_lists({"q": ["d1"]}), "RR")  # type: ignore[arg-type]


def test_scores_that_rise_with_the_ranks_get_a_line(tmp_path: Path) -> None:
    for runs in all_forms(tmp_path, DISTANCES).values():
        (line,) = lines(REFERENCES, {"mine": runs})
        assert "on every line the score rises with the rank" in line
        assert line.endswith("order='rank'")
        assert not lines(REFERENCES, {"mine": runs}, order="rank")
        with raises("rising-scores", rd.DataError):
            rd.evaluate(REFERENCES, {"mine": runs}, "RR", strict=True)
    agreeing = [[*DISTANCES], [*DISTANCES]]  # one line is enough
    agreeing[0][2] = ("q", "y", 0.15, 3, "a")
    agreeing[1][0] = ("q", "d1", 0.35, 1, "a")
    tied = [(q, d, 1.0, r, t) for q, d, _, r, t in DISTANCES]
    for rows in (*agreeing, tied):
        for form, runs in all_forms(tmp_path, rows).items():
            assert not lines(REFERENCES, {"mine": runs}), form


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
    "zeros at the beginning": ("007", "7"),
    "'.0' at the end": ("7.0", "7"),
    "case, blanks, zeros or Unicode form": ("\u00a0É1", "é1"),
}


def run_forms(rows: Rows, folder: Path) -> Mapping[str, Any]:
    made = all_forms(folder, rows)
    scores = by_query([row[:3] for row in rows])
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


def test_qrels_of_beir_are_references_and_no_run(tmp_path: Path) -> None:
    expected = rd.References.from_grades({"q": {"d1": 2, "d2": 0}})
    found = doors(tmp_path, [("q", "d1", 2), ("q", "d2", 0)], "query-id", "corpus-id", "score")
    found["no ending"] = written(tmp_path / "test", found["tsv"].read_bytes())
    for form, door in found.items():
        assert references_of(door) == expected, form
        with raises("looks-like-references", rd.DataError):
            rd.evaluate(expected, {"mine": door}, "RR")


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
