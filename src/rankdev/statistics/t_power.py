"""Power of the t-test: of n queries, at an effect, and the other way round."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from functools import cache, lru_cache

import numpy as np

from rankdev._common.arrays import Floats
from rankdev.statistics.tests import fewest_differing

LIMIT = 10**7  # queries above which an answer is infinite
HALVINGS = 45
MANY = 400  # effects above which their limits are interpolated


def t_power(n: float, effect: float, alpha: float) -> float:
    """Return the power of the two-sided paired t-test with n queries at a standardised effect."""
    return float(t_powers(n, np.array([effect]), alpha)[0])


def t_powers(n: float, effects: Floats, alpha: float) -> Floats:
    """Return the power at many effects: none where n queries are too few for any sign test to reject.

    The noncentral t-distribution is integrated over the spread that a sample may show, because library
    routines for it return NaN at large effects.
    """
    from scipy import special

    if n < fewest_differing(alpha):
        return np.zeros(len(effects))
    (_, weights), need = _nodes(), special.stdtrit(n - 1, 1 - alpha / 2) * _spreads(n)
    shift = effects[:, None] * np.sqrt(n)
    found: Floats = (special.ndtr(shift - need) + special.ndtr(-shift - need)) @ weights / 2
    return found


@lru_cache(maxsize=256)
def _spreads(n: float) -> Floats:
    """Return the deviations that a sample may show, in true ones."""
    from scipy import special

    nodes, _ = _nodes()
    return np.sqrt(2 * special.gammaincinv((n - 1) / 2, (nodes + 1) / 2) / (n - 1))


def effect_limits(effects: Floats, n: int, level: float = 0.05) -> tuple[Floats, Floats]:
    """Return limits of the sizes of true standardised effects, from those of n queries, by noncentral t-distributions.

    The lower one is 0 where the sign is uncertain.

    >>> low, high = effect_limits(np.array([-0.5]), 40)
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.168], [0.826])
    """
    from scipy import special

    sizes, (_, weights) = np.abs(effects), _nodes()
    grid = sizes if len(sizes) <= MANY else np.linspace(0, sizes.max(), MANY)
    seen, ends = grid * np.sqrt(n), []
    for tail in (1 - level / 2, level / 2):
        low, high = -10 - 3 * seen, 10 + 3 * seen
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            above = special.ndtr(seen[:, None] * _spreads(n) - middle[:, None]) @ weights / 2 > tail
            low, high = np.where(above, middle, low), np.where(above, high, middle)
        ends.append(np.maximum((low + high) / 2, 0.0) / np.sqrt(n))
    return (ends[0], ends[1]) if grid is sizes else (np.interp(sizes, grid, ends[0]), np.interp(sizes, grid, ends[1]))


@cache
def _nodes() -> tuple[Floats, Floats]:
    return np.polynomial.legendre.leggauss(200)


@lru_cache(maxsize=256)
def power_of(n: int, alpha: float) -> Callable[[Floats], Floats]:
    """Return a function from effects, of either sign, to power at n queries; from a table, for very many effects."""
    shifts = np.concatenate([np.linspace(0, 12, 601), np.linspace(12.2, 100, 440)])
    table = t_powers(n, shifts / np.sqrt(n), alpha)
    return lambda effects: np.interp(np.abs(effects) * np.sqrt(n), shifts, table)


def queries_for(effect: float, power: float, alpha: float) -> float:
    """Return the smallest number of queries with that power, infinite above ten million.

    >>> queries_for(0.5, 0.8, 0.05)  # as in tables of Cohen (1988)
    34.0
    """
    found = 2 + bisect_left(range(2, LIMIT + 1), True, key=lambda n: t_power(n, effect, alpha) >= power)
    return float(found) if found <= LIMIT else np.inf


def detectable_effect(n: float, power: float, alpha: float) -> float:
    """Return the smallest standardised effect that n queries detect with that power."""
    from scipy import optimize

    if n < fewest_differing(alpha):
        return np.inf
    return float(optimize.brentq(lambda effect: t_power(n, effect, alpha) - power, 0.0, 1e3))
