import numpy as np
import pytest
from numpy.testing import assert_allclose

import rankdev as rd
from rankdev.statistics._generalizability import components, estimates

# six targets rated by four judges: Shrout and Fleiss (1979), table 2; here six systems on four queries
JUDGED = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], float)


def scores_of(table, measure="M"):
    return rd.Scores(
        tuple(f"s{i}" for i in range(len(table))),
        tuple(f"q{i}" for i in range(table.shape[1])),
        (measure,),
        table[:, :, None],
    )


def test_a_published_example():
    """Mean squares 11.24, 32.49, 1.02; ICC(3,4) = .91, ICC(2,4) = .62, ICC(3,1) = .71, ICC(2,1) = .29."""
    found = rd.variance(scores_of(JUDGED))
    rows = dict(found.to_polars().select("component", "variance").iter_rows())
    assert rows["system"] == pytest.approx((11.24 - 1.02) / 4, abs=0.005)
    assert rows["query"] == pytest.approx((32.49 - 1.02) / 6, abs=0.005)
    assert rows["system × query"] == pytest.approx(1.02, abs=0.005)
    row = found.summary().row(0, named=True)
    assert (round(row["e_rho2"], 2), round(row["phi"], 2)) == (0.91, 0.62)
    assert (round(row["low"], 2), round(row["high"], 2)) == (0.68, 0.99)  # as the R package psych reports
    one = found.design([1]).row(0, named=True)
    assert (round(one["e_rho2"], 2), round(one["phi"], 2)) == (0.71, 0.29)


def test_queries_needed_reach_the_reliability():
    found = rd.variance(scores_of(JUDGED), reliability=0.97)
    row = found.summary().row(0, named=True)
    n = int(row["needed"])
    low, high = found.design([n - 1, n])["e_rho2"]
    assert low < 0.97 <= high
    assert row["needed_low"] <= n <= row["needed_high"]


def test_estimates_are_unbiased_for_collections_of_any_sizes():
    rng, truth = np.random.default_rng(0), np.array([0.5, 0.3, 1.0, 0.2, 0.8])
    deviation = np.sqrt(truth)
    sizes, found = (4, 9, 15), []
    for _ in range(1500):
        system = rng.normal(0, deviation[0], (6, 1))
        tables = [
            system
            + rng.normal(0, deviation[1])
            + rng.normal(0, deviation[2], n)
            + rng.normal(0, deviation[3], (6, 1))
            + rng.normal(0, deviation[4], (6, n))
            for n in sizes
        ]
        found.append(estimates(tables)[0])
    everything = np.array(found)
    error = everything.std(axis=0) / np.sqrt(len(everything))
    assert (np.abs(everything.mean(axis=0) - truth) < 4 * error).all()
    assert (error < 0.05).all()


def test_one_collection_is_the_ordinary_analysis():
    table = np.random.default_rng(1).normal(0, 1, (4, 7)) + np.arange(4)[:, None]
    parts = components([table])
    grand, rows, columns = table.mean(), table.mean(axis=1), table.mean(axis=0)
    mean_squares = [
        7 * ((rows - grand) ** 2).sum() / 3,
        4 * ((columns - grand) ** 2).sum() / 6,
        sum((table[i, j] - rows[i] - columns[j] + grand) ** 2 for i in range(4) for j in range(7)) / 18,
    ]
    expected = [(mean_squares[0] - mean_squares[2]) / 7, max((mean_squares[1] - mean_squares[2]) / 4, 0)]
    assert_allclose([parts.system, parts.query, parts.system_query], [*expected, mean_squares[2]])


def test_negative_estimates_are_said_to_be_none():
    table = np.array([[1.0, 2, 3], [3, 2, 1], [2, 2.5, 1.5]])
    found = rd.variance(scores_of(table))
    assert "is negative and set to 0" in found.remarks[0]
    assert found.summary()["needed"][0] == np.inf


def test_collections_need_the_same_systems():
    with pytest.raises(rd.DataError, match="differs from the first in systems"):
        rd.variance({"x": scores_of(JUDGED), "y": scores_of(JUDGED[:4])})
    with pytest.raises(rd.UsageError, match="of at least one collection"):
        rd.variance({})


def test_several_collections():
    rng = np.random.default_rng(2)
    ability = rng.normal(0, 1, (5, 1))
    parts = {
        name: scores_of(rng.normal(0, 0.5, (5, n)) + ability + rng.normal(0, 0.3, (5, 1)))
        for name, n in (("x", 20), ("y", 60), ("z", 30))
    }
    found = rd.variance(parts)
    assert found.to_polars()["component"].to_list() == [
        "system",
        "collection",
        "query",
        "system × collection",
        "system × query",
    ]
    row = found.summary().row(0, named=True)
    assert 0 < row["low"] < row["e_rho2"] < row["high"] < 1
    assert (row["needed_low"], row["needed_high"]) == (None, None)  # limits are known for one collection only
    assert "in each collection" in str(found)
