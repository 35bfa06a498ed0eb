import numpy as np
import pytest
from scipy import stats

from rankdev.errors import UsageError
from rankdev.statistics.flips import draw, stream_keys
from rankdev.statistics.stability import Stability, stability
from tests.common.memory import peak
from tests.raising import noted, raises


def test_stability_agrees_with_a_plain_loop(make_scores, rng):
    values = np.rint(rng.random((5, 40, 2)) * 3) / 3  # thirds: equal means happen, and must tie
    found = stability(make_scores(values), sizes=[6, 20], subsamples=15, seed=3)
    for m in range(2):
        thirds = np.rint(values[:, :, m] * 3)
        for i, n in enumerate((6, 20)):
            picks = draw(stream_keys(3, n, 15)[:, 0], 40, n)
            taus = [stats.kendalltau(thirds[:, pick].sum(axis=1), thirds.sum(axis=1)).statistic for pick in picks]
            assert found.tau[m, i] == pytest.approx(np.mean(np.nan_to_num(taus)))
    assert found.to_polars().row(3)[:3] == ("m1", 20, found.tau[1, 1])


def test_summary_by_hand():
    tau = np.array([[0.5, 0.7, 0.9], [0.1, 0.2, 0.3]])
    split = np.array([[0.2, 0.8, np.nan], [0.0, 0.1, np.nan]])
    found = Stability(measures=("m", "l"), sizes=(25, 100, 200), tau=tau, split=split, subsamples=300, seed=0)
    summary = found.summary()
    assert summary.columns[:6] == ["measure", "tau_25", "tau_100", "tau_200", "auc", "n_at_0.8"]
    # (.5 + .7)/2 × 75 + (.7 + .9)/2 × 100 = 125, over 175
    assert summary.row(0)[:6] == ("m", 0.5, 0.7, 0.9, pytest.approx(125 / 175), 200.0)
    assert summary.row(0)[6:] == (0.2, 0.8, None, 100.0)
    assert summary.row(1)[5] == summary.row(1)[-1] == np.inf
    assert found.summary(at=[100]).columns[1] == "tau_100"
    with raises("not-a-choice", UsageError, value=50, known=(25, 100, 200)):
        found.summary(at=[50])


def test_subsamples_in_which_all_systems_tie_count_as_no_agreement(make_scores):
    # one query of two tells the systems apart: a subsample of 2 of 4 has it in half of the cases
    values = np.array([[0.0, 0, 0, 0], [1, 0, 0, 0], [2, 0, 0, 0]])
    assert stability(make_scores(values), sizes=[2], subsamples=2000).tau[0, 0] == pytest.approx(0.5, abs=0.05)
    equal = stability(make_scores(np.full((3, 20), 0.1)), sizes=[5], subsamples=4)  # they have no order at all
    assert equal.to_polars()["tau"][0] is None
    noted(equal.remarks, "equal-means", measures=("m0",))


def test_split_halves_agree_with_a_plain_loop(make_scores, rng):
    values = rng.random((5, 40)) + np.linspace(0, 0.5, 5)[:, None]
    found = stability(make_scores(values), sizes=[6], subsamples=15, seed=3)
    keys, taus = stream_keys(3, 12, 15), []
    for one, other in keys:
        both, first = draw(np.array([one]), 40, 12)[0], draw(np.array([other]), 12, 6)[0]
        rest = np.setdiff1d(np.arange(12), first)
        taus.append(stats.kendalltau(*(values[:, both[part]].mean(axis=1) for part in (first, rest))).statistic)
    assert found.split[0, 0] == pytest.approx(np.mean(taus))


def test_equal_systems_seem_stable_but_split_halves_know_better(make_scores, rng):
    found = stability(make_scores(rng.random((8, 200))), sizes=[25, 100, 190], subsamples=100)
    row = found.summary().row(0, named=True)
    assert row["n_at_0.8"] == 190
    assert row["split_at_0.8"] == np.inf
    assert found.split[0, 0] < 0.2
    assert np.isnan(found.split[0, 2])


def test_memory_does_not_grow_with_the_square_of_queries(make_scores):
    values = np.random.default_rng(0).random((2, 40_000))
    assert peak(lambda: stability(make_scores(values), sizes=[25], subsamples=2)) < 60  # 500 as tables
