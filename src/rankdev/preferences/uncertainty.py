"""Uncertainty of strengths, also where judgments depend on each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rankdev._common.arrays import Floats, Ints
from rankdev.preferences.pairs import Pairs, cells_of, sums

if TYPE_CHECKING:
    from rankdev.preferences.judgments import Preferences
    from rankdev.preferences.strengths import Strengths


EXACT_UP_TO = 5000  # items of one query; above, covariances, of which there are items × items, are not computed
GRID = np.linspace(0.0025, 0.9975, 200)  # of probabilities
SAME = 1e-7  # strengths that differ by less are equal: a fit is not more exact than that


def levelled(values: Floats, starts: Ints) -> Floats:
    """Make strengths of a query that are equal up to rounding exactly equal, so that nothing depends on their order."""
    query = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    order = np.lexsort((values, query))
    ranked = values[order]
    apart = (np.diff(ranked, prepend=-np.inf) > SAME) | (np.diff(query[order], prepend=-1) > 0)
    level = np.cumsum(apart) - 1
    result = np.empty_like(values)
    result[order] = (sums(level, ranked, int(apart.sum())) / np.bincount(level, minlength=int(apart.sum())))[level]
    return result


class Variances(NamedTuple):
    """Variance of each item's strength, and degrees of freedom of its interval; NaN where it is not known.

    ``simple`` is the variance if all judgments were independent, ``clustered`` by worker where a query has two or more.
    """

    simple: Floats
    clustered: Floats
    freedom: Floats


def variances(fit: Strengths) -> Variances:
    """Compute the variances of strengths around their mean: of independent judgments, and clustered by worker.

    Clustered: the sandwich B⁻¹ (Σ s sᵀ) B⁻¹ over the workers' scores s, each first scaled for the worker's own leverage
    on the fit: (I − A)^−½ s ≈ (I + A/2 + 3A²/8) s with A the worker's part of the information (Bell and McCaffrey 2002,
    to second order). t with one degree of freedom less than workers.
    """
    workers, starts = workers_by_query(fit.preferences), fit.pairs.starts
    simple, clustered = np.full((2, len(fit.values)), np.nan)
    freedom = np.full(len(fit.values), np.inf)
    if fit.curvature is None:
        return Variances(simple, clustered, freedom)
    for query in range(len(workers)):
        mine = slice(int(starts[query]), int(starts[query + 1]))
        if mine.stop - mine.start > EXACT_UP_TO:
            continue
        covariance = _covariance(fit.pairs, fit.curvature, fit.penalty, fit.coupling, query)
        simple[mine] = clustered[mine] = np.diag(covariance)
        if workers[query] > 1:
            clustered[mine], freedom[mine] = _sandwich(fit, query, covariance), workers[query] - 1
    return Variances(simple, clustered, freedom)


def on_grid(log_posterior: Floats, alpha: float) -> tuple[Floats, Floats, Floats]:
    """Turn log posteriors on :data:`GRID`, a column each, into probabilities, and the ends of their intervals."""
    mass = np.exp(log_posterior - log_posterior.max(axis=0))
    mass /= mass.sum(axis=0)
    below = np.cumsum(mass, axis=0)
    low, high = (GRID[np.argmax(below >= tail, axis=0)] for tail in (alpha / 2, 1 - alpha / 2))
    return mass, low, high


def derivatives(function: Callable[[Floats], float], at: Floats, step: float) -> tuple[Floats, Floats]:
    """Return slope and curvature of a function, by central differences."""
    moves, size = step * np.eye(len(at)), len(at)
    slope, bend, centre = np.empty(size), np.empty((size, size)), function(at)
    for i, one in enumerate(moves):
        up, down = function(at + one), function(at - one)
        slope[i], bend[i, i] = (up - down) / (2 * step), (up + down - 2 * centre) / step**2
        for j, other in enumerate(moves[:i]):
            corners = [function(at + a * one + b * other) * a * b for a in (1, -1) for b in (1, -1)]
            bend[i, j] = bend[j, i] = sum(corners) / (4 * step**2)
    return slope, bend


def inflation(fit: Strengths) -> float:
    """Ratio of the variance of strengths to that of independent judgments, in all queries together; at least 1."""
    found = variances(fit)
    known = np.isfinite(found.freedom) & (found.simple > 0)
    return max(1.0, float(found.clustered[known].sum() / found.simple[known].sum())) if known.any() else 1.0


def _covariance(pairs: Pairs, curvature: Floats, penalty: Floats, coupling: Any, query: int) -> Floats:
    """Covariance of a query's strengths around their mean, less what is lost to other parameters (``coupling``)."""
    from scipy.linalg.lapack import dpotrf, dpotrs

    start, stop = (int(place) for place in pairs.starts[query : query + 2])
    mine, size = slice(*np.searchsorted(pairs.first, [start, stop])), stop - start
    i, j, values = pairs.first[mine] - start, pairs.second[mine] - start, curvature[mine]
    information = np.diag(penalty[start:stop])
    information[i, j] = information[j, i] = -values
    information[np.diag_indices(size)] += sums(i, values, size) + sums(j, values, size)
    if coupling is not None:
        lost = coupling[start:stop]
        information -= (lost @ lost.T).toarray()
    if not penalty[start:stop].any():  # the mean has no information, and no meaning either
        information += 1 / size
    # dpotri would start threads for any size, which wait for each other
    lower, unlimited = dpotrf(information, lower=1)
    if unlimited:  # some strengths have no information
        return np.full((size, size), np.nan)
    covariance = dpotrs(lower, np.eye(size), lower=1)[0]
    covariance -= covariance.mean(axis=0)
    return np.asarray(covariance - covariance.mean(axis=1, keepdims=True))


def _sandwich(fit: Strengths, query: int, covariance: Floats) -> Floats:
    judged, pairs = fit.preferences, fit.pairs
    assert judged.worker is not None
    assert fit.residual is not None
    assert fit.curvature is not None
    start, stop = (int(place) for place in pairs.starts[query : query + 2])
    rows = np.flatnonzero((judged.winner >= start) & (judged.winner < stop))
    of = pairs.of[rows]
    i, j = pairs.first[of] - start, pairs.second[of] - start
    who, worker = np.unique(judged.worker[rows], return_inverse=True)
    shape = (stop - start, len(who))
    information = judged.weights[rows] * fit.curvature[of] / np.maximum(pairs.count[of], 1e-300)

    def scores(values: Floats) -> Floats:
        flat = sums(i * shape[1] + worker, values, shape[0] * shape[1])
        return (flat - sums(j * shape[1] + worker, values, shape[0] * shape[1])).reshape(shape)

    def leveraged(columns: Floats) -> Floats:
        moved = covariance @ columns
        return scores(information * (moved[i, worker] - moved[j, worker]))

    raw = scores(fit.residual[rows])
    once = leveraged(raw)
    return np.asarray(((covariance @ (raw + once / 2 + 0.375 * leveraged(once))) ** 2).sum(axis=1))


INVERTED_BELOW = -3.1  # z: one worker in a thousand who answers at random is taken for inverted


def flipped(judged: Preferences, inverted: list[str], fitted: Callable[[Preferences], Floats]) -> Preferences:
    """Reverse the judgments of inverted workers.

    Only those of workers whose answers contradict all others' beyond chance: strengths are ``fitted`` again without
    the worker, so that random answers are not reversed to agree.
    """
    turn = np.zeros(len(judged), bool)
    for name in inverted:
        mine = judged.worker == judged.workers.index(name)
        strength = fitted(replace(judged, weight=np.where(mine, 0.0, judged.weights)))
        lead = np.tanh((strength[judged.winner] - strength[judged.loser]) / 2)[mine & ~judged.tie]
        turn |= mine & (lead.sum() < INVERTED_BELOW * np.sqrt((lead**2).sum()))
    if not turn.any():
        return judged
    return replace(
        judged,
        winner=np.where(turn, judged.loser, judged.winner),
        loser=np.where(turn, judged.winner, judged.loser),
        winner_first=None if judged.winner_first is None else judged.winner_first ^ turn,
    )


def counted_once(preferences: Preferences) -> Preferences:
    """Weight the answers of one worker to one pair so that they count as one, where others judged the query too.

    Two answers of one assessor, or of a language model asked again, are not independent evidence on what several think.
    Where one worker judged alone they are: on what this worker thinks.

    >>> from rankdev.preferences import Preferences
    >>> counted_once(Preferences.from_rows([("q", "x", "y", "ann")] * 2 + [("q", "x", "y", "bob")])).weight.tolist()
    [0.5, 0.5, 1.0]
    """
    if preferences.worker is None:
        return preferences
    _, which, times = np.unique(cells_of(preferences), return_inverse=True, return_counts=True)
    several = workers_by_query(preferences)[preferences.item_query[preferences.winner]] > 1
    if not several.any() or times.max(initial=1) == 1:
        return preferences
    return replace(preferences, weight=np.where(several, 1.0 / times[which], 1.0) * preferences.weights)


def workers_by_query(preferences: Preferences) -> Ints:
    """Number of workers of each query; 0 where workers were not recorded."""
    queries = len(preferences.queries)
    if preferences.worker is None:
        return np.zeros(queries, np.int64)
    key = preferences.item_query[preferences.winner].astype(np.int64) * len(preferences.workers) + preferences.worker
    return np.bincount(np.unique(key) // len(preferences.workers), minlength=queries)
