import pytest

from rankdev.errors import DataError, UsageError
from rankdev.preferences import Preferences, next_pairs, strengths, tiers_from_preferences

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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": 1.5}, "budget must be a whole number of at least 1; got 1.5"),
        ({"budget": 1, "ridge": "a"}, "ridge must be a number"),
        ({"budget": 1, "seed": -1}, "seed must be a whole number of at least 0; got -1"),
    ],
)
def test_next_pairs_refuses_what_cannot_be(options, message):
    with pytest.raises(UsageError, match=message):
        next_pairs(ROWS, **options)


@pytest.mark.parametrize("option", [{"seed": -1}, {"seed": "a"}, {"resamples": 1.5}])
def test_a_bootstrap_refuses_what_cannot_be(option):
    with pytest.raises(UsageError, match=f"{next(iter(option))} must be"):
        tiers_from_preferences(ROWS, "rank-centrality", **option)
