"""Clusters of queries: whole clusters are flipped, and Student's error is that of clusters."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

import rankdev as rd
from rankdev.errors import DataError, UsageError
from tests.raising import noted, raises, warns

QUERIES = tuple(f"q{i}" for i in range(24))


def scored(values, measures=("P@5",)):
    values = np.asarray(values, dtype=float)
    names = tuple(f"s{i}" for i in range(len(values)))
    return rd.Scores(names, QUERIES[: values.shape[1]], measures, values.reshape(*values.shape[:2], -1))


def by_hand(apart, members, alpha):
    """Enumerate the flips of whole clusters: p, and the differences that they would not reject."""
    names = sorted(set(members))
    sums = np.array([apart[[m == name for m in members]].sum() for name in names])
    sizes = np.array([members.count(name) for name in names])
    signs = np.array(list(product((1, -1), repeat=len(names))))
    p = np.mean(np.abs(signs @ sums) >= np.abs(sums.sum()) - 1e-9)
    kept = [
        delta
        for delta in np.linspace(-3, 3, 6001)
        if np.mean(np.abs(signs @ (sums - delta * sizes)) >= np.abs((sums - delta * sizes).sum()) - 1e-9) > alpha
    ]
    return p, min(kept), max(kept)


@pytest.mark.parametrize("seed", range(4))
def test_p_and_interval_are_those_of_all_flips_of_whole_clusters(seed):
    rng = np.random.default_rng(seed)
    members = [f"u{i}" for i in rng.integers(0, 8, 24)]
    values = np.rint(rng.normal(0, 1, (2, 24)) * 2) / 2
    clusters = dict(zip(QUERIES, members, strict=True))
    found = rd.significance(scored(values), clusters=clusters, alpha=0.1, test="randomization")
    row = found.to_polars().row(0, named=True)
    p, low, high = by_hand(values[1] - values[0], members, 0.1)
    assert row["p"] == pytest.approx(p)
    assert row["low"] == pytest.approx(low, abs=1.1e-3)
    assert row["high"] == pytest.approx(high, abs=1.1e-3)
    assert row["difference"] == pytest.approx((values[1] - values[0]).mean())
    assert row["wins"] + row["ties"] + row["losses"] == 24  # of queries, not of clusters
    assert found.clusters == len(set(members))


def test_students_error_is_that_of_clusters():
    rng = np.random.default_rng(2)
    members = np.repeat(np.arange(12), 2)
    apart = rng.normal(0.2, 1, 24)
    found = rd.significance(scored([np.zeros(24), apart]), clusters=dict(zip(QUERIES, members.tolist(), strict=True)))
    expected = stats.ttest_1samp(apart.reshape(12, 2).mean(axis=1), 0)  # of clusters of equal size
    row = found.to_polars().row(0, named=True)
    assert row["p"] == pytest.approx(expected.pvalue)
    assert (row["low"], row["high"]) == pytest.approx(tuple(expected.confidence_interval(0.95)))


def test_measures_with_gaps_have_the_clusters_of_their_own_queries():
    values = np.random.default_rng(8).normal(0, 1, (2, 24, 2))
    values[0, :4, 1] = np.nan
    clusters = {query: i // 4 for i, query in enumerate(QUERIES)}
    with warns("gaps"):
        both = rd.significance(scored(values, ("P@5", "AP@5")), clusters=clusters, correction="none").to_polars()
    rest = scored(values, ("P@5", "AP@5")).select(queries=QUERIES[4:], measures=["AP@5"])
    alone = rd.significance(rest, clusters=clusters, correction="none").to_polars()
    assert both["p"][1] == alone["p"][0]


def test_wrong_clusters_are_refused():
    scores = scored(np.random.default_rng(9).normal(0, 1, (3, 24)))
    with raises("no-cluster", DataError, count=23, queries=24, example="q1"):
        rd.significance(scores, clusters={"q0": "u"})
    with raises("too-few", DataError, unit="cluster", count=1):
        rd.significance(scores, clusters=dict.fromkeys(QUERIES, "u"))
    with raises("bad-value", UsageError, name="clusters"):
        rd.significance(scores, clusters=["u"] * 24)
    few = rd.significance(scores, clusters={query: i % 3 for i, query in enumerate(QUERIES)})
    assert noted(few.remarks, "few-differ", count=3)
    assert set(few.to_polars()["verdict"]) == {"cannot tell"}


def test_clusters_of_queries_that_all_tie():
    scores = rd.Scores(("a", "b"), tuple(f"q{i}" for i in range(20)), ("P@1",), np.zeros((2, 20, 1)))
    found = rd.significance(scores, clusters={f"q{i}": i // 4 for i in range(20)})
    assert found.columns["p"].tolist() == [1.0]
    assert found.columns["low"][0] < 0 < found.columns["high"][0]
