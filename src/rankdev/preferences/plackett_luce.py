"""Plackett–Luce: strengths from rankings, each read as choices of the best among what is left."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rankdev.arrays import Floats


def plackett_luce(rankings: list[list[list[int]]], n: int, ridge: float, confidence: float = 0.95) -> Floats:
    """Give log-strengths (mean 0) and the ends of their intervals; a ranking is a list of tiers of item numbers.

    Every item of a tier but the last is chosen among itself, its tier and all below (Breslow's treatment of ties);
    the last tier says nothing more. Newton's method, with a ridge on the strengths.
    """
    from scipy.special import ndtri, softmax

    chosen, offered = _choices(rankings, n)
    hidden = np.where(offered, 0.0, -np.inf)
    strength = np.zeros(n)
    for _ in range(100):
        chance = softmax(strength + hidden, axis=1) if len(hidden) else np.zeros((0, n))
        slope = np.bincount(chosen, minlength=n) - chance.sum(axis=0) - ridge * strength
        information = np.diag(chance.sum(axis=0)) - chance.T @ chance + ridge * np.eye(n)
        step = np.linalg.solve(information, slope)
        change = float(np.ptp(step))
        strength = strength + (step if change <= 1.25 else step * np.log1p(change) / change)
        if change**2 < 1e-16:
            break
    centre = np.eye(n) - 1 / n
    wide = ndtri(0.5 + confidence / 2) * np.sqrt(np.diag(centre @ np.linalg.inv(information) @ centre))
    strength = strength - strength.mean()
    return np.stack([strength, strength - wide, strength + wide])


def _choices(rankings: list[list[list[int]]], n: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Give for every choice the item chosen and the items offered."""
    chosen: list[int] = []
    offered = []
    for tiers in rankings:
        left = np.zeros(n, bool)
        left[[item for tier in tiers for item in tier]] = True
        for tier in tiers[:-1]:
            chosen += tier
            offered += [left.copy()] * len(tier)
            left[tier] = False
    return np.array(chosen, np.int64), np.array(offered, bool).reshape(len(chosen), n)
