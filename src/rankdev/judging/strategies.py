"""Which question to ask next, and when to stop: for the order of items or those at the top, to check a model, to grade.

All that is said about an order comes from the posterior that cuts tiers (``preferences/order.py``), of the query's
answers alone.
"""

from __future__ import annotations

import random
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import inf
from typing import Any

import numpy as np

from rankdev._common.arrays import Bools, Floats, Ints
from rankdev._common.checks import check_number, check_whole
from rankdev.errors import DataError, UsageError
from rankdev.judging.items import Pool
from rankdev.judging.store import SCORES, Answer, Pair, sorted_pair
from rankdev.preferences.order import QueryOrder

Questions = Collection[Pair]
AGAIN = 8  # one question in so many is asked again, with sides changed: it shows whether the judge is consistent
ENOUGH = 2.0  # answers, of n log₂ n, from which on a query that is not settled is given up
USUAL = 1.5  # the same before any query is finished: a consistent judge of 20 items takes 1.1, others up to 2
MOST_GRADES = 10  # each has a digit as its key
NEARLY = 1e-3  # of usefulness: among pairs that differ by less, any is chosen


class Strategy(ABC):
    """Chooses questions and is updated with the answers."""

    outcomes: Collection[str] = ("first", "second", "tie", "skip")
    graded = False  # whether questions are about one item, not two
    exact = False  # whether it is known how many questions are left
    in_a_row: float = 5  # questions about one query, before another may be chosen

    def __init__(self) -> None:
        self._shown: dict[Pair, str] = {}

    @abstractmethod
    def ask(self, skip: Questions = (), under_way: Questions = (), *, stay: str = "", judge: str = "") -> Pair | None:
        """Return the question whose answer is most useful, other than those to skip; None where none is left.

        Those ``under_way`` are asked and not answered yet: other questions, and other queries, come first.
        ``stay`` is a query that somebody has just read about: its questions come first, as long as it is unsettled.
        What ``judge`` has answered is asked again only of somebody else, unless nobody else judges the query.
        """

    def tell(self, answer: Answer, times: int = 1) -> None:
        """Take an answer into account; ``times=-1`` takes it back."""
        self._shown[sorted_pair(answer.pair)] = answer.first
        if answer.outcome != "skip":
            self._learn(answer, times)

    @abstractmethod
    def _learn(self, answer: Answer, times: int) -> None: ...

    @abstractmethod
    def unsettled(self) -> list[str]:
        """List the queries that are not settled, and can be."""

    @abstractmethod
    def left(self) -> int:
        """Estimate how many judgments are left until all queries are settled."""

    def errors(self) -> dict[str, float]:
        """Return the fraction that is expected to be wrong, by query."""
        return {}

    def given_up(self) -> dict[str, float]:
        """Return the queries that more answers would hardly settle, and the fraction that is expected to be wrong."""
        return {}

    def presented(self, pair: Pair, chance: float) -> Pair:
        """Put the items of a pair left and right: by ``chance``, and the next time the other way round."""
        query, a, b = pair
        before = self._shown.get(sorted_pair(pair))
        return (query, b, a) if b and (before == a or (before is None and chance < 0.5)) else pair


class ListStrategy(Strategy):
    """Asks given questions, each of ``repeats`` judges; one query is finished before the next."""

    exact = True

    def __init__(self, questions: Mapping[str, Iterable[Pair]], repeats: int) -> None:
        super().__init__()
        self.repeats = check_whole("repeats", repeats, 1)
        # who has answered each
        self._judges = {
            query: {sorted_pair(pair): Counter[str]() for pair in pairs} for query, pairs in questions.items()
        }

    def ask(self, skip: Questions = (), under_way: Questions = (), *, stay: str = "", judge: str = "") -> Pair | None:
        """Return a question that lacks answers, other than those to skip; see :class:`Strategy`."""
        taken, waiting = {sorted_pair(pair) for pair in skip}, Counter(map(sorted_pair, under_way))
        for query in self._in_order(stay, Counter(pair[0] for pair in under_way)):
            asked = self._judges[query].items()
            open_ = [
                pair
                for pair, judges in asked
                if judges.total() + waiting[pair] < self.repeats and not judges[judge] and pair not in taken
            ]
            if open_:
                return self._chosen(open_, judge)
        return None

    def _in_order(self, stay: str, busy: Mapping[str, int]) -> Iterable[str]:
        return self._judges

    def _chosen(self, questions: list[Pair], judge: str) -> Pair:
        return questions[0]

    def _learn(self, answer: Answer, times: int) -> None:
        judges = self._judges.get(answer.query, {}).get(sorted_pair(answer.pair))
        if judges is not None:
            judges[answer.worker] += times

    def unsettled(self) -> list[str]:
        """List the queries with questions that lack answers."""
        return [query for query in self._judges if self._lacking(query)]

    def left(self) -> int:
        """Count the answers that are left."""
        return sum(map(self._lacking, self._judges))

    def _lacking(self, query: str) -> int:
        return sum(max(0, self.repeats - judges.total()) for judges in self._judges[query].values())


class CheckStrategy(ListStrategy):
    """Asks people the pairs that a model has answered.

    The finished queries are a random sample of those that the model judged, whatever it answered: that is what
    prediction-powered estimates need.
    """

    def __init__(self, pool: Pool, model: str, answers: Iterable[Answer], *, repeats: int = 1, seed: int = 0) -> None:
        by_query: dict[str, list[Pair]] = {}
        for answer in answers:
            if answer.worker == model and answer.outcome != "skip" and pool.knows(*answer.pair):
                by_query.setdefault(answer.query, []).append(answer.pair)
        if not by_query:
            raise DataError("unasked-model", model=model)
        queries = sorted(by_query)
        order = np.random.default_rng(seed).permutation(len(queries))
        super().__init__({queries[k]: by_query[queries[k]] for k in order}, repeats)


@dataclass(frozen=True)
class Scale:
    """Grades from worst to best, each with a label that may be empty."""

    grades: tuple[tuple[int, str], ...]

    @classmethod
    def parse(cls, text: str) -> Scale:
        """Read a range, labels, or grades with labels."""
        span = re.fullmatch(r"\s*(-?\d{1,3})\s*-\s*(-?\d{1,3})\s*", text)
        parts = [re.fullmatch(r"\s*(?:(-?\d{1,3})\s*=)?\s*([^=\s][^=]*?)\s*", part) for part in text.split(",")]
        if span:
            low, high = int(span[1]), int(span[2])
            grades = [(value, "") for value in range(low, min(high, low + MOST_GRADES) + 1)]
        else:
            grades = [(k if part[1] is None else int(part[1]), part[2]) for k, part in enumerate(parts) if part]
            if not all(parts) or len({part[1] is None for part in parts if part}) > 1:
                grades = []
        values, labels = [value for value, _ in grades], [label for _, label in grades if label]
        distinct = values == sorted(set(values)) and len(set(labels)) == len(labels)
        if not (2 <= len(grades) <= MOST_GRADES and distinct and all(x.isprintable() and len(x) <= 60 for x in labels)):
            raise UsageError("not-a-scale", value=text)
        return cls(tuple(grades))

    def shown(self) -> list[dict[str, Any]]:
        """Return what the page shows: each grade with its key, its own digit where all have one."""
        own = all(0 <= value <= 9 for value, _ in self.grades)
        return [
            {"grade": value, "label": label, "key": str(value if own else (number + 1) % MOST_GRADES)}
            for number, (value, label) in enumerate(self.grades)
        ]


class GradeStrategy(ListStrategy):
    """Asks for grades, one query after the other, each item of at most ``repeats`` judges.

    Each judge sees the items of a query in a random order of their own: that of a pool would show what systems rank
    first.
    """

    graded = True
    in_a_row = inf

    def __init__(self, pool: Pool, scale: Scale, *, repeats: int = 1) -> None:
        super().__init__({query: [(query, item, "") for item in items] for query, items in pool.items.items()}, repeats)
        self.scale, self.outcomes = scale, (*(str(value) for value, _ in scale.grades), "skip")

    def _in_order(self, stay: str, busy: Mapping[str, int]) -> list[str]:
        """Sort queries: the one that the judge is working on, then those that fewest others are working on."""
        return sorted(self._judges, key=lambda query: (query != stay, busy[query]))

    def _chosen(self, questions: list[Pair], judge: str) -> Pair:
        return min(questions, key=lambda question: random.Random("\0".join([judge, *question])).random())


class OrderStrategy(Strategy):
    """Asks for the order of the items.

    A query is settled when at most a fraction ``error`` of its pair relations is expected to be wrong; with a
    ``probability``, when every two neighbours are separated with this probability too.

    One query is finished before the next, so that what it took shows how many judgments are left; ``spread`` asks about
    all queries equally often instead, and gives none up. No pair is asked more than ``repeats`` times.
    """

    def __init__(
        self,
        pool: Pool,
        *,
        error: float = 0.05,
        probability: float | None = None,
        repeats: int = 2,
        seed: int = 0,
        spread: bool = False,
    ) -> None:
        super().__init__()
        repeats, error = check_whole("repeats", repeats, 1), check_number("error", error, 0, 0.5)
        probability = None if probability is None else check_number("probability", probability, 0.5, 1)
        self.pool, self.error, self.spread = pool, error, spread
        self._places = {query: {item: k for k, item in enumerate(items)} for query, items in pool.items.items()}
        self._queries = {
            query: QueryState(len(items), error, probability, repeats, (seed, number))
            for number, (query, items) in enumerate(pool.items.items())
        }
        for query, winner, loser, _, weight in pool.start().to_polars().rows() if pool.grades else ():
            self._queries[query].grades.append((self._places[query][winner], self._places[query][loser], weight))

    @property
    def queries(self) -> dict[str, QueryState]:
        """State of each query, with all answers so far; what grades alone tell is computed later, as it takes long."""
        for state in self._queries.values():
            if state.answers or not state.grades:
                state.learn()
        return self._queries

    def ask(self, skip: Questions = (), under_way: Questions = (), *, stay: str = "", judge: str = "") -> Pair | None:
        """Return the pair whose answer is most useful; see :class:`Strategy`."""
        skipped: dict[str, list[tuple[int, int]]] = {}
        for query, a, b in [*skip, *under_way]:
            i, j = self._places[query][a], self._places[query][b]
            skipped.setdefault(query, []).append((min(i, j), max(i, j)))
        names = self.unsettled() or list(self._queries)  # settled queries only once all are settled
        waiting = Counter(query for query, _, _ in under_way)
        if self.spread:
            states = self._queries
            names.sort(key=lambda query: (states[query].count + waiting[query]) / max(states[query].usual, 1.0))
        else:
            names.sort(key=lambda query: (query != stay, waiting[query]))
        for query in names:
            pair = self._queries[query].best(skipped.get(query, ()), judge, waiting[query])
            if pair is not None:
                items = self.pool.items[query]
                return query, items[pair[0]], items[pair[1]]
        return None

    def _learn(self, answer: Answer, times: int) -> None:
        place = self._places[answer.query]
        score, state = SCORES[answer.outcome], self._queries[answer.query]
        state.tell(place[answer.first], place[answer.second], score, answer.worker, times)

    def unsettled(self) -> list[str]:
        """List the queries in which more is expected to be wrong than is accepted, and answers can help."""
        given_up = self.given_up()
        return [query for query, state in self.queries.items() if not state.settled and query not in given_up]

    def given_up(self) -> dict[str, float]:
        """Return the queries with twice the answers that sorting needs, and not settled; see :class:`Strategy`."""
        return {query: state.error for query, state in self.queries.items() if state.given_up and not self.spread}

    def errors(self) -> dict[str, float]:
        """Return the expected fraction of wrong relations; see :class:`Strategy`."""
        for state in self._queries.values():
            state.learn()
        return {query: state.error for query, state in self._queries.items()}

    def left(self) -> int:
        """Estimate how many judgments are left, by what the finished queries took in proportion to n log₂ n."""
        states = [state for state in self.queries.values() if state.size > 1]
        took = [state.finished / state.usual for state in states if state.finished is not None]
        mean = float(np.mean(took)) if took else USUAL
        return round(sum(state.left(mean) for state in states if state.finished is None))


class QueryState:
    """How far one query is: its posterior, what follows from it, and what to ask next.

    ``answers`` by pair and judge: how many are for the first item of the pair, and how many there are.
    """

    def __init__(
        self, size: int, accepted: float, probability: float | None, repeats: int, seed: tuple[int, ...]
    ) -> None:
        self.size, self.accepted, self.probability, self.repeats, self.seed = size, accepted, probability, repeats, seed
        self.answers: dict[tuple[int, int, str], tuple[float, float]] = {}
        self.grades: list[tuple[int, int, float]] = []  # better, worse, weight
        self._order: QueryOrder | None = None  # None: there were answers since it was last computed
        self._learned = size < 2  # all that there is
        self.error, self.settled = 0.5 if size > 1 else 0.0, size < 2
        self.finished: float | None = None  # answers that it took

    @property
    def count(self) -> float:
        """Number of answers."""
        return sum(total for _, total in self.answers.values())

    @property
    def usual(self) -> float:
        """Number of comparisons that sorting needs."""
        return self.size * float(np.log2(self.size)) if self.size > 1 else 0.0

    @property
    def given_up(self) -> bool:
        """Whether more answers would be too many."""
        return not self.settled and self.count >= ENOUGH * self.usual

    def left(self, mean: float) -> float:
        """Return how many answers are left where others took ``mean`` times the usual number; some always are."""
        allowed = self.size * (self.size - 1) / 2 * self.repeats
        return min(max(mean * self.usual, self.count + 0.1 * self.usual), allowed) - self.count

    def tell(self, first: int, second: int, score: float, judge: str, times: int) -> None:
        """Count an answer: 1 is for the first item, ½ a tie; the posterior is computed when it is next needed."""
        if first > second:
            first, second, score = second, first, 1 - score
        won, total = self.answers.get((first, second, judge), (0.0, 0.0))
        self.answers[first, second, judge] = won + score * times, total + times
        if total + times <= 0:
            del self.answers[first, second, judge]
        self._order, self._learned = None, self.size < 2

    def posterior(self) -> QueryOrder:
        """Return what the answers say about the order; of several judges, each counts once about a pair."""
        if self._order is None:
            judges = sorted({judge for _, _, judge in self.answers})
            rows = [(i, j, 0, weight, weight) for i, j, weight in self.grades]
            for (i, j, judge), (won, total) in sorted(self.answers.items()):
                times = total if len(judges) > 1 else 1.0
                rows.append((i, j, judges.index(judge), won / times, total / times))
            table = np.array(rows, float).reshape(-1, 5).T
            self._order = QueryOrder(self.size, *table[:3].astype(np.int64), *table[3:])
        return self._order

    def learn(self) -> None:
        """Update what is known, if there were answers."""
        if self._learned:
            return
        self._learned, self.error, self.settled = True, 0.5, False
        if not (self.answers or self.grades):
            self.finished = None
            return
        order = self.posterior()
        self.error, border = self.expected(order)
        sure = self.probability is None or (order.coin_flips < 0.5 and border >= self.probability)
        self.settled = self.error <= self.accepted and sure
        exhausted = bool((self._counts() >= self.repeats).all())
        self.finished = (self.finished or self.count) if self.settled or self.given_up or exhausted else None

    def best(self, skip: Collection[tuple[int, int]], judge: str = "", waiting: int = 0) -> tuple[int, int] | None:
        """Return the most useful pair, other than those to skip; None where no pair is left.

        Questions first connect every item with those that have answers: references need that. One in
        ``AGAIN`` is about a pair that was asked before.
        """
        all_i, all_j = all_pairs(self.size)
        others = any(who != judge for _, _, who in self.answers)
        mine = [(i, j) for i, j, who in self.answers if who == judge] if others else []
        counts, seen = self._counts([*skip, *mine]), np.zeros(self.size, bool)
        open_ = counts < self.repeats
        seen[[item for i, j, _ in [*self.answers, *self.grades] for item in (i, j)]] = True
        connects = open_ & (seen[all_i] != seen[all_j])
        again = open_ & (counts > 0)
        if int(self.count + waiting) % AGAIN == AGAIN - 1 and again.any():
            open_ = again
        elif connects.any():
            open_ = connects
        elif self.probability is not None and self.error <= self.accepted and (open_ & self._unsure()).any():
            open_ &= self._unsure()
        if not open_.any():
            return None
        i, j = all_i[open_], all_j[open_]
        rng = np.random.default_rng((*self.seed, int(self.count), len(skip)))
        useful = information(self.posterior(), i, j)
        chosen = int(np.argmax(useful * (1 + NEARLY * rng.random(len(i)))))
        return int(i[chosen]), int(j[chosen])

    def _counts(self, skip: Collection[tuple[int, int]] = ()) -> Floats:
        """Return how often each pair was asked; those to skip as often as allowed."""
        counts = np.zeros((self.size, self.size))
        for (i, j, _), (_, total) in self.answers.items():
            counts[i, j] += total
        for pair in skip:
            counts[pair] = self.repeats
        return np.asarray(counts[all_pairs(self.size)])

    def _unsure(self) -> Bools:
        """Mark the pairs of neighbours in the order that are not separated with the probability asked for."""
        order, place = self.posterior(), np.empty(self.size, np.int64)
        i, j = all_pairs(self.size)
        place[np.argsort(-order.strength, kind="stable")] = np.arange(self.size)
        sure = np.maximum(order.better, order.better.T)[i, j]
        return np.asarray((np.abs(place[i] - place[j]) == 1) & (sure < (self.probability or 0.0)))

    def expected(self, order: QueryOrder) -> tuple[float, float]:
        """Return the fraction that is expected to be wrong, and how surely the least clear border is one."""
        places = np.argsort(-order.strength, kind="stable")
        better = order.better[np.ix_(places, places)]
        wrong = 1 - float(better[all_pairs(self.size)].mean())
        return (1 - order.coin_flips) * wrong + order.coin_flips / 2, float(np.diag(better, 1).min())


@lru_cache(16)
def all_pairs(size: int) -> tuple[Ints, Ints]:
    """Return the places of all pairs, kept once for all queries of a size: of 500 items they take 2 MB."""
    i, j = np.triu_indices(size, 1)
    i.flags.writeable = j.flags.writeable = False
    return i, j


def information(order: QueryOrder, i: Ints, j: Ints) -> Floats:
    """Information of answers about the strengths if answers were probit, in closed form (Houlsby et al. 2011)."""
    weight, mean, covariance = order.parts
    diagonal = np.diagonal(covariance, axis1=1, axis2=2)
    d = (mean[:, i] - mean[:, j]) / 1.7
    variance = np.maximum(diagonal[:, i] + diagonal[:, j] - 2 * covariance[:, i, j], 1e-12) / 2.89
    constant = np.pi * np.log(2) / 2
    inside = np.sqrt(constant / (variance + constant)) * np.exp(-(d**2) / (2 * (variance + constant)))
    outside = np.exp(-(d**2) / (1 + variance) / 2 / constant)  # entropy of the mean answer
    return np.asarray(weight @ (outside - inside))
