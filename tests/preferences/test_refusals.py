import polars as pl
import pytest

from rankdev.errors import DataError, UsageError
from rankdev.preferences import Preferences, strengths
from tests.raising import raises

ROWS = [("q", "x", "y", "w1"), ("q", "y", "x", "w2")]


@pytest.mark.parametrize("rows", [[1], ["abc"], [None], [("q", "x", "y"), b"abc"]])
def test_rows_must_be_tuples(rows):
    with raises("not-a-row", DataError):
        Preferences.from_rows(rows)


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"worker_prior": (-5, 1)}, "bad-value"),
        ({"worker_prior": (1,)}, "bad-value"),
        ({"worker_prior": 2}, "bad-value"),
        ({"alpha": 2}, "not-a-number"),
        ({"ridge": "a"}, "not-a-number"),
        ({"ridge": float("nan")}, "not-a-number"),
    ],
)
def test_strengths_refuse_what_cannot_be(options, kind):
    with raises(kind, UsageError, name=next(iter(options))):
        strengths(Preferences.from_rows(ROWS), "crowd-bt", **options)


@pytest.mark.parametrize("weight", [-1, 1e18, 1e300])
def test_a_weight_that_no_judgment_can_have_is_refused_by_row(weight):
    rows = [{"query": "q", "winner": "x", "loser": "y", "weight": w} for w in (1, weight)]
    with raises("bad-value", DataError, row=1, name="weight", value=weight):
        Preferences.from_rows(rows)


@pytest.mark.parametrize(
    ("columns", "kind"),
    [
        ({"winner": [1.0, float("inf")]}, "bad-value"),
        ({"winner": [1.0, 1e300]}, "bad-value"),
        ({"winner": [["x"], ["y"]]}, "bad-column"),
    ],
)
def test_outcomes_that_are_none_are_refused(columns, kind):
    with raises(kind, DataError, name=next(iter(columns))):
        Preferences.from_table(pl.DataFrame({"query": ["q", "q"], "a": ["x", "x"], "b": ["y", "y"], **columns}))


def test_whole_numbers_stay_positions_where_pandas_made_them_floats():
    table = pl.DataFrame({"query": ["q", "q"], "a": ["x", "x"], "b": ["y", "y"], "winner": [1.0, 2.0]})
    assert Preferences.from_table(table).to_polars()["winner"].to_list() == ["x", "y"]


def test_a_tie_is_true_or_false():
    table = pl.DataFrame({"query": ["q"], "winner": ["x"], "loser": ["y"], "tie": [[True]]})
    with raises("bad-column", DataError, name="tie", type="List(Boolean)"):
        Preferences.from_table(table)


@pytest.mark.parametrize("meant", [float("nan"), float("inf")])
def test_a_degree_is_finite(meant):
    record = {"query": "q", "a": "x", "b": "y", "winner": "1"}
    with raises("bad-value", UsageError, name="values['1']"):
        Preferences.from_rows([record], values={"1": meant})
