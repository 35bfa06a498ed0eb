"""Posterior probabilities of a difference against closed forms, SciPy's t, and draws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import stats

import rankdev as rd
from rankdev.measures.base import MeasureInfo
from rankdev.statistics.bounded_values import exceeds
from tests.statistics.test_equivalence import scores_of

CHANCES = ["p_worse", "p_same", "p_better"]


def chances(scores, margin=0.05, **options):
    return rd.equivalence(scores, margin=margin, posterior=True, **options).to_polars().select(CHANCES).to_numpy()


@pytest.mark.parametrize("value", [0.001, 0.05, 0.3, 0.9])
@pytest.mark.parametrize("count", [1, 10, 59, 1000])
def test_sums_of_dirichlet_weights_against_closed_forms(count, value):
    """A 1 among zeros is a Beta variable; zeros with a 1 and a −1 exceed a value with (1 − value)^(n + 1) ÷ 2."""
    beta = exceeds(np.array([[1.0, 0]]), np.array([[2.0, count]]), value)
    assert_allclose(beta, stats.beta(2, count).sf(value), atol=2e-4)
    both = exceeds(np.array([[0.0, 1, -1]]), np.array([[count, 1.0, 1]]), value)
    assert_allclose(both, (1 - value) ** (count + 1) / 2, atol=2e-5)


@given(st.integers(0, 1000), st.sampled_from([3, 8, 30]), st.floats(-1, 1))
def test_sums_of_dirichlet_weights_against_draws(seed, count, place):
    rng = np.random.default_rng(seed)
    points, weights = rng.choice([-1.0, -0.3, 0.0, 0.4, 1.0], count), rng.choice([0.5, 1.0, 4.0], count)
    value = points.mean() + 0.3 * place + 0.001
    drawn = (rng.dirichlet(weights, 20_000) @ points > value).mean()
    found = exceeds(points[None], weights[None], value)[0]
    assert found == pytest.approx(drawn, abs=4.5 * 0.5 / np.sqrt(20_000))
    mirrored = exceeds(-points[None], weights[None], -value)[0]
    assert found + mirrored == pytest.approx(1, abs=1e-4)


def test_values_outside_the_points_have_probability_0_and_1():
    points, weights = np.array([[0.2, 0.5], [0.3, 0.3]]), np.ones((2, 2))
    assert exceeds(points, weights, 0.6).tolist() == [0, 0]
    assert exceeds(points, weights, 0.1).tolist() == [1, 1]


def test_differences_that_vary_have_students_posterior():
    rng = np.random.default_rng(1)
    scores = scores_of(*rng.normal(0.5, 0.1, (3, 30)))
    values = scores.of("P@5")
    for (i, j), row in zip([(0, 1), (0, 2), (1, 2)], chances(scores, 0.03), strict=True):
        apart = values[i] - values[j]
        posterior = stats.t(29, apart.mean(), stats.sem(apart))
        expected = [posterior.cdf(-0.03), posterior.cdf(0.03) - posterior.cdf(-0.03), posterior.sf(0.03)]
        assert_allclose(row, expected, atol=1e-9)


@pytest.mark.parametrize(("queries", "expected"), [(1, 0.95**2), (10, 0.95**11), (59, 0.95**60)])
def test_equal_systems_are_the_same_the_more_probably_the_more_queries_show_it(queries, expected):
    with pytest.warns(rd.RankdevWarning) if queries < 59 else np.errstate():
        row = chances(scores_of([1.0] * queries, [1.0] * queries))[0]
    assert_allclose(row, [expected / 2, 1 - expected, expected / 2], atol=1e-4)


def test_the_verdict_same_and_the_posterior_agree_on_equal_systems():
    found = rd.equivalence(scores_of([1.0] * 59, [1.0] * 59), margin=0.05, posterior=True).to_polars()
    assert found["verdict"][0] == "same"
    assert found["p_same"][0] > 0.95


def test_few_wins_against_draws():
    """Three wins of 1 among 30 ties, with one more observation at either end."""
    apart = np.zeros(30)
    apart[:3] = 1
    rng = np.random.default_rng(0)
    drawn = rng.dirichlet([27, 1, 1, 1, 1, 1], 200_000) @ np.array([0, 1, 1, 1, 1, -1])
    expected = [(drawn < -0.05).mean(), (np.abs(drawn) <= 0.05).mean(), (drawn > 0.05).mean()]
    assert_allclose(chances(scores_of(apart, np.zeros(30)))[0], expected, atol=0.005)


def test_between_some_and_many_ties_the_posteriors_are_mixed():
    rng = np.random.default_rng(2)
    apart = np.where(np.arange(40) < 24, 0.0, rng.choice([-0.5, 1.0], 40))  # 60% ties: half of each
    t = stats.t(39, apart.mean(), stats.sem(apart)).sf(0.05)
    weights = [*np.ones(16), 24, 0.5, 0.5]
    drawn = rng.dirichlet(weights, 200_000) @ np.array([*apart[24:], 0, 1, -1])
    low = chances(scores_of(apart, np.zeros(40)))[0, 2]
    assert low == pytest.approx((t + (drawn > 0.05).mean()) / 2, abs=0.005)


def test_a_cluster_counts_as_one_observation():
    rng = np.random.default_rng(3)
    apart = rng.normal(0.03, 0.1, 12)
    scores = scores_of(np.repeat(apart, 4), np.zeros(48))
    clusters = {query: i // 4 for i, query in enumerate(scores.queries)}
    assert_allclose(chances(scores, clusters=clusters), chances(scores_of(apart, np.zeros(12))), atol=1e-9)


def test_sizes_of_clusters_do_not_count_as_spread():
    """All clusters have the same difference but for a little; sums vary with sizes only."""
    rng = np.random.default_rng(4)
    members = np.repeat(np.arange(20), rng.integers(1, 30, 20))
    apart = 0.3 + rng.normal(0, 0.01, 20)[members] + rng.normal(0, 0.001, len(members))
    scores = scores_of(apart, np.zeros(len(members)))
    clusters = dict(zip(scores.queries, members.tolist(), strict=True))
    assert chances(scores, 0.28, clusters=clusters)[0, 2] > 0.999


def test_better_is_lower_where_lower_is_better():
    rng = np.random.default_rng(5)
    values = rng.normal([[0.5], [0.55]], 0.05, (2, 20))[:, :, None]
    queries = tuple(map(str, range(20)))
    kinds = [(MeasureInfo("m", "mean", higher, (0.0, 1.0)),) for higher in (True, False)]
    high, low = (chances(rd.Scores(("a", "b"), queries, ("m",), values, kinds=kind), 0.01) for kind in kinds)
    assert high[0, 0] > 0.9
    assert_allclose(high[:, ::-1], low)


def test_without_a_known_range_a_note_says_how_far_the_posterior_looks():
    scores = rd.Scores(("a", "b"), tuple(map(str, range(20))), ("NumRet",), np.repeat([[[3.0]], [[1.0]]], 20, axis=1))
    with pytest.warns(rd.RankdevWarning, match="interval and posterior allow for unseen ones only"):
        found = rd.equivalence(scores, margin=0.5, posterior=True)
    assert np.isfinite(found.to_polars().select(CHANCES).to_numpy()).all()
    assert "Posterior probability that a is worse by more than 0.5, the same, or better" in str(found)


def test_probabilities_are_there_on_demand_only():
    scores = scores_of(*np.random.default_rng(6).random((2, 10)))
    assert "p_same" not in rd.equivalence(scores, margin=0.1).to_polars().columns
    with pytest.raises(rd.UsageError, match="posterior must be True or False"):
        rd.equivalence(scores, margin=0.1, posterior="yes")
