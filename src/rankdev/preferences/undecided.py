"""What tiers leave undetermined, and how many judgments would settle it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from rankdev._common.arrays import Bools, Floats, Ints
from rankdev._common.result import Result
from rankdev.errors import Note
from rankdev.preferences._pairs import Pairs, moments
from rankdev.preferences.diagnostics import clear_pairs, cyclic_groups, losers_of, majorities, shortest_cycle

if TYPE_CHECKING:
    from rankdev.preferences.tiers import Tiers


TOO_CLOSE = 0.1  # in log-strength: the better of two wins 52.5% of the time
LIKELY = 0.5  # probability with which ``more`` judgments of a pair separate it
MOST = 100_000  # judgments of one pair: the largest estimate


@dataclass(frozen=True)
class QuerySummary:
    """What is undecided in one query.

    Attributes
    ----------
    query : str
        The query.
    items, comparisons, tiers : int
        Numbers of items, judgments and tiers.
    undecided : int
        Neighbours in the order that share a tier because they are not significantly different.
    too_close : int
        Those of them that are nearly equal.
    more : int or None
        Judgments that would separate each of the others with probability ``LIKELY``; None where the model has no
        likelihood to estimate it from.
    cyclic : int
        Those of the undecided on a cycle of clear wins, where no order fits; not counted in ``more``.
    """

    query: str
    items: int
    comparisons: int
    tiers: int
    undecided: int
    too_close: int
    more: int | None
    cyclic: int = 0


@dataclass(frozen=True)
class Undecided(Result):
    """What the judgments decide and what is undecided; ``str()`` is the text.

    Attributes
    ----------
    queries : tuple of QuerySummary
        One per query.
    remarks : tuple of str
        Notes on the data.

    See Also
    --------
    Tiers.undecided : Make it.
    """

    display: ClassVar = "rankdev.display.preferences"

    queries: tuple[QuerySummary, ...]
    remarks: tuple[str, ...] = field(default=())

    def to_polars(self) -> pl.DataFrame:
        """Tabulate what is undecided.

        Returns
        -------
        polars.DataFrame
            One row per query: query, items, comparisons, tiers, undecided, too_close, more, cyclic.

        Examples
        --------
        >>> from rankdev.preferences import tiers_from_preferences
        >>> tiers_from_preferences([("q", "x", "y")] * 3).undecided().to_polars().select("tiers", "undecided").rows()
        [(1, 1)]
        """
        names = list(QuerySummary.__dataclass_fields__)
        return pl.DataFrame({name: [getattr(row, name) for row in self.queries] for name in names})


def find_undecided(result: Tiers) -> Undecided:
    """Find what the tiers leave undetermined."""
    fit = result.strengths
    judged = np.bincount(fit.preferences.item_query[fit.preferences.winner], minlength=len(result.tiers))
    cycles = _cycles(result)
    rows = []
    for number, (query, tiers) in enumerate(result.tiers.items()):
        counts = _open_neighbours(result, number, [len(tier) for tier in tiers], cycles)
        items = sum(len(tier) for tier in tiers)
        rows.append(QuerySummary(query, items, int(judged[number]), len(tiers), *counts))
    return Undecided(tuple(rows), (*_cycle_remark(result, cycles), *_remarks(result)))


def _open_neighbours(result: Tiers, number: int, sizes: list[int], cycles: Ints) -> tuple[int, int, int | None, int]:
    """Count neighbours in one tier, the nearly equal ones, judgments until the others differ, and those on cycles."""
    inside, close, cyclic = open_places(result, number, sizes, cycles)
    counts = int(inside.sum()), int(close.sum())
    if result.strengths.curvature is None:
        return *counts, None, int(cyclic.sum())
    return *counts, sum(needed_at(result, number, inside & ~cyclic & ~close)), int(cyclic.sum())


def open_places(result: Tiers, number: int, sizes: list[int], cycles: Ints) -> tuple[Bools, Bools, Bools]:
    """Report for each item and the next whether they share a tier undecided, are nearly equal, are on a cycle."""
    fit = result.strengths
    start, stop = fit.pairs.starts[number], fit.pairs.starts[number + 1]
    order = np.argsort(-fit.values[start:stop], kind="stable")
    inside = np.ones(max(len(order) - 1, 0), bool)
    inside[np.cumsum(sizes[:-1], dtype=np.int64) - 1] = False
    pairs = result.close[number]
    unclear = pairs.i[(pairs.j == pairs.i + 1) & (pairs.p >= result.alpha)]
    inside &= np.isin(np.arange(len(inside)), unclear)
    values, on = fit.values[start:stop][order], cycles[start:stop][order]
    cyclic = inside & (on[:-1] == on[1:]) & (on[:-1] >= 0)
    return inside, inside & ~cyclic & (-np.diff(values) < TOO_CLOSE), cyclic


def needed_at(result: Tiers, number: int, places: Bools) -> list[int]:
    """Estimate for places in the order how many judgments separate the item there from the next."""
    if not places.any():
        return []
    from scipy.special import stdtrit

    fit = result.strengths
    start, stop = fit.pairs.starts[number], fit.pairs.starts[number + 1]
    order = np.argsort(-fit.values[start:stop], kind="stable")
    values, (factor, freedom) = fit.values[start:stop][order], fit.clustered[number]
    variance = (np.diff(factor[order], axis=0) ** 2).sum(axis=1)
    spread = _spread(values, float((factor**2).sum()))
    critical = float(stdtrit(min(freedom, 1e9), 1 - result.alpha / 2))
    pairs = zip(-np.diff(values)[places], variance[places], strict=True)
    return [_needed(d, error, 2 * spread, critical, fit.tie_rate) for d, error in pairs]


def _spread(values: Floats, error: float) -> float:
    """Estimate the variance of the true strengths, with a prior of 1 that counts as two items."""
    own = max(float(values.var(ddof=1)) - error / len(values), 0.0)
    return ((len(values) - 1) * own + 2) / (len(values) + 1)


def _needed(d: float, variance: float, prior: float, critical: float, tie_rate: float) -> int:
    """Estimate how many judgments of a pair separate it with probability ``LIKELY``.

    The difference is estimated as ``d``; with normal strengths a priori it is N(m, s²). After n judgments, of
    information h each, the estimate is N(v'(d/v + n h m), v'²((n h)² s² + n h)) with 1/v' = 1/v + n h, and the
    pair is separated where it lies ``critical`` times √v' from 0, on either side.
    """
    from scipy.special import ndtr

    _, h = moments(np.array([d]), tie_rate)
    n = np.unique(np.geomspace(1, MOST, 400).astype(np.int64))
    known = n * float(h[0])
    s2 = 1 / (1 / variance + 1 / prior)
    mean, after = d / variance + known * d * s2 / variance, 1 / variance + known
    spread, edge = np.sqrt(known**2 * s2 + known), critical * np.sqrt(after)
    enough = ndtr((mean - edge) / spread) + ndtr((-mean - edge) / spread) >= LIKELY
    return int(n[np.argmax(enough)]) if enough.any() else MOST


def _cycles(result: Tiers) -> Ints:
    """Number the items on cycles of clear wins, the same for those on a common one; −1 for the others."""
    pairs = result.strengths.pairs
    winner, loser = _clear_wins(pairs)
    label = cyclic_groups(winner, loser, pairs.items)
    return np.where(np.bincount(label)[label] > 1, label, -1)


def _clear_wins(pairs: Pairs) -> tuple[Ints, Ints]:
    kept = clear_pairs(pairs)
    return majorities(
        replace(
            pairs,
            first=pairs.first[kept],
            second=pairs.second[kept],
            count=pairs.count[kept],
            score=pairs.score[kept],
            ties=pairs.ties[kept],
        )
    )


def _cycle_remark(result: Tiers, cycles: Ints) -> Iterator[Note]:
    """Name the shortest cycle through the first item that is on one."""
    fit, items = result.strengths, int((cycles >= 0).sum())
    if not items:
        return
    losers = losers_of(*_clear_wins(fit.pairs), fit.pairs.items)
    path = shortest_cycle(losers, int(np.argmax(cycles >= 0)))
    names = [fit.preferences.items[k] for k in [*path, path[0]]]
    cycle = " > ".join(names if len(names) <= 8 else [*names[:6], "…", names[-1]])
    query = fit.preferences.queries[fit.preferences.item_query[path[0]]]
    yield Note("cycles", count=items, query=query, cycle=cycle)


def _too_few(result: Tiers) -> Iterator[Note]:
    """Name the queries with fewer judgments than it takes to sort their items, however good the judge."""
    from scipy.special import gammaln

    fit = result.strengths
    items = np.diff(fit.pairs.starts)
    judged = np.bincount(fit.preferences.item_query[fit.preferences.winner], minlength=len(items))
    few = np.flatnonzero(judged < np.floor(gammaln(items + 1.0) / np.log(2)))
    if len(few):
        counts = [(fit.preferences.queries[k], judged[k]) for k in few]
        yield Note("few-judgments", count=len(few), queries=len(items), counts=counts)


def _remarks(result: Tiers) -> Iterator[str]:
    fit = result.strengths
    yield from (*fit.remarks, *_too_few(result))
    found = fit.preferences.diagnostics().values
    for kind, column in (
        ("repeated-judgments", "duplicates"),
        ("contradictions", "contradictions"),
        ("single-judgments", "single_workers"),
    ):
        if count := int(found[column].sum()):
            yield Note(kind, count=count)
    suspects = {} if fit.workers is None else fit.workers.suspects()
    for kind, behaviour in (("random-workers", "spammer"), ("inverted-workers", "inverted")):
        if names := suspects.get(behaviour):
            yield Note(kind, count=len(names), names=names)
    if not fit.converged:
        yield Note("not-converged", steps=fit.iterations)
