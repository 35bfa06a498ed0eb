"""Who cannot be told apart: means with intervals, and groups of neighbours among the systems."""

from __future__ import annotations

import numpy as np

from rankdev._common.arrays import Floats
from rankdev._common.checks import check_number
from rankdev.evaluation.scores import Scores
from rankdev.statistics.significance import Significance


def mean_intervals(scores: Scores, alpha: float = 0.05) -> tuple[Floats, Floats]:
    """Bound the mean of every system and measure by Student's t, ``[system, measure]``; NaN with fewer than two values.

    >>> values = np.array([[[0.2], [0.4], [0.6]]])
    >>> low, high = mean_intervals(Scores(("s",), ("a", "b", "c"), ("P@5",), values))
    >>> low.round(4).tolist(), high.round(4).tolist()
    ([[-0.0968]], [[0.8968]])
    """
    from scipy import special

    tail = check_number("alpha", alpha, 0, 1) / 2
    n = np.isfinite(scores.values).sum(axis=1)
    apart = np.where(np.isfinite(scores.values), scores.values - scores.averages[:, None], 0.0)
    free = np.where(n > 1, n - 1, np.nan)
    half = special.stdtrit(free, 1 - tail) * np.sqrt((apart**2).sum(axis=1) / free / n)
    return scores.averages - half, scores.averages + half


def groups(scores: Scores, found: Significance, measure: str) -> list[tuple[str, ...]]:
    """Give the systems, best mean first, in the largest groups of neighbours of which no two are told apart.

    Groups may overlap: a may not differ from b, nor b from c, though a differs from c.

    >>> from rankdev.statistics.significance import significance
    >>> values = np.array([[0.9] * 8, [0.8, 0.8, 0.8, 0.8, 1, 1, 1, 1], [0.1] * 8])[:, :, None]
    >>> scores = Scores(("x", "y", "z"), tuple("abcdefgh"), ("P@5",), values)
    >>> groups(scores, significance(scores), "P@5")
    [('x', 'y'), ('z',)]
    """
    return grouped(scores.sorted_by(measure).systems, found, measure)


def grouped(order: tuple[str, ...], found: Significance, measure: str) -> list[tuple[str, ...]]:
    """Give the groups of :func:`groups` for systems whose order is known."""
    place = {system: i for i, system in enumerate(order)}
    rows = found.to_polars().filter(measure=measure)
    reach = np.full(len(order), len(order))  # the first system below that is told apart from this one
    for a, b, p in rows.select("a", "b", "p_adjusted").iter_rows():
        if p is not None and p <= found.alpha:
            first, second = sorted((place[a], place[b]))
            reach[first] = min(reach[first], second)
    reach = np.minimum.accumulate(reach[::-1])[::-1]
    bounds = [(i, int(end)) for i, end in enumerate(reach) if i == 0 or end > reach[i - 1]]
    return [order[begin:end] for begin, end in bounds]
