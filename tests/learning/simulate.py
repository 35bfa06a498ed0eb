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
