import gzip
import json

import numpy as np
import polars as pl
import pytest

from rankdev.data.references import References
from rankdev.errors import DataError
from rankdev.preferences import Preferences, strengths, tiers
from rankdev.preferences.files import read_preferences
from tests.preferences.simulate import rows_of
from tests.raising import noted, raises

ROWS = [("q1", "x", "y"), ("q1", "y", "z"), ("q2", "x", "z")]
RECORDS = [json.dumps(dict(zip(("query", "winner", "loser"), row, strict=True))) for row in ROWS]


@pytest.mark.parametrize(
    "table",
    [
        {"query": ["q", "q", "q"], "a1": ["x", "y", "x"], "a2": ["y", "z", "z"], "label": ["a2", "a1", "equal"]},
        {"topic": ["q", "q", "q"], "arg1": ["x", "y", "x"], "arg2": ["y", "z", "z"], "label": ["a2", "a1", "equal"]},
        {"qid": ["q", "q", "q"], "winner": ["y", "y", "x"], "loser": ["x", "z", "z"], "tie": ["0", "", "true"]},
    ],
)
def test_every_shape_says_the_same(table):
    expected = [("q", "y", "x", False), ("q", "y", "z", False), ("q", "x", "z", True)]
    frame = pl.DataFrame(table)
    assert rows_of(Preferences.from_table(frame)) == expected
    assert rows_of(Preferences.from_table(frame.to_pandas())) == expected


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("p.csv", "query,winner,loser\nq1,x,y\nq1,y,z\nq2,x,z\n"),
        ("p.tsv", "query\twinner\tloser\nq1\tx\ty\nq1\ty\tz\nq2\tx\tz\n"),
        ("p.jsonl", "\n\n".join(RECORDS)),
        ("p.json", f"[{','.join(RECORDS)}]"),
        ("p.txt", "q1 x y x\nq1 z y y\nq2 z x x\n"),
        ("rounds", "q1 x y\nq1 y z\n\nq2 x z\n"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_files(tmp_path, name, text, packed):
    path = tmp_path / (name + ".gz" * packed)
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    assert rows_of(read_preferences(path)) == [(*row, False) for row in ROWS]


@pytest.mark.parametrize(
    ("name", "text", "line", "message"),
    [
        ("p.csv", "query,winner,loser\nq,x,y\nq,y,y\n", 3, "'y' is compared with itself"),
        ("p.csv", "query,a,b,winner\nq,x,y,z\n", 2, "winner is 'z'"),
        ("p.csv", "query,winner,loser\nq,x,\n", 2, "no loser"),
        ("p.csv", "query,winner,loser,tie\nq,x,y,perhaps\n", 2, "expected true or false"),
        ("p.csv", "query,good,bad\nq,x,y\n", None, "expected columns query, winner, loser"),
        ("p.csv", "subject,winner,loser\nq,x,y\n", None, "no column is the query"),
        ("p.jsonl", '{"query":"q","winner":"x","loser":"y"}\n{"query":\n', 2, "not JSON"),
        ("p.json", '{"query":\n', 1, "not JSON"),
        ("p.txt", "q x y x\nq x y\n", 2, "3 words; expected"),
        ("p.txt", "q x y z w\n", 1, "topic a b winner"),
        ("p.txt", "q x y x\n\nq x y w\n", 3, "winner is 'w'"),
        ("p.txt", "\n", None, "empty"),
    ],
)
def test_bad_files_name_the_line(tmp_path, name, text, line, message):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(DataError, match=message) as caught:
        read_preferences(path)
    assert caught.value.fields.get("line") == line
    assert str(caught.value).startswith(f"{path}:{line}: " if line else f"{path}: ")


def test_judgments_of_weight_0_connect_and_order_nothing():
    rows = [("a", "b", 1), ("b", "c", 0), ("c", "d", 1), ("b", "a", 0)]
    judged = Preferences.from_rows([{"query": "q", "winner": w, "loser": v, "weight": n} for w, v, n in rows])
    assert rows_of(judged) == [("q", "a", "b", False), ("q", "c", "d", False)]
    noted(judged.remarks, "weightless", count=2)
    assert judged.disconnected() == {"q": [["a", "b"], ["c", "d"]]}
    assert strengths(judged).ordered_items() == {"q": ["a", "b"]}


def test_unknown_items_are_refused_and_uncompared_ones_kept():
    with raises("unknown-item", DataError, row=1, item="z"):
        Preferences.from_rows(ROWS, items={"q1": ["x", "y"], "q2": ["x", "z"]})
    judged = Preferences.from_rows(ROWS, items={"q1": list("wxyz"), "q2": list("xz")})
    assert judged.disconnected() == {"q1": [["x", "y", "z"], ["w"]]}


def test_a_query_that_nobody_judged_has_no_reference_however_few_its_items():
    judged = Preferences.from_rows([("q", "x", "y")], items={"q": ["x", "y"], "alone": ["z"], "two": ["v", "w"]})
    fit = strengths(judged)
    assert fit.ordered_items() == {"q": ["x", "y"]}
    noted(fit.remarks, "unjudged-queries", names=("alone", "two"))


@pytest.mark.filterwarnings("error")
def test_an_item_split_off_alone_is_a_reference_of_one():
    fit = strengths(Preferences.from_rows([("q", "x", "y")], items={"q": ["x", "y", "z"]}), disconnected="split")
    assert fit.to_polars().filter(query="q#2").select("item", "strength", "rank").rows() == [("z", 0.0, 1)]
    assert tiers(fit).conclusion == "2 queries, 3 items, 2 tiers."


def test_disconnected_groups_are_named_split_or_cut():
    rows = [("q", "a", "b"), ("q", "b", "c"), ("q", "x", "y"), ("r", "a", "x")]
    judged = Preferences.from_rows(rows)
    with raises("unconnected", DataError, query="q", groups=2, one=("a", "b", "c"), other=("x", "y")):
        strengths(judged, disconnected="error")
    split = strengths(judged, disconnected="split").ordered_items()
    assert split == {"q#1": ["a", "b", "c"], "q#2": ["x", "y"], "r": ["a", "x"]}
    largest = strengths(judged)
    assert largest.ordered_items() == {"q": ["a", "b", "c"], "r": ["a", "x"]}
    noted(largest.remarks, "unconnected-items", count=2, query="q", names=("x", "y"))


def test_of_equal_groups_the_one_with_more_judgments_is_kept_whatever_the_order_of_rows():
    rows = [("q", "a", "b"), ("q", "x", "y"), ("q", "y", "x")]
    for way in (1, -1):
        assert strengths(Preferences.from_rows(rows[::way])).ordered_items()["q"][0] in "xy"
        equal = Preferences.from_rows(rows[:2][::way])
        assert strengths(equal).ordered_items() == {"q": ["a", "b"]}
        assert strengths(equal, disconnected="split").ordered_items() == {"q#1": ["a", "b"], "q#2": ["x", "y"]}


def test_diagnostics_by_hand():
    rows = [
        ("q", "x", "y", "ann"),
        ("q", "x", "y", "ann"),  # repeats the row above
        ("q", "y", "x", "bob"),
        ("q", "y", "z", "bob"),
        ("q", "z", "x", "bob"),
        ("r", "u", "v", "cem"),  # cem judges once
        ("r", "u", "w", "ann"),
        ("r", "w", "u", "ann"),  # contradicts the row above
    ]
    table = Preferences.from_rows(rows).diagnostics().to_polars()
    assert table["comparisons"].to_list() == [5, 3]
    assert table["items"].to_list() == [3, 3]
    assert table["workers"].to_list() == [2, 2]
    assert table["in_cycles"].to_list() == [3, 0]  # x > y > z > x by majority
    assert table["duplicates"].to_list() == [1, 0]
    assert table["contradictions"].to_list() == [0, 1]
    assert table["connected"].to_list() == [True, True]
    # pairs of judgments that agree: 1 of 3 on x–y; 0 of 1 on u–w
    np.testing.assert_allclose(table["agreement"].to_list(), [1 / 3, 0.0])


def test_a_group_split_off_does_not_join_a_query_of_its_name():
    judged = Preferences.from_rows([("q", "x", "y"), ("q", "v", "w"), ("q#1", "x", "z")])
    with raises("query-taken", DataError, query="q#1"):
        judged.split_groups()


def test_grades_and_preferences_together():
    judged = Preferences.from_rows([("q", "x", "y", f"w{k}") for k in range(9)])
    both = judged.with_grades({"q": {"y": 2, "x": 1, "w": 0}, "r": {"u": 1, "v": 0}}, weight=2)
    from_grades = both.to_polars().filter(worker="grades").select("query", "winner", "loser", "weight").rows()
    assert from_grades == [("q", "y", "x", 2.0), ("q", "x", "w", 2.0), ("r", "u", "v", 2.0)]
    assert strengths(both).ordered_items() == {"q": ["x", "y", "w"], "r": ["u", "v"]}  # nine judgments beat two
    assert strengths(judged.with_grades({"q": {"y": 2, "x": 1}}, weight=30)).ordered_items() == {"q": ["y", "x"]}
    again = judged.with_grades(References.from_grades({"q": {"y": 2, "x": 1}}), weight=2)
    assert again.to_polars().equals(judged.with_grades({"q": {"y": 2, "x": 1}}, weight=2).to_polars())
