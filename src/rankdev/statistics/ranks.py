"""Ranks of systems: what orders them, between which ranks they are, and the letters of their groups."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_lowercase
from typing import Any

import numpy as np
import numpy.typing as npt

from rankdev._common.arrays import Floats
from rankdev.statistics.groups import letter_groups, neighbours
from rankdev.statistics.panels import Indices

RULES = ("mean", "borda", "wins")
ROUNDING = 1e-12  # means that differ by less are equal


def points(means: Floats, rule: str) -> Floats:
    """Turn means, ``[…, system]``, into what a rule adds up over tasks.

    >>> means = np.array([0.5, 0.7, 0.7])
    >>> points(means, "borda").tolist(), points(means, "wins").tolist()  # others beaten, shared first places
    ([0.0, 0.75, 0.75], [0.0, 0.5, 0.5])
    """
    if rule == "mean":
        return means
    if rule == "wins":
        top = means >= means.max(axis=-1, keepdims=True) - ROUNDING
        return top / top.sum(axis=-1, keepdims=True)
    beaten = np.zeros_like(means)
    for other in np.moveaxis(means, -1, 0):
        apart = means - other[..., None]
        beaten += (apart > ROUNDING) + 0.5 * (np.abs(apart) <= ROUNDING)
    return (beaten - 0.5) / (means.shape[-1] - 1)


def ranks(score: Floats) -> Indices:
    """Rank systems, best first; equal ones share the best of their ranks.

    >>> ranks(np.array([0.5, 0.7, 0.7])).tolist()
    [3, 1, 1]
    """
    return 1 + (score[None, :] > score[:, None] + ROUNDING).sum(axis=1)


def rank_limits(systems: int, better: Sequence[tuple[int, int]]) -> tuple[Indices, Indices]:
    """Return the first and the last rank of each system that the significant differences leave, (better, worse) each.

    >>> low, high = rank_limits(3, [(0, 1), (0, 2)])
    >>> low.tolist(), high.tolist()
    ([1, 2, 2], [1, 3, 3])
    """
    counts = np.zeros((2, systems), np.int64)
    for one, other in better:
        counts[0, other] += 1
        counts[1, one] += 1
    return 1 + counts[0], systems - counts[1]


def group_letters(better: Sequence[tuple[int, int]], order: Indices) -> npt.NDArray[Any]:
    """Name the groups of each system: two share one exactly where they do not differ significantly.

    Where that takes more groups than there are letters, groups are of neighbours only; two that share none may then be
    without a significant difference.
    """
    place = np.argsort(order)
    apart = [(int(place[a]), int(place[b])) for a, b in better]
    members = sorted(map(sorted, letter_groups(len(order), apart) or neighbours(len(order), apart)))
    few = len(members) <= len(ascii_lowercase)
    names = ascii_lowercase if few else [str(i + 1) for i in range(len(members))]
    shown = np.empty(len(order), dtype=object)
    for system, own in enumerate(place):
        labels = [label for label, group in zip(names, members, strict=False) if own in group]
        shown[system] = ("" if few else " ").join(labels)
    return shown


def shares_of_best(drawn: Floats) -> Floats:
    """Return the fraction of resamples in which each system is best; equal ones share it. NaN where it is unknown."""
    if np.isnan(drawn).any():
        return np.full(drawn.shape[1], np.nan)
    return points(drawn, "wins").mean(axis=0)
