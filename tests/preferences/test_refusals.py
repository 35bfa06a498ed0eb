"""What is no judgment, or no choice of how to read or fit it, is refused by kind."""

import numpy as np
import polars as pl
import pytest

from rankdev.errors import DataError, UsageError
from rankdev.preferences import (
    Preferences,
    judge_agreement,
    merge_rankings,
    position_bias,
    strengths,
    tiers_from_preferences,
)
from tests.raising import raises

JUDGED = Preferences.from_rows([("q", "x", "y", "w1"), ("q", "y", "x", "w2")])
ALONE = Preferences.from_rows([("q", "x", "y"), ("q", "y", "x")])
NOTHING = Preferences.from_rows(items={"q": ["x", "y"]})
CALLS = [
    (strengths, (JUDGED, "bradley-tery"), {}, "not-a-choice", {"name": "method", "near": "bradley-terry"}),
    (strengths, (JUDGED,), {"disconnected": "ignore"}, "not-a-choice", {"name": "disconnected"}),
    *((strengths, (JUDGED,), {"ridge": x}, "not-a-number", {"name": "ridge"}) for x in (-1, "a", float("nan"))),
    (strengths, (JUDGED,), {"alpha": 2}, "not-a-number", {"name": "alpha"}),
    (strengths, (ALONE, "crowd-bt"), {}, "needed", {"use": "crowd-bt"}),
    (strengths, (Preferences.from_rows([("q", "x", "y")]),), {"ridge": 0}, "infinite-strengths", {"query": "q"}),
    (strengths, (NOTHING,), {}, "none-given", {"what": "comparisons"}),
    (tiers_from_preferences, (JUDGED,), {"rule": "leaders"}, "not-a-choice", {"name": "rule"}),
    (tiers_from_preferences, (JUDGED,), {"probability": 0.4}, "not-a-number", {"name": "probability"}),
    (tiers_from_preferences, (JUDGED,), {"probability": 1}, "not-a-number", {"name": "probability"}),
    (judge_agreement, (NOTHING,), {}, "none-given", {"what": "comparisons"}),
    (judge_agreement, (JUDGED,), {"resamples": 0}, "not-whole", {"name": "resamples"}),
    (position_bias, (JUDGED,), {}, "order-unknown", {}),
    (merge_rankings, ({"q": ["x", "y"]},), {}, "bad-value", {"query": "q", "name": "ranking", "value": "x"}),
    (merge_rankings, ({"q": "xy"},), {}, "bad-value", {"query": "q", "name": "rankings", "value": "xy"}),
    (merge_rankings, ({"q": [{"x": 1, "y": 2}]},), {}, "bad-value", {"name": "ranking"}),
    (merge_rankings, ([],), {}, "none-given", {"what": "rankings"}),
    (merge_rankings, ([["x", "y"]],), {"unranked": "lats"}, "not-a-choice", {"name": "unranked", "near": "last"}),
    (JUDGED.select, (["q9"],), {}, "unknown-query", {"query": "q9"}),
    (JUDGED.with_grades, ({"q": {"x": None}},), {}, "bad-value", {"query": "q", "value": None}),
    (JUDGED.with_grades, ({"q": {"x": 1}},), {"weight": 0}, "not-a-number", {"name": "weight"}),
]


@pytest.mark.parametrize(("call", "given", "options", "kind", "fields"), CALLS)
def test_wrong_calls(call, given, options, kind, fields):
    with raises(kind, **fields):
        call(*given, **options)


ROW = {"query": "q", "winner": "x", "loser": "y"}
SIDES = {"query": ["q", "q"], "a": ["x", "x"], "b": ["y", "y"]}
ROWS = [
    ([], "none-given", {"what": "comparisons"}),
    ([("q", "x")], "not-a-row", {"row": 0}),
    *(([wrong], "not-a-row", {"row": 0}) for wrong in (1, "abc", None)),
    ([("q", "x", "y"), b"abc"], "not-a-row", {"row": 1}),
    ([("q", "x", "y"), ROW], "not-a-row", {"row": 1}),
    ([ROW, ROW, ("q", "x", "y")], "not-a-record", {"row": 2}),
    *((wrong, "not-rows", {}) for wrong in ({"q": ["x", "y"]}, "qxy", pl.DataFrame(SIDES))),
    ([("q", "x", "y", "y"), ("q", "y", "z", "y")], "fourth-is-winner", {}),
    *(
        ([ROW | {"weight": 1}, ROW | {"weight": x}], "bad-value", {"row": 1, "name": "weight", "value": x})
        for x in (-1, 1e18, 1e300)
    ),
]


@pytest.mark.parametrize(("rows", "kind", "fields"), ROWS)
def test_wrong_rows(rows, kind, fields):
    with raises(kind, DataError, **fields):
        Preferences.from_rows(rows)


@pytest.mark.parametrize("wrong", [None, "", float("nan"), 7.0, b"x", True])
def test_one_rule_for_ids(wrong):
    for part in ROW:
        for make in (Preferences.from_rows, Preferences.from_table):
            with pytest.raises(DataError):
                make([ROW, ROW | {part: wrong}])
        with raises("not-an-id", DataError, row=1):
            Preferences.from_rows([tuple(ROW.values()), tuple((ROW | {part: wrong}).values())])
    assert Preferences.from_rows([(1, 2, 3)]).items == ("2", "3")
    with pytest.raises(DataError):
        merge_rankings({"q": [["x", wrong]]})
    with pytest.raises(DataError):
        merge_rankings({"q": [["x", "x"]]})


@pytest.mark.parametrize(
    ("table", "kind", "fields"),
    [
        (SIDES | {"winner": [1.0, float("inf")]}, "bad-value", {"name": "winner"}),
        (SIDES | {"winner": [1.0, 1e300]}, "bad-value", {"name": "winner"}),
        (SIDES | {"winner": [["x"], ["y"]]}, "bad-column", {"name": "winner"}),
        (SIDES | {"winner": ["x", "y"], "tie": [[True]] * 2}, "bad-column", {"name": "tie", "type": "List(Boolean)"}),
    ],
)
def test_wrong_tables(table, kind, fields):
    with raises(kind, DataError, **fields):
        Preferences.from_table(pl.DataFrame(table))


@pytest.mark.parametrize("meant", [float("nan"), float("inf")])
def test_a_degree_is_finite(meant):
    record = {"query": "q", "a": "x", "b": "y", "winner": "1"}
    with raises("bad-value", UsageError, name="values['1']"):
        Preferences.from_rows([record], values={"1": meant})


def test_columns_that_do_not_fit():
    flat = np.zeros(1, np.int32)
    with raises("self-compared", DataError, row=0, item="x"):
        Preferences(("q",), ("x",), flat, flat, flat, np.zeros(1, bool))
    with raises("bad-value", DataError, name="winner or loser"):
        Preferences(("q",), ("x",), flat, flat, flat + 1, np.zeros(1, bool))
