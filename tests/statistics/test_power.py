from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import optimize, stats

from rankdev.errors import DataError, UsageError
from rankdev.statistics.flips import most_extremes
from rankdev.statistics.planning import plan
from rankdev.statistics.power import Power, power
from rankdev.statistics.t_power import effect_limits, t_power
from tests.raising import kinds, noted, raises, warns
from tests.statistics.plain import all_extremes

TAILS = (0.975, 0.025)
OPTIONS = {"subsamples": 300, "permutations": 1000, "alpha": 0.05, "p_value": "plus-one", "seed": 0, "complete": True}


def test_power_is_the_share_of_rejections_counted_one_by_one(make_scores, rng):
    values = [[Fraction(int(x), 5) for x in rng.integers(0, 6, 40) + shift] for shift in (0, 1, 2)]
    found = power(make_scores(np.array(values, dtype=float)), sizes=[10, 25], subsamples=6, permutations=99, seed=4)
    for i, n in enumerate((10, 25)):
        counts = all_extremes(values, n, seed=4, subsamples=6, permutations=99)
        assert np.array_equal(found.power[0, :, i], ((counts + 1) / 100 <= 0.05).mean(axis=0))


def test_the_most_extremes_that_reject():
    assert most_extremes(999, 0.05, "plus-one") == 49  # 50/1000
    assert most_extremes(100, 0.05, "paper") == 5
    assert most_extremes(10, 0.05, "plus-one") == -1  # 1/11 is more than .05
    for permutations, alpha, most in ((100, 0.29, 29), (100, 0.57, 57), (1000, 0.001, 1)):
        assert most_extremes(permutations, alpha, "paper") == most  # .29 × 100 is 28.999999999999996 in floats
        assert most_extremes(permutations - 1, alpha, "plus-one") == most - 1
    with raises("not-a-choice", UsageError, name="p_value", value="x"):
        most_extremes(10, 0.05, "x")


def test_percentiles_n80_and_verdicts_by_hand():
    """Power of two measures for the 6 pairs of 4 systems at two sizes."""
    curves = np.array(
        [
            [[0.1, 0.8], [0.2, 0.9], [0.3, 0.7], [0.8, 1.0], [0.0, 0.1], [0.5, 0.9]],
            [[0.0, 0.9], [0.0, 0.9], [0.0, 0.9], *[[0.0, 0.1]] * 3],
        ]
    )
    rejected = np.array([[True, True, True, False, False, True], [True, True, False, False, False, False]])
    names = {"systems": tuple("abcd"), "measures": ("m", "l"), "sizes": (25, 100)}
    more = {"limits": np.stack([curves, curves]), "replaced": curves}
    hand_made = Power(**names, power=curves, rejected=rejected, queries=(200, 200), **more, **OPTIONS)
    first, second = hand_made.summary(n=100).rows()
    # at n = 100: .1 .7 .8 .9 .9 1.0, so p50 = (.8 + .9)/2 and p10 lies halfway between the first two
    assert first[:4] == ("m", pytest.approx(0.4), pytest.approx(0.85), pytest.approx(0.95))
    # N80: 100, 100, ∞, 25, ∞, 100: the middle two of the sorted values are 100 and 100
    assert first[4] == 100
    assert second[4] == np.inf  # the middle two are 100 and ∞
    assert hand_made.verdicts() == {"pairs": 6, "all": 2, "most": 2, "any": 4, "none": 2}
    assert hand_made.error[0, 0, 0] == pytest.approx(np.sqrt(0.1 * 0.9 / 300))
    assert [replace(hand_made, sizes=sizes).n for sizes in ((25, 50, 150), (200, 500))] == [50, 200]
    with raises("not-a-choice", UsageError, name="size", value=50, known=(25, 100)):
        hand_made.summary(n=50)


def test_sizes_above_the_pool_are_left_out_with_a_remark(make_scores, rng):
    with warns("sizes-left-out", count=30, sizes=(50,)):
        found = power(make_scores(rng.random((2, 30))), sizes=[10, 50], subsamples=3, permutations=19)
    assert found.sizes == (10,)
    assert kinds(found.remarks)[0] == "sizes-left-out"
    with raises("too-few", DataError, least=25, count=10):
        power(make_scores(rng.random((2, 10))), sizes=[25, 50])


def test_a_measure_with_gaps_has_its_own_pool(make_scores, rng):
    values = rng.random((2, 30, 2))
    values[1, :15, 1] = np.nan
    with warns("gaps", gaps=(("m1", 15),), queries=30):
        found = power(make_scores(values), sizes=[10, 20], subsamples=5, permutations=19)
    assert found.queries == (30, 15)
    assert np.isnan(found.power[1, :, 1]).all()
    assert found.to_polars()["power"].null_count() == 1
    alone = power(make_scores(values[:, 15:, 1:]), sizes=[10], subsamples=5, permutations=19)
    assert np.array_equal(found.power[1, :, :1], alone.power[0])


def test_progress_tells_the_cost_first_and_ends_complete(make_scores, rng):
    calls = []
    power(
        make_scores(rng.random((3, 30, 2))),
        sizes=[5, 10],
        subsamples=4,
        permutations=20,
        progress=lambda *call: calls.append(call),
    )
    # 3 systems × 2 measures × (5 + 10, and again 10 with replacement) queries × 4 subsamples × 20 permutations
    assert calls[0] == (0.0, 12_000.0, "72 tests, 1.2e+04 additions")
    assert calls[-1][:2] == (12_000.0, 12_000.0)


def test_an_interrupt_keeps_the_sizes_that_are_done(make_scores, rng):
    scores = make_scores(rng.random((2, 60)))

    def stop_at(size):
        def progress(done, total, note):
            if note == f"n = {size}":
                raise KeyboardInterrupt

        return progress

    found = power(scores, sizes=[10, 20, 30], subsamples=5, progress=stop_at(30))
    assert (found.sizes, found.complete) == ((10, 20), False)
    noted(found.remarks, "interrupted")
    whole = power(scores, sizes=[10, 20, 30], subsamples=5)
    assert whole.complete
    assert np.array_equal(found.power, whole.power[:, :, :2])
    with pytest.raises(KeyboardInterrupt):
        power(scores, sizes=[10, 20], subsamples=5, progress=stop_at(10))


def test_new_queries_repeat_and_may_be_more_than_the_pool(make_scores):
    rng = np.random.default_rng(3)
    scores = make_scores(rng.normal(0, 1, (2, 40)) + np.array([[0], [0.4]]))
    found = power(scores, sizes=[30, 80], subsamples=50, permutations=99, replacement=True)
    assert np.isfinite(found.limits).all()
    assert np.isnan(found.replaced).all()
    assert found.sizes == (30, 80)
    assert kinds(found.remarks) in ([], ["beyond-sizes"])
    same = power(scores, sizes=[30], subsamples=50, permutations=99)
    assert found.power[0, 0, 0] != same.power[0, 0, 0]
    assert np.array_equal(found.rejected, same.rejected)
    with raises("not-a-flag", UsageError, name="replacement"):
        power(scores, sizes=[30], replacement="old")


def test_small_pools_have_small_sizes(make_scores, rng):
    """A track of 43 queries gets more than the one point of the paper's grid; 400 queries keep that grid."""
    values = rng.random((2, 43)) + np.array([[0.0], [2.0]])
    found = power(make_scores(values), subsamples=3, permutations=99)
    assert found.sizes == (5, 10, 15, 20, 25, 30, 40)
    with warns("sizes-left-out", count=120):
        assert power(make_scores(rng.random((2, 120))), subsamples=3, permutations=19).sizes == (25, 50, 75, 100)


def test_the_smallest_size_is_said_to_be_an_upper_bound(make_scores, rng):
    values = rng.random((2, 43)) + np.array([[0.0], [2.0]])
    found = power(make_scores(values), sizes=[10, 20], subsamples=3, permutations=99)
    noted(found.remarks, "smallest-size", name="n80", measures=("m0",), size=10)
    none = power(make_scores(rng.random((2, 43))), sizes=[8, 10], subsamples=9, permutations=99).remarks
    noted(none, "beyond-sizes", measures=("m0",), size=10, unit="query")
    assert kinds(none) == ["beyond-sizes"]


def test_five_queries_cannot_reject_and_plans_agree(make_scores, rng):
    # 2 of the 32 flips of 5 queries are as extreme as anything can be: p ≥ .0625
    scores = make_scores(rng.random((3, 60)) + np.array([[0], [3], [6]]))
    found = power(scores, sizes=[5, 6], subsamples=30, permutations=1000)
    assert not found.power[:, :, 0].any()
    assert not found.limits[..., 0].any()
    assert (found.power[:, :, 1] == 1).all()
    noted(found.remarks, "cannot-reject", size=5, alpha=0.05, unit="query")
    assert t_power(5, 100.0, 0.05) == 0
    assert plan(scores, "s0", "s2", "m0", difference=3.0).low >= 6


def test_the_interval_of_a_pair_is_that_of_its_effect(make_scores, rng):
    """Limits of the noncentral t-distribution, turned into power; no estimate stretches them."""
    values = rng.normal(0, 1, (2, 80)) + np.array([[0.3], [0.0]])
    found = power(make_scores(values), sizes=[25], subsamples=20, permutations=99)
    apart = values[0] - values[1]
    t = stats.ttest_1samp(apart, 0).statistic
    ends = [optimize.brentq(lambda shift, tail=tail: stats.nct.cdf(t, 79, shift) - tail, -5, 15) for tail in TAILS]
    expected = [t_power(25, max(0.0, end) / np.sqrt(80), 0.05) for end in ends]
    assert found.limits[:, 0, 0, 0] == pytest.approx(expected, abs=1e-4)
    assert str(found).splitlines()[4].split()[1:3] == ["power", "95%"]
    same = power(make_scores([values[0], values[0]]), sizes=[25], subsamples=20, permutations=99)
    assert same.limits[:, 0, 0, 0].tolist() == [0, 1]  # nothing is known


def test_many_effects_are_interpolated():
    effects = np.linspace(-2, 3, 1000)
    for many, few in zip(effect_limits(effects, 50), effect_limits(effects[::100], 50), strict=True):
        assert many[::100] == pytest.approx(few, abs=1e-4)


def test_above_a_quarter_of_the_queries_power_with_replacement_is_beside(make_scores, rng):
    scores = make_scores(rng.normal(0, 1, (2, 80)) + np.array([[0.3], [0.0]]))
    options = {"subsamples": 50, "permutations": 99}
    found = power(scores, sizes=[20, 40], **options)
    noted(found.remarks, "large-share", size=40, count=80, unit="query")
    assert np.isnan(found.replaced[..., 0]).all()
    assert found.replaced[0, 0, 1] == power(scores, sizes=[40], replacement=True, **options).power[0, 0, 0]
    assert "replaced" in str(found)
    assert "large-share" not in kinds(power(scores, sizes=[20], **options).remarks)
