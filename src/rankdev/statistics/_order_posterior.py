"""Strengths of items drawn from their posterior, given judgments and a system's own ranking.

Strengths have a normal prior around a curve over the system's own ranking: a ranking that agrees with the judgments
is informative about items with few judgments, and ignoring that would make every system look worse than it is. How
informative it is, and how far strengths scatter, is estimated from all queries together, by the evidence of expectation
propagation: it holds also where the pairs were chosen by the answers before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import optimize, special

from rankdev._common.arrays import Bools, Floats
from rankdev.preferences.expectation_propagation import Answers, Normal, Prior, propagate

EACH = 8  # draws of strengths for each draw of the prior
SHARPEST = 2.0  # least curvature of the prior's likelihood: bounds the draws of a parameter that is hardly identified
SCALES = np.array([1.0, 3.0, 1.0])  # of the prior's parameters, a priori: few answers in agreement prove little
LIMITS = (-5.0, 4.0)  # of the logarithm of the prior's deviation


@dataclass(frozen=True, eq=False)
class Judged:
    """Wins between items, ``wins[query, item, other]``, padded; ``real`` marks items, not padding."""

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


def ranking_curve(place: Floats, real: Bools) -> Floats:
    """Return the two basis functions of the prior's mean over a ranking: ``[function, query, item]``.

    Normal scores of the positions in the ranking (from 1), and their squares around their mean.
    """
    items = real.sum(axis=1, keepdims=True)
    score = np.where(real, special.ndtri(np.clip((items - place + 0.625) / (items + 0.25), 1e-9, 1 - 1e-9)), 0.0)
    square = np.where(real, score**2 - (score**2).sum(axis=1, keepdims=True) / items, 0.0)
    return np.stack([score, square])


def draw_strengths(judged: Judged, curve: Floats, draws: int, rng: np.random.Generator) -> Iterator[Floats]:
    """Draw strengths of all items from their posterior, a few draws at a time: ``[draw, query, item]``."""
    answers = Answers.of_wins(judged.wins)
    sites: tuple[Floats, Floats] | None = None

    def fit(hyper: Floats) -> Normal:
        nonlocal sites
        mean, deviation = _prior(hyper, curve)
        queries = np.ones(len(mean))
        prior = Prior(np.where(judged.real, mean, 0.0), deviation * queries, 0 * queries)
        found = propagate(answers, prior, sites, tolerance=1e-3)
        sites = found.precision, found.shift
        return found

    def negative_log_evidence(hyper: Floats) -> float:
        return float(((hyper / SCALES) ** 2).sum() / 2 - fit(hyper).evidence.sum())

    found = optimize.minimize(
        negative_log_evidence,
        np.zeros(3),
        method="Nelder-Mead",
        options={"xatol": 0.01, "fatol": 0.01, "initial_simplex": np.vstack([np.zeros(3), np.diag([0.7, 0.7, 0.4])])},
    )
    values, vectors = np.linalg.eigh(_curvature(negative_log_evidence, found.x))
    for start in range(0, draws, EACH):
        normal = fit(found.x + vectors @ (rng.standard_normal(3) / np.sqrt(np.maximum(values, SHARPEST))))
        noise = rng.standard_normal((*normal.mean.shape, min(EACH, draws - start)))
        yield np.moveaxis(normal.mean[:, :, None] + np.linalg.cholesky(normal.covariance) @ noise, 2, 0)


def _prior(prior: Floats, curve: Floats) -> tuple[Floats, float]:
    return prior[1] * curve[0] + prior[2] * curve[1], float(np.exp(np.clip(prior[0], *LIMITS)))


def _curvature(function: Callable[[Floats], float], at: Floats, step: float = 0.1) -> Floats:
    """Return second derivatives by finite differences."""
    moves = step * np.eye(len(at))
    found, centre = np.empty((len(at), len(at))), function(at)
    for i, one in enumerate(moves):
        found[i, i] = (function(at + one) + function(at - one) - 2 * centre) / step**2
        for j, other in enumerate(moves[:i]):
            corners: list[Any] = [function(at + a * one + b * other) * a * b for a in (1, -1) for b in (1, -1)]
            found[i, j] = found[j, i] = sum(corners) / (4 * step**2)
    return found
