"""Expectation propagation against numerical integration over all strengths, and what is learnt from all queries."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate, stats

from rankdev.preferences.expectation_propagation import (
    Answers,
    Prior,
    _tilted_in_parts,
    chances,
    propagate,
    tie_divisor,
    tilted,
)
from rankdev.preferences.posterior import Posteriors


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


def test_expected_ties_are_those_of_integration():
    answers = Answers(*np.array([[[0]], [[1]]]), *np.array([[[3.0]], [[1.0]], [[2.0]]]))
    found = propagate(answers, Prior(np.zeros((1, 2)), np.ones(1), np.zeros(1), 0.7))
    d = np.linspace(-12, 12, 20_001)
    mean = found.mean[0, 0] - found.mean[0, 1]
    spread = np.sqrt(found.covariance[0, 0, 0] + found.covariance[0, 1, 1] - 2 * found.covariance[0, 0, 1])
    expected = 6 * integrate.trapezoid(stats.norm.pdf(d, mean, spread) / (2 * np.cosh(d / 2) + 0.7), d)
    assert tie_divisor(answers, found, 0.7)[0] == pytest.approx(expected, rel=1e-3)


def consistent(posteriors, query, pairs):
    for i, j in pairs:
        posteriors.tell(query, min(i, j), max(i, j))


def test_taking_an_answer_back_undoes_it():
    given, undone = Posteriors([5]), Posteriors([5])
    for posteriors in (given, undone):
        consistent(posteriors, 0, [(0, 1), (1, 2), (2, 3), (3, 4)])
    undone.tell(0, 4, 0)
    assert undone[0].strength[4] > given[0].strength[4]
    undone.tell(0, 4, 0, times=-1)
    assert undone[0].strength == pytest.approx(given[0].strength, abs=0.02)


@pytest.mark.parametrize(("spread", "lapse", "tie_rate"), [(25.0, 0.0, 0.0), (4.0, 0.15, 0.0), (1.5, 0.0, 1.0)])
def test_samples_follow_the_posterior_where_the_answers_are_consistent(spread, lapse, tie_rate):
    """Compared with draws from the prior, weighted by the likelihood of the answers."""
    told = [(0, 1, 0), (1, 2, 0), (2, 3, 0), (0, 2, 0), (3, 4, 1 if tie_rate else 0)]
    posteriors = Posteriors([5])
    for i, j, tie in told:
        posteriors.tell(0, i, j, tie=bool(tie))
    mixture = posteriors[0]
    i, j = np.array([row[:2] for row in told]).T
    tied = [row[2] for row in told]
    number = Answers(i[None], j[None], 1.0 - np.array([tied]), np.zeros((1, 5)), 1.0 * np.array([tied]))
    found = propagate(number, Prior(np.zeros((1, 5)), np.array([spread]), np.array([lapse]), tie_rate))
    one = replace(
        mixture,
        weight=np.ones(1),
        spread=np.array([spread]),
        lapse=np.array([lapse]),
        tie_rate=tie_rate,
        mean=found.mean,
        covariance=found.covariance,
    )
    rng = np.random.default_rng(5)
    prior = spread * rng.standard_normal((100_000, 5))
    win, _, tie = chances(prior[:, i] - prior[:, j], lapse, tie_rate)
    weight = np.where(tied, tie if tie_rate else win, win).prod(axis=1)
    above = np.array([weight @ (prior[:, a] > prior[:, b]) for a, b in itertools.combinations(range(5), 2)])
    exact = above / weight.sum()
    noise = rng.standard_normal((8000, 5))
    drawn, plain = one.sample(noise, rng, np.arange(5))[0], one.draw(noise)[0]
    off = [
        np.array([np.mean(x[:, a] > x[:, b]) for a, b in itertools.combinations(range(5), 2)]) - exact
        for x in (drawn, plain)
    ]
    assert np.abs(off[0]).max() < 0.03
    if spread == 25.0:  # the normal approximation has too many pairs in the wrong order
        assert off[1].mean() < 2 * off[0].mean() - 0.01


@pytest.mark.parametrize(
    ("won", "lost", "deviation", "tie_rate", "truth"),
    [
        ([0, 2, 0, 0, 4, 0], [2, 4, 2, 6, 2, 6], 60.0, 0.5, -28.7),  # evidence by 4 million draws of strengths
        ([6, 0, 4, 4, 2, 2], [0, 6, 2, 2, 0, 0], 12.0, 0.68, -29.4),
    ],
)
def test_sites_that_run_away_are_found_by_their_evidence(won, lost, deviation, tie_rate, truth):
    first, second = np.triu_indices(4, 1)
    answers = Answers(first[None], second[None], *np.array([won, lost, [0] * 6], float)[:, None])
    prior = Prior(np.zeros((1, 4)), np.array([deviation]), np.array([0.05]), tie_rate)
    found = propagate(answers, prior, sweeps=8, tolerance=1e-3)
    assert abs(found.evidence[0] - truth) < 6  # it was above 10⁸
    assert np.abs(found.mean).max() < deviation
