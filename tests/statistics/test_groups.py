"""Intervals of means, and groups without significant differences."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import rankdev as rd
from rankdev.statistics.leaderboard import groups, mean_intervals
from tests.common.examples import examples


def scores_of(values):
    systems, queries = values.shape
    return rd.Scores(
        tuple(f"s{i}" for i in range(systems)), tuple(map(str, range(queries))), ("P@5",), values[:, :, None]
    )


def test_intervals_of_means_are_those_of_scipy():
    values = np.random.default_rng(0).random((4, 30))
    values[1, :5] = np.nan
    low, high = mean_intervals(scores_of(values), 0.1)
    for s, row in enumerate(values):
        known = row[np.isfinite(row)]
        expected = stats.t.interval(0.9, len(known) - 1, known.mean(), stats.sem(known))
        np.testing.assert_allclose([low[s, 0], high[s, 0]], expected, rtol=1e-12)


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
