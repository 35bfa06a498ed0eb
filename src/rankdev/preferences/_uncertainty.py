"""Uncertainty of strengths: covariances, also where judgments depend on each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rankdev._common.arrays import Floats
from rankdev._common.checks import check_seed
from rankdev.preferences._fitting import centred, solve
from rankdev.preferences._pairs import Pairs, sums
from rankdev.preferences.workers import workers_by_query

if TYPE_CHECKING:
    from rankdev.preferences.strengths import Strengths


SAME = 1e-7  # strengths that differ by less are equal: a fit is not more exact than that


def levelled(values: Floats, starts: npt.NDArray[np.int64]) -> Floats:
    """Make strengths of a query that are equal up to rounding exactly equal, so that nothing depends on their order."""
    query = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    order = np.lexsort((values, query))
    ranked = values[order]
    apart = (np.diff(ranked, prepend=-np.inf) > SAME) | (np.diff(query[order], prepend=-1) > 0)
    level = np.cumsum(apart) - 1
    result = np.empty_like(values)
    result[order] = (sums(level, ranked, int(apart.sum())) / np.bincount(level, minlength=int(apart.sum())))[level]
    return result


def generator(seed: int) -> np.random.Generator:
    """Make the random number generator of a seed."""
    return np.random.Generator(np.random.Philox(check_seed(seed)))


EXACT_UP_TO = 300  # items of one query; above, no array of items × items is ever made
DRAWS = 64  # for longer lists; standard errors then have an error of about 1/√(2 · 64) = 9%


def factors(pairs: Pairs, curvature: Floats, penalty: Floats, coupling: Any = None) -> list[Floats]:
    """Compute for each query F with F Fᵀ = the covariance of its strengths around their mean.

    Up to ``EXACT_UP_TO`` items F comes from the eigenvectors of the information matrix, less what is lost to other
    parameters (``coupling``); for longer lists its columns are scaled draws from the normal distribution of the
    strengths given those parameters (perturb and solve).
    """
    starts, sizes = pairs.starts, np.diff(pairs.starts)
    bounds = np.searchsorted(pairs.first, starts)  # pairs are ordered by their first item
    result: list[Floats] = []
    drawn = _draws(pairs, curvature, penalty) if sizes.max(initial=0) > EXACT_UP_TO else None
    for query, size in enumerate(sizes):
        start = int(starts[query])
        if drawn is not None and size > EXACT_UP_TO:
            result.append(drawn[start : start + size])
            continue
        mine = slice(bounds[query], bounds[query + 1])
        i, j = pairs.first[mine] - start, pairs.second[mine] - start
        information = np.diag(penalty[start : start + size])
        information[i, j] = information[j, i] = -curvature[mine]
        information[np.diag_indices(size)] += sums(i, curvature[mine], size) + sums(j, curvature[mine], size)
        if coupling is not None:
            lost = coupling[start : start + size]
            information -= (lost @ lost.T).toarray()
        values, vectors = np.linalg.eigh(information)
        # without a penalty the constant direction has no information, and no meaning either
        known = values > 1e-10 * values[-1]
        factor = vectors * np.where(known, 1 / np.sqrt(np.where(known, values, 1.0)), 0.0)
        result.append(factor - factor.mean(axis=0))
    return result


def _draws(pairs: Pairs, curvature: Floats, penalty: Floats) -> Floats:
    rng = np.random.Generator(np.random.Philox(0))
    n = pairs.items
    columns = []
    for _ in range(DRAWS):
        noise = np.sqrt(curvature) * rng.standard_normal(len(curvature))
        right = sums(pairs.first, noise, n) - sums(pairs.second, noise, n)
        columns.append(right + np.sqrt(penalty) * rng.standard_normal(n))
    return _solved(pairs, curvature, penalty, np.stack(columns, axis=1)) / np.sqrt(DRAWS)


def _solved(pairs: Pairs, curvature: Floats, penalty: Floats, right: Floats) -> Floats:
    n = pairs.items
    diagonal = sums(pairs.first, curvature, n) + sums(pairs.second, curvature, n) + penalty
    return centred(solve(pairs, curvature, diagonal, right, 1e-4), pairs.starts)


def clustered_factors(fit: Strengths) -> list[tuple[Floats, float]]:
    """Compute each query's factor of the covariance clustered by worker, and its degrees of freedom.

    The sandwich B⁻¹ (Σ s sᵀ) B⁻¹ over the workers' scores s, each first scaled for the worker's own leverage on
    the fit: (I − A)^−½ s ≈ (I + A/2 + 3A²/8) s with A the worker's part of the information (Bell and McCaffrey
    2002, to second order). t with one degree of freedom less than workers. Queries with fewer than two workers
    keep the model's own covariance.
    """
    workers = workers_by_query(fit.preferences)
    model = fit.factors
    if fit.residual is None or workers.max(initial=0) < 2:
        return [(factor, np.inf) for factor in model]
    long = np.diff(fit.pairs.starts).max(initial=0) > EXACT_UP_TO
    sketch = _sketched(fit) if long else None
    result = []
    for query, factor in enumerate(model):
        start, stop = fit.pairs.starts[query : query + 2]
        if workers[query] < 2:
            result.append((factor, np.inf))
        elif sketch is not None and stop - start > EXACT_UP_TO:
            scale = np.sqrt(
                workers[query] / (workers[query] - 1)
            )  # the leverage of a worker is small in so long a list
            result.append((scale * sketch[start:stop], workers[query] - 1.0))
        else:
            result.append((_sandwich(fit, query, factor), workers[query] - 1.0))
    return result


OTHERS = 20.0  # degrees of freedom that the other queries' ratios together count for at most


def inflation(fit: Strengths) -> Floats:
    """Compute each query's ratio of the variance of its strengths to that of independent judgments; at least 1.

    A query's own ratio counts by its degrees of freedom, the mean of the others' by theirs, up to ``OTHERS``: with few
    workers the ratio of one query is hardly known.
    """
    result = np.ones(len(fit.pairs.starts) - 1)
    if fit.curvature is None:
        return result
    simple = fit.factors if fit.coupling is None else factors(fit.pairs, fit.curvature, fit.penalty)
    own = np.array([(factor**2).sum() for factor in simple])
    ratio = np.array([(factor**2).sum() for factor, _ in fit.clustered]) / np.where(own > 0, own, 1.0)
    freedom = np.array([freedom for _, freedom in fit.clustered])
    known = np.isfinite(freedom) & (own > 0)
    result[~known & (own > 0)] = ratio[~known & (own > 0)]  # where the order of presentation was corrected for
    weight = np.where(known, freedom, 0.0)
    rest = weight.sum() - weight
    others = ((weight * ratio).sum() - weight * ratio) / np.maximum(rest, 1e-300)
    prior = np.minimum(rest, OTHERS)
    pooled = (weight * ratio + prior * others) / np.maximum(weight + prior, 1e-300)
    return np.maximum(1.0, np.where(known, pooled, result))


def _sandwich(fit: Strengths, query: int, factor: Floats) -> Floats:
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
    weight = np.ones(len(rows)) if judged.weight is None else judged.weight[rows]
    information = weight * fit.curvature[of] / np.maximum(pairs.count[of], 1e-300)

    def scores(values: Floats) -> Floats:
        flat = sums(i * shape[1] + worker, values, shape[0] * shape[1])
        return (flat - sums(j * shape[1] + worker, values, shape[0] * shape[1])).reshape(shape)

    def leveraged(columns: Floats) -> Floats:
        moved = factor @ (factor.T @ columns)
        return scores(information * (moved[i, worker] - moved[j, worker]))

    raw = scores(fit.residual[rows])
    once = leveraged(raw)
    moved = factor @ (factor.T @ (raw + once / 2 + 0.375 * leveraged(once)))
    return moved if shape[1] <= shape[0] else _root(moved @ moved.T)


def _root(covariance: Floats) -> Floats:
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def _sketched(fit: Strengths) -> Floats:
    """Draw the sandwich of long lists: random combinations of the workers' scores."""
    judged, pairs, n = fit.preferences, fit.pairs, fit.pairs.items
    assert judged.worker is not None
    assert fit.residual is not None
    assert fit.curvature is not None
    rng = np.random.Generator(np.random.Philox(0))
    columns = []
    for _ in range(DRAWS):
        sign = rng.choice([-1.0, 1.0], len(judged.workers))
        total = sums(pairs.of, fit.residual * sign[judged.worker], len(pairs.first))
        columns.append(sums(pairs.first, total, n) - sums(pairs.second, total, n))
    return _solved(pairs, fit.curvature, fit.penalty, np.stack(columns, axis=1)) / np.sqrt(DRAWS)
