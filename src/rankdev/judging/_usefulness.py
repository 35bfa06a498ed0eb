"""How useful the answer to a pair is: about the order, the top, and what the judge is like."""

from __future__ import annotations

import numpy as np

from rankdev._common.arrays import Floats, Ints
from rankdev.preferences.expectation_propagation import NORMAL_NODES, NORMAL_WEIGHTS, chances
from rankdev.preferences.posterior import Mixture


def about_the_judge(mixture: Mixture, i: Ints, j: Ints) -> Floats:
    """Information of answers about spread and lapses: whether the judge would confirm what seems settled."""
    chance = _by_judge(mixture, i, j)
    mean = mixture.weight @ chance
    within = mixture.weight @ (_entropy(chance) + _entropy(1 - chance))
    return np.asarray(_entropy(mean) + _entropy(1 - mean) - within)


def about_the_statement(mixture: Mixture, i: Ints, j: Ints, stated: Floats) -> Floats:
    """Variance of what is stated for each kind of judge that answers are expected to explain."""
    chance = _by_judge(mixture, i, j)
    mean = mixture.weight @ chance
    together = (mixture.weight * (stated - mixture.weight @ stated)) @ chance
    return np.asarray(together**2 / np.maximum(mean * (1 - mean), 1e-12))


def _by_judge(mixture: Mixture, i: Ints, j: Ints) -> Floats:
    """Probability that i wins, for each kind of judge; a logistic answer seen through a normal difference."""
    d, variance = mixture.difference(i, j)
    return chances(d / np.sqrt(1 + np.pi / 8 * variance), mixture.lapse[:, None], 0.0)[0]


def approximate_information(mixture: Mixture, i: Ints, j: Ints) -> Floats:
    """Information of answers about the strengths if answers were probit, in closed form (Houlsby et al. 2011)."""
    d, variance = (x / scale for x, scale in zip(mixture.difference(i, j), (1.7, 2.89), strict=True))
    constant = np.pi * np.log(2) / 2
    inside = np.sqrt(constant / (variance + constant)) * np.exp(-(d**2) / (2 * (variance + constant)))
    outside = np.exp(-(d**2) / (1 + variance) / 2 / constant)  # entropy of the mean answer
    return np.asarray(mixture.weight @ (outside - inside))


def expected_information(mixture: Mixture, i: Ints, j: Ints) -> Floats:
    """Mutual information, in bits, between each answer and the strengths, spread and lapses together."""
    d, variance = mixture.difference(i, j)
    x = d[..., None] + np.sqrt(variance)[..., None] * NORMAL_NODES
    found = chances(x, mixture.lapse[:, None, None], mixture.tie_rate)
    before, after = np.zeros(len(i)), np.zeros(len(i))
    for chance in found if mixture.tie_rate else found[:2]:
        before += _entropy(mixture.weight @ (chance @ NORMAL_WEIGHTS))
        after += mixture.weight @ (_entropy(chance) @ NORMAL_WEIGHTS)
    return before - after


def _entropy(p: Floats) -> Floats:
    return np.asarray(-p * np.log2(np.maximum(p, 1e-300)))


def explained(mixture: Mixture, drawn: Floats, part: Ints, i: Ints, j: Ints, about: Floats) -> Floats:
    """Variance of the columns of ``about[draw, …]`` that answers are expected to explain."""
    win, _, _ = chances(drawn[:, i] - drawn[:, j], mixture.lapse[part][:, None], 0.0)
    mean = win.mean(axis=0)
    together = (win - mean).T @ (about - about.mean(axis=0)) / len(drawn)
    return np.asarray((together**2).sum(axis=1) / np.maximum(mean * (1 - mean), 1e-12))
