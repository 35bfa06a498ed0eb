"""Judgments that hang together: repeated answers count once, ties are no faults, opposite answers are turned."""

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from rankdev.preferences import Preferences, strengths, tiers
from rankdev.preferences.crowd_bt import _Point, _Votes
from tests.raising import kinds

from .simulate import crowd


def test_an_answer_repeated_counts_once():
    rows = [("q", "x", "y", "ann"), ("q", "y", "z", "ann"), ("q", "z", "x", "bob"), ("q", "x", "y", "bob")]
    once, often = Preferences.from_rows(rows), Preferences.from_rows([*rows, *[rows[0]] * 5])
    assert_allclose(strengths(once).values, strengths(often).values, atol=1e-8)
    assert_allclose(strengths(once).standard_errors, strengths(often).standard_errors, rtol=1e-6)


def test_a_worker_who_always_says_equal_is_no_spammer():
    judged, _ = crowd([0.95, 0.95, 0.95], 8, 60, np.random.default_rng(0))
    table = judged.to_polars().select("query", "winner", "loser", "tie", "worker")
    shy = table.head(50).with_columns(tie=True, worker=pl.lit("shy"))
    fit = strengths(Preferences.from_table(pl.concat([table, shy])), "crowd-bt")
    assert fit.workers.to_polars().filter(worker="shy")["verdict"].item() == "unclear"
    assert fit.workers.suspects() == {"spammer": [], "inverted": []}


@pytest.mark.parametrize("seed", range(4))
def test_crowd_bt_is_where_another_optimiser_finds_the_maximum(seed):
    judged, _ = crowd([0.9, 0.8, 0.95, 0.3], 6, 50, np.random.default_rng(seed))
    fit = strengths(judged, "crowd-bt")
    votes, odds = _Votes.of(fit.preferences), np.log(1 / (1 / fit.workers.quality - 1))
    start = np.concatenate([fit.values, odds]) + 0.1
    found = minimize(lambda x: -_Point(votes, 0.1, x[:6], x[6:]).objective, start, method="BFGS", tol=1e-8)
    assert_allclose(found.x[:6] - found.x[:6].mean(), fit.values, atol=1e-4)
    assert_allclose(1 / (1 + np.exp(-found.x[6:])), fit.workers.quality, atol=1e-4)


def test_workers_who_answer_the_opposite_are_reversed_for_the_tests():
    truth = np.array([2.0, 2.0, 0.0, 0.0, -2.0, -2.0])
    rng, rows = np.random.default_rng(5), []
    for worker in range(10):
        for _ in range(60):
            a, b = rng.choice(6, 2, replace=False)
            better = rng.random() < 1 / (1 + np.exp(truth[b] - truth[a]))
            a, b = (a, b) if better == (worker < 8) else (b, a)  # two of ten say the opposite
            rows.append(("q", f"d{a}", f"d{b}", f"w{worker}"))
    judged = Preferences.from_rows(rows)
    fit = strengths(judged, "crowd-bt")
    reversed_ = fit.inference_fit.preferences.winner != judged.winner
    assert {f"w{k}" for k in np.unique(judged.worker[reversed_])} == {"w8", "w9"}
    assert min(tiers(fit).separated["q"]) > min(tiers(strengths(judged), rule="strict").separated["q"])
    random = [(q, *(pair if rng.random() < 0.5 else pair[::-1]), w) for q, *pair, w in rows]
    noise = strengths(Preferences.from_rows(random), "crowd-bt")
    assert (noise.inference_fit.preferences.winner == noise.preferences.winner).all()


def test_crowd_bt_is_never_more_certain_than_bradley_terry():
    """Qualities fitted to random answers make Crowd-BT's own errors up to four times too small."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        rows = [("q", *(f"d{k}" for k in rng.choice(4, 2, replace=False)), f"w{n % 3}") for n in range(45)]
        judged = Preferences.from_rows(rows)
        fit, simple = strengths(judged, "crowd-bt"), strengths(judged)
        assert (fit.inference_fit.preferences.winner == judged.winner).all()
        assert (fit.standard_errors >= simple.standard_errors * (1 - 1e-9)).all()
        assert tiers(fit).coin_flips == pytest.approx(tiers(simple).coin_flips)


@pytest.mark.parametrize(("workers", "given"), [(1, True), (2, False), (4, False), (5, True)])
def test_intervals_by_worker_need_five_workers(workers, given):
    rng = np.random.default_rng(2)
    rows = [("q", *(f"d{k}" for k in rng.choice(4, 2, replace=False)), f"w{n % workers}") for n in range(60)]
    fit = strengths(Preferences.from_rows(rows))
    assert fit.to_polars()["low"].is_null().any() != given
    assert kinds(fit.remarks) == ([] if given else ["few-workers"])


def test_unanimous_workers_are_no_more_certain_than_as_many_judgments():
    """The workers differ by nothing; that is no reason for a narrow interval (the exact test of five: p = .06)."""
    rows = [("q", "x", "y", f"w{k}") for k in range(5)]
    (_, _, _, low, high, _), _ = strengths(Preferences.from_rows(rows)).to_polars().rows()
    assert low < 0
    assert high is None


def test_where_the_likelihood_has_no_maximum_the_interval_has_one_end():
    rows = [("q", "a", "b"), ("q", "b", "c"), ("q", "c", "b"), ("q", "c", "d")]
    fit = strengths(Preferences.from_rows(rows))
    limits = {item: (low, high) for item, low, high in fit.to_polars()[:, [1, 3, 4]].rows()}
    assert f"[–, {limits['d'][1]:.3f}]" in str(fit)
    known = [tuple(end is not None for end in limits[item]) for item in "abcd"]
    assert known == [(True, False), (False, False), (False, False), (False, True)]
    whole = strengths(Preferences.from_rows([*rows, ("q", "d", "a")])).to_polars()
    assert whole["low"].null_count() == whole["high"].null_count() == 0
