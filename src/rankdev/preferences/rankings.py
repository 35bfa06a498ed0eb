"""Several rankings of the same items, merged into one by the fraction of items that each item beats (Borda)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from rankdev._common.checks import check_choice, is_list
from rankdev._common.result import Result
from rankdev.data.references import Reference, References
from rankdev.errors import DataError

Ranking = list[list[str]]

UNRANKED = ("unknown", "last")
ONE_QUERY = "all"


@dataclass(frozen=True, eq=False)
class MergedRankings(Result):
    """One ranking per query, merged from several.

    Attributes
    ----------
    tiers : dict of str to list of list of str
        Merged order of each query, best first.
    scores : dict of str to dict of str to float
        Mean fraction of items that each item beats, by query.
    unranked : str
        How items missing from a ranking were treated.

    See Also
    --------
    merge_rankings : Merge rankings.
    """

    tiers: dict[str, Ranking]
    scores: dict[str, dict[str, float]] = field(repr=False)
    unranked: str

    made_with = ("unranked",)

    @property
    def references(self) -> References:
        """The merged order as references, ready for ``evaluate``."""
        return References.from_tiers(self.tiers)

    def to_polars(self) -> pl.DataFrame:
        """Tabulate the merged rankings.

        Returns
        -------
        polars.DataFrame
            One row per item: query, item, score, rank; best first.

        Examples
        --------
        >>> merge_rankings([["x", "y"], ["x", "y"]]).to_polars().select("item", "score", "rank").rows()
        [('x', 1.0, 1), ('y', 0.0, 2)]
        """
        rows = [
            (query, item, self.scores[query][item], rank)
            for query, tiers in self.tiers.items()
            for rank, tier in enumerate(tiers, 1)
            for item in tier
        ]
        return pl.DataFrame(rows, schema=["query", "item", "score", "rank"], orient="row")


def merge_rankings(rankings: Any, *, unranked: str = "unknown") -> MergedRankings:
    """Merge several rankings of each query into one, by the mean fraction of items that each item beats (Borda).

    Parameters
    ----------
    rankings : dict or list
        ``{query: [ranking, …]}``, a list of references or runs (one per judge), or a list of rankings of one query.
        A ranking is a list of items, best first, or of tiers; the best of k is ``[[best], [the others]]``.
    unranked : {"unknown", "last"}
        Items missing from a ranking. They are unknown to it, or come last (for lists of top items).

    Returns
    -------
    MergedRankings
        One ranking per query; items with equal fractions share a tier.

    Examples
    --------
    >>> merge_rankings([["x", "y", "z"], ["y", "x", "z"], ["x", "z", "y"]]).tiers
    {'all': [['x'], ['y'], ['z']]}
    >>> merge_rankings([["x", "y"], ["y", "x"]]).tiers
    {'all': [['x', 'y']]}
    """
    check_choice("unranked", unranked, UNRANKED)
    scores = {query: _beaten(lists, unranked) for query, lists in _by_query(rankings).items()}
    return MergedRankings({query: _tied(found) for query, found in scores.items()}, scores, unranked)


def _beaten(lists: list[Ranking], unranked: str) -> dict[str, float]:
    """Mean fraction of the other items of a ranking that each item beats; an item of the same tier is half beaten."""
    items = list(dict.fromkeys(item for tiers in lists for tier in tiers for item in tier))
    found: dict[str, list[float]] = {item: [] for item in items}
    for tiers in lists:
        named = {item for tier in tiers for item in tier}
        missing = [item for item in items if item not in named and unranked == "last"]
        size, above = len(named) + len(missing), 0
        for tier in [*tiers, missing]:
            for item in tier:
                if size > 1:
                    found[item].append((size - above - len(tier) + (len(tier) - 1) / 2) / (size - 1))
            above += len(tier)
    return {item: round(float(np.mean(each)), 9) if each else 0.5 for item, each in found.items()}


def _tied(scores: dict[str, float]) -> Ranking:
    tiers: dict[float, list[str]] = {}
    for item, score in scores.items():
        tiers.setdefault(score, []).append(item)
    return [tiers[score] for score in sorted(tiers, reverse=True)]


def _by_query(rankings: Any) -> dict[str, list[Ranking]]:
    """Bring all formats to {query: rankings}, each ranking a list of tiers."""
    if isinstance(rankings, Mapping):
        by_query = {str(query): _listed(lists, query) for query, lists in rankings.items()}
    else:
        lists = _listed(rankings, None)
        if lists and all(isinstance(judge, Mapping) and not isinstance(judge, Reference) for judge in lists):
            by_query = {}
            for judge in lists:
                for query, ranking in judge.items():
                    by_query.setdefault(str(query), []).append(ranking)
        else:
            by_query = {ONE_QUERY: lists}
    if not any(by_query.values()):
        raise DataError("none-given", what="rankings")
    return {query: [_tiers(ranking, query) for ranking in lists] for query, lists in by_query.items()}


def _listed(value: Any, query: Any) -> list[Any]:
    if not is_list(value):
        raise DataError("bad-value", query=query, name="rankings", value=value, expected="a list of rankings")
    return list(value)


def _tiers(ranking: Any, query: str) -> Ranking:
    if isinstance(ranking, Reference):
        return ranking.tiers
    if not is_list(ranking):
        expected = "a list of items or tiers, best first"
        raise DataError("bad-value", query=query, name="ranking", value=ranking, expected=expected)
    tiers = [tier if isinstance(tier, list | tuple | set | frozenset) else [tier] for tier in ranking]
    return References.from_tiers({query: tiers})[query].tiers
