"""Kendall's τ-b, τ_ap, and intervals of the true τ.

Means over a sample of queries disagree more than true means do, and resampled means disagree more still: a bootstrap
of τ is too low, and never covers a τ of 1. Instead true means are drawn from their posterior: normal over systems
under both measures, with standard deviations and a correlation that the data determine in part.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from rankdev._common.arrays import Floats


def tau_b(left: Floats, right: Floats, tolerance: float = 0.0) -> Floats:
    """Return Kendall's τ-b along the last axis, NaN where either side is constant; the sides broadcast.

    Values that differ by no more than the tolerance are tied.

    >>> tau_b(np.array([1.0, 2, 3]), np.array([[1.0, 2, 3], [3, 2, 1], [1, 1, 2]])).round(4).tolist()
    [1.0, -1.0, 0.8165]
    """
    a, b = np.triu_indices(left.shape[-1], 1)
    x, y = (_signs(side[..., a] - side[..., b], tolerance) for side in (left, right))
    pairs = np.sqrt((x != 0).sum(axis=-1) * (y != 0).sum(axis=-1).astype(np.float64))
    with np.errstate(invalid="ignore"):
        tau: Floats = (x * y).sum(axis=-1) / pairs
    return tau


def _signs(apart: Floats, tolerance: float) -> Floats:
    return np.where(np.abs(apart) <= tolerance, 0.0, np.sign(apart))


def tau_ap(estimate: Floats, truth: Floats, tolerance: float = 0.0) -> Floats:
    """Return the AP correlation (Yilmaz, Aslam and Robertson 2008) along the last axis; the sides broadcast.

    For each system that the estimate ranks below others, the fraction of these that are truly above it, averaged; ties
    in the truth count half, and systems that tie for the top in the estimate have none above. NaN where either side
    is constant.

    >>> truth = np.array([4.0, 3, 2, 1])
    >>> tau_ap(np.array([[4.0, 3, 2, 1], [1, 2, 3, 4], [3, 4, 2, 1], [4, 3, 1, 2]]), truth).round(4).tolist()
    [1.0, -1.0, 0.3333, 0.7778]
    """
    above = estimate[..., None, :] - estimate[..., :, None] > tolerance  # [..., system, the others]
    apart = truth[..., None, :] - truth[..., :, None]
    correct = np.where(np.abs(apart) <= tolerance, 0.5, apart > 0)
    counts = above.sum(axis=-1)
    fractions = (above * correct).sum(axis=-1) / np.maximum(counts, 1)
    with np.errstate(invalid="ignore"):
        mean = fractions.sum(axis=-1) / (counts > 0).sum(axis=-1)
    constant = (np.abs(apart) <= tolerance).all(axis=(-1, -2))
    return np.where(constant, np.nan, 2 * mean - 1)


# dense near ±1, where most pairs of measures are, and near the observed deviation, which many systems determine well
CORRELATIONS = np.concatenate([[-1.0], np.tanh(np.linspace(-3.5, 3.5, 43)), [1.0]])
SCALES = np.array([0, 0.1, 0.18, 0.33, 0.5, 0.6, 0.7, 0.77, 0.84, 0.9, 0.95, 1, 1.05, 1.1, 1.2, 1.4, 2])


def tau_limits(one: Floats, other: Floats, draws: int, rng: np.random.Generator) -> Floats:
    """Return 95% intervals of τ-b and τ_ap between the true orders: ``[limit, τ or τ_ap]``.

    ``one`` and ``other`` hold the scores of both measures, ``[query, system]``, of at least two queries. The upper
    limit is 1 where no pair of systems is ordered significantly one way by the first and the other way by the second.
    """
    apart = [values - values.mean(axis=1, keepdims=True) for values in (one, other)]
    means = np.stack([values.mean(axis=0) for values in apart], axis=1)
    left = np.stack([values - values.mean(axis=0) for values in apart])
    n, systems = one.shape
    noise = np.einsum("aqs,bqs->ab", left, left) / ((n - 1) * (systems - 1) * n)
    drawn = _draw(means, noise, draws, rng)
    found = np.stack([tau_b(*drawn), _both_ways(*drawn)])
    limits = np.quantile(np.where(np.isnan(found), 0.0, found), [0.025, 0.975], axis=1)
    if not _significantly_reversed(one, other):
        limits[1] = 1.0
    return limits


def _draw(means: Floats, noise: Floats, draws: int, rng: np.random.Generator) -> Floats:
    """Draw true means of all systems: ``[measure, draw, system]``."""
    systems = len(means)
    seen = means.std(axis=0, ddof=1) + 1e-12
    noise = noise + 1e-9 * np.diag(seen**2)  # keeps scores without noise regular, and near enough exact
    grid = np.meshgrid(SCALES * seen[0], SCALES * seen[1], CORRELATIONS, indexing="ij")
    first, second, rho = (axis.ravel() for axis in grid)
    prior = np.array([[first**2, rho * first * second], [rho * first * second, second**2]]).transpose(2, 0, 1)
    total = prior + noise
    (one, both), (_, other) = means.T @ means
    area = total[:, 0, 0] * total[:, 1, 1] - total[:, 0, 1] ** 2
    distance = (total[:, 1, 1] * one - 2 * total[:, 0, 1] * both + total[:, 0, 0] * other) / area
    deviance = (systems - 1) * np.log(area) + distance  # −2 log-likelihood, up to a constant
    chance = np.cumsum(np.exp((deviance.min() - deviance) / 2))
    picked = np.searchsorted(chance, rng.random(draws) * chance[-1])
    prior, total, rho = prior[picked], total[picked], rho[picked]
    gain = prior @ np.linalg.inv(total)
    values, vectors = np.linalg.eigh(prior - gain @ prior)
    spread = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
    found = np.einsum("dab,sb->ads", gain, means) + np.einsum(
        "dab,dsb->ads", spread, rng.standard_normal((draws, systems, 2))
    )
    same = np.abs(rho) == 1  # on a line, where the orders would differ by rounding alone
    found[1, same] = rho[same, None] * found[0, same]
    return found


def _both_ways(one: Floats, other: Floats) -> Floats:
    return (tau_ap(one, other) + tau_ap(other, one)) / 2


def _significantly_reversed(one: Floats, other: Floats) -> bool:
    """Check whether some pair differs significantly under both measures, in opposite directions (Bonferroni)."""
    n, systems = one.shape
    a, b = np.triu_indices(systems, 1)
    standardised = []
    for values in (one, other):
        apart = values[:, a] - values[:, b]
        with np.errstate(divide="ignore", invalid="ignore"):
            standardised.append(apart.mean(axis=0) / (apart.std(axis=0, ddof=1) / np.sqrt(n)))
    need = special.stdtrit(n - 1, 1 - 0.025 / len(a))
    x, y = standardised
    return bool(((np.minimum(x, -y) > need) | (np.minimum(-x, y) > need)).any())
