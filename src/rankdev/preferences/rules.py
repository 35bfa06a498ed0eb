"""Rules that cut an order of strengths into tiers. To add one, write a function under ``@rule``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rankdev._common.arrays import Floats, Ints
from rankdev.preferences._separation import Close
from rankdev.preferences.evidence import by_bic, effective_wins, merging_path, tier_posterior

if TYPE_CHECKING:
    from rankdev.preferences.strengths import Strengths


DENSE_UP_TO = 3000  # items of one query; longer lists are cut by "partition" where "auto" or "bic" is asked


@dataclass(frozen=True, eq=False)
class Question:
    """A query to cut: its fit, and the tests of its pairs for rules that use them."""

    fit: Strengths
    query: int
    alpha: float
    close: Close | None = None

    @property
    def size(self) -> int:
        """Number of items."""
        return int(np.diff(self.fit.pairs.starts)[self.query])

    @property
    def judgments(self) -> float:
        """Number of judgments, by weight."""
        pairs = self.fit.pairs
        mine = slice(*np.searchsorted(pairs.first, pairs.starts[self.query : self.query + 2]))
        return float(pairs.count[mine].sum())

    @property
    def ordered(self) -> Floats:
        """Strengths, strongest first."""
        start, stop = self.fit.pairs.starts[self.query : self.query + 2]
        return -np.sort(-self.fit.values[start:stop])

    @property
    def levels(self) -> Ints:
        """Places where a new strength starts. Only there may a tier start: nothing orders equal strengths."""
        return np.flatnonzero(np.append(True, np.diff(self.ordered) < 0)[: self.size])


@dataclass(frozen=True)
class Rule:
    """A rule: ``cut`` returns the places where tiers start. ``tested`` rules need the pairs' p-values."""

    name: str
    about: str
    cut: Callable[[Question], Ints]
    tested: bool


RULES: dict[str, Rule] = {}


def rule(name: str, about: str, *, tested: bool = False) -> Callable[[Callable[[Question], Ints]], Rule]:
    """Make a function a rule."""

    def known(cut: Callable[[Question], Ints]) -> Rule:
        RULES[name] = Rule(name, about, cut, tested)
        return RULES[name]

    return known


@rule("auto", "compares the evidence for one tier, some tiers and a strict order")
def by_evidence(question: Question) -> Ints:
    """Take the cut with the fewest pair relations expected to be wrong.

    Their probabilities are learnt from all queries; for very long lists, from the query alone.
    """
    if question.size < 2:
        return np.zeros(question.size, np.int64)
    if question.query in question.fit.relations:
        start, stop = question.fit.pairs.starts[question.query : question.query + 2]
        order = np.argsort(-question.fit.values[start:stop], kind="stable")
        equal, better = (part[np.ix_(order, order)] for part in question.fit.relations[question.query])
        return cheapest_cut(question.size, lambda b: better[:b, b] - equal[:b, b], question.levels)
    wins = effective_wins(question.fit, question.query)
    tie, reversal = tier_posterior(wins, question.levels).tie_and_reversal()
    worse_together = (1 - tie) - (tie + reversal)
    return cheapest_cut(question.size, lambda b: worse_together[:b, b], question.levels)


@rule("strict", "every item a tier of its own; only equal strengths share one")
def strict(question: Question) -> Ints:
    """Cut wherever strengths differ."""
    return question.levels


@rule("bic", "joins neighbours as long as the Bayesian information criterion improves")
def by_information_criterion(question: Question) -> Ints:
    """Take the best cut on the way from all items apart to one tier."""
    if not question.size:
        return np.zeros(0, np.int64)
    wins = effective_wins(question.fit, question.query)
    return by_bic(merging_path(wins, question.levels), float(wins.sum())).starts


@rule("partition", "fewest errors: separated pairs inside a tier, pairs not separated across tiers", tested=True)
def by_partition(question: Question) -> Ints:
    """Count errors by the tests of all pairs."""
    assert question.close is not None
    return partition(question.close, question.alpha, question.levels)


@rule(
    "leader", "conservative: a new tier where an item differs from the first of its tier, Holm-corrected", tested=True
)
def by_first(question: Question) -> Ints:
    """Compare each item with the first of the current tier.

    Likelihood ratios of few judgments are too large; they are scaled by the fraction of judgments beyond those needed
    to fit the strengths. Resamples and tests clustered by worker already take small numbers into account.
    """
    from scipy.special import ndtr, ndtri

    assert question.close is not None
    fit, p = question.fit, question.close.p
    if fit.curvature is not None and np.isinf(fit.clustered[question.query][1]):
        judgments = question.judgments
        fraction = max(judgments - question.size + 1, 0) / max(judgments, 1)
        p = 2 * ndtr(ndtri(p / 2) * np.sqrt(fraction))
    return by_leader(replace(question.close, p=p), question.alpha, question.levels)


def partition(close: Close, alpha: float, levels: Ints | None = None) -> Ints:
    """Return the starts of the contiguous tiers with the fewest errors, each at one of ``levels``."""
    together = close.p >= alpha
    i, j = close.i[together], close.j[together]
    order = np.argsort(j, kind="stable")
    upper, bounds = i[order], np.searchsorted(j[order], np.arange(close.size + 1))

    def worse_together(b: int) -> Floats:
        cost = np.ones(b)
        cost[upper[bounds[b] : bounds[b + 1]]] = -1.0  # not separated: an error across tiers
        return cost

    return cheapest_cut(close.size, worse_together, levels)


EQUAL = 1e-7  # costs and statistics that differ by less are equal: rounding decides nothing


def cheapest_cut(n: int, worse_together: Callable[[int], Floats], levels: Ints | None = None) -> Ints:
    """Cut 0 … n − 1 into contiguous tiers by dynamic programming; return their starts.

    ``worse_together(b)[a]``, a < b, is the extra cost of a and b in one tier rather than two. Tiers start at places of
    ``levels`` only (default: anywhere). Among cuts of equal cost the one with fewer tiers is taken, and of those the
    one with the longer last tier.
    """
    allowed = np.arange(n) if levels is None else levels
    ends = np.zeros(n + 1, bool)
    ends[[*allowed, n]] = True
    cost, back = np.zeros((n + 1, 2)), np.zeros(n + 1, np.int64)  # of the first b items: cost, tiers
    inside = np.zeros(n)  # inside[a]: cost of the tier a..b
    for b in range(n):
        inside[:b] += np.cumsum(worse_together(b)[::-1])[::-1]
        if not ends[b + 1]:
            continue
        before = allowed[: np.searchsorted(allowed, b, side="right")]
        total = cost[before, 0] + inside[before]
        best = before[total <= total.min() + EQUAL]
        a = best[np.argmin(cost[best, 1])]
        cost[b + 1], back[b + 1] = (cost[a, 0] + inside[a], cost[a, 1] + 1), a
    starts = []
    while n:
        n = int(back[n])
        starts.append(n)
    return np.array(starts[::-1], np.int64)


def by_leader(close: Close, alpha: float, levels: Ints | None = None) -> Ints:
    """Return the starts of tiers, each opened by the first level that differs from its tier's leader.

    Two levels (items of equal strength) differ where each item of the one differs from each of the other.
    """
    levels = np.arange(close.size) if levels is None else levels
    order = np.argsort(close.p, kind="stable")
    steps = np.arange(len(order), 0, -1)  # Holm: the unlisted pairs are separated and come first
    adjusted = np.empty(len(order))
    adjusted[order] = np.maximum.accumulate(np.minimum(1.0, close.p[order] * steps))
    alike = (np.searchsorted(levels, c[adjusted >= alpha], side="right") - 1 for c in (close.i, close.j))
    same = set(zip(*(c.tolist() for c in alike), strict=True))
    opened = [0] if len(levels) else []
    for level in range(1, len(levels)):
        if (opened[-1], level) not in same:
            opened.append(level)
    return np.asarray(levels[np.array(opened, np.int64)], np.int64)
