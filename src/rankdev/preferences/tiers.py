"""Tiers: items that the judgments do not separate share a rank."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise
from numbers import Integral, Real
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from rankdev.errors import UsageError, suggestion
from rankdev.preferences.resampling import resampled_strengths
from rankdev.preferences.separation import Close, bootstrap_separation, likelihood_separation
from rankdev.results import Result

if TYPE_CHECKING:
    import polars as pl

    from rankdev.preferences.strengths import Strengths

Ints = npt.NDArray[np.int64]
RULES = ("partition", "leader")


@dataclass(frozen=True, eq=False)
class Tiers(Result):
    """The tiers of every query, best first, and what they were drawn from.

    ``close`` holds for each query the p-values of the pairs that might not differ.
    """

    strengths: Strengths = field(repr=False)
    tiers: dict[str, list[list[str]]]
    close: tuple[Close, ...] = field(repr=False)
    alpha: float = 0.05
    rule: str = "partition"
    max_depth: int | None = None
    resamples: int = 0
    seed: int = 0
    remarks: tuple[str, ...] = ()

    made_with = ("alpha", "rule", "max_depth", "resamples", "seed")

    def to_polars(self) -> pl.DataFrame:
        """One row an item: query, item, strength, low, high, rank (of its tier); best first."""
        import polars as pl

        table = self.strengths.to_polars()
        ranks = [
            (query, item, rank)
            for query, tiers in self.tiers.items()
            for rank, tier in enumerate(tiers, 1)
            for item in tier
        ]
        ranked = pl.DataFrame(ranks, schema=["query", "item", "rank"], orient="row")
        joined = table.drop("rank").join(ranked, on=["query", "item"], how="left", maintain_order="left")
        return joined.select("query", "item", "strength", "low", "high", "rank")


def tiers(
    fit: Strengths,
    *,
    alpha: float = 0.05,
    rule: str = "partition",
    max_depth: int | None = None,
    resamples: int = 200,
    seed: int = 0,
    refit: str = "auto",
) -> Tiers:
    """Cut each query's order of strengths into tiers.

    ``rule="partition"`` takes the cut with the fewest wrongs: separated pairs inside a tier and pairs not
    separated across tiers. ``rule="leader"``, the conservative one, opens a new tier where an item differs
    from the current tier's first at level ``alpha``, Holm-corrected over the query's pairs. Bradley–Terry
    is tested by likelihood ratios; the other methods by ``resamples`` bootstraps clustered by worker,
    of which the leader rule needs 2 · pairs / ``alpha``.
    Tiers below ``max_depth`` are joined to the tier there. ``refit`` ("auto", "always", "never") says when
    the partition refits a pair; "auto" does where the answer could depend on it.

    >>> from rankdev.preferences import Preferences, strengths
    >>> rows = [("q", "x", "y")] * 12 + [("q", "x", "z")] * 12 + [("q", "y", "z"), ("q", "z", "y")] * 6
    >>> tiers(strengths(Preferences.from_rows(rows))).tiers
    {'q': [['x'], ['y', 'z']]}
    """
    _check(alpha, rule, max_depth, refit)
    queries, starts = fit.preferences.queries, fit.pairs.starts
    if fit.method == "bradley-terry":
        resamples = 0
        close = tuple(_separation(fit, query, alpha, rule, refit) for query in range(len(queries)))
    else:
        if rule == "leader":
            _check_resamples(resamples, int(np.diff(starts).max(initial=0)), alpha)
        draws = np.stack([again.values for again in resampled_strengths(fit, resamples, seed)])
        blocks = [slice(starts[query], starts[query + 1]) for query in range(len(queries))]
        close = tuple(bootstrap_separation(draws[:, block], fit.values[block]) for block in blocks)
    cut = partition if rule == "partition" else by_leader
    named = {}
    for (query, items), pairs in zip(fit.ordered_items().items(), close, strict=True):
        edges = [*cut(pairs, alpha)[:max_depth].tolist(), len(items)]
        named[query] = [items[start:stop] for start, stop in pairwise(edges)]
    return Tiers(fit, named, close, alpha, rule, max_depth, resamples, seed)


def _separation(fit: Strengths, query: int, alpha: float, rule: str, refit: str) -> Close:
    if rule == "partition":
        return likelihood_separation(fit, query, alpha, refit)
    # Holm compares p-values with as little as alpha / pairs, and needs them exact
    size = int(np.diff(fit.pairs.starts)[query])
    return likelihood_separation(fit, query, alpha / max(1, size * (size - 1) // 2), "always")


def partition(close: Close, alpha: float) -> Ints:
    """Give the starts of the contiguous tiers with the fewest wrongs, by dynamic programming.

    Among equally good cuts the one with fewer tiers is taken, and of those the one with the longer last tier.
    """
    n = close.size
    together = close.p >= alpha
    i, j = close.i[together], close.j[together]
    order = np.argsort(j, kind="stable")
    upper, ends = i[order], np.searchsorted(j[order], np.arange(n + 1))
    # cost[b] of the best cut of the first b items, fewer tiers breaking ties; a pair not separated inside
    # a tier saves 1 across, a separated one costs 1
    cost, back = np.zeros((n + 1, 2)), np.zeros(n + 1, np.int64)
    inside = np.zeros(n)  # inside[a]: wrongs of the tier a..b, less those it saves
    for b in range(n):
        tied = np.zeros(b + 1)
        tied[upper[ends[b] : ends[b + 1]]] = 1.0
        after = np.cumsum(tied[::-1])[::-1]  # pairs (k, b) not separated, k ≥ a
        inside[: b + 1] += (b - np.arange(b + 1)) - 2 * after
        total = cost[: b + 1, 0] + inside[: b + 1]
        best = np.flatnonzero(total == total.min())
        a = best[np.argmin(cost[best, 1])]
        cost[b + 1], back[b + 1] = (total[a], cost[a, 1] + 1), a
    starts = []
    while n:
        n = int(back[n])
        starts.append(n)
    return np.array(starts[::-1], np.int64)


def by_leader(close: Close, alpha: float) -> Ints:
    """Give the starts of tiers, each opened by the first item that differs from its tier's leader."""
    n = close.size
    order = np.argsort(close.p, kind="stable")
    steps = np.arange(len(order), 0, -1)  # Holm: the unlisted pairs are separated and come first
    adjusted = np.empty(len(order))
    adjusted[order] = np.maximum.accumulate(np.minimum(1.0, close.p[order] * steps))
    same = {(a, b) for a, b in zip(*(c[adjusted >= alpha].tolist() for c in (close.i, close.j)), strict=True)}
    starts = [0] if n else []
    for item in range(1, n):
        if (starts[-1], item) not in same:
            starts.append(item)
    return np.array(starts, np.int64)


def _check_resamples(resamples: int, items: int, alpha: float) -> None:
    pairs = items * (items - 1) // 2
    # the smallest p, 2 / (resamples + 1), times the pairs must lie below alpha, or Holm separates nothing
    needed = math.ceil(2 * pairs / alpha)
    if pairs * 2 / (resamples + 1) >= alpha:
        raise UsageError(
            f"rule='leader' corrects for the {pairs:,} pairs of the longest query, which {resamples:,} resamples can"
            f" never separate; take resamples={needed:,} or more, or rule='partition'"
        )


def _check(alpha: float, rule: str, max_depth: int | None, refit: str) -> None:
    if not (isinstance(alpha, Real) and 0 < alpha < 1):
        raise UsageError(f"alpha must lie between 0 and 1; got {alpha!r}")
    for name, value, known in (("rule", rule, RULES), ("refit", refit, ("auto", "always", "never"))):
        if value not in known:
            raise UsageError(f"unknown {name} {value!r}{suggestion(str(value), known)}: {', '.join(known)}")
    if max_depth is not None and not (isinstance(max_depth, Integral) and max_depth >= 1):
        raise UsageError(f"max_depth must be 1 or more; got {max_depth!r}")
