"""Models of strengths: from counted judgments to strengths, by Bradley and Terry, Davidson, or Rank Centrality."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rankdev._common.arrays import Floats
from rankdev.preferences.pairs import Fitted, Pairs, gains, maximise, moments, sums

if TYPE_CHECKING:
    from rankdev.preferences.judgments import Preferences


EXACT_UP_TO = 300  # items of a query; above, the walk is solved for as a sparse matrix
TINY = 1e-300  # smaller probabilities count as 0
CLOSE, LIMIT = 1e-10, 2000  # the walk ends with a step this small, or after so many


def bradley_terry(preferences: Preferences, ridge: float, alpha: float) -> Fitted:
    """Maximise the penalised likelihood: i beats j with probability 1/(1 + e^(θj − θi)), ties by Davidson's model."""
    pairs = preferences.pairs
    fit = _davidson(pairs, ridge) if pairs.ties.any() else maximise(pairs, ridge)
    expected, _ = moments(fit.values[pairs.first] - fit.values[pairs.second], fit.tie_rate)
    gained = gains(preferences, preferences.winner < preferences.loser)
    return replace(fit, residual=preferences.weights * (gained - expected[pairs.of]))


def _davidson(pairs: Pairs, ridge: float) -> Fitted:
    """Alternate between strengths and the one rate of ties, which all queries share."""
    log_rate, start = 0.0, None
    for _ in range(200):
        fit = maximise(pairs, ridge, tie_rate=float(np.exp(log_rate)), start=start)
        start = fit.values
        d = np.abs(start[pairs.first] - start[pairs.second])
        tie = np.exp(log_rate - d / 2)
        chance = tie / (1 + np.exp(-d) + tie)
        change = (pairs.ties.sum() - pairs.count @ chance) / (pairs.count @ (chance * (1 - chance)))
        log_rate = min(log_rate + float(np.clip(change, -1, 1)), 12.0)  # if all were ties, it would be infinite
        if abs(change) < 1e-8:
            break
    return maximise(pairs, ridge, tie_rate=float(np.exp(log_rate)), start=start)


def rank_centrality(preferences: Preferences, ridge: float, alpha: float) -> Fitted:
    """Walk from items to items that beat them: the logarithm of how often the walk is at an item, in the long run.

    The walk goes from i to j at a rate equal to the fraction of their comparisons that j won, ``ridge`` wins
    each way added; the divisor d_max of the definition only slows it down and does not change its limit.
    Walks that mix too slowly to settle by iteration (long chains) are solved directly.
    """
    pairs = preferences.pairs
    whole = pairs.count + 2 * ridge
    up, down = (pairs.score + ridge) / whole, (pairs.count - pairs.score + ridge) / whole  # to first, to second
    n = pairs.items
    leaving = sums(pairs.first, down, n) + sums(pairs.second, up, n)
    moves, pace = leaving > 0, np.where(leaving > 0, leaving, 1.0)

    def step_on(flow: Floats) -> Floats:
        at = flow / pace
        came = sums(pairs.first, at[pairs.second] * up, n) + sums(pairs.second, at[pairs.first] * down, n)
        return np.maximum(np.where(moves, 0.5 * (flow + came), flow), TINY)  # lazy, so that it cannot oscillate

    flow = np.repeat(1.0 / np.diff(pairs.starts), np.diff(pairs.starts))  # probability × rate of leaving
    step, change = 0, np.inf
    while change >= CLOSE and step < LIMIT:  # relative to each item, since its logarithm is what is wanted
        step, before = step + 1, flow
        flow = step_on(before)
        change = float(np.abs(flow / before - 1).max(initial=0.0))
    if change >= CLOSE:
        flow = np.maximum(_direct(pairs, up, down, leaving) * pace, TINY)
        change = float(np.abs(step_on(flow) / flow - 1).max(initial=0.0))
    converged = change < 1e-6 and bool((flow > TINY).all())
    return Fitted(values=np.log(flow / pace), pairs=pairs, iterations=step, converged=converged)


def _direct(pairs: Pairs, up: Floats, down: Floats, leaving: Floats) -> Floats:
    """Solve for the stationary distribution of each query's walk, its first item at 1."""
    from scipy.sparse import coo_array, diags_array
    from scipy.sparse.linalg import spsolve

    result, bounds = np.ones(pairs.items), np.searchsorted(pairs.first, pairs.starts)
    for start, stop, a, b in zip(pairs.starts, pairs.starts[1:], bounds, bounds[1:], strict=False):
        n, i, j = int(stop - start), pairs.first[a:b] - start, pairs.second[a:b] - start
        places = (np.concatenate([j, i]), np.concatenate([i, j]))
        rates = coo_array((np.concatenate([up[a:b], down[a:b]]), places), shape=(n, n))
        if n <= EXACT_UP_TO:
            result[start:stop] = _eliminated(rates.toarray())
        else:
            grounded = np.eye(1, n)[0]  # the balance of one item follows from the others
            system = diags_array(1 - grounded) @ (diags_array(leaving[start:stop]) - rates.T.tocsr())
            result[start:stop] = spsolve((system + diags_array(grounded)).tocsc(), grounded)
    return result


def _eliminated(rates: Floats) -> Floats:
    """Find the stationary distribution of a walk, its first item at 1, without subtractions: no weak item is lost.

    This is the elimination of Grassmann, Taksar and Heyman (1985); ``rates[i, j]`` leads from i to j.
    """
    n = len(rates)
    for k in range(n - 1, 0, -1):
        rates[:k, k] /= rates[k, :k].sum()
        rates[:k, :k] += np.outer(rates[:k, k], rates[k, :k])
    rest = np.ones(n)
    for k in range(1, n):
        rest[k] = rest[:k] @ rates[:k, k]
    return rest
