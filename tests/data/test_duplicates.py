"""Items that a run returns twice for a query: refused, or the row that ``duplicates`` asks for."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankdev as rd
from rankdev.data.options import ReadOptions
from rankdev.data.run import Run
from tests.common import draws
from tests.raising import noted, raises

RUN = "q1 Q0 d1 1 0.9 t\nq1 Q0 d2 2 0.8 t\nq1 Q0 d1 3 0.4 t\nq1 Q0 d2 4 0.95 t\nq2 Q0 d1 1 1 t\nq2 Q0 d3 2 0 t\n"


def test_it_is_refused_otherwise_and_the_remedy_is_named(tmp_path):
    path = tmp_path / "a.run"
    path.write_text(RUN)
    with raises("two-in-run", rd.DataError, line=3, what="score", a=0.9, b=0.4):
        rd.read_run(path)
    with raises("not-a-choice", rd.UsageError, name="duplicates", value="worst"):
        rd.read_run(path, duplicates="worst")


def test_by_rank(tmp_path):
    path = tmp_path / "a.run"
    path.write_text("q Q0 a 2 9 t\nq Q0 b 2 8 t\nq Q0 a 1 7 t\nq Q0 c 3 1 t\n")
    assert rd.read_run(path, order="rank", duplicates="best")["q"] == ["a", "b", "c"]
    with raises("rank-twice", rd.DataError, line=2, query="q", rank=2.0):  # the line of the file
        rd.read_run(path, order="rank", duplicates="first")


def plain(rows, duplicates):
    """Choose row by row."""
    kept = {}
    for query, item, score in rows:
        if (query, item) in kept and (duplicates == "first" or (duplicates == "best" and score <= kept[query, item])):
            continue
        kept[query, item] = score
    return kept


@draws.quick
@given(
    st.lists(st.tuples(st.sampled_from("pqr"), st.sampled_from("abcd"), st.integers(0, 5)), min_size=1, max_size=30),
    st.sampled_from(["first", "last", "best"]),
    st.sampled_from([None, 1, 2]),
)
def test_a_loop_over_rows_keeps_the_same(rows, duplicates, depth):
    read = ReadOptions(duplicates=duplicates, depth=depth)
    run = Run.of_value(pl.DataFrame(rows, schema=["query", "item", "score"], orient="row"), read)
    kept = plain(rows, duplicates)
    assert run.left_out == len(rows) - len(kept)
    for query in {query for query, _, _ in rows}:
        best = sorted((-score, item) for (name, item), score in kept.items() if name == query)
        expected = sorted(best, key=lambda pair: (pair[0], -ord(pair[1])))
        assert run[query][:depth] == [item for _, item in expected][:depth]


def test_evaluate_counts_and_notes(tmp_path):
    path = tmp_path / "a.run"
    path.write_text(RUN)
    scores = rd.evaluate({"q1": ["d2"], "q2": ["d1"]}, {"a": path}, "RR", duplicates="first")
    assert scores.means.item() == pytest.approx((1 / 2 + 1) / 2)
    assert scores.coverage[0].left_out == 2
    noted(scores.remarks, "left-out", runs=(("a", 2),), count=2)
    both = rd.evaluate({"q1": ["d2"]}, {"a": path, "b": path}, "RR", duplicates="best", strict=False)
    noted(both.remarks, "left-out", runs=(("a", 2), ("b", 2)))


def test_all_faults_of_all_files(tmp_path):
    paths = {name: tmp_path / f"{name}.run" for name in "abcd"}
    for name, text in {"a": RUN, "b": "q1 Q0 d1 1 high t\n", "c": "q1 Q0 d1 1 1 t\n"}.items():
        paths[name].write_text(text)
    references = tmp_path / "refs.jsonl"
    references.write_text("{}\n")
    with pytest.raises(rd.DataError) as caught:
        rd.evaluate(references, paths, "RR")
    lines = str(caught.value).split("\n")
    assert lines[0] == "4 inputs are wrong:"
    for line, word in zip(lines[1:], ("refs.jsonl", "a.run:3: ", "b.run:1: ", "d.run: there is no such"), strict=True):
        assert word in line
    with raises("several", rd.UsageError):
        rd.evaluate({"q1": ["d1"]}, {"d": paths["d"], "e": tmp_path / "e.run"}, "RR")
    with raises("several", rd.DataError):
        rd.bounds(references, {"b": paths["b"], "d": paths["d"]}, "AP")
