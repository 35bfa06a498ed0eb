"""How sure the strengths are: a factor F of each query's covariance, F Fᵀ, exact or by draws."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rankdev.arrays import Floats
from rankdev.preferences.newton import centred, solve
from rankdev.preferences.pairs import Pairs, sums
from rankdev.preferences.workers import workers_by_query

if TYPE_CHECKING:
    from rankdev.preferences.strengths import Strengths


EXACT_UP_TO = 300  # items of one query; above, no array of items × items is ever made
DRAWS = 64  # for longer lists; standard errors are then right to about 1/√(2 · 64) = 9%


def factors(pairs: Pairs, curvature: Floats, penalty: Floats, coupling: Any = None) -> list[Floats]:
    """Give for each query F with F Fᵀ = the covariance of its strengths around their mean.

    Up to ``EXACT_UP_TO`` items F comes from the eigenvectors of the information matrix, less what ``coupling``
    says is lost to other unknowns; for longer lists its columns are draws from the normal distribution of the
    strengths given those unknowns (perturb and solve), scaled.
    """
    starts, sizes = pairs.starts, np.diff(pairs.starts)
    ends = np.searchsorted(pairs.first, starts)  # pairs are ordered by their first item
    result: list[Floats] = []
    drawn = _draws(pairs, curvature, penalty) if sizes.max(initial=0) > EXACT_UP_TO else None
    for query, size in enumerate(sizes):
        start = int(starts[query])
        if drawn is not None and size > EXACT_UP_TO:
            result.append(drawn[start : start + size])
            continue
        mine = slice(ends[query], ends[query + 1])
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
    """Give each query's factor of the covariance, and its degrees of freedom, workers standing or falling together.

    The sandwich B⁻¹ (Σ s sᵀ) B⁻¹ over the workers' scores s, each first scaled for the worker's own pull on
    the fit: (I − A)^−½ s ≈ (I + A/2 + 3A²/8) s with A the worker's share of the information (Bell and McCaffrey
    2002, to second order). t with one degree of freedom less than workers. Queries with fewer than two workers
    keep the model's own covariance.
    """
    workers = workers_by_query(fit.preferences)
    model = fit.factors
    if fit.surprise is None or workers.max(initial=0) < 2:
        return [(factor, np.inf) for factor in model]
    long = np.diff(fit.pairs.starts).max(initial=0) > EXACT_UP_TO
    sketch = _sketched(fit) if long else None
    result = []
    for query, factor in enumerate(model):
        start, stop = fit.pairs.starts[query : query + 2]
        if workers[query] < 2:
            result.append((factor, np.inf))
        elif sketch is not None and stop - start > EXACT_UP_TO:
            scale = np.sqrt(workers[query] / (workers[query] - 1))  # the pull of a worker is small in so long a list
            result.append((scale * sketch[start:stop], workers[query] - 1.0))
        else:
            result.append((_sandwich(fit, query, factor), workers[query] - 1.0))
    return result


def _sandwich(fit: Strengths, query: int, factor: Floats) -> Floats:
    judged, pairs = fit.preferences, fit.pairs
    assert judged.worker is not None
    assert fit.surprise is not None
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

    def pulled(columns: Floats) -> Floats:
        moved = factor @ (factor.T @ columns)
        return scores(information * (moved[i, worker] - moved[j, worker]))

    plain = scores(fit.surprise[rows])
    once = pulled(plain)
    moved = factor @ (factor.T @ (plain + once / 2 + 0.375 * pulled(once)))
    return moved if shape[1] <= shape[0] else _root(moved @ moved.T)


def _root(covariance: Floats) -> Floats:
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def _sketched(fit: Strengths) -> Floats:
    """Draw the sandwich of long lists: the workers' scores in random combinations."""
    judged, pairs, n = fit.preferences, fit.pairs, fit.pairs.items
    assert judged.worker is not None
    assert fit.surprise is not None
    assert fit.curvature is not None
    rng = np.random.Generator(np.random.Philox(0))
    columns = []
    for _ in range(DRAWS):
        sign = rng.choice([-1.0, 1.0], len(judged.workers))
        total = sums(pairs.of, fit.surprise * sign[judged.worker], len(pairs.first))
        columns.append(sums(pairs.first, total, n) - sums(pairs.second, total, n))
    return _solved(pairs, fit.curvature, fit.penalty, np.stack(columns, axis=1)) / np.sqrt(DRAWS)
