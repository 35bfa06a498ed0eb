"""Rank aggregation: Borda, Kemeny, Plackett–Luce."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import factorial
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from rankdev._common.arrays import Floats, Ints
from rankdev._common.checks import check_choice, check_number, is_list
from rankdev._common.result import Result
from rankdev.data.reference import Reference
from rankdev.data.references import References
from rankdev.errors import DataError, Note

LONGEST = 14  # items of one cycle of majorities, all 2^n subsets of which are searched


def kemeny_order(ahead: Floats) -> tuple[Ints, bool]:
    """Order items so that Σ ahead[later, earlier] is smallest; report whether no other order, ties aside, is as good.

    Groups of which one beats the other in every majority never mix, so that only the items of a cycle of majorities are
    searched, by dynamic programming over subsets.
    """
    from scipy.sparse.csgraph import connected_components

    lead = ahead - ahead.T
    _, label = connected_components(lead >= 0, directed=True, connection="strong")
    groups = [np.flatnonzero(label == k) for k in range(label.max() + 1)]
    # one group beats another wholly or not at all, so that counting the items beaten orders them
    groups.sort(key=lambda group: -int((lead[group[0]] > 0).sum()))
    found = [_search(ahead[np.ix_(group, group)]) for group in groups]
    order = np.concatenate([group[best] for group, (best, _) in zip(groups, found, strict=True)])
    return order, all(unique for _, unique in found)


def _search(ahead: Floats) -> tuple[Ints, bool]:
    n = len(ahead)
    if not (ahead - ahead.T).any():
        return np.arange(n), True  # no preference separates them
    if n > LONGEST:
        raise DataError("long-cycle", count=n, most=LONGEST)
    size = 1 << n
    against = np.zeros((n, size))  # preferences against item i, if it precedes the items of a subset
    for i in range(n):
        for j in range(n):
            against[i, 1 << j : 2 << j] = against[i, : 1 << j] + ahead[j, i]
    cost, ways, last = np.full(size, np.inf), [0] * size, np.zeros(size, np.int64)
    cost[0], ways[0] = 0.0, 1
    for chosen in range(size - 1):
        rest = size - 1 ^ chosen
        for i in range(n):
            if rest >> i & 1:
                new, total = chosen | 1 << i, cost[chosen] + against[i, rest ^ 1 << i]
                if total < cost[new] - 1e-9:
                    cost[new], ways[new], last[new] = total, ways[chosen], i
                elif total <= cost[new] + 1e-9:
                    ways[new] += ways[chosen]
    order: list[int] = []
    chosen = size - 1
    while chosen:
        order.append(int(last[chosen]))
        chosen ^= 1 << order[-1]
    best = np.array(order[::-1])
    return best, ways[size - 1] == _orders_of_ties(best, ahead - ahead.T)


def _orders_of_ties(order: Ints, lead: Floats) -> int:
    """Count the orders that differ only among neighbours with equal preferences."""
    orders, begin = 1, 0
    for k in range(1, len(order) + 1):
        if k == len(order) or lead[order[begin:k], order[k]].any():
            orders *= factorial(k - begin)
            begin = k
    return orders


def plackett_luce(rankings: list[list[list[int]]], n: int, ridge: float, alpha: float = 0.05) -> Floats:
    """Fit log-strengths (mean 0) and the limits of their intervals; a ranking is a list of tiers of item numbers.

    Every item of a tier but the last is chosen among itself, its tier and all below (Breslow's treatment of ties);
    the last tier carries no more information. Newton's method, with a ridge on the strengths.
    """
    from scipy.special import ndtri, softmax

    chosen, offered = _choices(rankings, n)
    hidden = np.where(offered, 0.0, -np.inf)
    strength = np.zeros(n)
    for _ in range(100):
        chance = softmax(strength + hidden, axis=1) if len(hidden) else np.zeros((0, n))
        slope = np.bincount(chosen, minlength=n) - chance.sum(axis=0) - ridge * strength
        information = np.diag(chance.sum(axis=0)) - chance.T @ chance + ridge * np.eye(n)
        step = np.linalg.solve(information, slope)
        change = float(np.ptp(step))
        strength = strength + (step if change <= 1.25 else step * np.log1p(change) / change)
        if change**2 < 1e-16:
            break
    centre = np.eye(n) - 1 / n
    wide = ndtri(1 - alpha / 2) * np.sqrt(np.diag(centre @ np.linalg.inv(information) @ centre))
    strength = strength - strength.mean()
    return np.stack([strength, strength - wide, strength + wide])


def _choices(rankings: list[list[list[int]]], n: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """List the item chosen in every choice, and the items offered."""
    chosen: list[int] = []
    offered = []
    for tiers in rankings:
        left = np.zeros(n, bool)
        left[[item for tier in tiers for item in tier]] = True
        for tier in tiers[:-1]:
            chosen += tier
            offered += [left.copy()] * len(tier)
            left[tier] = False
    return np.array(chosen, np.int64), np.array(offered, bool).reshape(len(chosen), n)


Tiers = list[list[str]]

METHODS = ("kemeny", "borda", "plackett-luce")
UNRANKED = ("unknown", "last")
ONE_QUERY = "all"


@dataclass(frozen=True, eq=False)
class MergedRankings(Result):
    """One ranking per query, merged from several.

    Attributes
    ----------
    tiers : dict of str to list of list of str
        Merged order of each query, best first.
    scores : dict of str to array
        Score, low and high of each item in the order of ``tiers``: Borda's mean fraction of items beaten, or
        Plackett–Luce's log-strength with its interval; NaN for Kemeny.
    agreement : dict of str to float
        Fraction of all ordered pairs of the rankings that the merged order keeps.
    method : str
        How the rankings were merged.
    unranked : str
        How items missing from a ranking were treated.
    ridge : float
        Regularisation of Plackett–Luce.
    remarks : tuple of str
        Notes, such as queries with several equally good orders.

    See Also
    --------
    merge_rankings : Merge rankings.
    """

    tiers: dict[str, Tiers]
    scores: dict[str, Floats] = field(repr=False)
    agreement: dict[str, float] = field(repr=False)
    method: str
    unranked: str
    ridge: float
    remarks: tuple[str, ...] = ()

    made_with = ("method", "unranked", "ridge")

    @property
    def references(self) -> References:
        """The merged order as references, ready for ``evaluate``."""
        return References.from_tiers(self.tiers)

    def to_polars(self) -> pl.DataFrame:
        """Tabulate the merged rankings.

        Returns
        -------
        polars.DataFrame
            One row per item: query, item, score, low, high, rank; best first.

        Examples
        --------
        >>> merge_rankings([["x", "y"], ["x", "y"]], "borda").to_polars().select("item", "score", "rank").rows()
        [('x', 1.0, 1), ('y', 0.0, 2)]
        """
        rows = [
            (query, item, *self.scores[query][:, place].tolist(), rank)
            for query, tiers in self.tiers.items()
            for place, (item, rank) in enumerate((item, rank) for rank, tier in enumerate(tiers, 1) for item in tier)
        ]
        table = pl.DataFrame(rows, schema=["query", "item", "score", "low", "high", "rank"], orient="row")
        return table.fill_nan(None)


def merge_rankings(
    rankings: Any, method: str = "kemeny", *, unranked: str = "unknown", ridge: float = 0.1
) -> MergedRankings:
    """Merge several rankings of each query into one.

    Parameters
    ----------
    rankings : dict or list
        ``{query: [ranking, …]}``, a list of references or runs (one per judge), or a list of rankings of one query.
        A ranking is a list of items, best first, or of tiers; the best of k is ``[[best], [the others]]``.
    method : {"kemeny", "borda", "plackett-luce"}
        ``kemeny``: the order that contradicts the rankings least, computed exactly. ``borda``: mean fraction of items
        beaten. ``plackett-luce``: strengths of maximum likelihood.
    unranked : {"unknown", "last"}
        Whether an item missing from a ranking is unknown to it, or comes last (for lists of top items).
    ridge : float, default 0.1
        Regularisation of Plackett–Luce.

    Returns
    -------
    MergedRankings
        One ranking with ties per query.

    Examples
    --------
    >>> merge_rankings([["x", "y", "z"], ["y", "x", "z"], ["x", "z", "y"]]).tiers
    {'all': [['x'], ['y'], ['z']]}
    >>> merge_rankings([["x", "y"], ["y", "x"]], "borda").tiers
    {'all': [['x', 'y']]}
    """
    check_choice("method", method, METHODS)
    check_choice("unranked", unranked, UNRANKED)
    ridge = check_number("ridge", ridge, 0)
    merged: dict[str, Tiers] = {}
    scores, agreement, ambiguous = {}, {}, []
    for query, lists in _by_query(rankings).items():
        items = list(dict.fromkeys(item for tiers in lists for tier in tiers for item in tier))
        codes = _codes(lists, items, unranked)
        ahead = _preferred(codes, len(items))
        try:
            order, values, unique = _merge(method, codes, ahead, float(ridge))
        except DataError as error:
            raise error.at(query=query) from None
        if not unique:
            ambiguous.append(query)
        cuts = _cuts(method, order, values[0], ahead)
        merged[query] = [[items[i] for i in tier] for tier in np.split(order, cuts)]
        scores[query], agreement[query] = values[:, order], _kept(np.split(order, cuts), ahead)
    remarks = (Note("other-orders", count=len(ambiguous), names=ambiguous),) if ambiguous else ()
    return MergedRankings(merged, scores, agreement, method, unranked, float(ridge), remarks)


def _merge(method: str, codes: list[list[list[int]]], ahead: Floats, ridge: float) -> tuple[Any, Floats, bool]:
    """Compute the order, scores with low and high, and whether the order is the only optimal one."""
    n = len(ahead)
    if method == "kemeny":
        order, unique = kemeny_order(ahead)
        return order, np.full((3, n), np.nan), unique
    values = _borda(codes, n) if method == "borda" else plackett_luce(codes, n, ridge)
    return np.argsort(-values[0].round(9), kind="stable"), values, True


def _by_query(rankings: Any) -> dict[str, list[Tiers]]:
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


def _tiers(ranking: Any, query: str) -> Tiers:
    if isinstance(ranking, Reference):
        return ranking.tiers
    if not is_list(ranking):
        expected = "a list of items or tiers, best first"
        raise DataError("bad-value", query=query, name="ranking", value=ranking, expected=expected)
    listed = list(ranking)
    tiers = [tier if isinstance(tier, list | tuple | set | frozenset) else [tier] for tier in listed]
    return Reference.from_tiers(tiers, query=query).tiers


def _codes(lists: list[Tiers], items: list[str], unranked: str) -> list[list[list[int]]]:
    number = {item: code for code, item in enumerate(items)}
    coded = []
    for tiers in lists:
        codes = [[number[item] for item in tier] for tier in tiers]
        missing = sorted(set(range(len(items))) - {code for tier in codes for code in tier})
        coded.append([*codes, missing] if missing and unranked == "last" else codes)
    return coded


def _preferred(codes: list[list[list[int]]], n: int) -> Floats:
    """Count for every two items the rankings that put the first above the second."""
    ahead = np.zeros((n, n))
    for tiers in codes:
        for k, tier in enumerate(tiers):
            below = [item for lower in tiers[k + 1 :] for item in lower]
            ahead[np.ix_(tier, below)] += 1
    return ahead


def _borda(codes: list[list[list[int]]], n: int) -> Floats:
    points, seen = np.zeros(n), np.zeros(n)
    for tiers in codes:
        size = sum(len(tier) for tier in tiers)
        above = 0
        for tier in tiers:
            beaten = size - above - len(tier) + (len(tier) - 1) / 2
            if size > 1:
                points[tier] += beaten / (size - 1)
                seen[tier] += 1
            above += len(tier)
    mean = np.where(seen > 0, points / np.maximum(seen, 1), 0.5)
    return np.stack([mean, np.full(n, np.nan), np.full(n, np.nan)])


def _cuts(method: str, order: Any, score: Floats, ahead: Floats) -> list[int]:
    """Find where tiers begin: where scores differ, or, for Kemeny, where a majority separates an item from its tier."""
    if method != "kemeny":
        return [*(np.flatnonzero(np.diff(score[order].round(9))) + 1).tolist()]
    cuts, begin = [], 0
    for k in range(1, len(order)):
        tier = order[begin:k]
        if np.any(ahead[tier, order[k]] != ahead[order[k], tier]):
            cuts.append(k)
            begin = k
    return cuts


def _kept(tiers: list[Any], ahead: Floats) -> float:
    kept = sum(ahead[np.ix_(tier, np.concatenate(tiers[k + 1 :]))].sum() for k, tier in enumerate(tiers[:-1]))
    return float(kept / ahead.sum()) if ahead.any() else np.nan
