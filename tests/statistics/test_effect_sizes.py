"""Effect sizes by hand, their small-sample correction, and what stands in for infinite ones."""

import numpy as np
import pytest
from scipy import special, stats

import rankdev as rd
from rankdev.statistics._effect_sizes import small_sample


def effects_of(apart):
    values = np.stack([0.5 + np.asarray(apart), np.full(len(apart), 0.5)])[:, :, None]
    scores = rd.Scores(("a", "b"), tuple(map(str, range(len(apart)))), ("P@5",), values)
    return rd.significance(scores).effect_sizes().row(0, named=True)


def test_the_correction_is_that_of_hedges():
    """J = Γ(m/2) ÷ (√(m/2) Γ((m − 1)/2)), m = n − 1."""
    for n in (5, 10, 40):
        m = n - 1
        exact = np.exp(special.gammaln(m / 2) - special.gammaln((m - 1) / 2)) / np.sqrt(m / 2)
        assert small_sample(n) == pytest.approx(exact, rel=2e-2 if n == 5 else 1e-3)


def test_effects_by_hand():
    apart = np.random.default_rng(1).normal(0.1, 0.2, 30)
    found = effects_of(apart)
    effect = apart.mean() / apart.std(ddof=1)
    score = (apart - apart.mean()) / apart.std(ddof=1)
    variance = 1 - (score**3).mean() * effect + effect**2 * ((score**4).mean() - 1) / 4
    reach = stats.t.ppf(0.975, 29) * np.sqrt(variance / 30)
    middle = (1 - 3 / 115) * effect
    assert found["effect"] == pytest.approx(effect)
    assert (found["corrected"], found["low"], found["high"]) == pytest.approx((middle, middle - reach, middle + reach))
    won = int((apart > 0).sum())
    expected = stats.binomtest(won, 30).proportion_ci(method="exact")
    assert (found["won"], found["won_low"], found["won_high"]) == pytest.approx((won / 30, *expected))


def test_an_infinite_effect_leaves_the_queries_won():
    found = effects_of(np.full(12, 0.25))
    assert (found["effect"], found["low"], found["high"]) == (np.inf, None, None)
    assert (found["won"], found["won_low"], found["won_high"]) == (1.0, pytest.approx(0.025 ** (1 / 12)), 1.0)


def test_equal_systems_have_an_effect_of_0_and_no_interval():
    found = effects_of(np.zeros(12))
    assert (found["effect"], found["corrected"], found["low"], found["won"]) == (0.0, 0.0, None, None)
