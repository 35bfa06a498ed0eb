import polars as pl
import pytest

from rankdev.errors import DataError, UsageError
from rankdev.preferences import Preferences, strengths, tiers_from_preferences

ROWS = [("q", "x", "y", "w1"), ("q", "y", "x", "w2")]


@pytest.mark.parametrize("rows", [[1], ["abc"], [None], [("q", "x", "y"), b"abc"]])
def test_rows_must_be_tuples(rows):
    with pytest.raises(DataError, match=r"expected \(query, winner, loser\)"):
        Preferences.from_rows(rows)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"worker_prior": (-5, 1)}, r"worker_prior must be two numbers, each 1 or more; got \(-5, 1\)"),
        ({"worker_prior": (1,)}, "worker_prior must be two numbers"),
        ({"worker_prior": 2}, "worker_prior must be two numbers"),
        ({"alpha": 2}, "alpha must be a number between 0 and 1; got 2"),
        ({"ridge": "a"}, "ridge must be a number of at least 0; got 'a'"),
        ({"ridge": float("nan")}, "ridge must be a number of at least 0; got nan"),
    ],
)
def test_strengths_refuse_what_cannot_be(options, message):
    with pytest.raises(UsageError, match=message):
        strengths(Preferences.from_rows(ROWS), "crowd-bt", **options)


@pytest.mark.parametrize("option", [{"seed": -1}, {"seed": "a"}, {"resamples": 1.5}])
def test_a_bootstrap_refuses_what_cannot_be(option):
    with pytest.raises(UsageError, match=f"{next(iter(option))} must be"):
        tiers_from_preferences(ROWS, "rank-centrality", **option)


@pytest.mark.parametrize("weight", [-1, 1e18, 1e300])
def test_a_weight_that_no_judgment_can_have_is_refused_by_row(weight):
    rows = [{"query": "q", "winner": "x", "loser": "y", "weight": w} for w in (1, weight)]
    with pytest.raises(DataError, match=r"the weight is .*; expected a number from 0 to 1,000,000,000") as caught:
        Preferences.from_rows(rows)
    assert caught.value.fields["row"] == 1


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"winner": [1.0, float("nan")]}, "no winner; every row needs one"),
        ({"winner": [1.0, float("inf")]}, "is neither 'x' nor 'y' nor a word for a tie"),
        ({"winner": [1.0, 1e300]}, "is neither 'x' nor 'y' nor a word for a tie"),
        ({"winner": [["x"], ["y"]]}, r"column 'winner' holds List\(String\); expected one outcome a row"),
        ({"probability_a": [0.5, float("nan")]}, "no probability_a; every row needs one"),
    ],
)
def test_outcomes_that_are_none_are_refused(columns, message):
    with pytest.raises(DataError, match=message):
        Preferences.from_table(pl.DataFrame({"query": ["q", "q"], "a": ["x", "x"], "b": ["y", "y"], **columns}))


def test_whole_numbers_stay_positions_where_pandas_made_them_floats():
    table = pl.DataFrame({"query": ["q", "q"], "a": ["x", "x"], "b": ["y", "y"], "winner": [1.0, 2.0]})
    assert Preferences.from_table(table).to_polars()["winner"].to_list() == ["x", "y"]


def test_a_tie_is_true_or_false():
    table = pl.DataFrame({"query": ["q"], "winner": ["x"], "loser": ["y"], "tie": [[True]]})
    with pytest.raises(DataError, match=r"column 'tie' holds List\(Boolean\); expected true or false"):
        Preferences.from_table(table)


@pytest.mark.parametrize("meant", [float("nan"), float("inf")])
def test_a_degree_is_finite(meant):
    record = {"query": "q", "a": "x", "b": "y", "winner": "1"}
    with pytest.raises(UsageError, match=f"values: '1' means {meant}; expected first, second, tie, skip or a number"):
        Preferences.from_rows([record], values={"1": meant})


def test_half_a_surrogate_pair_is_no_name():
    with pytest.raises(DataError, match="is not valid text; write it in UTF-8"):
        Preferences.from_rows([("q", "x\udc80", "y")])


def test_a_file_is_read_first(tmp_path):
    for path in ("judgments.csv", tmp_path / "judgments.csv"):
        with pytest.raises(DataError, match=r"got '.*judgments.csv'; read a file with read_preferences"):
            tiers_from_preferences(path)
