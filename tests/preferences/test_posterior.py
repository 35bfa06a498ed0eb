"""Expectation propagation against numerical integration over all strengths, and what is learnt from all queries."""

import itertools

import numpy as np
import pytest
from scipy import integrate, stats

from rankdev.preferences.expectation_propagation import (
    Answers,
    Prior,
    _tilted_in_parts,
    chances,
    propagate,
    tilted,
)


def by_integration(answers, deviation, lapse, tie_rate, items, nodes=61):
    """Mean, covariance and log evidence by brute force: every combination of strengths on a grid."""
    x = np.linspace(-6, 6, nodes)
    mass = stats.norm.pdf(x) / stats.norm.pdf(x).sum()
    strength = np.array(list(itertools.product(x * deviation, repeat=items)))
    log_mass = np.log(np.array(list(itertools.product(mass, repeat=items)))).sum(axis=1)
    for i, j, won, lost, tied in zip(*(part[0] for part in vars(answers).values()), strict=True):
        win, loss, tie = chances(strength[:, i] - strength[:, j], lapse, tie_rate)
        log_mass += won * np.log(win) + lost * np.log(loss)
        log_mass += tied * (np.log(tie) if tie_rate else np.log(win * loss) / 2)
    weight = np.exp(log_mass - log_mass.max())
    mean = weight @ strength / weight.sum()
    off = strength - mean
    return mean, (off * weight[:, None]).T @ off / weight.sum(), np.log(weight.sum()) + log_mass.max()


def drawn_answers(rng, items, largest):
    i, j = np.triu_indices(items, 1)
    return Answers(i[None], j[None], *rng.integers(0, largest + 1, (3, 1, len(i))).astype(float))


@pytest.mark.parametrize("seed", range(6))
def test_the_posterior_is_that_of_integration(seed):
    rng = np.random.default_rng(seed)
    items = 3 + seed % 2
    answers = drawn_answers(rng, items, 2)
    deviation, lapse = rng.choice([0.3, 1.0, 2.5]), rng.choice([0.0, 0.05, 0.15])
    tie_rate = float(rng.choice([0.0, 0.5]))
    found = propagate(answers, Prior(np.zeros((1, items)), np.array([deviation]), np.array([lapse]), tie_rate))
    mean, covariance, evidence = by_integration(answers, deviation, lapse, tie_rate, items, 41 if items == 3 else 21)
    assert found.mean[0] == pytest.approx(mean, abs=0.03 * deviation)
    assert found.covariance[0] == pytest.approx(covariance, abs=0.04 * deviation**2)
    assert found.evidence[0] == pytest.approx(evidence, abs=0.03)


def test_the_evidence_of_a_consistent_judge_is_that_of_one_order_in_all():
    """Where Laplace's method fails: strengths scatter widely, and all answers agree."""
    i, j = np.triu_indices(6, 1)
    one = np.ones((1, len(i)))
    found = propagate(
        Answers(i[None], j[None], one, 0 * one, 0 * one), Prior(np.zeros((1, 6)), np.ones(1) * 60, np.zeros(1))
    )
    assert found.evidence[0] == pytest.approx(-np.log(720), abs=0.3)


def test_problems_do_not_depend_on_each_other_and_a_warm_start_ends_where_a_cold_one_does():
    rng = np.random.default_rng(0)
    wins = rng.integers(0, 3, (4, 5, 5)).astype(float)
    wins[:, np.arange(5), np.arange(5)] = 0
    wins[0, 2:] = wins[0, :, 2:] = 0  # one problem with few pairs: padded
    answers = Answers.of_wins(wins)
    prior = Prior(rng.normal(size=(4, 5)), np.array([1.0, 2.0, 3.0, 4.0]), np.zeros(4))
    together = propagate(answers, prior)
    for k in range(4):
        alone = propagate(
            Answers.of_wins(wins[k : k + 1]), Prior(prior.mean[k : k + 1], prior.deviation[k : k + 1], np.zeros(1))
        )
        assert together.mean[k] == pytest.approx(alone.mean[0], abs=1e-3)
        assert together.evidence[k] == pytest.approx(alone.evidence[0], abs=1e-3)
    warm = propagate(answers, prior, (together.precision, together.shift))
    assert warm.mean == pytest.approx(together.mean, abs=1e-3)


def test_the_evidence_of_frequent_ties_stays_a_probability():
    rng, (i, j), problems = np.random.default_rng(5), np.triu_indices(12, 1), 200
    strength = rng.normal(size=(problems, 12))
    chance = np.stack(chances(strength[:, i] - strength[:, j], 0.0, 2.0), axis=-1)
    counts = rng.multinomial(2, chance).astype(float)
    pairs = (np.tile(side, (problems, 1)) for side in (i, j))
    answers = Answers(*pairs, *np.moveaxis(counts, -1, 0))
    wide = Prior(np.zeros((problems, 12)), np.full(problems, 25.0), np.full(problems, 0.05), 0.5)
    found = propagate(answers, wide, sweeps=8, tolerance=1e-3)
    assert (found.evidence < 0).all()
    assert found.evidence.min() > 2 * np.median(found.evidence)


def test_one_difference_is_integrated_whatever_its_scale():
    rng = np.random.default_rng(1)
    centre, variance = rng.normal(0, 10, (1, 200)), 10 ** rng.uniform(-2, 3, (1, 200))
    number = rng.choice([1, 3, 30], (1, 200))
    won = rng.binomial(number, rng.random((1, 200))).astype(float)
    log_mass, mean, *_ = tilted(centre, variance, won, number - won, 0 * won, 0 * won, 0.0)
    for k in range(200):
        around = mean[0, k]
        wide = 8 * np.sqrt(variance[0, k])
        x = np.unique(np.concatenate([np.linspace(-wide, wide, 8_001), np.linspace(-6, 6, 4_001)])) + around
        log_p = won[0, k] * -np.logaddexp(0, -x) - (number - won)[0, k] * np.logaddexp(0, x)
        log_p += stats.norm.logpdf(x, centre[0, k], np.sqrt(variance[0, k]))
        whole = integrate.trapezoid(np.exp(log_p - log_p.max()), x)
        assert log_mass[0, k] == pytest.approx(np.log(whole) + log_p.max(), abs=0.01)


def test_narrow_differences_are_integrated_as_well_with_fewer_nodes():
    rng = np.random.default_rng(2)
    centre, variance = rng.normal(0, 2, 500), 10 ** rng.uniform(-2, 2, 500)
    number = rng.choice([1.0, 2.0, 10.0], 500)
    won = np.round(number * rng.random(500))
    columns = centre, won, number - won, 0 * won, rng.choice([0.0, 0.1], 500)
    few = _tilted_in_parts(variance, number, columns, 0.5)
    many = tilted(centre, variance, *columns[1:], 0.5, nodes=201)
    assert few[0] == pytest.approx(many[0], abs=0.01)
    assert few[1] == pytest.approx(many[1], abs=0.02 * np.sqrt(many[2]).max())
    assert few[3] == pytest.approx(many[3], abs=0.02)
