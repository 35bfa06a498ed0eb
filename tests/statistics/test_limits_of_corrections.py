"""Cases at a limit: where one comparison more, one query less or a p of exactly alpha changes the conclusion."""

import warnings

import numpy as np
import pytest
from scipy import stats

from rankdev.errors import DataError, RankdevWarning
from rankdev.statistics.contrasts import agreeing
from rankdev.statistics.significance import significance


def test_bh_intervals_are_at_alpha_times_the_fraction_rejected(make_scores):
    rng = np.random.default_rng(1)
    values = rng.normal(0, 0.1, (3, 30)) + np.array([[0.0], [0.0], [1.0]])
    found = significance(make_scores(values), test="t", correction="bh").to_polars()
    assert (found["p_adjusted"] <= 0.05).to_list() == [False, True, True]
    for row, (a, b) in zip(found.iter_rows(named=True), [(0, 1), (0, 2), (1, 2)], strict=True):
        expected = stats.ttest_rel(values[a], values[b]).confidence_interval(1 - 0.05 * 2 / 3)
        assert (row["low"], row["high"]) == pytest.approx(tuple(expected), abs=1e-9)


def test_bh_intervals_without_a_rejection_are_at_alpha_over_the_number_of_pairs(make_scores):
    values = np.random.default_rng(2).normal(0, 1, (3, 30))
    found = significance(make_scores(values), test="t", correction="bh").to_polars()
    assert (found["p_adjusted"] > 0.05).all()
    expected = stats.ttest_rel(values[0], values[1]).confidence_interval(1 - 0.05 / 3)
    assert found.select("low", "high").row(0) == pytest.approx(tuple(expected), abs=1e-9)


@pytest.mark.parametrize(("family", "enough"), [("measure", True), ("all", False)])
def test_the_permutations_needed_are_those_of_all_comparisons_of_a_family(make_scores, family, enough):
    """The smallest p of 30 flips is 1/31: below .05 for one comparison, not for two."""
    values = np.random.default_rng(3).normal(0, 1, (2, 25, 2))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        significance(make_scores(values), family=family, permutations=30)
    assert [one.category for one in caught] == ([] if enough else [RankdevWarning])
    assert enough or "among 2 comparisons" in str(caught[0].message)


def test_by_default_the_permutations_grow_with_all_comparisons_of_a_family(make_scores):
    """2 × comparisons ÷ alpha, where that is more than the usual number: 3 comparisons by a measure, 6 by both."""
    scores = make_scores(np.random.default_rng(4).normal(0, 1, (3, 25, 2)))
    assert significance(scores, family="measure", alpha=5e-5).permutations == 120_000
    assert significance(scores, family="all", alpha=5e-5).permutations == 240_000


@pytest.mark.parametrize(("queries", "told"), [(6, False), (7, True)])
def test_constant_differences_are_held_to_alpha_over_the_comparisons(make_scores, queries, told):
    """p is 2^(1 - queries), below .05 alone; times the three pairs .094 for 6 queries and .047 for 7."""
    rng = np.random.default_rng(5)
    noise = np.round(rng.normal(0, 1, queries), 3)
    values = np.stack([noise, noise + 0.5, np.round(rng.normal(0, 1, queries), 3)])
    with pytest.warns(RankdevWarning, match="by the same amount"):
        found = significance(make_scores(values), test="t").to_polars().row(0, named=True)
    assert found["p_adjusted"] == 3 * 2.0 ** (1 - queries)
    expected = (-0.5, -0.5) if told else (-np.inf, np.inf)
    assert (found["low"], found["high"]) == pytest.approx(expected)


@pytest.mark.parametrize("sign", [1, -1])
def test_an_interval_excludes_0_where_p_is_exactly_alpha(sign):
    alpha, one = 0.05, np.ones(3)
    p = np.array([np.nextafter(alpha, 0), alpha, np.nextafter(alpha, 1)])
    low, high = agreeing(p, alpha, sign * one, -2.0 * one, 2.0 * one)
    holds_0 = (low <= 0) & (high >= 0)
    assert holds_0.tolist() == [False, False, True]


@pytest.mark.parametrize("correction", ["none", "holm", "bh"])
def test_exactly_alpha_is_significant_in_every_column(make_scores, correction):
    """Six queries that all favour one system have p = 2/64, here alpha itself."""
    apart = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    found = significance(make_scores(np.stack([apart, 0 * apart])), correction=correction, alpha=2 / 64)
    row = found.to_polars().row(0, named=True)
    assert row["p"] == row["p_adjusted"] == 2 / 64
    assert row["low"] > 0
    assert found.summary()["significant"].to_list() == [1]


def test_a_t_test_takes_two_queries_and_no_fewer(make_scores):
    values = np.array([[0.2, 0.9], [0.1, 0.3]])
    found = significance(make_scores(values), test="t", correction="none").to_polars().row(0, named=True)
    expected = stats.ttest_rel(*values)
    assert found["p"] == pytest.approx(expected.pvalue)
    assert (found["low"], found["high"]) == pytest.approx(tuple(expected.confidence_interval(0.95)))
    with pytest.raises(DataError, match="at least two queries"):
        significance(make_scores(values[:, :1]), test="t")


@pytest.mark.parametrize(("alpha", "finite"), [(1e-4, True), (9e-5, False)])
def test_simultaneous_intervals_are_finite_as_long_as_one_flip_may_be_as_extreme(make_scores, alpha, finite):
    """9,999 flips and the observed one: at 1e-4 the largest flip is the limit, below it nothing is."""
    values = np.random.default_rng(6).normal(0, 1, (3, 30))
    found = significance(make_scores(values), alpha=alpha).to_polars()
    assert np.isfinite(found.select("low", "high").to_numpy()).all() == finite
