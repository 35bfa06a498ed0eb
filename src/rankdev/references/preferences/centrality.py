"""Rank Centrality (Negahban, Oh and Shah 2012): the stationary distribution of a walk towards winners."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rankdev.references.preferences.newton import centred
from rankdev.references.preferences.pairs import Pairs, sums

Floats = npt.NDArray[np.float64]


def rank_centrality(
    pairs: Pairs, ridge: float, *, tolerance: float = 1e-10, limit: int = 2000
) -> tuple[Floats, int, bool]:
    """Give the logarithm of the stationary distribution, centred by query; steps; whether it converged.

    The walk goes from i to j at a rate equal to the share of their comparisons that j won, ``ridge`` wins
    each way added; the divisor d_max of the definition only slows it down and leaves its rest unchanged.
    Walks that mix too slowly to settle by iteration (long chains) are solved directly.
    """
    forward = (pairs.score + ridge) / (pairs.count + 2 * ridge)  # share that first won: rate second → first
    n = pairs.items
    leaving = sums(pairs.first, 1 - forward, n) + sums(pairs.second, forward, n)
    share = np.repeat(1.0 / np.diff(pairs.starts), np.diff(pairs.starts))
    flow = share.copy()  # probability × rate of leaving: the fixed point of the embedded walk
    pace = np.where(leaving > 0, leaving, 1.0)
    for step in range(1, limit + 1):
        at = flow / pace
        came = sums(pairs.first, at[pairs.second] * forward, n)
        came += sums(pairs.second, at[pairs.first] * (1 - forward), n)
        after = np.where(leaving > 0, 0.5 * (flow + came), flow)  # lazy, so that it cannot oscillate
        change = np.abs(after - flow).max(initial=0.0) / flow.max(initial=1e-300)
        flow = after
        if change < tolerance:
            return centred(np.log(flow / pace), pairs.starts), step, True
    return centred(np.log(_direct(pairs, forward, leaving)), pairs.starts), step, True


def _direct(pairs: Pairs, forward: Floats, leaving: Floats) -> Floats:
    from scipy.sparse import coo_array, diags_array
    from scipy.sparse.linalg import spsolve

    n = pairs.items
    rows, columns = np.concatenate([pairs.first, pairs.second]), np.concatenate([pairs.second, pairs.first])
    rates = coo_array((np.concatenate([forward, 1 - forward]), (rows, columns)), shape=(n, n))
    grounded = np.zeros(n)
    grounded[pairs.starts[:-1]] = 1.0  # the balance of one item per query follows from the others
    keep = diags_array(1 - grounded)
    system = keep @ (diags_array(leaving) - rates.tocsr()) + diags_array(grounded)
    solution: Floats = spsolve(system.tocsc(), grounded)
    return np.maximum(solution, 1e-300)
