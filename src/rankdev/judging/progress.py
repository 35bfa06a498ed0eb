"""How far a query is on the way to its goal, when it is settled, and which of its pairs to ask next."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from rankdev._common.arrays import Bools, Floats, Ints
from rankdev.preferences.decision import all_pairs
from rankdev.preferences.expectation_propagation import chances
from rankdev.preferences.posterior import Mixture, Posteriors

NODES, REACH = np.linspace(-1, 1, 21), 5.0  # of the numerical integration, and standard deviations that it covers
EXAMINED = 100  # pairs whose value is computed exactly; chosen by an approximation
DRAWS = 400  # orders drawn from the posterior
NEAR = 2.0  # times the error that is accepted, from which draws follow the posterior itself: they take longer
SCATTER = 0.02  # most that a stated error may differ by kind of judge (standard deviation)
SCATTER_OF_CHANCE = 0.05  # the same of a stated probability
AGAIN = 1.1  # growth of the answers of a query that waits, from which on that is computed again: it takes long
WAIT = 1.5  # answers, of n log₂ n, from which on the goal is reached whatever the judge
FORESEEN = 40  # orders drawn to see what all answers together would leave undecided
FUTILE = 0.95  # fraction of these in which the goal is missed, for the strategy to give up


@dataclass(frozen=True)
class Rule:
    """When a query is settled: at most a fraction ``error`` of its pair relations, or of its top, is expected wrong.

    With a ``probability``: the fraction that is wrong is at most ``error`` with this probability.
    """

    error: float = 0.05
    probability: float | None = None
    top: int | None = None  # number of places that count


class Progress:
    """How far one query is: its posterior, what follows for the goal, and what to ask next."""

    def __init__(self, posteriors: Posteriors, number: int, size: int, rule: Rule, seed: int, checks: float) -> None:
        self.checks = checks
        self.posteriors, self.number, self.size, self.rule, self.seed = posteriors, number, size, rule, seed
        self.asked: dict[tuple[int, int], float] = {}
        self.i, self.j = all_pairs(size)
        self.stale = True
        self.error, self.settled = 0.5 if size > 1 else 0.0, size < 2
        self.by_judge: Floats | None = None  # where only the judge keeps it open: the statement for each kind of judge
        self.updated = 0.0  # number of answers when all of them were last used to find what the judge is like
        self.remaining: float | None = None  # what all answers would leave wrong, where the goal is out of reach
        self.looked = 0.0  # number of answers when that was last computed
        self.finished: float | None = None  # answers that it took

    @property
    def mixture(self) -> Mixture:
        """What is known of the strengths and of the judge."""
        return self.posteriors[self.number]

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
        waits_long = self.by_judge is not None and self.count >= AGAIN * self.updated
        if (self.settled or waits_long) and self.posteriors.update(self.number):
            self.updated = self.count
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
        """Return the most useful pair, other than those to skip; None where no pair is left.

        Questions about the order first connect every item with those that have answers: references need that.
        """
        rng = self._rng(len(skip))
        seen = self.posteriors.seen(self.number)
        fresh = rng.permutation(np.setdiff1d(np.arange(self.size), seen))
        pool = np.concatenate([seen, fresh[: 2 + 2 * len(skip)]])  # items without answers are alike: a few will do
        closed = np.zeros((self.size, self.size), bool)
        for pair in [*skip, *(pair for pair, count in self.asked.items() if count >= repeats)]:
            closed[pair] = True
        a, b = np.triu_indices(len(pool), 1)
        connects = (a < len(seen)) & (b >= len(seen))
        i, j = np.minimum(pool[a], pool[b]), np.maximum(pool[a], pool[b])
        open_ = ~closed[i, j]
        if not open_.any():
            return None
        if self.rule.top is None and (open_ & connects).any():
            open_ &= connects
        i, j = i[open_], j[open_]
        if self.by_judge is not None:
            chosen = _first(about_the_statement(self.mixture, i, j, self.by_judge), rng)
        elif 2 * self.count >= self.size and rng.random() < self.checks:
            chosen = _first(about_the_judge(self.mixture, i, j), rng)
        else:
            chosen = self._most_useful(i, j, rng)
        return int(i[chosen]), int(j[chosen])

    def _most_useful(self, i: Ints, j: Ints, rng: np.random.Generator) -> int:
        mixture = self.mixture
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
        return int(shortlist[_first(value, rng)])

    def _conclude(self, repeats: int) -> None:
        """Find the expected fraction that is wrong, and whether the goal is reached whatever the judge may be like."""
        self.error, self.settled, stated, scatter = self._progress()
        most = SCATTER if self.rule.probability is None else SCATTER_OF_CHANCE
        waits = self.settled and scatter > most and self.count < WAIT * self.usual and not self.exhausted(repeats)
        self.by_judge = stated if waits else None
        self.settled &= not waits

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
            wrong = _discordant(drawn, strength)
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
    between = float(weight @ (means - weight @ means) ** 2 - by_chance)
    return means, float(np.sqrt(np.maximum(0.0, between)))


def _discordant(drawn: Floats, strength: Floats) -> Floats:
    """Fraction of the pairs of each draw that are in another order than by ``strength``."""
    n = len(strength)
    best_first = drawn.T[np.lexsort((-np.arange(n), -strength))]
    wrong = sum((best_first[k + 1 :] > best_first[k]).sum(axis=0) for k in range(n - 1))
    return np.asarray(wrong / (n * (n - 1) / 2))


def _top(strength: Floats, top: int) -> Bools:
    """Mark the items at the top of each row."""
    if top >= strength.shape[1]:
        return np.ones(strength.shape, bool)
    return np.asarray(strength >= np.partition(strength, -top, axis=1)[:, -top, None])


def _first(value: Floats, rng: np.random.Generator) -> int:
    """Return the place of the largest value, of nearly equal ones any."""
    return int(np.argmax(value * (1 + 1e-3 * rng.random(len(value)))))


def _largest(value: Floats, number: int) -> Ints:
    if len(value) <= number:
        return np.arange(len(value))
    return np.sort(np.argpartition(-value, number)[:number])


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
    share = np.minimum(tie / np.maximum(1 - win, 1e-12), 1.0)  # rounding may put it above 1
    half = rng.binomial(repeats - won, share) if mixture.tie_rate else 0
    points = np.zeros((FORESEEN, n, n))
    points[:, i, j], points[:, j, i] = won + half / 2, repeats - won - half / 2
    score = points.sum(axis=2) + 1e-6 * rng.random((FORESEEN, n))
    if rule.top is None or rule.top >= n:
        wrong = ((drawn[:, i] > drawn[:, j]) != (score[:, i] > score[:, j])).mean(axis=1)
    else:
        wrong = 1 - (_top(drawn, rule.top) & _top(score, rule.top)).sum(axis=1) / rule.top
    return float(wrong.mean()) if (wrong > rule.error).mean() >= FUTILE else None


def about_the_judge(mixture: Mixture, i: Ints, j: Ints) -> Floats:
    """Information of answers about spread and lapses: whether the judge would confirm what seems settled."""
    chance = _by_judge(mixture, i, j)
    mean = mixture.weight @ chance
    within = mixture.weight @ (_entropy(chance) + _entropy(1 - chance))
    return np.asarray(_entropy(mean) + _entropy(1 - mean) - within)


def about_the_statement(mixture: Mixture, i: Ints, j: Ints, stated: Floats) -> Floats:
    """Variance of what is stated for each kind of judge that answers are expected to explain."""
    chance = _by_judge(mixture, i, j)
    mean = mixture.weight @ chance
    together = (mixture.weight * (stated - mixture.weight @ stated)) @ chance
    return np.asarray(together**2 / np.maximum(mean * (1 - mean), 1e-12))


def _by_judge(mixture: Mixture, i: Ints, j: Ints) -> Floats:
    """Probability that i wins, for each kind of judge; a logistic answer seen through a normal difference."""
    d, variance = mixture.difference(i, j)
    return chances(d / np.sqrt(1 + np.pi / 8 * variance), mixture.lapse[:, None], 0.0)[0]


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
    x, share = normal_nodes(d, np.sqrt(variance))
    found = chances(x, mixture.lapse[:, None, None], mixture.tie_rate)
    before, after = np.zeros(len(i)), np.zeros(len(i))
    for chance in found if mixture.tie_rate else found[:2]:
        before += _entropy(mixture.weight @ (share * chance).sum(axis=-1))
        after += mixture.weight @ (share * _entropy(chance)).sum(axis=-1)
    return before - after


def normal_nodes(mean: Floats, deviation: Floats) -> tuple[Floats, Floats]:
    """Nodes and weights to average a function of answers over normal differences.

    They are dense around 0, where an answer is open: nodes that only follow a wide normal distribution miss that.
    """
    mean, deviation = mean[..., None], deviation[..., None]
    grown = np.arcsinh(np.abs(mean) + REACH * deviation) * NODES
    x = np.sinh(grown)
    weight = np.exp(-0.5 * ((x - mean) / deviation) ** 2) * np.cosh(grown)
    return x, weight / weight.sum(axis=-1, keepdims=True)


def _entropy(p: Floats) -> Floats:
    return np.asarray(-p * np.log2(np.maximum(p, 1e-300)))


def explained(mixture: Mixture, drawn: Floats, part: Ints, i: Ints, j: Ints, about: Floats) -> Floats:
    """Variance of the columns of ``about[draw, …]`` that answers are expected to explain."""
    win, _, _ = chances(drawn[:, i] - drawn[:, j], mixture.lapse[part][:, None], 0.0)
    mean = win.mean(axis=0)
    together = (win - mean).T @ (about - about.mean(axis=0)) / len(drawn)
    return np.asarray((together**2).sum(axis=1) / np.maximum(mean * (1 - mean), 1e-12))
