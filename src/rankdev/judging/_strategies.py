"""Strategies: which pair to ask next, and when to stop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from rankdev._common.arrays import Floats
from rankdev.judging.items import Pair, Pool
from rankdev.judging.progress import Progress, Rule

PER_ITEM = 0.8  # judgments per query, of n log₂ n, before any query is finished


class Strategy(Protocol):
    """Chooses questions towards a goal and is updated with the answers."""

    def ask(
        self,
        skip: Collection[Pair] = (),
        under_way: Collection[Pair] = (),
        *,
        stay: str | None = None,
    ) -> Pair | None:
        """Return the pair whose answer is most useful, other than those to skip; None where no pair is left.

        Pairs ``under_way`` are asked and not answered yet: they are skipped too, and other queries come first.
        ``stay`` is a query that somebody has just read about: its pairs come first, as long as it is unsettled.
        """

    def tell(self, query: str, winner: str, loser: str, *, tie: bool = False, times: float = 1) -> None:
        """Take an answer into account; ``times=-1`` takes it back."""

    def unsettled(self) -> list[str]:
        """List the queries in which the goal is not reached, and can be."""

    def left(self) -> Left:
        """Estimate how many judgments are left until the goal is reached."""

    def errors(self) -> dict[str, float]:
        """Return the fraction that is expected to be wrong, by query."""

    def strengths(self) -> dict[str, Floats]:
        """Return the expected strength of each item, by query."""

    def given_up(self) -> dict[str, float]:
        """Return the queries that more answers would hardly settle, and the fraction that is expected to be wrong."""


@dataclass(frozen=True)
class Left:
    """An estimate of how many judgments are left, with an 80% interval."""

    about: int
    low: int
    high: int


class OrderStrategy:
    """Asks for the order of the items, or of those at the top.

    One query is finished before the next, so that what it took shows how many judgments are left; ``spread`` asks about
    all queries equally often instead, and gives none up.
    """

    def __init__(self, pool: Pool, rule: Rule, *, repeats: int, seed: int, spread: bool = False) -> None:
        self.pool, self.rule, self.repeats, self.seed, self.spread = pool, rule, repeats, seed, spread
        self.places = {query: {item: k for k, item in enumerate(items)} for query, items in pool.items.items()}
        self._queries = {
            query: Progress(number, len(items), rule, seed) for number, (query, items) in enumerate(pool.items.items())
        }
        for query, winner, loser, _, weight in pool.start().to_polars().rows() if pool.grades else ():
            self._queries[query].start(self.places[query][winner], self.places[query][loser], weight)

    @property
    def queries(self) -> dict[str, Progress]:
        """State of each query, with all answers so far; what grades alone tell is computed later, as it takes long."""
        for state in self._queries.values():
            if state.asked:
                state.learn(self.repeats)
        return self._queries

    def ask(
        self,
        skip: Collection[Pair] = (),
        under_way: Collection[Pair] = (),
        *,
        stay: str | None = None,
    ) -> Pair | None:
        """Return the pair whose answer is most useful; see :class:`Strategy`."""
        skipped: dict[str, list[tuple[int, int]]] = {}
        for query, a, b in [*skip, *under_way]:
            skipped.setdefault(query, []).append(self._pair(query, a, b))
        names = self.unsettled() or list(self._queries)  # settled queries only once all are settled
        waiting = Counter(query for query, _, _ in under_way)
        if self.spread:
            states = self._queries
            names.sort(key=lambda query: (states[query].count + waiting[query]) / max(states[query].usual, 1.0))
        else:
            names.sort(key=lambda query: (query != stay, waiting[query]))
        for query in names:
            pair = self._queries[query].best(skipped.get(query, ()), self.repeats, waiting[query])
            if pair is not None:
                items = self.pool.items[query]
                return query, items[pair[0]], items[pair[1]]
        return None

    def tell(self, query: str, winner: str, loser: str, *, tie: bool = False, times: float = 1) -> None:
        """Take an answer into account; see :class:`Strategy`."""
        self._queries[query].tell(self.places[query][winner], self.places[query][loser], tie=tie, times=times)

    def unsettled(self) -> list[str]:
        """List the queries in which more is expected to be wrong than the goal allows, and answers can help."""
        given_up = {} if self.spread else self.given_up()
        return [query for query, state in self.queries.items() if not state.settled and query not in given_up]

    def given_up(self) -> dict[str, float]:
        """Return the queries with twice the answers that sorting needs, and not settled; see :class:`Strategy`."""
        return {query: state.remaining for query, state in self.queries.items() if state.remaining is not None}

    def errors(self) -> dict[str, float]:
        """Return the expected fraction of wrong relations, or of a wrong top; see :class:`Strategy`."""
        for state in self._queries.values():
            state.learn(self.repeats)
        return {query: state.error for query, state in self._queries.items()}

    def strengths(self) -> dict[str, Floats]:
        """Return the expected strength of each item; see :class:`Strategy`."""
        return {query: state.posterior().strength for query, state in self._queries.items()}

    def left(self) -> Left:
        """Estimate how many judgments are left, by what the finished queries took in proportion to n log₂ n."""
        from scipy.special import stdtrit

        states = [state for state in self.queries.values() if state.size > 1]
        took = np.array([state.finished / state.usual for state in states if state.finished is not None])
        open_ = [state for state in states if state.finished is None]
        if not open_:
            return Left(0, 0, 0)
        usual = np.array([state.usual for state in open_])
        given = np.array([state.count for state in open_])
        allowed = np.array([len(state.i) for state in open_]) * self.repeats
        mean = took.mean() if len(took) else PER_ITEM
        deviation = np.hypot(took.std(ddof=1), mean / 10) if len(took) > 1 else mean / 2
        about = np.minimum(np.maximum(mean * usual, given + 0.1 * usual), allowed) - given
        known = max(len(took), 1)
        wide = stdtrit(max(known - 1, 2), 0.9) * deviation * np.sqrt((usual**2).sum() + usual.sum() ** 2 / known)
        most = float((allowed - given).sum())
        low, high = (float(np.clip(about.sum() + sign * wide, 1, most)) for sign in (-1, 1))
        return Left(round(float(about.sum())), round(low), round(high))

    def _pair(self, query: str, a: str, b: str) -> tuple[int, int]:
        i, j = self.places[query][a], self.places[query][b]
        return min(i, j), max(i, j)
