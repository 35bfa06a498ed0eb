"""The limits of sparse differences, against what they approximate, by brute force."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import rankdev as rd
from rankdev.statistics.bounded_values import (
    CAUTIOUS,
    WEIGHT,
    Unseen,
    mean_limits,
    most_common,
    sparse_limits,
    upper,
    widened,
)
from rankdev.statistics.contrasts import Family


def family_of(*rows, span=1.0):
    """Each row of differences as a system, all against one of zeros."""
    values = np.stack([np.zeros(len(rows[0])), *map(np.asarray, rows)], axis=1).astype(float)
    count = len(rows)
    return Family(values, np.arange(len(values)), np.arange(1, count + 1), np.zeros(count, np.int64), span)


@pytest.mark.parametrize("weight", [0.2, 0.6, 1.0])
@pytest.mark.parametrize(("ones", "queries"), [(0, 5), (0, 60), (1, 10), (3, 40), (20, 200)])
def test_two_values_have_the_quantile_of_a_beta_distribution(weight, ones, queries):
    points = np.append(np.arange(queries) < ones, 1.0)[None].astype(float)
    weights = np.append(np.ones(queries), weight)[None]
    for level in (0.05, 0.025, 0.001):
        exact = stats.beta.ppf(1 - level, ones + weight, queries - ones)
        assert upper(points, weights, level)[0] == pytest.approx(exact, rel=0.05 if not ones else 0.005)


@given(st.integers(5, 40), st.sampled_from([0.0, 0.5, 0.9]), st.integers(0, 10**6))
def test_the_saddlepoint_is_the_quantile_of_dirichlet_means(queries, zeros, seed):
    """Twenty thousand Dirichlet draws: their quantile is known to a standard error, of which four are allowed."""
    rng = np.random.default_rng(seed)
    points = np.append(np.where(rng.random(queries) < zeros, 0.0, rng.uniform(-1, 1, queries)), 1.0)
    weights = np.append(np.ones(queries), 0.6)
    means = rng.dirichlet(weights, 20_000) @ points
    found = upper(points[None], weights[None], 0.05)[0]
    assert (means > found).mean() == pytest.approx(0.05, abs=4 * np.sqrt(0.05 * 0.95 / 20_000) + 0.003)


def test_many_rows_are_the_rows_one_by_one():
    rng = np.random.default_rng(1)
    points = np.where(rng.random((30, 20)) < 0.7, 0.0, rng.normal(0, 1, (30, 20)))
    weights = rng.choice([0.0, 0.5, 1.0], (30, 20), p=[0.1, 0.3, 0.6])
    together = upper(points, weights, 0.025)
    one_by_one = [upper(x[w > 0][None], w[w > 0][None], 0.025)[0] for x, w in zip(points, weights, strict=True)]
    np.testing.assert_allclose(together, one_by_one, rtol=1e-9)


def test_limits_follow_scale_and_sign():
    values = np.array([[0.0] * 12 + [0.5, -0.25, 1.0]])
    low, high = Unseen.of(values, -1, 1).limits(values, 0.05)
    down, up = Unseen.of(-8 * values, -8, 8).limits(-8 * values, 0.05)
    assert (-8 * high, -8 * low) == (pytest.approx(down), pytest.approx(up))


def test_nothing_seen_is_not_nothing_there():
    low, high = widened(family_of(np.zeros(10)), 0.05, np.zeros(1), np.zeros(1))
    expected = stats.beta.ppf(0.975, WEIGHT, 10)
    assert (-low[0], high[0]) == (pytest.approx(expected, rel=0.02),) * 2


def test_an_unseen_observation_of_weight_1_is_the_bound_that_always_holds():
    _, _, high = sparse_limits(family_of(np.zeros(59)), 0.1, CAUTIOUS)
    assert high[0] == pytest.approx(1 - 0.05 ** (1 / 59), rel=0.01)


def test_differences_that_vary_keep_their_interval():
    rng = np.random.default_rng(2)
    family = family_of(rng.normal(0, 0.1, 20), np.where(np.arange(20) < 8, 0.0, rng.normal(0, 0.1, 20)))
    assert len(sparse_limits(family, 0.05)[0]) == 0
    low, high = np.array([-0.1, -0.2]), np.array([0.1, 0.2])
    assert [part.tolist() for part in widened(family, 0.05, low, high)] == [low.tolist(), high.tolist()]


def test_the_same_difference_everywhere_counts_as_zero_does():
    """Shifting all differences shifts the most common one; where the range is unknown, only ties are allowed for."""
    assert most_common(np.array([[0.2] * 8 + [0.5, 0.0]]))[0].tolist() == [0.2]
    low, high = widened(family_of(np.full(20, 0.2)), 0.05, np.full(1, 0.2), np.full(1, 0.2))
    assert low[0] < 0.1
    assert 0.25 < high[0] <= 1
    unknown = family_of(np.full(20, 0.2), span=np.inf)
    assert widened(unknown, 0.05, np.full(1, 0.2), np.full(1, 0.2)) == (0.2, 0.2)


def test_limits_stay_in_the_range_where_it_is_known():
    for span, expected in ((1.0, 1.0), (np.inf, np.inf)):
        family = family_of(np.zeros(4), np.arange(4) / 4, span=span)
        low, high = widened(family, 0.05, np.full(2, -np.inf), np.full(2, np.inf))
        assert (low[0], high[0]) == (-expected, expected)


def scores_of(apart, measure="P@1"):
    values = np.stack([np.maximum(apart, 0), np.maximum(-apart, 0)])[:, :, None]
    return rd.Scores(("new", "old"), tuple(map(str, range(len(apart)))), (measure,), values)


def test_identical_systems_have_an_interval_and_a_remark():
    found = rd.significance(scores_of(np.zeros(43)))
    row = found.to_polars().row(0, named=True)
    assert row["p"] == 1
    assert row["high"] == -row["low"] == pytest.approx(stats.beta.ppf(0.975, WEIGHT, 43), rel=0.02)
    assert found.remarks == (
        "P@1: new and old have the same difference on 100% of 43 queries: the interval allows for unseen ones up to 1,"
        " the width of the measure's range; queries on which the systems differ would be more informative",
    )


def test_a_measure_without_a_known_range_is_remarked_on():
    scores = scores_of(np.where(np.arange(40) < 3, 2.0, 0.0), "mine")
    (remark, *_) = rd.significance(scores).remarks
    assert "the measure has no known range" in remark
    assert "only up to 2, the range of the observed scores" in remark
    with pytest.warns(rd.RankdevWarning, match="mine has no known range"):
        rd.equivalence(scores, margin=0.1)


def test_it_is_said_where_p_and_the_interval_disagree():
    """Six small wins are significant by sign flips; a rare loss that was not seen could still undo them."""
    found = rd.significance(scores_of(np.where(np.arange(30) < 6, 0.25, 0.0)))
    row = found.to_polars().row(0, named=True)
    assert row["p"] <= 0.05
    assert row["low"] < 0 < row["high"]
    assert any("significant p, but an interval that contains 0" in remark for remark in found.remarks)


def test_the_difference_needed_is_that_of_the_test():
    """Discriminative power is about p, so that it does not change with what is unseen."""
    scores = scores_of(np.where(np.arange(30) < 6, 0.25, 0.0))
    row = rd.significance(scores, correction="none").to_polars().row(0, named=True)
    needed = rd.significance(scores, correction="none").discriminative_power().to_polars()["needed"][0]
    assert needed < (row["high"] - row["low"]) / 2


def test_two_equal_values_of_an_unknown_range_bound_no_mean():
    values, unknown = np.full((1, 2), 0.5), (-np.inf, np.inf)
    assert [float(limit[0]) for limit in mean_limits(values, unknown, 0.05)] == [-np.inf, np.inf]
    low, high = (float(limit[0]) for limit in mean_limits(values, (0.0, 1.0), 0.05))
    assert 0 < low < 0.5 < high < 1
