import numpy as np
import pytest
from scipy import stats

from rankdev.errors import DataError, UsageError
from rankdev.evaluation.scores import Scores
from rankdev.statistics.agreement import agreement
from rankdev.statistics.rank_correlation import tau_ap, tau_b, tau_limits
from tests.raising import kinds, raises, warns


@pytest.fixture
def rng():
    return np.random.default_rng(1)


def test_correlations_agree_with_scipy(make_scores, rng):
    scores = make_scores(rng.random((6, 10, 3)))
    means = scores.values.mean(axis=1)
    for _, a, b, tau, r in agreement(scores).to_polars().iter_rows():
        x, y = means[:, int(a[1])], means[:, int(b[1])]
        assert tau == pytest.approx(stats.kendalltau(x, y).statistic)
        assert r == pytest.approx(stats.pearsonr(x, y).statistic)


def test_one_row_a_data_set_and_pair(make_scores, rng):
    parts = {"x": make_scores(rng.random((3, 5, 3))), "y": make_scores(rng.random((3, 9, 3)))}
    found = agreement(parts)
    assert found.to_polars()["dataset"].to_list() == ["x"] * 3 + ["y"] * 3
    assert found.to_polars().columns == ["dataset", "a", "b", "tau", "r"]
    assert len(found.to_pandas()) == 6


def test_pooling_joins_the_queries_whatever_the_order_of_systems(make_scores, rng):
    values = rng.random((3, 14, 2))
    whole = make_scores(values)
    parts = {
        "x": whole.select(queries=slice(0, 5)),
        "y": whole.select(["s2", "s0", "s1"], queries=slice(5, 14)),
    }
    pooled, expected = agreement(Scores.pooled(parts)).to_polars(), agreement(whole).to_polars()
    assert pooled["tau"][0] == expected["tau"][0]
    assert pooled["r"][0] == pytest.approx(expected["r"][0])


def test_constant_means_have_no_correlation(make_scores, rng):
    values = rng.random((3, 4, 2))
    values[:, :, 1] = 0.1
    assert agreement(make_scores(values)).to_polars().select("tau", "r").row(0) == (None, None)


def test_only_queries_that_all_systems_have_count(make_scores, rng):
    values = rng.random((3, 8, 2))
    gaps = values.copy()
    gaps[0, 0, 0] = np.nan
    with warns("gaps", gaps=(("m0", 1),), queries=8):
        found = agreement(make_scores(gaps))
    means = [values[:, 1:, 0].mean(axis=1), values[:, 1:, 1].mean(axis=1)]
    assert found.r[0, 0, 1] == pytest.approx(np.corrcoef(means)[0, 1])


def test_wrong_calls_are_refused(make_scores, rng):
    scores = make_scores(rng.random((3, 4, 2)))
    with raises("too-few", UsageError, unit="measure", count=1):
        agreement(scores, measures=["m0"])
    with raises("none-given", UsageError, what="collections"):
        agreement({})
    with raises("unlike-collection", DataError, collection="y"):
        agreement({"x": scores, "y": make_scores(rng.random((3, 4, 3)))})
    with raises("unlike-collection", DataError, collection="y"):
        Scores.pooled({"x": scores, "y": make_scores(rng.random((2, 4, 2)))})


def test_measures_with_gaps_are_compared_on_the_queries_that_both_have(make_scores, rng):
    values = rng.random((5, 30, 4))
    values[2, :10, 1] = np.nan
    values[3, 20:, 2] = np.nan
    values[0, 5:, 3] = np.nan
    with warns("gaps"):
        found = agreement(make_scores(values))
    for a in range(4):
        for b in range(4):
            common = ~np.isnan(values[:, :, [a, b]]).any(axis=(0, 2))
            one, other = (values[:, common, m].mean(axis=1) for m in (a, b)) if common.any() else ([np.nan] * 5,) * 2
            assert found.tau[0, a, b] == pytest.approx(stats.kendalltau(one, other).statistic, nan_ok=True)
            assert found.r[0, a, b] == pytest.approx(np.corrcoef(one, other)[0, 1], nan_ok=True)
    assert np.isnan(found.tau[0, 1, 3])  # no query has both


def test_tau_ap_and_intervals_over_queries():
    rng = np.random.default_rng(4)
    values = rng.normal(0, 1, (5, 60, 1)) + np.arange(5)[:, None, None] * 0.4 + rng.normal(0, 0.3, (5, 60, 2))
    scores = Scores(tuple("abcde"), tuple(f"q{i}" for i in range(60)), ("P@1", "P@2"), values)
    found = agreement(scores, resamples=100)
    row = found.summary().row(0, named=True)
    a, b = scores.means.T
    assert row["tau_ap"] == pytest.approx((tau_ap(a, b) + tau_ap(b, a)) / 2)
    assert row["low"] <= row["tau"] <= row["high"]
    assert agreement(scores, resamples=100).summary().equals(found.summary())
    assert row["tau_ap_low"] <= row["tau_ap"] <= row["tau_ap_high"]
    assert "tau, 95%" in str(found)
    assert agreement(scores).summary().columns == ["dataset", "a", "b", "tau", "r", "tau_ap"]


def test_the_same_order_stays_possible_until_two_systems_are_clearly_swapped():
    """Twelve near-equal systems: their means disagree by chance, and a bootstrap of them would exclude a τ of 1."""
    rng = np.random.default_rng(2)
    one = np.linspace(0, 0.6, 12)
    same, swapped = one, one[[11, *range(1, 11), 0]]
    for other, n, possible in ((same, 25, True), (swapped, 400, False)):
        values = np.stack([means + rng.normal(0, 1, (n, 12)) for means in (one, other)])
        low, high = tau_limits(*values, 200, np.random.default_rng(0))
        assert bool(high[0] == 1) is possible
        assert low[0] <= tau_b(one, other) <= high[0]
    exact = [means + 1e-9 * noise for means, noise in zip((same, same), values, strict=True)]
    assert tau_limits(*exact, 50, rng)[0, 0] == 1  # hardly any noise


def test_intervals_hold_orders_that_are_nearly_the_same():
    rng = np.random.default_rng(1)
    held = 0
    for _ in range(20):
        truth = rng.multivariate_normal([0, 0], [[1, 0.99], [0.99, 1]], 60)
        noise = rng.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], (50, 60)) * 2.2
        low, high = tau_limits(truth[:, 0] + noise[..., 0], truth[:, 1] + noise[..., 1], 100, rng)[:, 0]
        held += low <= tau_b(truth[:, 0], truth[:, 1]) <= high
    assert held >= 17


def test_a_correlation_outside_its_interval_is_explained():
    """Two noisy measures of one order: few queries disagree more than infinitely many would."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        values = np.linspace(0, 1, 12)[:, None, None] + rng.normal(0, 1.5, (12, 12, 2))
        scores = Scores(tuple("abcdefghijkl"), tuple(map(str, range(12))), ("P@1", "P@2"), values)
        found = agreement(scores, resamples=200)
        row = found.summary().row(0, named=True)
        outside = not row["low"] <= row["tau"] <= row["high"]
        assert ("outside-interval" in kinds(found.remarks)) == outside
        if outside:
            return
    raise AssertionError("no such sample")
