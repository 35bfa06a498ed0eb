"""Checks of the judgments of each query."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from rankdev._common.result import Result

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
            answers; connected: whether groups is 1.

        Examples
        --------
        >>> from rankdev.preferences import Preferences
        >>> judged = Preferences.from_rows([("q", "x", "y"), ("q", "x", "y"), ("q", "v", "w")])
        >>> judged.diagnostics().to_polars().select("groups", "agreement", "connected").rows()
        [(2, 1.0, False)]
        """
        columns = {name: self.values[name] for name in COLUMNS}
        table = pl.DataFrame({"query": list(self.queries), **columns}, schema_overrides={"query": pl.String})
        return table.with_columns(pl.col("agreement").fill_nan(None), connected=pl.col("groups") == 1)


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
    }
    return Diagnostics(preferences.queries, values, preferences.disconnected())


def _in_cycles(preferences: Preferences) -> npt.NDArray[np.int64]:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    winner, loser = preferences.pairs.majorities()
    graph = coo_array((np.ones(len(winner), np.int8), (winner, loser)), shape=(len(preferences.items),) * 2)
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


def _workers(preferences: Preferences, of_judgment: npt.NDArray[Any]) -> dict[str, npt.NDArray[np.int64]]:
    queries, worker = len(preferences.queries), preferences.worker
    nothing = np.zeros(queries, np.int64)
    if worker is None:
        return dict.fromkeys(("workers", "duplicates", "contradictions"), nothing)
    outcome = np.where(preferences.tie, 0, np.where(preferences.winner < preferences.loser, 1, 2))
    who = np.unique(np.stack([of_judgment, worker]), axis=1)
    distinct, repeats = np.unique(np.stack([worker, preferences.pairs.of, outcome]), axis=1, return_counts=True)
    judged, answers = np.unique(distinct[:2], axis=1, return_counts=True)
    of_pair = preferences.item_query[preferences.pairs.first]
    return {
        "workers": np.bincount(who[0], minlength=queries),
        "duplicates": np.bincount(of_pair[distinct[1]], repeats - 1, queries).astype(np.int64),
        "contradictions": np.bincount(of_pair[judged[1][answers > 1]], minlength=queries),
    }
