"""How useful the answer to a pair is: about the order, the top, and what the judge is like."""

from __future__ import annotations

import numpy as np

from rankdev._common.arrays import Floats, Ints
from rankdev.preferences.expectation_propagation import chances
from rankdev.preferences.posterior import Mixture

NODES, REACH = np.linspace(-1, 1, 21), 5.0  # of the numerical integration, and standard deviations that it covers


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
    x, share = normal_nodes(d, np.sqrt(variance))
    found = chances(x, mixture.lapse[:, None, None], mixture.tie_rate)
    before, after = np.zeros(len(i)), np.zeros(len(i))
    for chance in found if mixture.tie_rate else found[:2]:
        before += _entropy(mixture.weight @ (share * chance).sum(axis=-1))
        after += mixture.weight @ (share * _entropy(chance)).sum(axis=-1)
    return before - after


def normal_nodes(mean: Floats, deviation: Floats) -> tuple[Floats, Floats]:
    """Nodes and weights to average a function of answers over normal differences.

    They are dense around 0, where an answer is open: nodes that only follow a wide normal distribution miss that.
    """
    mean, deviation = mean[..., None], deviation[..., None]
    grown = np.arcsinh(np.abs(mean) + REACH * deviation) * NODES
    x = np.sinh(grown)
    weight = np.exp(-0.5 * ((x - mean) / deviation) ** 2) * np.cosh(grown)
    return x, weight / weight.sum(axis=-1, keepdims=True)


def _entropy(p: Floats) -> Floats:
    return np.asarray(-p * np.log2(np.maximum(p, 1e-300)))


def explained(mixture: Mixture, drawn: Floats, part: Ints, i: Ints, j: Ints, about: Floats) -> Floats:
    """Variance of the columns of ``about[draw, …]`` that answers are expected to explain."""
    win, _, _ = chances(drawn[:, i] - drawn[:, j], mixture.lapse[part][:, None], 0.0)
    mean = win.mean(axis=0)
    together = (win - mean).T @ (about - about.mean(axis=0)) / len(drawn)
    return np.asarray((together**2).sum(axis=1) / np.maximum(mean * (1 - mean), 1e-12))
