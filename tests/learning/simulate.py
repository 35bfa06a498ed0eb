"""Logs drawn from a known model."""

import numpy as np
import polars as pl


def position_based_log(rng, examination, *, sessions=3000, queries=40, items=8, shuffled=True):
    """Sessions of users who examine positions independently and click what attracts them."""
    positions = len(examination)
    attraction = rng.beta(1, 3, (queries, items))
    query = rng.integers(queries, size=sessions)
    noise = rng.gumbel(size=(sessions, items)) if shuffled else 0.0
    order = np.argsort(-(np.log(attraction[query]) + noise), axis=1)[:, :positions]
    chance = np.take_along_axis(attraction[query], order, 1)
    return table(query, order, rng.random((sessions, positions)) < chance * examination)


def cascade_log(rng, *, sessions=4000, items=6, positions=5):
    """Sessions of users who go down the list and stop when a click satisfies them; and how far they got."""
    attraction, satisfaction = rng.beta(2, 3, items), rng.beta(2, 2, items)
    order = np.argsort(rng.random((sessions, items)), axis=1)[:, :positions]
    clicked, examined = np.zeros((sessions, positions), bool), np.zeros((sessions, positions), bool)
    going = np.ones(sessions, bool)
    for place in range(positions):
        item = order[:, place]
        examined[:, place] = going
        clicked[:, place] = going & (rng.random(sessions) < attraction[item])
        going &= ~(clicked[:, place] & (rng.random(sessions) < satisfaction[item]))
    return table(np.zeros(sessions, int), order, clicked), examined.mean(axis=0)


def table(query, order, clicked):
    sessions, positions = order.shape
    return pl.DataFrame(
        {
            "session": np.repeat(np.arange(sessions), positions),
            "query": np.repeat(query, positions),
            "item": order.ravel(),
            "position": np.tile(np.arange(1, positions + 1), sessions),
            "clicked": clicked.ravel().astype(int),
        }
    )
