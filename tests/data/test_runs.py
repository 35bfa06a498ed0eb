import functools
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankdev import DataError, Reference, References, Run, UsageError, bounds, evaluate, read_run
from rankdev.data.options import Order, ReadOptions, Ties
from tests.common import draws
from tests.raising import noted, raises, warns

Row = tuple[str, str, float]

TIES: list[Ties] = ["trec_eval", "ascending", "given"]
READS = [ReadOptions("score", ties) for ties in TIES] + [ReadOptions("rank")]
# equal in double precision, equal in single precision only, and different; both zeros; beyond single precision
SCORES = [1.0, 1.0 + 1e-9, 1.0 - 1e-9, 2.0, 0.5, 0.0, -0.0, -1.0, 1e300, 1e301, 1e-50]
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=3)


@st.composite
def rows(draw: st.DrawFn, scores: list[float] = SCORES) -> list[Row]:
    """Rows of a run, an item once in a query, the queries mixed or one after the other."""
    pairs = draw(st.lists(st.tuples(st.sampled_from(["q1", "q2", "é", "10"]), names), max_size=30, unique=True))
    if draw(st.booleans()):
        pairs.sort(key=lambda pair: pair[0])
    return [(query, item, draw(st.sampled_from(scores))) for query, item in pairs]


def ranked(rows: list[Row]) -> list[Row]:
    """The same rows with ranks of their own in each query, not necessarily from 1 nor in order."""
    return [(query, item, (7 * i) % 31) for i, (query, item, _) in enumerate(rows)]


def table(rows: list[Row], order: Order) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={"query": pl.String, "item": pl.String, order: pl.Float64}, orient="row")


def compare(read: ReadOptions, a: Row, b: Row) -> float:
    """The rule of the definitions for two rows of a query, written as plainly as can be."""
    if read.order == "rank":
        return a[2] - b[2]
    with np.errstate(over="ignore"):
        x, y = (np.float32(a[2]), np.float32(b[2])) if read.ties == "trec_eval" else (a[2], b[2])
    if x != y:
        return -1 if x > y else 1
    if read.ties == "given" or a[1] == b[1]:
        return 0
    higher_first = read.ties == "trec_eval"
    return -1 if (a[1] > b[1]) == higher_first else 1


def twin(rows: list[Row], read: ReadOptions) -> dict[str, list[str]]:
    key = functools.cmp_to_key(lambda a, b: compare(read, a, b))
    queries = dict.fromkeys(query for query, _, _ in rows)
    return {query: [item for _, item, _ in sorted([r for r in rows if r[0] == query], key=key)] for query in queries}


@pytest.mark.parametrize("read", READS, ids=str)
@given(data=st.data())
def test_order_is_that_of_a_plain_sort(read: ReadOptions, data: st.DataObject) -> None:
    given_rows = data.draw(rows())
    if read.order == "rank":
        given_rows = ranked(given_rows)
    run = Run.of(table(given_rows, read.order), order=read.order, ties=read.ties)
    assert dict(run) == twin(given_rows, read)
    assert list(run) == list(twin(given_rows, read))
    if read.order == "score":
        expected = {(query, item): score for query, item, score in given_rows}
        assert {(query, item): score for query, item, _, score in run.to_polars().rows()} == expected


def test_builders_agree() -> None:
    expected = {"q1": ["d2", "d1"], "7": ["3"]}
    columns: dict[str, list[Any]] = {"query": ["q1", "7", "q1"], "item": ["d1", "3", "d2"], "score": [1, 5, 2]}
    assert dict(Run.from_lists({"q1": ["d2", "d1"], 7: (3,)})) == expected
    assert dict(Run.from_scores({"q1": {"d1": 1, "d2": 2.0}, 7: {3: 5}})) == expected
    assert Run.of({"q1": ["d2", "d1"], "7": ["3"]}) == Run.of({"q1": {"d1": 1, "d2": 2}, "7": {"3": 1}})
    assert dict(Run.of(pl.LazyFrame(columns))) == expected
    run = Run.of(pl.DataFrame(columns))
    assert Run.of(run) is run
    assert Run.of(run.to_pandas()) == run
    assert dict(Run.of({})) == {}


def test_equality() -> None:
    run = Run.from_lists({"q1": ["d1", "d2"], "q2": ["d1"]})
    assert run == Run.from_lists({"q2": ["d1"], "q1": ["d1", "d2"]})
    for other in ({"q1": ["d2", "d1"], "q2": ["d1"]}, {"q1": ["d1", "d2"]}):
        assert run != Run.from_lists(other)
    assert (run == 3, repr(run), "q1" in run, "q9" in run) == (False, "Run(2 queries, 3 items)", True, False)


def test_repeats_in_a_list_are_reported_and_marked() -> None:
    with warns("returned-twice", count=2, item="d1", query="q1"):
        run = Run.from_lists({"q1": ["d1", "d2", "d1", "d1"], "q2": ["d1"]})
    assert run.repeats is not None
    assert run.repeats.tolist() == [False, False, True, True, False]
    assert run["q1"] == ["d1", "d2", "d1", "d1"]  # a repeat keeps its position


@pytest.mark.parametrize("read", READS[:3], ids=str)
def test_repeats_with_the_same_score(read: ReadOptions) -> None:
    frame = table([("q1", "d1", 2.0), ("q2", "d1", 1.0), ("q1", "d2", 3.0), ("q1", "d1", 2.0)], "score")
    run = Run.of_value(frame, replace(read, notes=[]))
    noted(run.notes, "returned-twice", count=1)
    assert run["q1"] == ["d2", "d1", "d1"]
    assert run.repeats is not None
    assert run.repeats.tolist() == [False, False, True, False]


BAD = [
    (["d1"], "wrong-form"),
    ({"q1": "d1"}, "wrong-form"),
    ({"q1": {"d1", "d2"}}, "wrong-form"),
    ({"q1": ["d1", 1.5]}, "not-an-id"),
    ({"q1": [""]}, "not-an-id"),
    ({"q1": ["\ud800"]}, "not-text"),
    ({"q1": {"\ud800": 1}}, "not-text"),
    ({1: ["d1"], "1": ["d2"]}, "number-and-text"),
    ({"query": ["q1", "q2"], "item": ["d1", "d2"], "rank": [1, 1]}, "dict-of-columns"),
    ({"qid": ["q1"], "docno": ["d1"]}, "dict-of-columns"),
    ({None: ["d1"]}, "not-an-id"),
    ({"q1": {"d1": 1}, "q2": ["d1"]}, "wrong-form"),
    ({"q1": {"d1": 1, "d2": None}}, "not-finite"),
    ({"q1": {"d1": -float("inf")}}, "not-finite"),
    ({"q1": {1: 1, "1": 2}}, "two-in-run"),
    (pl.DataFrame({"query": ["q"], "score": [1]}), "no-column"),
    (pl.DataFrame({"query": ["q"], "item": ["d"]}), "no-column"),
    (pl.DataFrame({"query": ["q"], "item": [None], "score": [1]}), "no-value"),
    (pl.DataFrame({"query": ["q"] * 2, "item": ["d", "e"], "rank": [1, 1]}), "rank-twice"),
    (None, "wrong-form"),
    ({"q1": [("d1", 0.5), ("d2", 0.25)]}, "wrong-form"),
    ({"q1": [["d1", "d2"], ["d3"]]}, "not-an-id"),
    ({"q": [{"id": pd.NA, "score": 1}]}, "no-id-of-hit"),
    ({"q": {"error": {}}}, "engine-error"),
    ([{"query": "q", "hits": [frozenset("a"), object()]}, {"query": "q", "hits": pd.NA}], "no-columns"),
]


@pytest.mark.parametrize(("value", "kind"), BAD)
def test_bad_input(value: Any, kind: str) -> None:
    with raises(kind, DataError):
        Run.of(value)


def test_unknown_options() -> None:
    with raises("not-a-choice", UsageError, name="order", value="scores", near="score", known=("score", "rank")):
        ReadOptions(order="scores")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "value",
    [
        *(Decimal(text) for text in ("NaN", "sNaN", "Infinity", "-Infinity", "1E+400")),
        *(1 + 2j, pd.NA, object(), b"x", 10**400, [1]),
    ],
)
def test_what_is_no_finite_number_is_refused_in_every_form(value: Any) -> None:
    """polars panics at some of them, which no ``except Exception`` would catch."""
    rows = [{"query": "q", "item": "a", "score": value}, {"query": "q", "item": "b", "score": 1}]
    frame = pd.DataFrame({"query": "q", "item": ["a", "b"], "score": pd.Series([value, 1], dtype=object)})
    for form in ({"q": {"a": value, "b": 1}}, rows, frame):
        with raises("not-finite", DataError, name="score", query="q", item="a"):
            Run.of(form)
    with raises("not-finite", DataError, name="grade", item="a"):
        References.from_grades({"q": {"a": value, "b": 1}})
    with raises("not-finite", DataError, name="grade", item="a"):
        Reference.from_grades({"a": value})
    with raises("not-finite", DataError, name="rank", item="a"):
        References.from_ranks({"q": {"a": value, "b": 1}})


def chunks() -> tuple[Any, ...]:
    scores = {"q": {"a#1": 3.0, "b#1": 2.0, "a#2": 1.0, "c": 0.5}, "r": {"b#9": 1.0}}
    rows = [(query, item, score) for query in scores for item, score in scores[query].items()]
    return scores, table(rows, "score"), Run.from_scores(scores), Run.of(table(rows, "score"))


@pytest.mark.parametrize(
    "options", [{"collapse": "#"}, {"collapse": "#", "ties": "ascending"}, {"ties": "expected"}, {"duplicates": "last"}]
)
def test_options_reach_a_run_as_they_reach_its_rows(options: dict[str, Any]) -> None:
    """A Run that was made before is read again: the same scores, whatever the rows are in."""
    found = [evaluate({"q": ["b", "a"], "r": ["b"]}, {"s": form}, "RDQ@5", **options) for form in chunks()]
    for other in found[1:]:
        assert other.values.tolist() == found[0].values.tolist()
        assert other.coverage == found[0].coverage


def test_a_list_is_read_again_too() -> None:
    lists = {"q": ["a#1", "b#1", "a#2"]}
    assert dict(Run.of(Run.from_lists(lists), collapse="#")) == dict(Run.of(lists, collapse="#")) == {"q": ["a", "b"]}
    assert Run.of(Run.from_lists(lists), collapse="#").left_out == 1


def test_what_a_run_has_lost_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.run").write_text("q Q0 a#1 1 3 t\nq Q0 b 2 2 t\n")
    run = read_run(tmp_path / "a.run", depth=1)
    for name, value in (("order", "rank"), ("ties", "given"), ("collapse", "#"), ("ties", "ascending")):
        with raises("read-again", UsageError, name=name, value=value):
            Run.of(run, **{name: value})  # type: ignore[arg-type]


def test_strict_calls_refuse_what_a_run_was_warned_of() -> None:
    with warns("returned-twice"):
        run = Run.from_lists({"q": ["a", "a"]})
    with raises("returned-twice", DataError, system="s"):
        evaluate({"q": ["a"]}, {"s": run}, "RR", strict=True)


# an item that a run returns twice for a query
RUN = "q1 Q0 d1 1 0.9 t\nq1 Q0 d2 2 0.8 t\nq1 Q0 d1 3 0.4 t\nq1 Q0 d2 4 0.95 t\nq2 Q0 d1 1 1 t\nq2 Q0 d3 2 0 t\n"


def test_an_item_twice_by_rank(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    path.write_text("q Q0 a 2 9 t\nq Q0 b 2 8 t\nq Q0 a 1 7 t\nq Q0 c 3 1 t\n")
    assert read_run(path, order="rank", duplicates="best")["q"] == ["a", "b", "c"]
    with raises("rank-twice", DataError, line=2, query="q", rank=2.0):  # the line of the file
        read_run(path, order="rank", duplicates="first")


def kept_by_hand(rows: list[Row], duplicates: str) -> dict[tuple[str, str], float]:
    """Choose row by row."""
    kept: dict[tuple[str, str], float] = {}
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
def test_a_loop_over_rows_keeps_the_same(rows: list[Row], duplicates: Any, depth: int | None) -> None:
    read = ReadOptions(duplicates=duplicates, depth=depth)
    run = Run.of_value(table(rows, "score"), read)
    kept = kept_by_hand(rows, duplicates)
    assert run.left_out == len(rows) - len(kept)
    for query in {query for query, _, _ in rows}:
        best = sorted((-score, item) for (name, item), score in kept.items() if name == query)
        expected = sorted(best, key=lambda pair: (pair[0], -ord(pair[1])))
        assert run[query][:depth] == [item for _, item in expected][:depth]


def test_evaluate_counts_and_notes_rows_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    path.write_text(RUN)
    scores = evaluate({"q1": ["d2"], "q2": ["d1"]}, {"a": path}, "RR", duplicates="first")
    assert scores.means.item() == pytest.approx((1 / 2 + 1) / 2)
    assert scores.coverage[0].left_out == 2
    noted(scores.remarks, "left-out", runs=(("a", 2),), count=2)
    both = evaluate({"q1": ["d2"]}, {"a": path, "b": path}, "RR", duplicates="best", strict=False)
    noted(both.remarks, "left-out", runs=(("a", 2), ("b", 2)))


def test_all_faults_of_all_files(tmp_path: Path) -> None:
    paths = {name: tmp_path / f"{name}.run" for name in "abcd"}
    for name, text in {"a": RUN, "b": "q1 Q0 d1 1 high t\n", "c": "q1 Q0 d1 1 1 t\n"}.items():
        paths[name].write_text(text)
    references = tmp_path / "refs.jsonl"
    references.write_text("{}\n")
    with pytest.raises(DataError) as caught:
        evaluate(references, paths, "RR")
    lines = str(caught.value).split("\n")
    assert lines[0] == "4 inputs are wrong:"
    for line, word in zip(lines[1:], ("refs.jsonl", "a.run:3: ", "b.run:1: ", "d.run: there is no such"), strict=True):
        assert word in line
    with raises("several", UsageError):
        evaluate({"q1": ["d1"]}, {"d": paths["d"], "e": tmp_path / "e.run"}, "RR")
    with raises("several", DataError):
        bounds(references, {"b": paths["b"], "d": paths["d"]}, "AP")
