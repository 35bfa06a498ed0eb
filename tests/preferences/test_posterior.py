"""The posterior behind evaluate_with_uncertainty: against numerical integration over all strengths, and by systems."""

import itertools

import numpy as np
import pytest
from scipy import stats
from scipy.special import log_expit

from rankdev.statistics.judgment_uncertainty import Judged, draw_strengths, posterior, ranking_curve


def by_integration(wins, mean, deviation, nodes):
    """Log evidence and mean by brute force: every combination of strengths on a grid."""
    x = np.linspace(-5, 5, nodes)
    mass = stats.norm.logpdf(x) - np.log(stats.norm.pdf(x).sum())
    strength = mean + np.array(list(itertools.product(x * deviation, repeat=len(mean))))
    log_mass = np.array(list(itertools.product(mass, repeat=len(mean)))).sum(axis=1)
    for i, j in itertools.permutations(range(len(mean)), 2):
        log_mass += wins[i, j] * log_expit(strength[:, i] - strength[:, j])
    weight = np.exp(log_mass - log_mass.max())
    return weight @ strength / weight.sum(), np.log(weight.sum()) + log_mass.max()


@pytest.mark.parametrize("seed", range(6))
def test_the_posterior_is_that_of_integration(seed):
    rng = np.random.default_rng(seed)
    items = 3 + seed % 2
    wins, mean = rng.integers(0, 3, (items, items)).astype(float), rng.normal(size=items)
    np.fill_diagonal(wins, 0)
    deviation = float(rng.choice([0.3, 1.0, 2.0]))
    found = posterior(wins[None], mean[None], deviation, np.zeros((1, items)))
    expected, evidence = by_integration(wins, mean, deviation, 41 if items == 3 else 23)
    assert found.mode[0] == pytest.approx(expected, abs=0.2 * deviation)
    assert found.evidence[0] == pytest.approx(evidence, abs=0.15)


def test_queries_do_not_depend_on_each_other_and_padding_changes_nothing():
    rng = np.random.default_rng(0)
    wins = [rng.integers(0, 3, (n, n)) * (1.0 - np.eye(n)) for n in (5, 3, 5)]
    judged = Judged.of(wins)
    together = posterior(judged.wins, np.zeros((3, 5)), 1.5, np.zeros((3, 5)))
    for k, alone in enumerate(wins):
        found = posterior(alone[None], np.zeros((1, len(alone))), 1.5, np.zeros((1, len(alone))))
        assert together.mode[k, : len(alone)] == pytest.approx(found.mode[0], abs=1e-6)
        assert together.evidence[k] == pytest.approx(found.evidence[0], abs=1e-6)


def test_a_ranking_that_agrees_with_the_judgments_says_how_unjudged_items_are_ordered():
    """Ten queries; items 0 to 3 are judged in the order of the ranking, item 4 once and lost, item 5 never."""
    wins = np.zeros((6, 6))
    for i, j in itertools.combinations(range(5), 2):
        wins[i, j] = 2.0 if j < 4 else 0.0
    wins[3, 4] = 1.0
    judged = Judged.of([wins] * 10)
    places = np.tile(np.arange(1.0, 7.0), (10, 1))
    curves = (ranking_curve(each, judged.real) for each in (places, places[:, [0, 1, 2, 3, 5, 4]]))
    drawn = [np.concatenate(list(draw_strengths(judged, curve, 40, np.random.default_rng(1)))) for curve in curves]
    last, before = ((each[:, :, 4] > each[:, :, 5]).mean() for each in drawn)
    assert last > 0.6
    assert before < last - 0.1
