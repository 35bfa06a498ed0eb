import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

import rankdev as rd
from rankdev import results
from rankdev.statistics.meta_analysis import combine, reml
from tests.raising import noted, raises, warns

# trials of the BCG vaccine (Colditz et al. 1994): cases and others with vaccine, cases and others without
BCG = np.array(
    [
        *([4, 119, 11, 128], [6, 300, 29, 274], [3, 228, 11, 209], [62, 13536, 248, 12619], [33, 5036, 47, 5761]),
        *([180, 1361, 372, 1079], [8, 2537, 10, 619], [505, 87886, 499, 87892], [29, 7470, 45, 7232]),
        *([17, 1699, 65, 1600], [186, 50448, 141, 27197], [5, 2493, 3, 2338], [27, 16886, 29, 17825]),
    ],
    float,
)


def bcg():
    """Log relative risks and their variances."""
    a, b, c, d = BCG.T
    mean = np.log(a / (a + b)) - np.log(c / (c + d))
    return mean[:, None], (1 / a - 1 / (a + b) + 1 / c - 1 / (c + d))[:, None]


def test_the_numbers_that_metafor_prints():
    """rma(yi, vi, data=dat, test="knha") of the R package metafor; here the mean has other weights."""
    mean, variance = bcg()
    found = combine(mean, variance)
    assert found.tau2[0] == pytest.approx(0.3132, abs=5e-5)
    assert found.i2[0] == pytest.approx(0.9222, abs=5e-5)
    assert found.q[0] == pytest.approx(152.2330, abs=5e-5)
    weight = 1 / (variance + found.tau2)
    weight /= weight.sum()
    middle = (weight * mean).sum()
    error = np.sqrt((weight * (mean - middle) ** 2).sum() / 12)
    assert (middle, error) == (pytest.approx(-0.7145, abs=5e-5), pytest.approx(0.1808, abs=5e-5))
    assert found.mean[0] == pytest.approx(middle, abs=0.1 * error)
    assert found.error[0] == pytest.approx(error, rel=0.05)
    assert 9 < found.freedom[0] < 12


def test_a_large_collection_does_not_decide_alone():
    """By chance τ² is estimated as 0 here; the weights are those of what it may be."""
    variance = np.array([1 / 50] * 4 + [1 / 7000])[:, None]
    found = combine(np.array([0.05, -0.1, 0.02, 0.08, 0.04])[:, None], variance)
    assert found.tau2[0] == 0
    assert found.weight[4, 0] < 0.6
    assert found.p[0] > 0.1


def likelihood(mean, variance, tau2):
    """Return twice the restricted log-likelihood."""
    weight = 1 / (variance + tau2)
    middle = (weight * mean).sum(axis=0) / weight.sum(axis=0)
    return np.log(weight).sum(axis=0) - np.log(weight.sum(axis=0)) - (weight * (mean - middle) ** 2).sum(axis=0)


def test_the_highest_maximum_of_the_restricted_likelihood_is_found():
    rng = np.random.default_rng(4)
    steps = np.concatenate([[0], np.geomspace(1e-6, 100, 4000)])
    several = np.array([0.0, 0.001, 3.0, 3.001, -3.0])[:, None], rng.uniform(0, 1, (40, 5, 1)) ** 6 * 4 + 1e-4
    one = rng.normal(0.2, 0.5, (5, 1)), rng.uniform(0.01, 0.3, (40, 5, 1))
    for mean, variances in (several, one):
        for variance in variances:
            best = likelihood(mean, variance, reml(mean, variance))
            assert best >= likelihood(mean, variance, steps).max() - 1e-9


def test_equal_variances_give_the_t_test_of_the_means():
    mean = np.random.default_rng(2).normal(0.3, 1, (7, 4))
    found = combine(mean, np.full((7, 4), 0.01))  # they scatter more than their variances say
    assert_allclose(found.p, stats.ttest_1samp(mean, 0).pvalue)


def test_agreement_by_chance_is_not_certainty():
    """Equal means leave Hartung and Knapp's standard error 0; Wald's is what their queries leave open."""
    found = combine(np.full((4, 1), 0.2), np.full((4, 1), 0.01))
    assert found.tau2[0] == 0
    assert found.error[0] == pytest.approx(np.sqrt(0.01 / 4))


def collections(shifts=(0.1, 0.3, 0.2), sizes=(20, 400, 50)):
    rng = np.random.default_rng(3)
    made = {}
    for i, (shift, n) in enumerate(zip(shifts, sizes, strict=True)):
        values = rng.normal(0, 1, (1, n, 1)) + rng.normal(0, 0.3, (3, n, 1)) + np.array([shift, 0, 0])[:, None, None]
        made[f"c{i}"] = rd.Scores(tuple("abc"), tuple(f"q{j}" for j in range(n)), ("P@5",), values)
    return made


@pytest.mark.filterwarnings("ignore::rankdev.errors.RankdevWarning")
def test_the_table_of_several_collections():
    found = rd.meta_analysis(collections())
    assert isinstance(found, results.MetaAnalysis)
    row = found.to_polars().row(0, named=True)
    assert (row["a"], row["b"]) == ("b", "a")
    assert row["new_low"] < row["low"] < -0.2 < row["high"] < row["new_high"]
    parts = found.by_collection().filter(a="b", b="a")
    assert parts["queries"].to_list() == [20, 400, 50]
    assert parts["weight"].sum() == pytest.approx(1)
    assert row["difference"] == pytest.approx((parts["weight"] * parts["difference"]).sum())
    one = stats.ttest_rel(*collections()["c0"].of("P@5")[1::-1]).confidence_interval()
    assert_allclose(parts.select("low", "high").row(0), one)
    rows = found.to_polars()
    clear = rows["p_adjusted"] <= 0.05
    assert (clear == ((rows["low"] > 0) | (rows["high"] < 0))).all()
    assert found.conclusion.startswith(f"Over 3 collections, {clear.sum()} of {len(rows)} pairs differ")


def test_pooling_says_that_large_collections_dominate():
    found = rd.significance(rd.Scores.pooled(collections()), test="t", correction="none")
    noted(found.remarks, "pooled", counts=(("c0", 20), ("c1", 400), ("c2", 50)))
    joined = [np.concatenate([part.of("P@5")[i] for part in collections().values()]) for i in range(2)]
    assert found.to_polars()["p"][0] == pytest.approx(stats.ttest_rel(*joined).pvalue)


def test_wrong_calls():
    several = collections()
    for options, value in (({"correction": "bonferroni"}, "bonferroni"), ({"baselines": "d"}, "d")):
        with raises("not-a-choice", rd.UsageError, value=value):
            rd.meta_analysis(several, **options)
    with raises("too-few", rd.UsageError, unit="collection", count=1):
        rd.meta_analysis({"x": several["c0"]})
    with raises("several-collections", rd.UsageError):
        rd.significance(several)
    with raises("bad-value", rd.UsageError, name="collections"):
        rd.meta_analysis(several["c0"])
    table = {"system": ["a", "b"], "query": ["q", "q"], "measure": ["P@1"] * 2, "value": [1.0, 0.0]}
    assert isinstance(rd.significance(table), results.Significance)  # by columns: one collection
    with warns("few-collections", count=3):
        rd.meta_analysis(several)


def constant(*differences):
    """Two systems that differ by the same amount on all ten queries of a collection."""
    return {
        f"c{i}": rd.Scores(
            ("a", "b"), tuple(map(str, range(10))), ("P@5",), np.array([[[0.4 + value]] * 10, [[0.4]] * 10])
        )
        for i, value in enumerate(differences)
    }


def test_collections_without_any_difference_leave_unseen_ones_open():
    row = rd.meta_analysis(constant(0, 0, 0, 0, 0)).to_polars().row(0, named=True)
    assert row["p"] == 1
    assert (row["low"], row["high"]) == (
        pytest.approx(0.025**0.02 - 1),
        pytest.approx(1 - 0.025**0.02),
    )  # of 50 queries
    assert row["q"] is None


@pytest.mark.filterwarnings("ignore::rankdev.errors.RankdevWarning")
@pytest.mark.parametrize(("shift", "count", "p"), [(0.2, 2, 0.5), (0.2, 5, 1 / 16), (0.3, 6, 1 / 32)])
def test_collections_with_one_and_the_same_difference_count_as_signs(shift, count, p):
    """Rounding apart, which made two collections certain; where p is above alpha the interval has no limits."""
    found = rd.meta_analysis(constant(*np.nextafter(shift, np.arange(count) % 2)))
    row = found.to_polars().row(0, named=True)
    assert row["p"] == p
    assert (row["low"] <= 0 <= row["high"]) == (p > 0.05)
    small = rd.meta_analysis(constant(*np.full(6, 0.0004)))
    assert small.conclusion.startswith("Over 6 collections, b − a is -0.0004 [-0.0004, -0.0004] in ")
    assert (row["new_low"], row["new_high"]) == ((-1, 1) if p > 0.05 else pytest.approx((-shift, -shift)))


def test_constant_collections_have_no_test_of_their_differences():
    with warns("constant-pairs", count=1, measure="P@5"):
        found = rd.meta_analysis(constant(0.1, 0.12, 0.11, 0.1, 0.13))
    row = found.to_polars().row(0, named=True)
    assert (row["q"], row["q_p"], row["i2"]) == (None, None, None)
    assert row["p"] == pytest.approx(stats.ttest_1samp([0.1, 0.12, 0.11, 0.1, 0.13], 0).pvalue)
    assert "I²" not in str(found)  # a column without values is left out
