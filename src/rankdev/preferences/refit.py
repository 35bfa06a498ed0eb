"""Likelihood-ratio tests of θ_i = θ_j: the constrained refits of many pairs of one query, side by side."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from rankdev.arrays import Floats, Ints
from rankdev.preferences.newton import conjugate_gradients, safe_length
from rankdev.preferences.pairs import moments, sums

ENOUGH = 0.02  # a refit ends with the step that changes the statistic by less; what is left is its square
SOLVED = 0.03  # how far the residual of a step is reduced; the next step does the rest
CELLS = 40_000  # compared pairs × tested pairs at a time: small enough for the processor's cache


@dataclass(frozen=True, eq=False)
class Problem:
    """One query's penalised likelihood: its compared pairs, its ridge, and its best strengths."""

    first: Ints
    second: Ints
    count: Floats
    score: Floats
    best: Floats
    ridge: float
    tie_rate: float = 0.0

    def loss(self, strength: Floats) -> Floats:
        """Penalised negative log-likelihood of each column of strengths, up to a constant."""
        d = strength[self.first] - strength[self.second]
        total = np.abs(d) / 2 + np.log1p(np.exp(-np.abs(d)))
        if self.tie_rate:
            total = np.logaddexp(total, np.log(self.tie_rate))
        fit = self.count @ total - (self.score - self.count / 2) @ d
        return np.asarray(fit + self.ridge / 2 * (strength**2).sum(axis=0))

    @cached_property
    def incidence(self) -> Any:
        """Items × compared pairs: 1 for the first of a pair, −1 for the second."""
        from scipy.sparse import csr_array

        edges = np.arange(len(self.first))
        ones = np.ones(len(edges))
        places = (np.concatenate([self.first, self.second]), np.concatenate([edges, edges]))
        return csr_array((np.concatenate([ones, -ones]), places), shape=(len(self.best), len(edges)))


def likelihood_ratios(
    problem: Problem, factor: Floats | None, i: Ints, j: Ints, critical: float | None = None
) -> Floats:
    """Twice the likelihood lost by θ_i = θ_j, for every pair (i, j) asked.

    ``factor`` F approximates the inverse information as F Fᵀ and makes the refits quick; without it the
    information's diagonal does. With ``critical`` a refit ends as soon as it is known on which side of that
    value the statistic lies; what is returned then is on that side too.
    """
    chunk = max(1, CELLS // max(len(problem.first), len(problem.best)))
    inverse = _Inverse(problem, factor)
    parts = [
        _chunk(problem, inverse, i[at : at + chunk], j[at : at + chunk], critical) for at in range(0, len(i), chunk)
    ]
    return np.concatenate([np.zeros(0), *parts])


class _Inverse:
    """An approximate inverse of the information at the best strengths."""

    def __init__(self, problem: Problem, factor: Floats | None) -> None:
        self.factor, self.ridge = factor, max(problem.ridge, 1e-6)
        _, variance = moments(problem.best[problem.first] - problem.best[problem.second], problem.tie_rate)
        curvature, n = problem.count * variance, len(problem.best)
        self.diagonal = sums(problem.first, curvature, n) + sums(problem.second, curvature, n) + self.ridge

    def __call__(self, r: Floats) -> Floats:
        if self.factor is None:
            return np.asarray(r / self.diagonal[:, None])
        # the covariance is centred; the constant direction, which the ridge holds, is put back
        return np.asarray(self.factor @ (self.factor.T @ r) + r.mean(axis=0) / self.ridge)


def _chunk(problem: Problem, inverse: _Inverse, i: Ints, j: Ints, critical: float | None) -> Floats:
    pick = np.arange(len(i))
    away = np.zeros((len(problem.best), len(i)))
    away[i, pick], away[j, pick] = 1.0, -1.0
    # meet halfway, each item going further the less is known about it
    reach = inverse(away)
    reach /= reach[i, pick] - reach[j, pick]
    x = problem.best[:, None] - reach * (problem.best[i] - problem.best[j])
    least = problem.loss(problem.best[:, None])
    statistic = 2 * (problem.loss(x) - least)  # never too small, since x need not be the best with θ_i = θ_j
    open_ = pick if critical is None else pick[statistic >= critical]
    for _ in range(50):
        if not len(open_):
            break
        x[:, open_], left = _newton_step(problem, inverse, i[open_], j[open_], reach[:, open_], x[:, open_])
        statistic[open_] = 2 * (problem.loss(x[:, open_]) - least)
        going = left >= ENOUGH
        if critical is not None:  # a step gains more than all the steps after it
            going &= (statistic[open_] >= critical) & (statistic[open_] - left < critical)
        open_ = open_[going]
    return np.asarray(np.maximum(statistic, 0.0))


def _newton_step(
    problem: Problem, inverse: _Inverse, i: Ints, j: Ints, reach: Floats, x: Floats
) -> tuple[Floats, Floats]:
    """Take one Newton step for each column of strengths, θ_i = θ_j kept; say how much it should gain."""
    pick = np.arange(len(i))

    def ahead_of(r: Floats) -> Floats:
        ahead = inverse(r)
        return ahead - reach * (ahead[i, pick] - ahead[j, pick])

    mean, variance = moments(x[problem.first] - x[problem.second], problem.tie_rate)
    count = problem.count[:, None]
    rest = problem.incidence @ (problem.score[:, None] - count * mean) - problem.ridge * x
    curvature = count * variance

    def image_of(direction: Floats) -> Floats:
        moved = direction[problem.first] - direction[problem.second]
        return problem.incidence @ (curvature * moved) + problem.ridge * direction

    step, left = conjugate_gradients(image_of, ahead_of, rest, SOLVED, enough=ENOUGH / 100, limit=200)
    return x + safe_length(step.max(axis=0) - step.min(axis=0)) * step, left
