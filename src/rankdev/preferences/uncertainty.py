"""How sure the strengths are: a factor F of each query's covariance, F Fᵀ, exact or by draws."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rankdev.preferences.newton import centred, solve
from rankdev.preferences.pairs import Pairs, sums

Floats = npt.NDArray[np.float64]

EXACT_UP_TO = 300  # items of one query; above, no array of items × items is ever made
DRAWS = 64  # for longer lists; standard errors are then right to about 1/√(2 · 64) = 9%


def factors(pairs: Pairs, curvature: Floats, penalty: Floats) -> list[Floats]:
    """Give for each query F with F Fᵀ = the covariance of its strengths around their mean.

    Up to ``EXACT_UP_TO`` items F comes from the eigenvectors of the information matrix; for longer lists its
    columns are draws from the same normal distribution (perturb and solve), scaled.
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
        values, vectors = np.linalg.eigh(information)
        # without a penalty the constant direction has no information, and no meaning either
        known = values > 1e-10 * values[-1]
        factor = vectors * np.where(known, 1 / np.sqrt(np.where(known, values, 1.0)), 0.0)
        result.append(factor - factor.mean(axis=0))
    return result


def _draws(pairs: Pairs, curvature: Floats, penalty: Floats) -> Floats:
    rng = np.random.Generator(np.random.Philox(0))
    n = pairs.items
    diagonal = sums(pairs.first, curvature, n) + sums(pairs.second, curvature, n) + penalty
    columns = []
    for _ in range(DRAWS):
        noise = np.sqrt(curvature) * rng.standard_normal(len(curvature))
        right = sums(pairs.first, noise, n) - sums(pairs.second, noise, n)
        columns.append(right + np.sqrt(penalty) * rng.standard_normal(n))
    right = np.stack(columns, axis=1)
    return centred(solve(pairs, curvature, diagonal, right, 1e-4), pairs.starts) / np.sqrt(DRAWS)
