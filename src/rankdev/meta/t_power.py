"""The power of Student's paired t-test, and the queries that a power needs."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from rankdev.arrays import Floats

LIMIT = 10**7  # queries above which an answer is 'more than anyone has'


def t_power(n: float, effect: float, alpha: float) -> float:
    """Give the power of the two-sided paired t-test with n queries at a standardised effect."""
    return float(t_powers(n, np.array([effect]), alpha)[0])


def t_powers(n: float, effects: Floats, alpha: float) -> Floats:
    """Give the power at many effects.

    The noncentral t-distribution is integrated over the spread that a sample may show, because library
    routines for it return NaN at large effects.
    """
    from scipy import special

    nodes, weights = _nodes()
    spread = np.sqrt(2 * special.gammaincinv((n - 1) / 2, (nodes + 1) / 2) / (n - 1))
    need = special.stdtrit(n - 1, 1 - alpha / 2) * spread
    shift = effects[:, None] * np.sqrt(n)
    found: Floats = (special.ndtr(shift - need) + special.ndtr(-shift - need)) @ weights / 2
    return found


@cache
def _nodes() -> tuple[Floats, Floats]:
    return np.polynomial.legendre.leggauss(200)


def power_of(n: int, alpha: float) -> Callable[[Floats], Floats]:
    """Give a function from effects, of either sign, to power at n queries; from a table, for very many effects."""
    shifts = np.concatenate([np.linspace(0, 12, 601), np.linspace(12.2, 100, 440)])
    table = t_powers(n, shifts / np.sqrt(n), alpha)
    return lambda effects: np.interp(np.abs(effects) * np.sqrt(n), shifts, table)


def queries_for(effect: float, power: float, alpha: float) -> float:
    """Give the smallest number of queries with that power, infinite above ten million.

    >>> queries_for(0.5, 0.8, 0.05)  # as in tables of Cohen (1988)
    34.0
    """
    return smallest(lambda n: t_power(n, effect, alpha) >= power, 2, LIMIT)


def queries_by_table(effects: Floats, power: float, alpha: float) -> Floats:
    """Do what :func:`queries_for` does for very many effects of either sign; to about one query in a thousand."""
    sizes, needed = _needed(power, alpha)
    with np.errstate(divide="ignore"):
        found = np.ceil(np.exp(np.interp(-np.log(np.abs(effects)), -np.log(needed), np.log(sizes))) - 1e-3)
    return np.where(np.abs(effects) < needed[-1], np.inf, np.maximum(found, 2.0))


@cache
def _needed(power: float, alpha: float) -> tuple[Floats, Floats]:
    sizes = np.unique(np.rint(np.geomspace(2, LIMIT, 150)))
    return sizes, np.array([detectable_effect(n, power, alpha) for n in sizes])


def detectable_effect(n: float, power: float, alpha: float) -> float:
    """Give the smallest standardised effect that n queries detect with that power."""
    from scipy import optimize

    return float(optimize.brentq(lambda effect: t_power(n, effect, alpha) - power, 0.0, 1e3))


def smallest(holds: Any, low: int, limit: int) -> float:
    """Find the first n for which something that stays true becomes true: doubling, then halving.

    Simulated power is not quite monotone at small n, so that something must hold at 2n as well.
    """
    high = low
    while not (holds(high) and holds(2 * high)):
        low, high = high, 2 * high
        if high > limit:
            return np.inf
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return float(high)
