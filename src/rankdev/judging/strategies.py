"""Strategies: which pair to ask next, and when to stop."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from rankdev._common.arrays import Bools, Floats, Ints
from rankdev.errors import DataError, UsageError, shown
from rankdev.io.loading import load_run, named_systems
from rankdev.judging.items import Pair, Pool, sorted_pair
from rankdev.measures import Measure, parse
from rankdev.measures.match import Ideals, Match
from rankdev.preferences.active_selection import Candidates
from rankdev.preferences.decision import Decision, Scorer, Verdict
from rankdev.preferences.evidence import newton_fit

RIDGE = 0.1
NONE = np.zeros(0, np.int64)


class Strategy(Protocol):
    """Chooses questions towards a goal and is updated with the answers."""

    def ask(self, skip: Collection[Pair] = ()) -> Pair | None:
        """Return the pair whose answer is most useful, other than those to skip; None where no pair is left."""

    def tell(self, query: str, winner: str, loser: str, *, tie: bool = False, times: float = 1) -> None:
        """Take an answer into account; ``times=-1`` takes it back."""

    def unsettled(self) -> list[str]:
        """List the queries in which the goal is not reached."""

    def left(self) -> int:
        """Estimate how many judgments are left until the goal is reached."""


@dataclass(frozen=True)
class Rule:
    """When the order of two items is settled.

    Either one is better with probability ``confidence``, or the better one wins with a probability below
    ``0.5 + indifference``, again with probability ``confidence``.
    """

    confidence: float = 0.95
    indifference: float = 0.1
    top: int | None = None  # number of places that count

    @cached_property
    def critical(self) -> float:
        """Standard errors that make a difference significant."""
        from scipy.special import ndtri

        return float(ndtri(self.confidence))

    @cached_property
    def margin(self) -> float:
        """The difference in strength below which two items count as equal."""
        return float(2 * np.arctanh(2 * min(self.indifference, 0.499)))

    def settled(self, d: Floats, error: Floats) -> Bools:
        """Whether differences with given standard errors are settled."""
        return np.asarray((d >= self.critical * error) | (d + self.critical * error <= self.margin))

    def needed(self, d: Floats, error: Floats) -> int:
        """Estimate how many answers settle differences, if they are as estimated."""
        unsettled = ~self.settled(d, error)
        d, error = d[unsettled], error[unsettled]
        reach = np.maximum(d, self.margin - d)  # whichever is easier to show
        chance = 0.25 / np.cosh(d / 2) ** 2
        return int(np.ceil(((self.critical / reach) ** 2 - error**-2) / chance).clip(1).sum())


class _Query:
    """State of one query: a function of its wins alone, whatever the order of the answers."""

    def __init__(self, wins: Floats, selection: str, rule: Rule, seed: Sequence[int]) -> None:
        self.wins, self.selection, self.rule, self.seed = wins, selection, rule, seed
        self.asked: dict[tuple[int, int], float] = {}
        self.stale = True

    def tell(self, winner: int, loser: int, *, tie: bool, times: float) -> None:
        """Count an answer; the model is fitted when it is next needed."""
        self.wins[winner, loser] += 0.5 * times if tie else times
        self.wins[loser, winner] += 0.5 * times if tie else 0
        pair = min(winner, loser), max(winner, loser)
        self.asked[pair] = self.asked.get(pair, 0) + times
        self.stale = True

    def learn(self, repeats: int) -> None:
        """Refit if there were answers, and evaluate all pairs but those asked as often as allowed."""
        if not self.stale:
            return
        n = len(self.wins)
        self.strength = newton_fit(self.wins, np.zeros(n), RIDGE, enough=1e-8)
        lead = np.tanh((self.strength[:, None] - self.strength) / 2)
        weights = (self.wins + self.wins.T) * (0.25 - 0.25 * lead * lead)
        information = np.diag(weights.sum(axis=1) + RIDGE) - weights
        factor = np.linalg.solve(np.linalg.cholesky(information).T, np.eye(n))
        rng = np.random.default_rng(self.seed)
        self.candidates = Candidates(self.strength, factor, self.selection, rng, NONE, None, self.rule.top or 1)
        if closed := [pair for pair, count in self.asked.items() if count >= repeats]:
            self.candidates.close(self.numbers(closed))
        self.first = self.candidates.best()
        self.compared = self._compared(self.rule.top)
        self.settled = bool(self.rule.settled(*self.compared).all())
        self.stale = False

    def numbers(self, pairs: Collection[tuple[int, int]]) -> Ints:
        """Number pairs among the candidates."""
        i, j = np.sort(np.array([*pairs]).T, axis=0)
        return self.candidates.find(i, j)

    def best(self, skip: Collection[tuple[int, int]]) -> tuple[float, int]:
        """Return the value of the most useful pair, and the pair."""
        if not skip:
            return self.first
        with self.candidates.without(self.numbers(skip)):
            return self.candidates.best()

    def _compared(self, top: int | None) -> tuple[Floats, Floats]:
        """Differences that the goal is about, and their standard errors.

        Those of neighbours in the order; where only the top counts, of neighbours there and of the last place in
        it with every item below.
        """
        order = np.argsort(-self.strength, kind="stable")
        a, b = order[:-1], order[1:]
        if top is not None and top < len(order):
            below = order[top:]
            a = np.concatenate([order[: top - 1], np.full(len(below), order[top - 1])])
            b = np.concatenate([order[1:top], below])
        spread = self.candidates.factor[a] - self.candidates.factor[b]
        return self.strength[a] - self.strength[b], np.sqrt((spread**2).sum(axis=1))


class OrderStrategy:
    """Asks for the order of the items, or of those at the top, query by query."""

    def __init__(self, pool: Pool, rule: Rule, *, repeats: int, seed: int, selection: str | None = None) -> None:
        self.pool, self.rule, self.repeats = pool, rule, repeats
        selection = selection or ("information" if rule.top is None else "top-heavy")
        started = pool.start()
        wins = _wins(pool, started.to_polars().rows() if len(started) else ())
        self.places = {query: {item: k for k, item in enumerate(items)} for query, items in pool.items.items()}
        self._queries = {
            query: _Query(wins[query], selection, rule, (seed, number)) for number, query in enumerate(pool.items)
        }

    @property
    def queries(self) -> dict[str, _Query]:
        """State of each query, with all answers so far."""
        for state in self._queries.values():
            state.learn(self.repeats)
        return self._queries

    def ask(self, skip: Collection[Pair] = ()) -> Pair | None:
        """Return the pair whose answer is most useful; see :class:`Strategy`."""
        skipped: dict[str, list[tuple[int, int]]] = {}
        for query, a, b in skip:
            skipped.setdefault(query, []).append(self._pair(query, a, b))
        value, query, k = -np.inf, "", 0
        for name in self.unsettled() or self._queries:  # settled queries only once all are settled
            candidate, its_pair = self._queries[name].best(skipped.get(name, ()))
            if candidate > value:
                value, query, k = candidate, name, its_pair
        if value == -np.inf:
            return None
        candidates, items = self._queries[query].candidates, self.pool.items[query]
        return query, items[candidates.i[k]], items[candidates.j[k]]

    def tell(self, query: str, winner: str, loser: str, *, tie: bool = False, times: float = 1) -> None:
        """Take an answer into account; see :class:`Strategy`."""
        self._queries[query].tell(self.places[query][winner], self.places[query][loser], tie=tie, times=times)

    def unsettled(self) -> list[str]:
        """List the queries in which neighbours are neither separated nor nearly equal."""
        return [query for query, state in self.queries.items() if not state.settled]

    def left(self) -> int:
        """Estimate how many judgments are left, if strengths are as estimated; at most those that may be asked."""
        total = 0
        for state in self.queries.values():
            n = len(state.wins)
            allowed = n * (n - 1) // 2 * self.repeats - int(sum(state.asked.values()))
            total += min(max(allowed, 0), self.rule.needed(*state.compared))
        return total

    def _pair(self, query: str, a: str, b: str) -> tuple[int, int]:
        i, j = self.places[query][a], self.places[query][b]
        return min(i, j), max(i, j)


class DecisionStrategy:
    """Asks what is most informative about which system is better."""

    def __init__(self, pool: Pool, scores: Scorer, confidence: float, *, repeats: int, seed: int) -> None:
        self.pool, self.scores, self.confidence, self.repeats = pool, scores, confidence, repeats
        self.decision = Decision(pool.start(), scores, seed=seed)
        self.asked: dict[Pair, float] = {}

    def ask(self, skip: Collection[Pair] = ()) -> Pair | None:
        """Return the most informative pair; see :class:`Strategy`."""
        skipped = [pair for pair in skip if self.asked.get(sorted_pair(pair), 0) < self.repeats]
        for pair in skipped:
            self.decision.close(*pair)
        try:
            return self.decision.ask()
        finally:
            for pair in skipped:
                self.decision.close(*pair, closed=False)

    def tell(self, query: str, winner: str, loser: str, *, tie: bool = False, times: float = 1) -> None:
        """Take an answer into account; see :class:`Strategy`."""
        self.decision.tell(query, winner, loser, tie=tie, times=times)
        pair = sorted_pair((query, winner, loser))
        self.asked[pair] = self.asked.get(pair, 0) + times
        self.decision.close(*pair, closed=self.asked[pair] >= self.repeats)

    def verdict(self) -> Verdict:
        """Return the leading system, and the probability that it is better."""
        return self.decision.verdict()

    def unsettled(self) -> list[str]:
        """List all queries until the decision is reached."""
        return [] if self.verdict().probability >= self.confidence else list(self.pool.items)

    def left(self) -> int:
        """Estimate how many judgments are left; at most those that may be asked."""
        pairs = sum(len(items) * (len(items) - 1) // 2 for items in self.pool.items.values())
        return int(
            np.ceil(min(self.decision.left(self.confidence), pairs * self.repeats - int(sum(self.asked.values()))))
        )


def _wins(pool: Pool, rows: Collection[tuple[str, str, str, bool, float]]) -> dict[str, Floats]:
    """Tabulate the wins that grades imply, item by item."""
    wins = {query: np.zeros((len(items), len(items))) for query, items in pool.items.items()}
    for query, winner, loser, _, weight in rows:
        names = pool.items[query]
        wins[query][names.index(winner), names.index(loser)] += weight
    return wins


NEEDS_RUNS = "goal 'decide' needs runs={system: run} of two or more systems, and a measure"


@dataclass(frozen=True, eq=False)
class SystemScores:
    """``scores(query, orders)`` returns the systems' scores for orders of the query's items, best first."""

    systems: tuple[str, ...]
    measure: Measure
    found: Mapping[str, list[tuple[Ints, Ints, int]]]  # by query and system: items, their positions, items returned

    @classmethod
    def of(cls, items: Mapping[str, list[str]], runs: Any, measure: str | Measure) -> SystemScores:
        """Find the positions of the items of each query in each run."""
        if not isinstance(runs, Mapping) or len(runs) < 2:
            raise UsageError(NEEDS_RUNS)
        wanted = parse(measure) if isinstance(measure, str) else measure
        read = [load_run(system, run) for system, run in named_systems(runs).items()]
        for system, run in zip(runs, read, strict=True):
            if not any(query in run for query in items):
                raise DataError(f"system {shown(system)}: the run has none of the queries to be judged")
        found = {
            query: [_positions(run.get(query, []), names, wanted.reach) for run in read]
            for query, names in items.items()
        }
        return cls(tuple(runs), wanted, found)

    def __call__(self, query: str, orders: Ints) -> Floats:
        """Score all systems under each order, a row of item numbers: ``[order, system]``."""
        draws, n = orders.shape
        place = np.empty_like(orders)
        np.put_along_axis(place, orders, np.broadcast_to(np.arange(n), orders.shape), axis=1)
        ideals = Ideals(np.arange(draws + 1) * n, np.tile(np.arange(1, n + 1), draws))
        row = np.arange(draws)[:, None]
        columns = [
            self.measure.score(
                Match(
                    ideals,
                    np.repeat(np.arange(draws), len(items)),
                    np.tile(positions, draws),
                    (row * n + place[:, items]).ravel(),
                    np.full(draws, length),
                )
            )
            for items, positions, length in self.found[query]
        ]
        return np.stack(columns, axis=1)


def _positions(returned: list[str], names: list[str], reach: int | None) -> tuple[Ints, Ints, int]:
    """Find where items first appear in the results of a system for a query."""
    top, number = returned[:reach], {name: k for k, name in enumerate(names)}
    first = {item: position for position, item in reversed(list(enumerate(top))) if item in number}
    positions = sorted((position, number[item]) for item, position in first.items())
    return (
        np.array([item for _, item in positions], np.int64),
        np.array([position for position, _ in positions], np.int64),
        len(top),
    )
