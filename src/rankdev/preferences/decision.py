"""Choose the pairs whose judgments are most informative about which system is better."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from rankdev.errors import DataError, UsageError, nearest
from rankdev.preferences._uncertainty import generator
from rankdev.preferences.expectation_propagation import chances
from rankdev.preferences.judgments import Preferences
from rankdev.preferences.posterior import Mixture, Posteriors

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Scorer = Callable[[str, Ints], Any]

STAYING = 0.5  # a query is left for pairs that are more than twice as informative
DRAWS = 400  # orders drawn for each query, in antithetic pairs
# Variance of what the differences of all queries have in common, in that of one query's difference under random orders.
# Among the 63 runs of TREC Deep Learning 2021 (passages) it is .45 to .58 of the variance between queries, which is
# about the same, by nDCG@10 and by Compatibility.
COMMON = 0.5
TINY = 1e-12  # variance of a difference of scores that are equal but for rounding
TOGETHER = 2**15  # differences at a time: few enough for the processor's cache


@dataclass(frozen=True)
class Verdict:
    """The two leading systems, and the probability that the first is better.

    Attributes
    ----------
    best, other : int
        Columns of the scores: the leading system and the next.
    difference : float
        Expected difference of their mean scores over queries.
    probability : float
        Probability that ``best`` is truly better.

    See Also
    --------
    ``Decision.verdict`` : Compute it.
    """

    best: int
    other: int
    difference: float
    probability: float


@lru_cache(16)
def all_pairs(size: int) -> tuple[Ints, Ints]:
    """Return the places of all pairs, kept once for all queries of a size: of 500 items they take 2 MB."""
    i, j = np.triu_indices(size, 1)
    i.flags.writeable = j.flags.writeable = False
    return i, j


class _Query:
    """One query: orders drawn from the posterior, and the systems' scores under them."""

    def __init__(self, name: str, size: int, scorer: Scorer, rng: np.random.Generator) -> None:
        self.name, self.scorer = name, scorer
        half = rng.standard_normal((DRAWS // 2, size))
        self.noise = np.concatenate([half, -half])  # the same for every update, so that choices change little
        self.seed = int(rng.integers(2**31))
        self.i, self.j = all_pairs(size)
        self.closed = np.zeros(len(self.i), bool)
        self.scores = self.unjudged = self._score(self.noise)  # under random orders

    def learn(self, posterior: Mixture) -> None:
        """Draw and score orders again."""
        drawn, part = posterior.sample(self.noise, np.random.default_rng(self.seed), np.arange(self.noise.shape[1]))
        self.scores = self._score(drawn) if len(posterior.told) else self.unjudged
        lapse, step = posterior.lapse[part][:, None], max(1, TOGETHER // max(1, len(self.i)))
        self.chance = np.empty((DRAWS, len(self.i)))
        for rows in (slice(start, start + step) for start in range(0, DRAWS, step)):
            lead = drawn[rows][:, self.i] - drawn[rows][:, self.j]
            self.chance[rows], _, _ = chances(lead, lapse[rows], 0.0)

    def _score(self, strengths: Floats) -> Floats:
        """Score the systems under the order of each row of strengths."""
        scores = np.asarray(self.scorer(self.name, np.argsort(-strengths, axis=1, kind="stable")), np.float64)
        if scores.ndim != 2 or len(scores) != DRAWS or scores.shape[1] < 2 or not np.isfinite(scores).all():
            raise UsageError("scores-of-orders", query=self.name, orders=DRAWS, shape=scores.shape)
        return scores

    def value(self, best: int, other: int) -> Floats:
        """Expected reduction of the variance of the systems' difference by each pair's answer."""
        off = self.chance - self.chance.mean(axis=0)
        apart = self.scores[:, best] - self.scores[:, other]
        noise = self.chance.mean(axis=0) * (1 - self.chance.mean(axis=0))
        value = (off.T @ (apart - apart.mean()) / DRAWS) ** 2 / np.maximum(noise, 1e-12)
        return np.where(self.closed, -1.0, value)


def _differences(scores: list[Floats], best: int, other: int) -> tuple[Floats, Floats]:
    """Mean and variance, in each query, of the difference of two systems' scores."""
    apart = np.stack([rows[:, best] - rows[:, other] for rows in scores])
    return apart.mean(axis=1), apart.var(axis=1)


class Decision:
    """Find out which system is better with few judgments.

    Ask pairs until the probability of :meth:`verdict` is high enough, such as .95. Judgments chosen in this way are
    less informative about the order of items than those chosen for it.

    Parameters
    ----------
    preferences : Preferences
        Judgments so far; may be empty if the items are known (``Preferences.from_rows(items=…)``).
    scores : callable
        ``scores(query, orders)`` returns the systems' scores of a query, ``[order, system]``, for orders of its
        items, each a row of item numbers, best first.
    seed : int, default 0
        Seed of the orders drawn.

    Examples
    --------
    >>> judged = Preferences.from_rows(items={"q": ["x", "y", "z"]})
    >>> first_is = lambda query, orders: np.stack([orders[:, 0] == 0, orders[:, 0] == 1], axis=1)
    >>> decision = Decision(judged, first_is)
    >>> decision.ask()
    ('q', 'x', 'y')
    >>> for _ in range(8): decision.tell("q", "x", "y")
    >>> decision.verdict().best
    0
    """

    def __init__(self, preferences: Preferences, scores: Scorer, *, seed: int = 0) -> None:
        if not callable(scores):
            expected = "a function of a query and orders of its items"
            raise UsageError("bad-value", name="scores", value=scores, expected=expected)
        rng, sizes = generator(seed), np.diff(preferences.starts).tolist()
        self.preferences, self._posteriors = preferences, Posteriors.of(preferences)
        self._queries = [_Query(name, size, scores, rng) for name, size in zip(preferences.queries, sizes, strict=True)]
        for number, query in enumerate(self._queries):
            query.learn(self._posteriors[number])
        self._values: list[Floats | None] = [None] * len(self._queries)
        self._leaders = (-1, -1)
        self._before: dict[tuple[int, int], tuple[Floats, Floats]] = {}
        if not any(len(query.i) for query in self._queries):
            raise DataError("no-pairs")

    def verdict(self) -> Verdict:
        """Return the leading system, its lead, and the probability that it is better than the next.

        Returns
        -------
        ``Verdict``
            The two leading systems and the probability.

        Examples
        --------
        >>> judged = Preferences.from_rows([("q", "x", "y")] * 8)
        >>> decision = Decision(judged, lambda query, orders: np.stack([orders[:, 0] == 0, orders[:, 0] == 1], axis=1))
        >>> decision.verdict().probability > 0.95
        True
        """
        from scipy.special import ndtr

        best, other, apart, variance, _ = self._lead()
        probability = float(ndtr(apart / np.sqrt(variance))) if variance > 0 else (1.0 if apart > 0 else 0.5)
        return Verdict(best, other, apart / len(self._queries), probability)

    def ask(self, query: str | None = None) -> tuple[str, str, str] | None:
        """Name the pair whose answer is expected to be most informative about the two leading systems.

        Parameters
        ----------
        query : str, optional
            Query to stay in, as long as its best pair is half as informative as the best of all. Default: any.

        Returns
        -------
        tuple of str or None
            Query and two items; None if all pairs are closed.

        Examples
        --------
        >>> judged = Preferences.from_rows([("q", "x", "y")] * 8)
        >>> Decision(judged, lambda query, orders: orders[:, :2] == 0).ask()
        ('q', 'x', 'y')
        """
        number, k, value = self._best(query)
        return self._named(number, k) if value >= 0 else None

    def strengths(self) -> dict[str, Floats]:
        """Return the expected strength of each item.

        Returns
        -------
        dict of str to ndarray
            Strengths by query, in the order of its items.

        Examples
        --------
        >>> judged = Preferences.from_rows([("q", "x", "y")] * 8)
        >>> x, y = Decision(judged, lambda query, orders: orders[:, :2] == 0).strengths()["q"]
        >>> bool(x > y)
        True
        """
        return {query: self._posteriors[number].strength for number, query in enumerate(self.preferences.queries)}

    def left(self, confidence: float) -> float:
        """Estimate how many answers are needed, if each were as informative as the next.

        Parameters
        ----------
        confidence : float
            Probability that the conclusion needs, such as .95.

        Returns
        -------
        float
            Number of answers; may be infinite.

        Examples
        --------
        >>> judged = Preferences.from_rows([("q", "x", "y")] * 8)
        >>> Decision(judged, lambda query, orders: orders[:, :2] == 0).left(0.95)
        0.0
        """
        from scipy.special import ndtri

        _, _, apart, variance, gain = self._lead()
        excess = variance - (apart / float(ndtri(confidence))) ** 2
        number, _, value = self._best()
        return 0.0 if excess <= 0 else excess / (value * gain[number]) if value > 0 else np.inf

    def close(self, query: str, a: str, b: str, *, closed: bool = True) -> None:
        """Never ask a pair again.

        Parameters
        ----------
        query : str
            Query of the pair.
        a, b : str
            The two items, in either order.
        closed : bool, default True
            False allows the pair again.

        Examples
        --------
        >>> decision = Decision(Preferences.from_rows([("q", "x", "y")]), lambda query, orders: orders[:, :2] == 0)
        >>> decision.close("q", "x", "y")
        >>> decision.ask() is None
        True
        """
        number, i, j = self._places(query, a, b)
        mine = self._queries[number]
        mine.closed[(mine.i == min(i, j)) & (mine.j == max(i, j))] = closed
        self._values[number] = None

    def tell(self, query: str, winner: str, loser: str, *, tie: bool = False, times: float = 1.0) -> None:
        """Take an answer into account.

        Parameters
        ----------
        query : str
            Query of the pair.
        winner, loser : str
            The two items.
        tie : bool, default False
            Whether neither won.
        times : float, default 1
            Weight of the answer; −1 takes it back.

        Examples
        --------
        >>> judged = Preferences.from_rows(items={"q": ["x", "y"]})
        >>> decision = Decision(judged, lambda query, orders: orders == 0)
        >>> for _ in range(8): decision.tell("q", "y", "x")
        >>> decision.verdict().best
        1
        """
        number, i, j = self._places(query, winner, loser)
        self._posteriors.tell(number, i, j, tie=tie, times=times)
        self._queries[number].learn(self._posteriors[number])
        self._values[number] = None

    def _lead(self) -> tuple[int, int, float, float, Floats]:
        """The two leading systems, the expected difference of their totals, its variance, and each query's gain.

        The gain is what the variance falls by if that of the query's own difference falls by one.

        A system that is better in some queries is likely to be better in others. So a query's difference is that of a
        random order of its items, plus ``common`` times its standard deviation. The same for all queries, ``common`` is
        N(0, COMMON) before any answer: in favour of neither system.
        """
        totals = np.sum([query.scores.mean(axis=0) for query in self._queries], axis=0)
        best, other = (int(k) for k in np.argsort(-totals, kind="stable")[:2])
        mean, variance = _differences([query.scores for query in self._queries], best, other)
        if (best, other) not in self._before:
            self._before[best, other] = _differences([query.unjudged for query in self._queries], best, other)
        start, before = self._before[best, other]
        differ = before > TINY
        spread = np.sqrt(before[differ])
        open_ = np.minimum(variance[differ] / before[differ], 1.0)  # fraction of the variance that answers left
        known = 1 / COMMON + (1 - open_).sum()
        common = ((mean - start)[differ] / spread).sum() / known
        carried = float(open_ @ spread)
        apart = float(mean.sum() + common * carried)
        if apart < 0:
            best, other = other, best
        gain = np.ones(len(mean))
        gain[differ] = (1 + carried / known / spread) ** 2
        return best, other, abs(apart), float(variance.sum() + carried**2 / known), gain

    def _places(self, query: str, a: str, b: str) -> tuple[int, int, int]:
        if query not in self.preferences.queries:
            raise UsageError("unknown-query", query=query, near=nearest(query, self.preferences.queries))
        number = self.preferences.queries.index(query)
        start, stop = self.preferences.starts[number : number + 2]
        items = self.preferences.items[start:stop]
        if a == b or not {a, b} <= set(items):
            raise UsageError("not-two-items", query=query, a=a, b=b)
        return number, items.index(a), items.index(b)

    def _named(self, number: int, k: int) -> tuple[str, str, str]:
        query, start = self._queries[number], self.preferences.starts[number]
        items = self.preferences.items
        return query.name, items[start + query.i[k]], items[start + query.j[k]]

    def _best(self, stay: str | None = None) -> tuple[int, int, float]:
        one, two, *_ = self._lead()
        leaders = min(one, two), max(one, two)  # which of them leads makes no difference
        if leaders != self._leaders:
            self._leaders = leaders
            self._values = [None] * len(self._queries)
        tops = []
        for number, query in enumerate(self._queries):
            values = self._values[number]
            if values is None:
                values = self._values[number] = query.value(*self._leaders)
            tops.append(float(values.max(initial=-1.0)))
        number = int(np.argmax(tops))
        if stay is not None:
            here = self.preferences.queries.index(stay)
            number = here if tops[here] > max(0.0, STAYING * tops[number]) else number
        values = self._values[number]
        assert values is not None
        return number, int(np.argmax(values)), tops[number]
