"""Random effects: means of several collections combined, and the variance between collections."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy import special

from rankdev._common.arrays import Floats

STEPS = 50
GRID = 60  # steps of the search for the highest likelihood
SECTIONS = 30
GOLDEN = (np.sqrt(5) - 1) / 2
ROUNDING = 1e-20  # variance below which nothing varies


@dataclass(frozen=True, eq=False)
class Combined:
    """Estimates of a random-effects meta-analysis, an entry per pair; ``weight[collection, pair]``."""

    mean: Floats = field(repr=False)
    error: Floats = field(repr=False)
    freedom: Floats = field(repr=False)
    tau2: Floats = field(repr=False)
    i2: Floats = field(repr=False)
    q: Floats = field(repr=False)
    weight: Floats = field(repr=False)
    tau2_of_new: Floats = field(repr=False)

    @property
    def p(self) -> Floats:
        """p of no mean difference; where nothing varies at all, that of the signs."""
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.where(self.mean == 0, 0.0, np.abs(self.mean) / self.error)
        p = 2 * special.stdtr(self.freedom, -t)
        return np.where(np.isinf(t), 2.0 ** (1 - len(self.weight)), p)

    @property
    def q_p(self) -> Floats:
        """p of Cochran's test that collections do not differ."""
        return special.chdtrc(len(self.weight) - 1, self.q)

    def interval(self, level: Floats | float, new: bool = False) -> tuple[Floats, Floats]:
        """Bound the mean difference, or with ``new`` the true difference in a new collection."""
        spread = np.sqrt(self.error**2 + (self.tau2_of_new if new else 0.0))
        reach = special.stdtrit(self.freedom, 1 - level / 2) * spread
        return self.mean - reach, self.mean + reach


def combine(mean: Floats, variance: Floats) -> Combined:
    """Combine means with known variances, ``[collection, pair]``, by REML and weights that allow for its error.

    One large collection among small ones would get nearly all the weight where τ² happens to be estimated as 0: weights
    are those of τ² plus its standard error. The error is Hartung and Knapp's, no less than Wald's, which would be too
    small for collections that agree by chance; the degrees of freedom count the collections that weigh.
    """
    count = len(mean)
    nothing = (variance <= ROUNDING).all(axis=0)
    variance = np.maximum(variance, ROUNDING)
    tau2 = reml(mean, variance)
    uncertain = np.sqrt(2 / _information(1 / (variance + tau2)))
    weight, middle = _weighted(mean, variance, tau2 + uncertain)
    weight = weight / weight.sum(axis=0)
    scatter = (weight * (mean - middle) ** 2).sum(axis=0) / (count - 1)
    error = np.sqrt(np.maximum(scatter, (weight**2 * (variance + tau2)).sum(axis=0)))
    error[nothing & (np.ptp(mean, axis=0) == 0)] = 0.0
    freedom = np.maximum(1 / (weight**2).sum(axis=0) - 1, 1.0)
    fixed, common = _weighted(mean, variance, np.zeros_like(tau2))
    q = np.where(nothing, np.nan, (fixed * (mean - common) ** 2).sum(axis=0))
    typical = (count - 1) * fixed.sum(axis=0) / (fixed.sum(axis=0) ** 2 - (fixed**2).sum(axis=0))
    i2 = np.where(nothing, np.nan, tau2 / (tau2 + typical))
    return Combined(middle, error, freedom, tau2, i2, q, weight, np.maximum(tau2, uncertain))


def reml(mean: Floats, variance: Floats) -> Floats:
    """Return the restricted maximum-likelihood estimate of the variance between collections, the global one.

    The likelihood may have several maxima: a grid finds the highest, golden sections and Fisher scoring its top.
    """
    scale = mean.var(axis=0, ddof=1) + variance.mean(axis=0)
    steps = np.concatenate([[0.0], np.geomspace(1e-6, 4.0, GRID)])
    grid = steps[:, None] * scale
    best = np.argmax([_likelihood(mean, variance, tau2) for tau2 in grid], axis=0)
    columns = np.arange(grid.shape[1])
    low, high = grid[np.maximum(best - 1, 0), columns], grid[np.minimum(best + 1, GRID), columns]
    tau2 = _between(low, high, lambda guess: _likelihood(mean, variance, guess))
    for _ in range(STEPS):
        weight, middle = _weighted(mean, variance, tau2)
        total, squares = weight.sum(axis=0), (weight**2).sum(axis=0)
        gain = (weight**2 * (mean - middle) ** 2).sum(axis=0) - (total - squares / total)
        moved = np.clip(tau2 + gain / _information(weight), low, high)
        if (np.abs(moved - tau2) <= 1e-10 * scale).all():
            return moved
        tau2 = moved
    return tau2


def _between(low: Floats, high: Floats, likelihood: Callable[[Floats], Floats]) -> Floats:
    """Narrow the place of a maximum by golden sections."""
    for _ in range(SECTIONS):
        left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        lower = likelihood(left) >= likelihood(right)
        low, high = np.where(lower, low, left), np.where(lower, right, high)
    return (low + high) / 2


def _likelihood(mean: Floats, variance: Floats, tau2: Floats) -> Floats:
    """Return twice the restricted log-likelihood, up to a constant."""
    weight, middle = _weighted(mean, variance, tau2)
    found: Floats = np.log(weight).sum(axis=0) - np.log(weight.sum(axis=0))
    return found - (weight * (mean - middle) ** 2).sum(axis=0)


def _information(weight: Floats) -> Floats:
    """Return twice the restricted information about the variance between collections."""
    total, squares, cubes = (np.sum(weight**power, axis=0) for power in (1, 2, 3))
    information: Floats = squares - 2 * cubes / total + (squares / total) ** 2
    return information


def _weighted(mean: Floats, variance: Floats, tau2: Floats) -> tuple[Floats, Floats]:
    weight = 1 / (variance + tau2)
    return weight, (weight * mean).sum(axis=0) / weight.sum(axis=0)
