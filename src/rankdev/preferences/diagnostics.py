"""Checks of the judgments of each query; cycles and implied orders."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from rankdev._common.arrays import Ints
from rankdev._common.result import Result
from rankdev.preferences._pairs import Pairs

if TYPE_CHECKING:
    from rankdev.preferences.judgments import Preferences


COLUMNS = (
    "comparisons",
    "items",
    "workers",
    "groups",
    "in_cycles",
    "agreement",
    "duplicates",
    "contradictions",
    "single_workers",
    "first_wins",
)


@dataclass(frozen=True, eq=False)
class Diagnostics(Result):
    """Checks of the judgments, one row per query.

    Attributes
    ----------
    queries : tuple of str
        The queries.
    values : dict of str to array
        Columns of :meth:`to_polars`, one value per query.
    disconnected : dict of str to list of list of str
        Connected components of every query that has more than one.

    See Also
    --------
    Preferences.diagnostics : Make them.
    """

    queries: tuple[str, ...]
    values: dict[str, npt.NDArray[Any]] = field(repr=False)
    disconnected: dict[str, list[list[str]]] = field(repr=False)

    def to_polars(self) -> pl.DataFrame:
        """Tabulate the checks.

        Returns
        -------
        polars.DataFrame
            One row per query. comparisons, items, workers: their numbers; groups: connected components, 1 where all
            items are connected; in_cycles: items on a cycle of majorities (x beats y beats z beats x); agreement:
            probability that two judgments of one pair agree, null where no pair was judged twice; duplicates: rows that
            repeat another in everything, worker included; contradictions: pairs to which one worker gave different
            answers; single_workers: workers with one judgment in the whole data; first_wins: fraction of untied
            judgments won by the item shown first, null where that is unknown; connected: whether groups is 1.

        Examples
        --------
        >>> from rankdev.preferences import Preferences
        >>> judged = Preferences.from_rows([("q", "x", "y"), ("q", "x", "y"), ("q", "v", "w")])
        >>> judged.diagnostics().to_polars().select("groups", "agreement", "connected").rows()
        [(2, 1.0, False)]
        """
        columns = {name: self.values[name] for name in COLUMNS}
        table = pl.DataFrame({"query": list(self.queries), **columns}, schema_overrides={"query": pl.String})
        return table.with_columns(pl.col("agreement", "first_wins").fill_nan(None), connected=pl.col("groups") == 1)


def diagnose(preferences: Preferences) -> Diagnostics:
    """Compute what :class:`Diagnostics` holds.

    >>> from rankdev.preferences import Preferences
    >>> rows = [("q", "x", "y"), ("q", "y", "z"), ("q", "z", "x")]
    >>> diagnose(Preferences.from_rows(rows)).values["in_cycles"].tolist()
    [3]
    """
    queries = len(preferences.queries)
    of_judgment = preferences.item_query[preferences.winner]
    pairs = preferences.pairs
    of_pair = preferences.item_query[pairs.first]
    values: dict[str, npt.NDArray[Any]] = {
        "comparisons": np.bincount(of_judgment, minlength=queries),
        "items": np.diff(preferences.starts),
        "groups": preferences.group_counts,
        "in_cycles": _in_cycles(preferences),
        "agreement": _agreement(preferences, of_pair),
        **_workers(preferences, of_judgment),
        "first_wins": _first_wins(preferences, of_judgment),
    }
    return Diagnostics(preferences.queries, values, preferences.disconnected())


def _in_cycles(preferences: Preferences) -> npt.NDArray[np.int64]:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    pairs, n = preferences.pairs, len(preferences.items)
    lead = pairs.score - pairs.count / 2
    winner = np.where(lead > 0, pairs.first, pairs.second)[lead != 0]
    loser = np.where(lead > 0, pairs.second, pairs.first)[lead != 0]
    graph = coo_array((np.ones(len(winner), np.int8), (winner, loser)), shape=(n, n))
    _, label = connected_components(graph, directed=True, connection="strong")
    cyclic = np.bincount(label)[label] > 1
    return np.bincount(preferences.item_query[cyclic], minlength=len(preferences.queries))


def _agreement(preferences: Preferences, of_pair: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    pairs, queries = preferences.pairs, len(preferences.queries)
    n = np.bincount(pairs.of, minlength=len(pairs.first)).astype(float)
    won = np.bincount(pairs.of, (preferences.winner < preferences.loser) & ~preferences.tie, minlength=len(pairs.first))
    tied = np.bincount(pairs.of, preferences.tie, minlength=len(pairs.first))
    agreeing = sum((k * (k - 1) for k in (won, tied, n - won - tied)), np.zeros(len(n)))
    possible = np.bincount(of_pair, n * (n - 1), queries)
    return np.where(possible > 0, np.bincount(of_pair, agreeing, queries) / np.maximum(possible, 1), np.nan)


def _first_wins(preferences: Preferences, of_judgment: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    queries = len(preferences.queries)
    if preferences.winner_first is None:
        return np.full(queries, np.nan)
    decided = ~preferences.tie
    total = np.bincount(of_judgment, decided, queries)
    won = np.bincount(of_judgment, decided & preferences.winner_first, queries)
    return np.where(total > 0, won / np.maximum(total, 1), np.nan)


def _workers(preferences: Preferences, of_judgment: npt.NDArray[Any]) -> dict[str, npt.NDArray[np.int64]]:
    queries, worker = len(preferences.queries), preferences.worker
    nothing = np.zeros(queries, np.int64)
    if worker is None:
        return dict.fromkeys(("workers", "duplicates", "contradictions", "single_workers"), nothing)
    once = np.bincount(worker, minlength=len(preferences.workers)) == 1
    outcome = np.where(preferences.tie, 0, np.where(preferences.winner < preferences.loser, 1, 2))
    who = np.unique(np.stack([of_judgment, worker]), axis=1)
    distinct, repeats = np.unique(np.stack([worker, preferences.pairs.of, outcome]), axis=1, return_counts=True)
    judged, answers = np.unique(distinct[:2], axis=1, return_counts=True)
    of_pair = preferences.item_query[preferences.pairs.first]
    return {
        "workers": np.bincount(who[0], minlength=queries),
        "duplicates": np.bincount(of_pair[distinct[1]], repeats - 1, queries).astype(np.int64),
        "contradictions": np.bincount(of_pair[judged[1][answers > 1]], minlength=queries),
        "single_workers": np.bincount(of_judgment[once[worker]], minlength=queries),
    }


def majorities(pairs: Pairs) -> tuple[Ints, Ints]:
    """Winner and loser of every pair in which one item won more judgments."""
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
    previous: dict[int, int] = {}
    queue = deque([start])
    while queue:
        at = queue.popleft()
        for item in losers[at].tolist():
            if item == start:
                path = [at]
                while path[-1] != start:
                    path.append(previous[path[-1]])
                return path[::-1]
            if item not in previous:
                previous[item] = at
                queue.append(item)
    raise ValueError(f"item {start} is on no cycle")


def clear_pairs(pairs: Pairs, alpha: float = 0.05) -> Any:
    """Mark the pairs whose judgments all agree, or favour one item by a sign test."""
    from scipy.special import bdtr

    least = np.minimum(pairs.score, pairs.count - pairs.score)
    leaning = 2 * bdtr(np.floor(least), np.maximum(np.round(pairs.count), 1).astype(np.int64), 0.5) < alpha
    return (least < 1e-9) | leaning
