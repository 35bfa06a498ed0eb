"""Strategies: which pair to ask next, and when to stop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from rankdev._common.arrays import Bools, Floats, Ints
from rankdev.errors import DataError, UsageError, shown
from rankdev.io.loading import load_runs, named_systems
from rankdev.judging.items import Pair, Pool, sorted_pair
from rankdev.measures import Measure, parse
from rankdev.measures.match import Ideals, Match
from rankdev.preferences.decision import Decision, Scorer, Verdict, all_pairs
from rankdev.preferences.expectation_propagation import NORMAL_NODES, NORMAL_WEIGHTS, chances
from rankdev.preferences.posterior import Mixture, Posteriors

CHECKS = 0.25  # fraction of questions about the judge: how far items scatter, how many answers are random
FEW_CHECKS = 0.1  # the same with a budget, where the order matters more than when to stop
EXAMINED = 100  # pairs whose value is computed exactly; chosen by an approximation
DRAWS = 400  # orders drawn from the posterior
NEAR = 2.0  # times the error that is accepted, from which draws follow the posterior itself: they take longer
SCATTER = 0.015  # most that a stated error may differ by kind of judge (standard deviation)
SCATTER_OF_CHANCE = 0.04  # the same of a stated probability
FORESEEN = 40  # orders drawn to see what all answers together would leave undecided
FUTILE = 0.95  # fraction of these in which the goal is missed, for the strategy to give up
PER_ITEM = 0.8  # judgments per query, of n log₂ n, before any query is finished


class Strategy(Protocol):
    """Chooses questions towards a goal and is updated with the answers."""

    def ask(
        self,
        skip: Collection[Pair] = (),
        under_way: Collection[Pair] = (),
        *,
        within: Collection[str] | None = None,
        stay: str | None = None,
    ) -> Pair | None:
        """Return the pair whose answer is most useful, other than those to skip; None where no pair is left.

        Pairs ``under_way`` are asked and not answered yet: they are skipped too, and other queries come first.
        ``within`` are the only queries to ask about; a decision between systems is about all. ``stay`` is a query that
        somebody has just read about: its pairs come first, as long as it is unsettled.
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
        """Return the queries in which no number of answers will do, and the fraction that would still be wrong."""


@dataclass(frozen=True)
class Left:
    """An estimate of how many judgments are left, with an 80% interval."""

    about: int
    low: int
    high: int


@dataclass(frozen=True)
class Rule:
    """When a query is settled: at most a fraction ``error`` of its pair relations, or of its top, is expected wrong.

    With a ``probability``: the fraction that is wrong is at most ``error`` with this probability.
    """

    error: float = 0.05
    probability: float | None = None
    top: int | None = None  # number of places that count


class _Query:
    """State of one query: its posterior, and what follows for the goal."""

    def __init__(self, posteriors: Posteriors, number: int, size: int, rule: Rule, seed: int, checks: float) -> None:
        self.checks = checks
        self.posteriors, self.number, self.size, self.rule, self.seed = posteriors, number, size, rule, seed
        self.asked: dict[tuple[int, int], float] = {}
        self.i, self.j = all_pairs(size)
        self.stale = True
        self.error, self.settled = 0.5 if size > 1 else 0.0, size < 2
        self.by_judge: Floats | None = None  # where only the judge keeps it open: the statement for each kind of judge
        self.remaining: float | None = None  # what all answers would leave wrong, where the goal is out of reach
        self.looked = 0.0  # number of answers when that was last computed
        self.finished: float | None = None  # answers that it took

    @property
    def count(self) -> float:
        """Number of answers."""
        return sum(self.asked.values())

    @property
    def usual(self) -> float:
        """Number of comparisons that sorting needs."""
        return self.size * np.log2(self.size) if self.size > 1 else 0.0

    def tell(self, winner: int, loser: int, *, tie: bool, times: float) -> None:
        """Count an answer; the posterior is computed when it is next needed."""
        self.posteriors.tell(self.number, winner, loser, tie=tie, times=times)
        pair = min(winner, loser), max(winner, loser)
        self.asked[pair] = max(0.0, self.asked.get(pair, 0) + times)
        self.stale = True

    def learn(self, repeats: int) -> None:
        """Update what is known, if there were answers."""
        if not self.stale:
            return
        self.stale = False
        if not self.posteriors.count(self.number) or self.size < 2:
            return
        self._conclude(repeats)
        if (self.settled or self.by_judge is not None) and self.posteriors.update(self.number):
            self._conclude(repeats)  # it rests on all answers
        if self.settled or self.by_judge is not None:
            self.remaining = None
        elif self.count >= max(self.usual, 1.2 * self.looked):
            self.looked = self.count
            self.remaining = foreseen(self.mixture, self.rule, repeats, self._rng())
        done = self.settled or self.remaining is not None or self.exhausted(repeats)
        self.finished = (self.finished or self.count) if done else None

    def exhausted(self, repeats: int) -> bool:
        """Whether every pair was asked as often as allowed."""
        return len(self.asked) == len(self.i) and min(self.asked.values(), default=0) >= repeats

    def best(self, skip: Collection[tuple[int, int]], repeats: int) -> tuple[int, int] | None:
        """Return the most useful pair, other than those to skip; None where no pair is left."""
        rng = self._rng(len(skip))
        seen = self.posteriors.seen(self.number)
        fresh = rng.permutation(np.setdiff1d(np.arange(self.size), seen))
        pool = np.concatenate([seen, fresh[: 2 + 2 * len(skip)]])  # items without answers are alike: a few will do
        closed = np.zeros((self.size, self.size), bool)
        for pair in [*skip, *(pair for pair, count in self.asked.items() if count >= repeats)]:
            closed[pair] = True
        a, b = (pool[side] for side in np.triu_indices(len(pool), 1))
        i, j = np.minimum(a, b), np.maximum(a, b)
        i, j = i[~closed[i, j]], j[~closed[i, j]]
        if not len(i):
            return None
        mixture = self.posteriors[self.number]
        if self.by_judge is not None:
            k = int(np.argmax(about_the_statement(mixture, i, j, self.by_judge) * (1 + 1e-3 * rng.random(len(i)))))
            return int(i[k]), int(j[k])
        if 2 * self.count >= self.size and rng.random() < self.checks:
            k = int(np.argmax(about_the_judge(mixture, i, j) * (1 + 1e-3 * rng.random(len(i)))))
            return int(i[k]), int(j[k])
        chosen = self._most_useful(mixture, i, j, rng)
        return int(i[chosen]), int(j[chosen])

    def _most_useful(self, mixture: Mixture, i: Ints, j: Ints, rng: np.random.Generator) -> int:
        about = approximate_information(mixture, i, j)
        if self.rule.top is None:
            shortlist = _largest(about, EXAMINED)
            value = expected_information(mixture, i[shortlist], j[shortlist])
        else:
            drawn, part = mixture.draw(self._noise(DRAWS))
            member = _top(drawn, self.rule.top)
            open_ = member.mean(axis=0) * (1 - member.mean(axis=0))
            shortlist = _largest(about * (open_[i] + open_[j] + 1e-6), EXAMINED)
            value = explained(mixture, drawn, part, i[shortlist], j[shortlist], member.astype(float))
        return int(shortlist[np.argmax(value * (1 + 1e-3 * rng.random(len(value))))])

    def _conclude(self, repeats: int) -> None:
        """Find the expected fraction that is wrong, and whether the goal is reached whatever the judge may be like."""
        self.mixture = self.posteriors[self.number]
        self.error, self.settled, stated, scatter = self._progress()
        most = SCATTER if self.rule.probability is None else SCATTER_OF_CHANCE
        open_ = self.settled and scatter > most and not self.exhausted(repeats)
        self.by_judge = stated if open_ else None
        self.settled &= not open_

    def _progress(self) -> tuple[float, bool, Floats, float]:
        """Return the expected fraction that is wrong, and whether the goal is reached.

        And what is stated about it, an error or a probability, for each kind of judge; and how far these scatter.
        """
        rule, mixture = self.rule, self.mixture
        strength = mixture.strength
        if rule.top is not None and rule.top < self.size:
            drawn, part = mixture.draw(self._noise(DRAWS))
            wrong = self._wrong_at_top(drawn, rule.top)
            if wrong.mean() <= NEAR * rule.error:
                chance = _top(drawn, rule.top).mean(axis=0)
                drawn, part = self._sample(np.flatnonzero((chance > 0) & (chance < 1)))
                wrong = self._wrong_at_top(drawn, rule.top)
            error = float(wrong.mean())
        else:
            stated = strength[self.i] > strength[self.j]
            above = mixture.above(self.i, self.j)
            error = float(np.where(stated, 1 - above, above).mean())
            if rule.probability is None or error > rule.error:
                return error, rule.probability is None and error <= rule.error, np.zeros(0), 0.0
            drawn, part = self._sample(np.arange(self.size))
            wrong = ((drawn[:, self.i] > drawn[:, self.j]) != stated).mean(axis=1)
        if rule.probability is None:
            return error, error <= rule.error, *_by_part(wrong, part, mixture.weight)
        held = (wrong <= rule.error + 1e-9).astype(float)
        return error, float(held.mean()) >= rule.probability, *_by_part(held, part, mixture.weight)

    def _wrong_at_top(self, drawn: Floats, top: int) -> Floats:
        """Fraction of the top of each draw that is not at the top by the expected strengths, which users get."""
        best = np.argsort(-self.mixture.strength, kind="stable")[:top]
        return np.asarray(1 - _top(drawn, top)[:, best].mean(axis=1))

    def _sample(self, items: Ints) -> tuple[Floats, Ints]:
        """Draw strengths from the posterior, those of ``items`` from the posterior itself; and the part of each."""
        return self.mixture.sample(self._noise(DRAWS), self._rng(), items)

    def _noise(self, draws: int) -> Floats:
        half = np.random.default_rng((self.seed, self.number)).standard_normal((draws // 2, self.size))
        return np.concatenate([half, -half])

    def _rng(self, more: int = 0) -> np.random.Generator:
        """Return random numbers that depend on the seed and the number of answers only."""
        return np.random.default_rng((self.seed, self.number, int(self.count), more))


def _by_part(values: Floats, part: Ints, weight: Floats) -> tuple[Floats, float]:
    """Average values of draws over each part of a mixture; and their standard deviation, less that of few draws."""
    number = np.bincount(part, minlength=len(weight))
    means = np.bincount(part, values, minlength=len(weight)) / np.maximum(number, 1)
    means = np.where(number > 0, means, values.mean())
    by_chance = np.mean((values - means[part]) ** 2) * np.count_nonzero(number) / len(values)
    return means, float(np.sqrt(max(0.0, weight @ (means - weight @ means) ** 2 - by_chance)))


def _top(strength: Floats, top: int) -> Bools:
    """Mark the items at the top of each row."""
    if top >= strength.shape[1]:
        return np.ones(strength.shape, bool)
    return np.asarray(strength >= np.partition(strength, -top, axis=1)[:, -top, None])


def _largest(value: Floats, number: int) -> Ints:
    if len(value) <= number:
        return np.arange(len(value))
    return np.sort(np.argpartition(-value, number)[:number])


def about_the_judge(mixture: Mixture, i: Ints, j: Ints) -> Floats:
    """Information of answers about spread and lapses: whether the judge would confirm what seems settled."""
    d, variance = mixture.difference(i, j)
    chance, _, _ = chances(d / np.sqrt(1 + np.pi / 8 * variance), mixture.lapse[:, None], 0.0)
    mean = mixture.weight @ chance
    within = mixture.weight @ (_entropy(chance) + _entropy(1 - chance))
    return np.asarray(_entropy(mean) + _entropy(1 - mean) - within)


def about_the_statement(mixture: Mixture, i: Ints, j: Ints, stated: Floats) -> Floats:
    """Variance of what is stated for each kind of judge that answers are expected to explain."""
    d, variance = mixture.difference(i, j)
    chance, _, _ = chances(d / np.sqrt(1 + np.pi / 8 * variance), mixture.lapse[:, None], 0.0)
    mean = mixture.weight @ chance
    together = (mixture.weight * (stated - mixture.weight @ stated)) @ chance
    return np.asarray(together**2 / np.maximum(mean * (1 - mean), 1e-12))


def approximate_information(mixture: Mixture, i: Ints, j: Ints) -> Floats:
    """Information of answers about the strengths if answers were probit, in closed form (Houlsby et al. 2011)."""
    d, variance = (x / scale for x, scale in zip(mixture.difference(i, j), (1.7, 2.89), strict=True))
    constant = np.pi * np.log(2) / 2
    inside = np.sqrt(constant / (variance + constant)) * np.exp(-(d**2) / (2 * (variance + constant)))
    outside = np.exp(-(d**2) / (1 + variance) / 2 / constant)  # entropy of the mean answer
    return np.asarray(mixture.weight @ (outside - inside))


def expected_information(mixture: Mixture, i: Ints, j: Ints) -> Floats:
    """Mutual information, in bits, between each answer and the strengths, spread and lapses together."""
    d, variance = mixture.difference(i, j)
    x = d[..., None] + np.sqrt(variance)[..., None] * NORMAL_NODES
    found = chances(x, mixture.lapse[:, None, None], mixture.tie_rate)
    before, after = np.zeros(len(i)), np.zeros(len(i))
    for chance in found if mixture.tie_rate else found[:2]:
        before += _entropy(mixture.weight @ (chance @ NORMAL_WEIGHTS))
        after += mixture.weight @ (_entropy(chance) @ NORMAL_WEIGHTS)
    return before - after


def _entropy(p: Floats) -> Floats:
    return np.asarray(-p * np.log2(np.maximum(p, 1e-300)))


def explained(mixture: Mixture, drawn: Floats, part: Ints, i: Ints, j: Ints, about: Floats) -> Floats:
    """Variance of the columns of ``about[draw, …]`` that answers are expected to explain."""
    win, _, _ = chances(drawn[:, i] - drawn[:, j], mixture.lapse[part][:, None], 0.0)
    mean = win.mean(axis=0)
    together = (win - mean).T @ (about - about.mean(axis=0)) / len(drawn)
    return np.asarray((together**2).sum(axis=1) / np.maximum(mean * (1 - mean), 1e-12))


def foreseen(mixture: Mixture, rule: Rule, repeats: int, rng: np.random.Generator) -> float | None:
    """Return the fraction that would be wrong with an answer to every pair, where the goal cannot be reached with it.

    The true strengths may be any that are drawn from the posterior. Answers to all pairs are drawn for each: the order
    of the items is then that of their wins.
    """
    n = mixture.mean.shape[1]
    i, j = np.triu_indices(n, 1)
    drawn, part = mixture.draw(rng.standard_normal((FORESEEN, n)))
    win, _, tie = chances(drawn[:, i] - drawn[:, j], mixture.lapse[part][:, None], mixture.tie_rate)
    won = rng.binomial(repeats, win)
    half = rng.binomial(repeats - won, tie / np.maximum(1 - win, 1e-12)) if mixture.tie_rate else 0
    points = np.zeros((FORESEEN, n, n))
    points[:, i, j], points[:, j, i] = won + half / 2, repeats - won - half / 2
    score = points.sum(axis=2) + 1e-6 * rng.random((FORESEEN, n))
    if rule.top is None or rule.top >= n:
        wrong = ((drawn[:, i] > drawn[:, j]) != (score[:, i] > score[:, j])).mean(axis=1)
    else:
        wrong = 1 - (_top(drawn, rule.top) & _top(score, rule.top)).sum(axis=1) / rule.top
    return float(wrong.mean()) if (wrong > rule.error).mean() >= FUTILE else None


class OrderStrategy:
    """Asks for the order of the items, or of those at the top.

    One query is finished before the next, so that what it took shows how many judgments are left; ``spread`` asks about
    all queries equally often instead, and gives none up.
    """

    def __init__(self, pool: Pool, rule: Rule, *, repeats: int, seed: int, spread: bool = False) -> None:
        self.pool, self.rule, self.repeats, self.seed, self.spread = pool, rule, repeats, seed, spread
        self.places = {query: {item: k for k, item in enumerate(items)} for query, items in pool.items.items()}
        self.posteriors = Posteriors([len(items) for items in pool.items.values()])
        self._queries = {
            query: _Query(self.posteriors, number, len(items), rule, seed, FEW_CHECKS if spread else CHECKS)
            for number, (query, items) in enumerate(pool.items.items())
        }
        started = _started(pool)
        for number, (query, places) in enumerate(self.places.items()):
            for winner, loser, weight in started.get(query, ()):
                self.posteriors.tell(number, places[winner], places[loser], times=weight)

    @property
    def queries(self) -> dict[str, _Query]:
        """State of each query, with all answers so far."""
        for state in self._queries.values():
            state.learn(self.repeats)
        return self._queries

    def ask(
        self,
        skip: Collection[Pair] = (),
        under_way: Collection[Pair] = (),
        *,
        within: Collection[str] | None = None,
        stay: str | None = None,
    ) -> Pair | None:
        """Return the pair whose answer is most useful; see :class:`Strategy`."""
        skipped: dict[str, list[tuple[int, int]]] = {}
        for query, a, b in [*skip, *under_way]:
            skipped.setdefault(query, []).append(self._pair(query, a, b))
        names = self.unsettled() or list(self._queries)  # settled queries only once all are settled
        names = [query for query in names if within is None or query in within]
        waiting = Counter(query for query, _, _ in under_way)
        if self.spread:
            states = self._queries
            names.sort(key=lambda query: (states[query].count + waiting[query]) / max(states[query].usual, 1.0))
        else:
            names.sort(key=lambda query: (query != stay, waiting[query]))
        for query in names:
            pair = self._queries[query].best(skipped.get(query, ()), self.repeats)
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
        """Return the queries that no number of answers settles; see :class:`Strategy`."""
        return {query: state.remaining for query, state in self.queries.items() if state.remaining is not None}

    def errors(self) -> dict[str, float]:
        """Return the expected fraction of wrong relations, or of a wrong top; see :class:`Strategy`."""
        return {query: state.error for query, state in self.queries.items()}

    def strengths(self) -> dict[str, Floats]:
        """Return the expected strength of each item; see :class:`Strategy`."""
        return {query: self.posteriors[number].strength for number, query in enumerate(self._queries)}

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


def _started(pool: Pool) -> dict[str, list[tuple[str, str, float]]]:
    """List what grades imply, by query: winner, loser, weight."""
    found: dict[str, list[tuple[str, str, float]]] = {}
    for query, winner, loser, _, weight in pool.start().to_polars().rows() if pool.grades else ():
        found.setdefault(query, []).append((winner, loser, weight))
    return found


class DecisionStrategy:
    """Asks what is most informative about which system is better, until the conclusion is rarely wrong (``error``)."""

    def __init__(self, pool: Pool, scores: Scorer, error: float, *, repeats: int, seed: int) -> None:
        self.pool, self.scores, self.error, self.repeats = pool, scores, error, repeats
        self.decision = Decision(pool.start(), scores, seed=seed)
        self.asked: dict[Pair, float] = {}

    def ask(
        self,
        skip: Collection[Pair] = (),
        under_way: Collection[Pair] = (),
        *,
        within: Collection[str] | None = None,
        stay: str | None = None,
    ) -> Pair | None:
        """Return the most informative pair; see :class:`Strategy`."""
        skipped = [pair for pair in [*skip, *under_way] if self.asked.get(sorted_pair(pair), 0) < self.repeats]
        for pair in skipped:
            self.decision.close(*pair)
        try:
            return self.decision.ask(stay)
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
        return [] if self.verdict().probability >= 1 - self.error else list(self.pool.items)

    def given_up(self) -> dict[str, float]:
        """Return nothing: an undecided pair of systems needs all answers that there are."""
        return {}

    def errors(self) -> dict[str, float]:
        """Return the probability that the conclusion is wrong, the same for all queries."""
        return dict.fromkeys(self.pool.items, 1 - self.verdict().probability)

    def strengths(self) -> dict[str, Floats]:
        """Return the expected strength of each item; see :class:`Strategy`."""
        return self.decision.strengths()

    def left(self) -> Left:
        """Estimate how many judgments are left; at most those that may be asked."""
        pairs = sum(len(items) * (len(items) - 1) // 2 for items in self.pool.items.values())
        allowed = pairs * self.repeats - int(sum(self.asked.values()))
        about = int(np.ceil(min(self.decision.left(1 - self.error), allowed)))
        return Left(about, min(1, about), allowed)


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
        read = [*load_runs(named_systems(runs)).values()]
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
