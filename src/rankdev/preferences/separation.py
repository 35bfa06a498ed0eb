"""Which items the judgments separate: a p-value for every pair of a query that could share a tier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankdev.arrays import Floats, Ints
from rankdev.preferences.refit import Problem, likelihood_ratios
from rankdev.preferences.uncertainty import EXACT_UP_TO

if TYPE_CHECKING:
    from rankdev.preferences.strengths import Strengths


SHORT = 50  # items up to which every pair is refitted that might need it
FAR = 40.0  # in lists too long for all pairs: Wald statistics from there on are beyond doubt
CLEARLY = 4.0  # a Wald statistic that many times the critical value needs no refit


@dataclass(frozen=True, eq=False)
class Close:
    """Pairs (i, j), i above j, as places in a query's order, with the p-value of their difference.

    Pairs that are not listed are separated beyond doubt.
    """

    size: int
    i: Ints
    j: Ints
    p: Floats


def separation(fit: Strengths, query: int, alpha: float, refit: str = "auto") -> Close:
    """Test the pairs of a query: clustered by worker where two or more judged, else by likelihood ratios."""
    if np.isfinite(fit.clustered[query][1]) or fit.witness is not fit:
        return wald_separation(fit, query)
    return likelihood_separation(fit, query, alpha, refit)


def wald_separation(fit: Strengths, query: int) -> Close:
    """Test pairs by their difference over its standard error, by Student's t; its witness must say so too."""
    from scipy.special import stdtr

    block = slice(*fit.pairs.starts[query : query + 2])
    values, (factor, freedom) = fit.values[block], fit.clustered[query]
    order = np.argsort(-values, kind="stable")
    i, j, wald = _candidates(values[order], factor[order], np.inf if len(order) <= EXACT_UP_TO else FAR)
    p = 2 * stdtr(min(freedom, 1e9), -np.sqrt(wald))
    if fit.witness is not fit:
        seen, (spread, _) = fit.witness.values[block][order], fit.witness.clustered[query]
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
    pair that a Wald statistic does not separate 4 times over, to the end, so that its p-values are exact;
    "never" refits none.
    """
    from scipy.special import chdtrc, chdtri

    problem, order, factor = _problem(fit, query)
    critical = float(chdtri(1, alpha))
    i, j, wald = _candidates(problem.best[order], factor[order], CLEARLY * critical)
    d = problem.best[order[i]] - problem.best[order[j]]
    doubtful = np.full(len(i), refit == "always")
    if refit == "auto":
        doubtful = (wald > critical * np.exp(-d)) & (wald < critical * np.minimum(np.exp(d), CLEARLY))
        if len(order) > SHORT:
            doubtful &= (wald < critical / 0.9) & (wald * _direct_ratio(d) > critical / 1.1)
        if len(order) > EXACT_UP_TO:
            doubtful[:] = False
            wald *= np.sqrt(_direct_ratio(d))
    exact = factor if len(order) <= EXACT_UP_TO else None
    limit = None if refit == "always" else critical
    statistic = wald.copy()
    statistic[doubtful] = likelihood_ratios(problem, exact, order[i[doubtful]], order[j[doubtful]], limit)
    return Close(len(order), i, j, np.asarray(chdtrc(1, statistic)))


def _direct_ratio(d: Floats) -> Floats:
    """Likelihood ratio over Wald statistic of two items that were compared with each other alone."""
    p = 0.5 + 0.5 * np.tanh(np.maximum(d, 1e-3) / 2)
    lost = np.log(2) + p * np.log(p) + (1 - p) * np.log1p(-p)
    return np.asarray(2 * lost / (p * (1 - p) * np.maximum(d, 1e-3) ** 2))


def bootstrap_separation(draws: Floats, values: Floats, workers: int = 0) -> Close:
    """Test pairs by refitted resamples, ``draws[resample, item]`` of one query.

    p is twice the share of resamples in which the pair's order is not the fitted one; but never less than what
    Student's t gives for the resamples' spread with as many degrees of freedom as there are other ``workers``,
    since resamples of few workers are too much alike (and the normal distribution where workers are not known).
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
    reach = np.sqrt(clear * 2 * (variance + variance.max(initial=0.0)))
    ends = np.searchsorted(-ranked, -ranked + reach, side="right")
    rows, columns, statistics = [], [], []
    for i, end in enumerate(ends):
        between = ((spread[i + 1 : end] - spread[i]) ** 2).sum(axis=1)
        wald = (ranked[i] - ranked[i + 1 : end]) ** 2 / np.maximum(between, 1e-300)
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
