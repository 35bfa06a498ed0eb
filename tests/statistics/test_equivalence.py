import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

import rankdev as rd
from rankdev.statistics.contrasts import Family
from rankdev.statistics.equivalence import interval


def scores_of(*systems):
    values = np.array(systems, float)[:, :, None]
    return rd.Scores(tuple("abcdef"[: len(systems)]), tuple(f"q{i}" for i in range(values.shape[1])), ("P@5",), values)


def one(apart):
    return Family(np.stack([apart, np.zeros(len(apart))], 1), np.arange(len(apart)), np.array([0]), np.array([1]))


def spread(mean, width, n=20):
    """Symmetric differences with a given mean."""
    return mean + width * np.linspace(-1, 1, n)


def test_symmetric_differences_get_students_interval():
    apart = spread(0.1, 0.3)
    expected = stats.ttest_1samp(apart, 0).confidence_interval(0.9)
    assert_allclose(np.ravel(interval(one(apart), 0.1)), expected, rtol=1e-9)


@pytest.mark.parametrize("level", [0.1, 0.05])
def test_skewed_differences_get_the_outer_ends_of_students_and_halls(level):
    apart = np.random.default_rng(3).exponential(1, 12)
    low, high = (float(end[0]) for end in interval(one(apart), level))
    t_low, t_high = stats.ttest_1samp(apart, 0).confidence_interval(1 - level)
    assert low == pytest.approx(t_low)  # a long right tail moves the upper end only
    assert high > t_high
    # the end solves Hall's cubic: the corrected t is the critical value
    n, s = len(apart), apart.std()
    g = stats.skew(apart) * (1 + 8 / n)
    t = (apart.mean() - high) / (s * np.sqrt(n / (n - 1)))
    corrected = np.sqrt(n) * (t + g * t**2 / 3 + g**2 * t**3 / 27 + g / (6 * n))
    assert corrected == pytest.approx(-stats.t.ppf(1 - level / 2, n - 1))


@pytest.mark.parametrize(
    ("mean", "width", "verdict"),
    [
        (0.0, 0.01, "same"),
        (0.005, 0.005, "same"),  # a difference that is there, and does not matter
        (0.1, 0.05, "better"),
        (-0.1, 0.05, "worse"),
        (0.0, 1.0, "undecided"),
    ],
)
def test_verdicts_and_the_interval_that_decides(mean, width, verdict):
    found = rd.equivalence(scores_of(spread(mean, width), np.zeros(20)), margin=0.02)
    row = found.to_polars().row(0, named=True)
    assert list(row) == ["measure", "a", "b", "difference", "low", "high", "verdict"]
    assert row["verdict"] == verdict
    confidence = 0.9 if verdict == "same" else 0.95
    assert_allclose(
        (row["low"], row["high"]),
        stats.ttest_1samp(spread(mean, width), 0).confidence_interval(confidence),
        rtol=1e-9,
        atol=1e-12,
    )
    inside = row["low"] > -0.02 and row["high"] < 0.02
    assert {"same": inside, "better": row["low"] > 0, "worse": row["high"] < 0}.get(verdict, True)


def test_non_inferiority():
    found = rd.equivalence(scores_of(spread(0.02, 0.05), np.zeros(20)), margin=0.02)
    assert found.noninferiority().row(0, named=True)["a_no_worse"]
    assert not found.noninferiority().row(0, named=True)["b_no_worse"]


def test_bonferroni_divides_alpha_among_the_pairs():
    scores = scores_of(spread(0.0, 0.3), spread(0.01, 0.2)[::-1], np.zeros(20))
    corrected = rd.equivalence(scores, margin=0.02, alpha=0.06).to_polars()
    plain = rd.equivalence(scores, margin=0.02, alpha=0.02, correction="none").to_polars()
    assert corrected.equals(plain)
    against = rd.equivalence(scores, margin=0.02, baselines="c").to_polars()
    assert against.select("a", "b").rows() == [("a", "c"), ("b", "c")]


def test_equal_scores_are_the_same_from_so_many_queries_on_that_unseen_differences_stay_below_the_margin():
    """(1 − .05)^58 > .05 ≥ (1 − .05)^59: so many queries miss differences of 1 that 5% of queries have."""
    for n, verdict in ((4, "undecided"), (58, "undecided"), (59, "same")):
        flat = scores_of(np.full(n, 0.5), np.full(n, 0.5))
        if verdict == "undecided":
            with pytest.warns(
                rd.RankdevWarning, match=f"same difference on all {n} queries.*; 59 such queries would be enough"
            ):
                assert rd.equivalence(flat, margin=0.05).to_polars()["verdict"][0] == verdict
        else:
            assert rd.equivalence(flat, margin=0.05).to_polars()["verdict"][0] == verdict


@pytest.mark.parametrize("margin", [0, -1, "x", None, float("nan"), True])
def test_margins_are_positive_numbers(margin):
    with pytest.raises(rd.UsageError, match="margin must be a number above 0"):
        rd.equivalence(scores_of([0.1, 0.2], [0.2, 0.1]), margin=margin)
