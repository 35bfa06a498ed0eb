import numpy as np
import pytest
from scipy import stats

from rankdev.errors import DataError, UsageError
from rankdev.evaluation.scores import Scores
from rankdev.statistics.agreement import agreement
from rankdev.statistics.rank_correlation import tau_ap, tau_b, tau_between
from tests.raising import raises, warns


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


def test_tau_of_every_two_rows(rng):
    left, right = rng.integers(0, 4, (3, 6)).astype(float), rng.integers(0, 4, (2, 6)).astype(float)
    assert tau_between(left, right).tolist() == tau_b(left[:, None], right[None]).tolist()


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
    assert (row["tau_low"], row["tau_high"]) == (
        pytest.approx(row["tau"] - half),
        pytest.approx(min(1, row["tau"] + half)),
    )
    assert found.summary().columns == ["dataset", "a", "b", "tau", "r", "tau_low", "tau_high", "tau_ap"]
    a, b = scores.means.T
    assert found.summary()["tau_ap"][0] == pytest.approx((tau_ap(a, b) + tau_ap(b, a)) / 2)
    assert "tau, 95%" in str(found)
    assert agreement(scores).summary().columns == ["dataset", "a", "b", "tau", "r", "tau_ap"]
