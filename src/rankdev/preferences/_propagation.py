"""Normal posteriors of strengths under normal priors, by expectation propagation, many queries at a time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rankdev._common.arrays import Floats, Ints
from rankdev.preferences._fitting import safe_length
from rankdev.preferences._pairs import moments

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(15)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


class Approximation(NamedTuple):
    """Mean and covariance of strengths, and the log evidence of the judgments, that of "all equal" being 0."""

    mean: Floats
    covariance: Floats
    evidence: Floats


def normal_posteriors(count: Floats, score: Floats, tie_rate: float, spread: Floats) -> Approximation:
    """Approximate each row's posterior of strengths, N(0, spread²) a priori, by expectation propagation.

    ``count[row, i, j]`` judgments of i and j, ``score`` of them for i. The first approximation is Laplace's. Rows are
    finished one by one, so that the result of one does not depend on the others.
    """
    i, j = np.nonzero(np.triu(count.any(axis=0), 1))
    c, s = count[:, i, j], score[:, i, j] - count[:, i, j] / 2
    n, precision = count.shape[1], spread**-2.0
    strength = _modes(c, s, i, j, n, tie_rate, precision)
    d = strength[:, i] - strength[:, j]
    first, second = moments(d, tie_rate)
    tau = c * second
    linear = s - c * (first - 0.5) + tau * d
    active = np.arange(len(c))
    for _ in range(30):
        mean, covariance = _solved(tau[active], linear[active], i, j, n, precision[active])
        variance = covariance[:, i, i] + covariance[:, j, j] - 2 * covariance[:, i, j]
        old = tau[active], linear[active]
        new = _tilted(c[active], s[active], tie_rate, mean[:, i] - mean[:, j], variance, *old)
        tau[active], linear[active] = (was + 0.8 * (is_ - was) for was, is_ in zip(old, new, strict=False))
        moved = (np.abs(new[0] - old[0]) * variance).max(axis=1, initial=0.0)
        active = active[moved > 1e-3]
        if not len(active):
            break
    mean, covariance = _solved(tau, linear, i, j, n, precision)
    variance = covariance[:, i, i] + covariance[:, j, j] - 2 * covariance[:, i, j]
    scale = _tilted(c, s, tie_rate, mean[:, i] - mean[:, j], variance, tau, linear)[2]
    pull = _by_item(linear, i, j, n)
    whole = np.linalg.slogdet(covariance * precision[:, None, None])[1]
    evidence = scale.sum(axis=1) + (pull * mean).sum(axis=1) / 2 + whole / 2
    return Approximation(mean, covariance, evidence)


def _modes(c: Floats, s: Floats, i: Ints, j: Ints, n: int, tie_rate: float, precision: Floats) -> Floats:
    strength, active = np.zeros((len(c), n)), np.arange(len(c))
    for _ in range(50):
        at = strength[active]
        first, second = moments(at[:, i] - at[:, j], tie_rate)
        slope = _by_item(s[active] - c[active] * (first - 0.5), i, j, n) - precision[active, None] * at
        information = _laplacian(c[active] * second, i, j, n, precision[active])
        step = np.linalg.solve(information, slope[:, :, None])[:, :, 0]
        change = np.ptp(step, axis=1)
        strength[active] = at + safe_length(change)[:, None] * step
        active = active[change > 1e-3]
        if not len(active):
            break
    return strength


def _by_item(values: Floats, i: Ints, j: Ints, n: int) -> Floats:
    """Sum values of pairs by item: plus for the first, minus for the second."""
    table = np.zeros((len(values), n, n))
    table[:, i, j], table[:, j, i] = values, -values
    return np.asarray(table.sum(axis=2))


def _laplacian(weight: Floats, i: Ints, j: Ints, n: int, diagonal: Floats) -> Floats:
    table = np.zeros((len(weight), n, n))
    table[:, i, j] = table[:, j, i] = -weight
    places = np.arange(n)
    table[:, places, places] = diagonal[:, None] - table.sum(axis=2)
    return table


def _solved(tau: Floats, linear: Floats, i: Ints, j: Ints, n: int, precision: Floats) -> tuple[Floats, Floats]:
    covariance = np.asarray(np.linalg.inv(_laplacian(tau, i, j, n, precision)), np.float64)
    return (covariance @ _by_item(linear, i, j, n)[:, :, None])[:, :, 0], covariance


def _tilted(
    c: Floats, s: Floats, tie_rate: float, mean: Floats, variance: Floats, tau: Floats, linear: Floats
) -> tuple[Floats, Floats, Floats]:
    """Match each pair's likelihood by a normal one: its precision, its linear term, the logarithm of its scale."""
    log_ratio = np.empty((len(NODES), *c.shape))
    root = np.sqrt(variance)
    for node, place in zip(NODES, log_ratio, strict=True):
        d = mean + node * root
        place[:] = s * d - c * log_normaliser(d, tie_rate) - linear * d + tau / 2 * d * d
    top = log_ratio.max(axis=0)
    ratio = np.exp(log_ratio - top)
    total = np.einsum("k,krp->rp", WEIGHTS, ratio)
    first = np.einsum("k,krp->rp", WEIGHTS * NODES, ratio) / total
    second = np.einsum("k,krp->rp", WEIGHTS * NODES**2, ratio) / total - first**2
    second = np.maximum(second, 1e-6)
    new_tau = np.maximum(tau + (1 / second - 1) / variance, 0.0)
    new_linear = linear + ((mean + first * root) / second - mean) / variance
    return new_tau, new_linear, top + np.log(total)


def log_normaliser(d: Floats, tie_rate: float) -> Floats:
    """Logarithm of Davidson's normaliser at a difference of strengths, 0 at 0."""
    small = np.exp(-np.abs(d))
    total = 1 + small + tie_rate * np.sqrt(small) if tie_rate else 1 + small
    return np.asarray(np.abs(d) / 2 + np.log(total / (2 + tie_rate)))
