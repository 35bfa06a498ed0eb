"""Intervals of means, and groups without significant differences."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import rankdev as rd
from rankdev.statistics.bounded_values import mean_limits
from rankdev.statistics.groups import groups
from rankdev.statistics.means import mean_intervals
from tests.common.examples import examples


def scores_of(values):
    systems, queries = values.shape
    return rd.Scores(
        tuple(f"s{i}" for i in range(systems)), tuple(map(str, range(queries))), ("P@5",), values[:, :, None]
    )


def test_intervals_of_means_are_those_of_scipy_where_scores_are_symmetric():
    half = np.random.default_rng(0).uniform(0.1, 0.4, (4, 15))
    values = np.concatenate([0.5 - half, 0.5 + half], axis=1)
    values[1, [3, 18]] = np.nan  # a pair of opposite scores
    low, high = mean_intervals(scores_of(values), 0.1)
    for s, row in enumerate(values):
        known = row[np.isfinite(row)]
        expected = stats.t.interval(0.9, len(known) - 1, known.mean(), stats.sem(known))
        np.testing.assert_allclose([low[s, 0], high[s, 0]], expected, rtol=1e-9)


def test_intervals_of_means_of_skewed_scores_reach_further_towards_the_tail():
    row = np.random.default_rng(1).exponential(0.1, 20)
    low, high = (float(end[0, 0]) for end in mean_intervals(scores_of(row[None])))
    t_low, t_high = stats.t.interval(0.95, 19, row.mean(), stats.sem(row))
    assert low == pytest.approx(t_low)
    g, t = stats.skew(row), np.sqrt(20) * (row.mean() - high) / row.std(ddof=1)  # the end solves Hall's cubic
    corrected = t + g * t**2 / (3 * np.sqrt(20)) + g**2 * t**3 / (27 * 20) + g / (6 * np.sqrt(20))
    assert corrected == pytest.approx(-stats.t.ppf(0.975, 19))
    assert high > t_high


@pytest.mark.parametrize("hits", [0, 1, 2, 38, 40])
def test_intervals_of_means_of_hits_are_those_of_a_beta_distribution(hits):
    """40 scores of 0 or 1, most of them the same: one more of weight .6 at either end, and within the range."""
    row = np.zeros((1, 40))
    row[0, :hits] = 1
    low, high = (float(end[0, 0]) for end in mean_intervals(scores_of(row)))
    t = stats.t.interval(0.95, 39, row.mean(), stats.sem(row[0])) if 0 < hits < 40 else (row.mean(), row.mean())
    below = stats.beta(hits, 40 - hits + 0.6).ppf(0.025) if hits else 0.0
    above = stats.beta(hits + 0.6, 40 - hits).ppf(0.975) if hits < 40 else 1.0
    assert low <= max(0, min(below, t[0])) + 2e-3
    assert high >= min(1, max(above, t[1])) - 2e-3
    assert 0 <= low < high <= 1
    if hits in (0, 40):  # neither Student's nor Hall's says anything
        np.testing.assert_allclose([low, high], [below, above], atol=2e-3)


@examples(20)
@given(st.integers(0, 10**6))
def test_intervals_of_means_are_those_of_each_row_alone(seed):
    rng = np.random.default_rng(seed)
    rows = np.where(rng.random((5, 12)) < rng.random((5, 1)), rng.choice([0.0, 1.0], (5, 1)), rng.random((5, 12)))
    together = np.stack(mean_limits(rows, (0.0, 1.0), 0.05))
    alone = [np.concatenate(mean_limits(row[None], (0.0, 1.0), 0.05)) for row in rows]
    np.testing.assert_allclose(together.T, alone, atol=1e-9)
    assert (together[0] <= rows.mean(axis=1) + 1e-12).all()
    assert (together[1] >= rows.mean(axis=1) - 1e-12).all()


def test_scores_beyond_the_range_have_no_range():
    low, high = mean_intervals(scores_of(np.array([[0.5, 2.0, 6.0, 1.5]])))
    assert low[0, 0] < 0
    assert high[0, 0] > 6


def test_one_query_has_no_interval():
    low, high = mean_intervals(scores_of(np.array([[0.5]])))
    assert np.isnan([low, high]).all()


@examples(40)
@given(st.integers(0, 10**6))
def test_groups_are_the_longest_runs_without_a_told_pair(seed):
    rng = np.random.default_rng(seed)
    values = np.round(np.clip(rng.normal(0.5, 0.15, (6, 9)) + rng.normal(0, 0.2, (6, 1)), 0, 1), 2)
    scores = scores_of(values)
    found = rd.significance(scores, correction="none")
    told = {
        frozenset((a, b))
        for a, b, p in found.to_polars().select("a", "b", "p_adjusted").iter_rows()
        if p <= found.alpha
    }
    order = [f"s{i}" for i in np.argsort(-values.mean(axis=1), kind="stable")]
    runs = [order[i:j] for i in range(6) for j in range(i + 1, 7)]
    alike = [run for run in runs if not any(frozenset((a, b)) in told for a in run for b in run)]
    longest = [run for run in alike if not any(set(run) < set(other) for other in alike)]
    assert [list(group) for group in groups(scores, found, "P@5")] == longest
