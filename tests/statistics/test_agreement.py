import numpy as np
import pytest
from scipy import stats

from rankdev.errors import DataError, UsageError
from rankdev.evaluation.scores import Scores
from rankdev.statistics.agreement import agreement, tau_ap, tau_b
from tests.raising import noted, raises, warns


@pytest.mark.parametrize("systems", [2, 3, 64, 65])
def test_rank_correlations_of_many_rows(rng, systems):
    left, right = rng.integers(0, 40, (3, systems)).astype(float), rng.integers(0, 40, (2, systems)).astype(float)
    tau, ap = tau_b(left[:, None], right[None]), tau_ap(left[:, None], right[None])
    for i, one in enumerate(left):
        for j, other in enumerate(right):
            assert tau[i, j] == pytest.approx(stats.kendalltau(one, other).statistic, nan_ok=True)
            assert ap[i, j] == pytest.approx(plain_tau_ap(one, other), nan_ok=True)


def plain_tau_ap(estimate, truth):
    fractions = []
    for own, true in zip(estimate, truth, strict=True):
        above = truth[estimate > own]
        if len(above):
            fractions.append(np.where(above == true, 0.5, above > true).mean())
    return 2 * np.mean(fractions) - 1 if fractions and np.ptp(truth) else np.nan


def test_values_within_the_tolerance_are_tied():
    assert tau_b(np.array([0.0, 1.0, 9.0]), np.array([1.0, 0.0, 9.0]), tolerance=1.0) == 1.0


def test_correlations_agree_with_scipy_on_the_queries_that_both_measures_have(make_scores, rng):
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


def test_pooling_joins_the_queries_whatever_the_order_of_systems(make_scores, rng):
    whole = make_scores(rng.random((3, 14, 2)))
    parts = {"x": whole.select(queries=slice(0, 5)), "y": whole.select(["s2", "s0", "s1"], queries=slice(5, 14))}
    pooled, expected = agreement(Scores.pooled(parts)).to_polars(), agreement(whole).to_polars()
    assert pooled["tau"][0] == expected["tau"][0]
    assert pooled["r"][0] == pytest.approx(expected["r"][0])


def test_constant_means_have_no_correlation(make_scores, rng):
    values = rng.random((3, 4, 2))
    values[:, :, 1] = 0.1
    found = agreement(make_scores(values))
    assert found.to_polars().select("tau", "r").row(0) == (None, None)
    noted(found.remarks, "equal-means", measures=("m1",))


def test_wrong_calls_are_refused(make_scores, rng):
    scores = make_scores(rng.random((3, 4, 2)))
    with raises("too-few", UsageError, unit="measure", count=1):
        agreement(scores, measures=["m0"])
    with raises("none-given", UsageError, what="collections"):
        agreement({})
    with raises("unlike-collection", DataError, collection="y"):
        agreement({"x": scores, "y": make_scores(rng.random((3, 4, 3)))})


@pytest.mark.parametrize("clustered", [False, True])
def test_the_interval_of_tau_by_hand(make_scores, clustered):
    """τ ± the larger of its distances to the quantiles over resampled queries, or clusters of two, cut at 1."""
    rng = np.random.default_rng(4)
    values = rng.normal(0, 1, (5, 60, 1)) + np.arange(5)[:, None, None] * 0.3 + rng.normal(0, 0.5, (5, 60, 2))
    scores = make_scores(values)
    members = np.arange(60) // (2 if clustered else 1)
    clusters = dict(zip(scores.queries, members.tolist(), strict=True)) if clustered else None
    found = agreement(scores, resamples=100, clusters=clusters, seed=3)
    row = found.to_polars().row(0, named=True)
    draws = np.random.Generator(np.random.Philox(np.random.SeedSequence([3, members.max() + 1])))
    taus = []
    for _ in range(100):
        weights = draws.multinomial(members.max() + 1, np.full(members.max() + 1, 1 / (members.max() + 1)))[members]
        one, other = (np.repeat(values[:, :, m], weights, axis=1).mean(axis=1) for m in range(2))
        taus.append(stats.kendalltau(one, other).statistic)
    low, high = np.quantile(taus, [0.025, 0.975])
    half = max(row["tau"] - low, high - row["tau"])
    limits = pytest.approx(row["tau"] - half), pytest.approx(min(1, row["tau"] + half))
    assert (row["tau_low"], row["tau_high"]) == limits
    a, b = scores.means.T
    assert found.summary()["tau_ap"][0] == pytest.approx((tau_ap(a, b) + tau_ap(b, a)) / 2)
    assert agreement(scores).summary().columns == ["dataset", "a", "b", "tau", "r", "tau_ap"]
