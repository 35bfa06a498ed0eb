"""What the majorities imply: who stands above whom through a chain of wins, and where chains close to cycles."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from rankdev.arrays import Ints
from rankdev.preferences.pairs import Pairs


def majorities(pairs: Pairs) -> tuple[Ints, Ints]:
    """Winner and loser of every pair that more judgments favour one way than the other."""
    lead = pairs.score - pairs.count / 2
    clear = np.abs(lead) > 1e-9
    first, second = pairs.first[clear].astype(np.int64), pairs.second[clear].astype(np.int64)
    ahead = lead[clear] > 0
    return np.where(ahead, first, second), np.where(ahead, second, first)


def cyclic_groups(winner: Ints, loser: Ints, items: int) -> Ints:
    """Number the items so that those on a common cycle, and only those, share a number."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(winner), np.int8), (winner, loser)), shape=(items, items))
    _, label = connected_components(graph, directed=True, connection="strong")
    return np.asarray(label, np.int64)


def losers_of(winner: Ints, loser: Ints, items: int) -> list[Ints]:
    """List for every item those it beat."""
    order = np.argsort(winner, kind="stable")
    return np.split(loser[order], np.searchsorted(winner[order], np.arange(1, items)))


def shortest_cycle(losers: list[Ints], start: int) -> list[int]:
    """Find the shortest chain of wins from an item on a cycle back to itself, the item first."""
    came: dict[int, int] = {}
    queue = deque([start])
    while queue:
        at = queue.popleft()
        for item in losers[at].tolist():
            if item == start:
                path = [at]
                while path[-1] != start:
                    path.append(came[path[-1]])
                return path[::-1]
            if item not in came:
                came[item] = at
                queue.append(item)
    raise ValueError(f"item {start} is on no cycle")


def clear_pairs(pairs: Pairs, alpha: float = 0.05) -> Any:
    """Mark the pairs whose judgments all say the same, or lean one way by a sign test."""
    from scipy.special import bdtr

    least = np.minimum(pairs.score, pairs.count - pairs.score)
    leaning = 2 * bdtr(np.floor(least), np.maximum(np.round(pairs.count), 1).astype(np.int64), 0.5) < alpha
    return (least < 1e-9) | leaning
