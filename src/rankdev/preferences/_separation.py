"""Tests of pairs: p-values of differences in strength."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from rankdev._common.arrays import Floats, Ints
from rankdev.preferences._fitting import conjugate_gradients, safe_length
from rankdev.preferences._pairs import moments, sums
from rankdev.preferences._uncertainty import EXACT_UP_TO

if TYPE_CHECKING:
    from rankdev.preferences.strengths import Strengths


ENOUGH = 0.02  # a refit stops after a step that changes the statistic by less; the remaining error is its square
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
    """Compute the likelihood-ratio statistic of θ_i = θ_j for pairs (i, j).

    ``factor`` F approximates the inverse information as F Fᵀ and makes the refits quick; without it the
    information's diagonal does. With ``critical`` a refit stops as soon as it is known on which side of that
    value the statistic lies; the value returned is on that side too.
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
    # meet halfway, each item moving further the less is known about it
    reach = inverse(away)
    reach /= reach[i, pick] - reach[j, pick]
    x = problem.best[:, None] - reach * (problem.best[i] - problem.best[j])
    least = problem.loss(problem.best[:, None])
    statistic = 2 * (problem.loss(x) - least)  # never too small, since x need not be the best with θ_i = θ_j
    active = pick if critical is None else pick[statistic >= critical]
    for _ in range(50):
        if not len(active):
            break
        x[:, active], left = _newton_step(problem, inverse, i[active], j[active], reach[:, active], x[:, active])
        statistic[active] = 2 * (problem.loss(x[:, active]) - least)
        going = left >= ENOUGH
        if critical is not None:  # a step gains more than all later ones
            going &= (statistic[active] >= critical) & (statistic[active] - left < critical)
        active = active[going]
    return np.asarray(np.maximum(statistic, 0.0))


def _newton_step(
    problem: Problem, inverse: _Inverse, i: Ints, j: Ints, reach: Floats, x: Floats
) -> tuple[Floats, Floats]:
    """Take one Newton step for each column of strengths, θ_i = θ_j kept; return it and its expected gain."""
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


SHORT = 50  # items up to which every pair is refitted that might need it
FAR = 40.0  # in lists too long for all pairs: pairs with larger Wald statistics are separated without a test
CLEARLY = 4.0  # a Wald statistic that many times the critical value needs no refit


@dataclass(frozen=True, eq=False)
class Close:
    """Pairs (i, j), i above j, as places in a query's order, with the p-value of their difference.

    Pairs that are not listed are clearly separated.
    """

    size: int
    i: Ints
    j: Ints
    p: Floats


def separation(fit: Strengths, query: int, alpha: float, refit: str = "auto") -> Close:
    """Test the pairs of a query: clustered by worker where two or more judged, else by likelihood ratios."""
    if np.isfinite(fit.clustered[query][1]) or fit.inference_fit is not fit:
        return wald_separation(fit, query)
    return likelihood_separation(fit, query, alpha, refit)


def wald_separation(fit: Strengths, query: int) -> Close:
    """Test pairs by their difference over its standard error, by Student's t; the inference fit must agree."""
    from scipy.special import stdtr

    block = slice(*fit.pairs.starts[query : query + 2])
    values, (factor, freedom) = fit.values[block], fit.clustered[query]
    order = np.argsort(-values, kind="stable")
    i, j, wald = _candidates(values[order], factor[order], np.inf if len(order) <= EXACT_UP_TO else FAR)
    p = 2 * stdtr(min(freedom, 1e9), -np.sqrt(wald))
    if fit.inference_fit is not fit:
        seen, (spread, _) = fit.inference_fit.values[block][order], fit.inference_fit.clustered[query]
        error = np.sqrt(((spread[order[i]] - spread[order[j]]) ** 2).sum(axis=1))
        p = np.maximum(
            p, np.minimum(1.0, 2 * stdtr(min(freedom, 1e9), (seen[j] - seen[i]) / np.maximum(error, 1e-300)))
        )
    return Close(len(order), i, j, p)


def likelihood_separation(fit: Strengths, query: int, alpha: float, refit: str = "auto") -> Close:
    """Test pairs by the likelihood ratio, refitting only where the quadratic approximation could err.

    Over a difference d the likelihood's curvature changes by at most a factor e^d, so a Wald statistic
    outside [critical · e^−d, critical · min(e^d, 4)] decides as a refit would. In lists of more than ``SHORT``
    items the likelihood ratio is taken to lie between .9 times the Wald statistic and 1.1 times what it were if
    the two had been compared with each other alone, which holds but for rare pairs; and in lists too long for
    an exact covariance it is taken to be in the middle, with no refit. ``refit`` = "always" refits every
    pair that a Wald statistic does not separate 4 times over, to convergence, so that its p-values are exact;
    "never" refits none.
    """
    from scipy.special import chdtrc, chdtri

    problem, order, factor = _problem(fit, query)
    critical = float(chdtri(1, alpha))
    i, j, wald = _candidates(problem.best[order], factor[order], CLEARLY * critical)
    d = problem.best[order[i]] - problem.best[order[j]]
    uncertain = np.full(len(i), refit == "always")
    if refit == "auto":
        uncertain = (wald > critical * np.exp(-d)) & (wald < critical * np.minimum(np.exp(d), CLEARLY))
        if len(order) > SHORT:
            uncertain &= (wald < critical / 0.9) & (wald * _direct_ratio(d) > critical / 1.1)
        if len(order) > EXACT_UP_TO:
            uncertain[:] = False
            wald *= np.sqrt(_direct_ratio(d))
    exact = factor if len(order) <= EXACT_UP_TO else None
    limit = None if refit == "always" else critical
    statistic = wald.copy()
    statistic[uncertain] = likelihood_ratios(problem, exact, order[i[uncertain]], order[j[uncertain]], limit)
    return Close(len(order), i, j, np.asarray(chdtrc(1, statistic)))


def _direct_ratio(d: Floats) -> Floats:
    """Likelihood ratio over Wald statistic of two items that were compared with each other alone."""
    p = 0.5 + 0.5 * np.tanh(np.maximum(d, 1e-3) / 2)
    lost = np.log(2) + p * np.log(p) + (1 - p) * np.log1p(-p)
    return np.asarray(2 * lost / (p * (1 - p) * np.maximum(d, 1e-3) ** 2))


def bootstrap_separation(draws: Floats, values: Floats, workers: int = 0) -> Close:
    """Test pairs by refitted resamples, ``draws[resample, item]`` of one query.

    p is twice the fraction of resamples in which the pair's order is not the fitted one; but at least that of
    Student's t for the resamples' spread, with as many degrees of freedom as there are other ``workers``, since
    resamples of few workers are too similar (of the normal distribution where workers are not known).
    """
    from scipy.special import stdtr

    order = np.argsort(-values, kind="stable")
    ranked, resamples = draws[:, order], len(draws)
    i, j = np.triu_indices(len(order), 1)
    turned, square = np.zeros(len(i)), np.zeros(len(i))
    gap = values[order[i]] - values[order[j]]
    for draw in ranked:
        turned += np.where(draw[i] == draw[j], 0.5, draw[i] < draw[j])
        square += (draw[i] - draw[j] - gap) ** 2
    p = 2 * (turned + 1) / (resamples + 1)
    freedom = workers - 1.0 if workers > 1 else 1e9
    error = np.sqrt(square / resamples * (1 + 1 / freedom))
    p = np.maximum(p, 2 * stdtr(freedom, -gap / np.maximum(error, 1e-300)))
    return Close(len(order), i, j, np.minimum(1.0, p))


def _problem(fit: Strengths, query: int) -> tuple[Problem, Ints, Floats]:
    pairs, starts = fit.pairs, fit.pairs.starts
    start, stop = int(starts[query]), int(starts[query + 1])
    mine = slice(*np.searchsorted(pairs.first, [start, stop]))
    values = fit.values[start:stop]
    problem = Problem(
        pairs.first[mine].astype(np.int64) - start,
        pairs.second[mine].astype(np.int64) - start,
        pairs.count[mine],
        pairs.score[mine],
        values,
        fit.ridge,
        fit.tie_rate,
    )
    return problem, np.argsort(-values, kind="stable"), fit.factors[query]


def _candidates(ranked: Floats, spread: Floats, clear: float) -> tuple[Ints, Ints, Floats]:
    """List the pairs whose Wald statistic is below ``clear``, without ever holding all pairs of a long list."""
    variance = (spread**2).sum(axis=1)
    # Var(θ_i − θ_j) ≤ 2 (Var θ_i + Var θ_j): beyond this difference no pair can qualify
    most = 2 * (variance + variance.max(initial=0.0))
    reach = np.sqrt(clear * most) if np.isfinite(clear) else np.full(len(ranked), np.inf)
    stops = np.searchsorted(-ranked, -ranked + reach, side="right")
    rows, columns, statistics = [], [], []
    for i, stop in enumerate(stops):
        between = ((spread[i + 1 : stop] - spread[i]) ** 2).sum(axis=1)
        wald = (ranked[i] - ranked[i + 1 : stop]) ** 2 / np.maximum(between, 1e-300)
        kept = np.flatnonzero(wald < clear)
        rows.append(np.full(len(kept), i))
        columns.append(kept + i + 1)
        statistics.append(wald[kept])
    empty = np.zeros(0, np.int64)
    return (
        np.concatenate([empty, *rows]),
        np.concatenate([empty, *columns]),
        np.concatenate([np.zeros(0), *statistics]),
    )
