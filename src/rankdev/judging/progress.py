"""How far a query is on the way to its goal, when it is settled, and which of its pairs to ask next.

All of it comes from the posterior that cuts tiers (``preferences/order.py``), of the query's answers alone.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from rankdev._common.arrays import Bools, Floats, Ints
from rankdev.preferences.order import Order

AGAIN = 8  # one question in so many is asked again, with sides changed: it shows whether the judge is consistent
ENOUGH = 2.0  # answers, of n log₂ n, from which on a query that is not settled is given up
DRAWS = 400  # of strengths, for what is at the top


@dataclass(frozen=True)
class Rule:
    """When a query is settled: at most a fraction ``error`` of its pair relations, or of its top, is expected wrong.

    With a ``probability``: and every two neighbours, or the top and the rest, are separated with this probability.
    """

    error: float = 0.05
    probability: float | None = None
    top: int | None = None  # number of places that count


@lru_cache(16)
def all_pairs(size: int) -> tuple[Ints, Ints]:
    """Return the places of all pairs, kept once for all queries of a size: of 500 items they take 2 MB."""
    i, j = np.triu_indices(size, 1)
    i.flags.writeable = j.flags.writeable = False
    return i, j


class Progress:
    """How far one query is: its posterior, what follows for the goal, and what to ask next."""

    def __init__(self, number: int, size: int, rule: Rule, seed: int) -> None:
        self.number, self.size, self.rule, self.seed = number, size, rule, seed
        self.asked: dict[tuple[int, int], float] = {}
        self.told: dict[tuple[int, int], tuple[float, float]] = {}  # wins of the first item, and answers
        self.i, self.j = all_pairs(size)
        self.order: Order | None = None  # None: there were answers since it was last computed
        self.stale = True  # there were answers since it was last concluded from
        self.error, self.settled = 0.5 if size > 1 else 0.0, size < 2
        self.remaining: float | None = None  # what is wrong, where more answers would be too many
        self.finished: float | None = None  # answers that it took

    @property
    def count(self) -> float:
        """Number of answers."""
        return sum(self.asked.values())

    @property
    def usual(self) -> float:
        """Number of comparisons that sorting needs."""
        return self.size * np.log2(self.size) if self.size > 1 else 0.0

    def start(self, winner: int, loser: int, times: float, *, tie: bool = False) -> None:
        """Take into account what is known besides answers, such as grades."""
        pair = min(winner, loser), max(winner, loser)
        won = 0.5 if tie else float(winner == pair[0])
        before = self.told.get(pair, (0.0, 0.0))
        self.told[pair] = before[0] + won * times, before[1] + times
        if self.told[pair][1] < 1e-9:
            del self.told[pair]
        self.order, self.stale = None, True

    def tell(self, winner: int, loser: int, *, tie: bool, times: float) -> None:
        """Count an answer; the posterior is computed when it is next needed."""
        self.start(winner, loser, times, tie=tie)
        pair = min(winner, loser), max(winner, loser)
        self.asked[pair] = max(0.0, self.asked.get(pair, 0) + times)

    def posterior(self) -> Order:
        """Return what the answers say about the order."""
        if self.order is None:
            pairs = sorted(self.told)
            first, second = np.array(pairs, np.int64).reshape(-1, 2).T
            wins, total = np.array([self.told[pair] for pair in pairs]).reshape(-1, 2).T
            self.order = Order(self.size, first, second, np.zeros(len(pairs), np.int64), wins, total)
        return self.order

    def learn(self, repeats: int) -> None:
        """Update what is known, if there were answers."""
        if not self.stale or self.size < 2 or not self.told:
            return
        order, self.stale = self.posterior(), False
        self.error, border = self._progress(order)
        sure = self.rule.probability is None or (order.coin_flips < 0.5 and border >= self.rule.probability)
        self.settled = self.error <= self.rule.error and sure
        many = not self.settled and self.count >= ENOUGH * self.usual
        self.remaining = self.error if many else None
        done = self.settled or many or self.exhausted(repeats)
        self.finished = (self.finished or self.count) if done else None

    def exhausted(self, repeats: int) -> bool:
        """Whether every pair was asked as often as allowed."""
        return len(self.asked) == len(self.i) and min(self.asked.values(), default=0) >= repeats

    def best(self, skip: Collection[tuple[int, int]], repeats: int, waiting: int = 0) -> tuple[int, int] | None:
        """Return the most useful pair, other than those to skip; None where no pair is left.

        Questions about the order first connect every item with those that have answers: references need that. One in
        ``AGAIN`` is about a pair that was asked before.
        """
        counts = np.zeros((self.size, self.size))
        for pair, count in self.asked.items():
            counts[pair] = count
        for pair in skip:
            counts[pair] = repeats
        counts, seen = counts[self.i, self.j], np.zeros(self.size, bool)
        open_ = counts < repeats
        seen[[item for pair in self.told for item in pair]] = True
        connects = open_ & (seen[self.i] != seen[self.j])
        again = open_ & (counts > 0)
        if int(self.count + waiting) % AGAIN == AGAIN - 1 and again.any():
            open_ = again
        elif self.rule.top is None and connects.any():
            open_ = connects
        elif self.rule.probability is not None and self.error <= self.rule.error and (open_ & self._unsure()).any():
            open_ &= self._unsure()
        if not open_.any():
            return None
        i, j = self.i[open_], self.j[open_]
        value = self._value(i, j) * (1 + 1e-3 * self._rng(len(skip)).random(len(i)))  # of nearly equal ones any
        chosen = int(np.argmax(value))
        return int(i[chosen]), int(j[chosen])

    def _value(self, i: Ints, j: Ints) -> Floats:
        """Information of each answer about the strengths; at the top, of items that may or may not belong there."""
        order = self.posterior()
        if self.rule.top is None or self.rule.top >= self.size:
            return information(order, i, j)
        chance = _top(self._drawn(order), self.rule.top).mean(axis=0)
        unclear = chance * (1 - chance)
        return information(order, i, j) * (np.sqrt(unclear[i] * unclear[j]) + 1e-6)

    def _unsure(self) -> Bools:
        """Mark the pairs of neighbours in the order that are not separated with the probability asked for."""
        order, place = self.posterior(), np.empty(self.size, np.int64)
        place[np.argsort(-order.strength, kind="stable")] = np.arange(self.size)
        sure = np.maximum(order.better, order.better.T)[self.i, self.j]
        return np.asarray((np.abs(place[self.i] - place[self.j]) == 1) & (sure < (self.rule.probability or 0.0)))

    def _progress(self, order: Order) -> tuple[float, float]:
        """Return the fraction that is expected to be wrong, and how surely the least clear border is one."""
        flips = order.coin_flips
        places = np.argsort(-order.strength, kind="stable")
        better = order.better[np.ix_(places, places)]
        top = self.rule.top
        if top is None or top >= self.size:
            wrong = 1 - float(better[self.i, self.j].mean())
            return (1 - flips) * wrong + flips / 2, float(np.diag(better, 1).min())
        wrong = 1 - float(_top(self._drawn(order), top)[:, places[:top]].mean())
        return (1 - flips) * wrong + flips * (1 - top / self.size), float(better[:top, top:].mean())

    def _drawn(self, order: Order) -> Floats:
        """Draw strengths from the posterior; always the same noise, so that choices change little."""
        half = np.random.default_rng((self.seed, self.number)).standard_normal((DRAWS // 2, self.size))
        noise, (weight, mean, covariance) = np.concatenate([half, -half]), order.parts
        part = np.searchsorted(np.cumsum(weight), (np.arange(DRAWS) + 0.5) / DRAWS * (1 - 1e-12))
        for k in np.unique(part):
            factor = np.linalg.cholesky(covariance[k] + 1e-10 * np.eye(self.size))
            noise[part == k] = mean[k] + noise[part == k] @ factor.T
        return noise

    def _rng(self, more: int = 0) -> np.random.Generator:
        """Return random numbers that depend on the seed and the number of answers only."""
        return np.random.default_rng((self.seed, self.number, int(self.count), more))


def _top(strength: Floats, top: int) -> Bools:
    """Mark the items at the top of each row."""
    return np.asarray(strength >= np.partition(strength, -top, axis=1)[:, -top, None])


def information(order: Order, i: Ints, j: Ints) -> Floats:
    """Information of answers about the strengths if answers were probit, in closed form (Houlsby et al. 2011)."""
    weight, mean, covariance = order.parts
    diagonal = np.diagonal(covariance, axis1=1, axis2=2)
    d = (mean[:, i] - mean[:, j]) / 1.7
    variance = np.maximum(diagonal[:, i] + diagonal[:, j] - 2 * covariance[:, i, j], 1e-12) / 2.89
    constant = np.pi * np.log(2) / 2
    inside = np.sqrt(constant / (variance + constant)) * np.exp(-(d**2) / (2 * (variance + constant)))
    outside = np.exp(-(d**2) / (1 + variance) / 2 / constant)  # entropy of the mean answer
    return np.asarray(weight @ (outside - inside))
