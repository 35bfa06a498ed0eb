"""Tests that hold at any time: bets by hand, p that only falls, intervals that agree with it."""

from itertools import pairwise

import numpy as np
import pytest

import rankdev as rd
from rankdev.errors import DataError, UsageError
from rankdev.statistics.paired import BETS


def scored(values, measures=("P@5",)):
    values = np.asarray(values, dtype=float).reshape(len(values), -1, len(measures))
    names = tuple("abcdef"[: len(values)])
    return rd.Scores(names, tuple(f"q{i}" for i in range(values.shape[1])), measures, values)


def capital(apart, mean):
    """Return the largest mean capital of bets on more than a mean, after any query; the range is 1."""
    found = 1.0
    for n in range(1, len(apart) + 1):
        each = [np.prod([1 + bet * (d - mean) / (1 + mean) for d in apart[:n]]) for bet in BETS]
        found = max(found, np.mean(each))
    return found


@pytest.mark.parametrize("seed", range(3))
def test_p_and_interval_follow_from_the_bets(seed):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 6, (2, 60)) / 5
    values[0] = np.clip(values[0] + 0.3, 0, 1)
    apart = values[0] - values[1]
    row = rd.significance(scored(values), anytime=True).to_polars().row(0, named=True)
    assert row["p"] == pytest.approx(min(1, 2 / max(capital(apart, 0), capital(-apart, 0))))
    for mean, sign in ((row["low"], 1), (-row["high"], -1)):
        assert capital(sign * apart, mean - 1e-6) >= 40 > capital(sign * apart, mean + 1e-6)


def test_p_only_falls_and_intervals_only_shrink_as_queries_arrive():
    rng = np.random.default_rng(4)
    scores = scored(np.clip(rng.normal(0.5, 0.2, (2, 120)) + np.array([[0.2], [0.0]]), 0, 1))
    rows = [
        rd.significance(scores.select(queries=slice(0, n)), anytime=True).to_polars().row(0, named=True)
        for n in range(10, 121, 10)
    ]
    for row, later in pairwise(rows):
        assert later["p"] <= row["p"]
        assert row["low"] <= later["low"] < later["high"] <= row["high"]
    assert rows[0]["p"] > 0.05 > rows[-1]["p"]


@pytest.mark.parametrize("correction", ["holm", "bh", "none"])
def test_intervals_hold_0_exactly_where_p_is_not_significant(correction):
    rng = np.random.default_rng(5)
    values = np.clip(rng.normal(0.5, 0.2, (4, 150)) + np.array([[0.0], [0.0], [0.1], [0.3]]), 0, 1)
    rows = rd.significance(scored(values), anytime=True, correction=correction).to_polars()
    holds = (rows["low"] <= 0) & (rows["high"] >= 0)
    assert holds.to_list() == (rows["p_adjusted"] > 0.05).to_list()
    assert 0 < holds.sum() < rows.height


def test_equal_systems_leave_what_was_not_seen():
    rows = rd.significance(scored(np.full((2, 20), 0.5)), anytime=True).to_polars().row(0, named=True)
    assert rows["p"] == 1
    assert -0.5 < rows["low"] < -0.1 < 0.1 < rows["high"] < 0.5


def test_wrong_designs_are_refused():
    scores = scored(np.random.default_rng(6).random((3, 20)))
    for options in ({"test": "t"}, {"permutations": 99}, {"clusters": {}}, {"replicates": {"x": ["a", "b"]}}):
        with pytest.raises(UsageError, match="cannot be combined with anytime"):
            rd.significance(scores, anytime=True, **options)
    with pytest.raises(UsageError, match="cannot be combined with anytime; choose holm"):
        rd.significance(scores, anytime=True, correction="max-t")
    unknown = rd.Scores(scores.systems, scores.queries, ("my own",), scores.values)
    with pytest.raises(UsageError, match="my own has none"):
        rd.significance(unknown, anytime=True)
    with pytest.raises(DataError, match="beyond its range, 0 to 1"):
        rd.significance(scored(2 * scores.values[:, :, 0]), anytime=True)


@pytest.mark.parametrize(("spread", "least", "most"), [(0.3, 1.2, 2), (0.15, 1.2, 2), (0.05, 3.5, 4.5)])
def test_the_price_is_width(spread, least, most):
    """docs/designs.md: up to twice as wide as Student's, four times for a small standard deviation."""
    apart = np.clip(np.random.default_rng(0).normal(0, spread, 200), -1, 1)
    both = scored([np.maximum(apart, 0), np.maximum(-apart, 0)])
    wide, usual = (
        rd.significance(both, **way).to_polars().row(0, named=True) for way in ({"anytime": True}, {"test": "t"})
    )
    assert least < (wide["high"] - wide["low"]) / (usual["high"] - usual["low"]) < most
