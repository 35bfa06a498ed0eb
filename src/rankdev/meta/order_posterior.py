"""What judgments leave open about the true order of items, as draws of that order.

Strengths are normal around a curve of the system's own ranking: a ranking that agrees with the judgments tells
something about the items that were judged little, and leaving that out would make every system look worse than it
is. How much it tells, and how far strengths scatter, is estimated from all queries together (Laplace's approximation).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import optimize, special

from rankdev.arrays import Bools, Floats

EACH = 8  # draws of strengths for each draw of the prior
SHARPEST = 2.0  # least curvature of the prior's likelihood: what is hardly known is drawn widely, but not wildly
LIMITS = (-5.0, 4.0)  # of the logarithm of the prior's deviation
NEWTON = 30


@dataclass(frozen=True, eq=False)
class Judged:
    """Wins between items, ``wins[query, item, other]``, padded; ``real`` tells items from padding."""

    wins: Floats = field(repr=False)
    real: Bools = field(repr=False)

    @classmethod
    def of(cls, wins: list[Floats]) -> Judged:
        """Pad the wins of each query to one size."""
        most = max(len(one) for one in wins)
        padded, real = np.zeros((len(wins), most, most)), np.zeros((len(wins), most), bool)
        for query, one in enumerate(wins):
            padded[query, : len(one), : len(one)], real[query, : len(one)] = one, True
        return cls(padded, real)

    def fit(self, mean: Floats, deviation: float, start: Floats) -> tuple[Floats, Floats]:
        """Give the likeliest strengths under a normal prior, and the curvature there, query by query."""
        counts, won = self.wins + self.wins.transpose(0, 2, 1), self.wins.sum(axis=2)
        prior = np.where(self.real, deviation**-2, 1.0)
        strength, diagonal = start, np.arange(self.wins.shape[1])
        for _ in range(NEWTON):
            chance = special.expit(strength[:, :, None] - strength[:, None, :])
            curvature = -counts * chance * (1 - chance)
            curvature[:, diagonal, diagonal] = prior - curvature.sum(axis=2)
            slope = np.where(self.real, won - (counts * chance).sum(axis=2) - (strength - mean) * prior, 0.0)
            step = np.linalg.solve(curvature, slope[:, :, None])[:, :, 0]
            strength = strength + step / np.maximum(1.0, np.abs(step).max(axis=1, keepdims=True) / 3)
            if np.abs(step).max() < 1e-6:
                break
        return strength, curvature


def ranking_curve(place: Floats, real: Bools) -> Floats:
    """Give the two shapes that a prior's mean can have over a ranking: ``[shape, query, item]``.

    Normal scores of the places in the ranking (from 1), and their squares around their mean.
    """
    items = real.sum(axis=1, keepdims=True)
    score = np.where(real, special.ndtri(np.clip((items - place + 0.625) / (items + 0.25), 1e-9, 1 - 1e-9)), 0.0)
    square = np.where(real, score**2 - (score**2).sum(axis=1, keepdims=True) / items, 0.0)
    return np.stack([score, square])


def draw_strengths(judged: Judged, curve: Floats, draws: int, rng: np.random.Generator) -> Floats:
    """Draw strengths of all items again and again: ``[draw, query, item]``."""
    warm = {"strength": np.zeros(judged.real.shape)}

    def surprise(prior: Floats) -> float:
        mean, deviation = _prior(prior, curve)
        strength, curvature = judged.fit(mean, deviation, warm["strength"])
        warm["strength"] = strength
        likely = (judged.wins * special.log_expit(strength[:, :, None] - strength[:, None, :])).sum()
        apart = (((strength - mean) / deviation) ** 2)[judged.real].sum()
        size = judged.real.sum() * np.log(deviation) + np.linalg.slogdet(curvature)[1].sum() / 2
        return float(apart / 2 + size - likely + (prior[0] ** 2 + prior[2] ** 2) / 2)

    found = optimize.minimize(
        surprise,
        np.zeros(3),
        method="Nelder-Mead",
        options={"xatol": 0.01, "fatol": 0.01, "initial_simplex": np.vstack([np.zeros(3), np.diag([0.7, 0.7, 0.4])])},
    )
    values, vectors = np.linalg.eigh(_curvature(surprise, found.x))
    drawn = []
    for start in range(0, draws, EACH):
        prior = found.x + vectors @ (rng.standard_normal(3) / np.sqrt(np.maximum(values, SHARPEST)))
        strength, curvature = judged.fit(*_prior(prior, curve), warm["strength"])
        noise = rng.standard_normal((*strength.shape, min(EACH, draws - start)))
        moved = np.linalg.solve(np.linalg.cholesky(curvature).transpose(0, 2, 1), noise)
        drawn.append(np.moveaxis(strength[:, :, None] + moved, 2, 0))
    return np.concatenate(drawn)


def _prior(prior: Floats, curve: Floats) -> tuple[Floats, float]:
    return prior[1] * curve[0] + prior[2] * curve[1], float(np.exp(np.clip(prior[0], *LIMITS)))


def _curvature(function: Callable[[Floats], float], at: Floats, step: float = 0.05) -> Floats:
    """Give second derivatives by differences."""
    moves = step * np.eye(len(at))
    found = np.empty((len(at), len(at)))
    for i, one in enumerate(moves):
        for j, other in enumerate(moves):
            ends: list[Any] = [function(at + a * one + b * other) * a * b for a in (1, -1) for b in (1, -1)]
            found[i, j] = sum(ends) / (4 * step**2)
    return (found + found.T) / 2
