import numpy as np
import pytest
from scipy import stats

import rankdev as rd


@pytest.fixture
def scores():
    values = np.random.default_rng(1).normal(0, 1, (5, 30, 2)) + np.arange(5)[:, None, None] / 3
    return rd.Scores(tuple("abcde"), tuple(f"q{i}" for i in range(30)), ("P@5", "AP@5"), values)


def test_curves_are_the_tests_p_values_in_order(scores):
    found = rd.significance(scores, correction="none", test="t").discriminative_power()
    expected = sorted(
        stats.ttest_rel(scores.of("AP@5")[i], scores.of("AP@5")[j]).pvalue for i in range(5) for j in range(i)
    )
    assert found.to_polars().filter(measure="AP@5")["p"].to_list() == pytest.approx(expected)
    row = found.summary().filter(measure="AP@5").row(0, named=True)
    assert row["significant"] == sum(p <= 0.05 for p in expected)
    assert row["fraction"] == row["significant"] / 10


def test_the_needed_difference_is_just_significant(scores):
    rows = rd.significance(scores, correction="none", test="t", alpha=0.1).discriminative_power().to_polars()
    for row in rows.iter_rows(named=True):
        one, other = (scores.of(row["measure"])["abcde".index(row[name])] for name in "ab")
        apart = one - other
        assert stats.ttest_1samp(apart - apart.mean() + row["needed"], 0).pvalue == pytest.approx(0.1)
    summary = rd.significance(scores, correction="none", test="t", alpha=0.1).discriminative_power().summary()
    assert summary["needed_by_all"][0] == rows.filter(measure="P@5")["needed"].max()
