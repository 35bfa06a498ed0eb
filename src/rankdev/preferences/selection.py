"""Which pair to ask next: the batch of pairs whose answers are expected to teach most."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from rankdev.arguments import check_choice, check_number, check_whole
from rankdev.arrays import Floats, Ints
from rankdev.errors import DataError, UsageError
from rankdev.preferences.build import as_preferences
from rankdev.preferences.deciding import Decision, Scorer
from rankdev.preferences.models import Options
from rankdev.preferences.preferences import Preferences
from rankdev.preferences.resampling import generator
from rankdev.preferences.strengths import fit_model
from rankdev.results import Result

if TYPE_CHECKING:
    import polars as pl


STRATEGIES = ("information", "random", "grade-prior", "top-heavy", "decide")
CANDIDATES = 200_000  # pairs of one query weighed at most; more are sampled
AT_A_TIME = 64  # pairs looked at again in one go
CELLS = 4_000_000  # numbers held at once while all pairs are weighed
NODES, NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(15)


@dataclass(frozen=True, eq=False)
class NextPairs(Result):
    """Pairs to ask, the most useful first; ``gain`` is the expected information of the answer in bits."""

    rows: list[tuple[str, str, str, float]] = field(repr=False)
    budget: int
    strategy: str
    seed: int
    remarks: tuple[str, ...] = ()

    made_with = ("budget", "strategy", "seed")

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[tuple[str, str, str]]:
        return ((query, a, b) for query, a, b, _ in self.rows)

    def to_polars(self) -> pl.DataFrame:
        """One row a pair: query, a, b, gain."""
        import polars as pl

        schema = {"query": pl.String, "a": pl.String, "b": pl.String, "gain": pl.Float64}
        return pl.DataFrame(self.rows, schema=schema, orient="row")


class _Query:
    """The candidate pairs of one query, their worth, and what is known about its strengths.

    Asking a pair never makes another one worth more, so a worth once computed is a bound: only the pairs whose
    bound is highest are looked at again (lazy greedy choice).
    """

    def __init__(
        self,
        strengths: Floats,
        factor: Floats,
        strategy: str,
        rng: np.random.Generator,
        asked: Ints,
        grades: Floats | None,
    ) -> None:
        self.strengths, self.factor = strengths, factor
        self.i, self.j = _candidates(len(strengths), rng)
        self.asked = asked[self.i * len(strengths) + self.j] if len(asked) else np.zeros(len(self.i), int)
        noise = rng.random(len(self.i))
        place = np.empty(len(strengths))
        place[np.argsort(-strengths, kind="stable")] = np.arange(1, len(strengths) + 1)
        self.top = 1 / np.sqrt(place[self.i] * place[self.j]) if strategy == "top-heavy" else np.ones(len(self.i))
        self.fixed: Floats | None = None
        if strategy == "random":
            self.fixed = noise
        elif strategy == "grade-prior" and grades is not None:
            # within a grade before across, higher grades before lower
            a, b = grades[self.i], grades[self.j]
            self.fixed = np.empty(len(a))
            self.fixed[np.lexsort((noise, np.maximum(a, b), -np.abs(a - b)))] = np.arange(len(a)) / max(len(a), 1)
        self.bound = np.concatenate(
            [np.zeros(0), *(self.worth(k) for k in _chunks(len(self.i), CELLS // max(1, factor.shape[1])))]
        )

    def worth(self, k: Any) -> Floats:
        """How much pairs are wanted, larger first; of fixed wants the pairs asked least come first."""
        return self.gains(k) * self.top[k] if self.fixed is None else self.fixed[k] - self.asked[k]

    def gains(self, k: Any) -> Floats:
        """Expected information of pairs' answers, in bits, were the strengths as uncertain as fitted."""
        i, j = self.i[k], self.j[k]
        between = self.factor[i] - self.factor[j]
        return information(self.strengths[i] - self.strengths[j], (between**2).sum(axis=1))

    def best(self) -> tuple[float, int]:
        """Give the worth of the pair that is wanted most, and the pair."""
        while True:
            top = np.sort(np.argpartition(-self.bound, min(AT_A_TIME, len(self.bound)) - 1)[:AT_A_TIME])
            self.bound[top] = self.worth(top)
            first = int(top[np.argmax(self.bound[top])])
            if self.bound[first] >= self.bound.max():
                return float(self.bound[first]), first

    def ask(self, k: int) -> None:
        """Reckon with an answer to pair k: uncertainty shrinks (Sherman–Morrison on the factor)."""
        self.asked[k] += 1
        v = self.factor[self.i[k]] - self.factor[self.j[k]]
        d = self.strengths[self.i[k]] - self.strengths[self.j[k]]
        size, h = v @ v, 0.25 / np.cosh(d / 2) ** 2
        if size > 0:
            shrink = (1 - 1 / np.sqrt(1 + h * size)) / size
            self.factor = self.factor - shrink * np.outer(self.factor @ v, v)


def _chunks(n: int, size: int) -> Iterator[slice]:
    return (slice(start, start + max(1, size)) for start in range(0, n, max(1, size)))


def next_pairs(
    preferences: Any,
    budget: int,
    strategy: str = "information",
    *,
    grades: Mapping[str, Mapping[str, float]] | None = None,
    scores: Scorer | None = None,
    ridge: float = 0.1,
    seed: int = 0,
) -> NextPairs:
    """Choose the next ``budget`` pairs to ask, over all queries.

    ``information`` takes the pairs whose answers tell most about the strengths under the present posterior,
    reckoning after each pick with the answer to come; ``top-heavy`` weighs that by the places of the two
    items, so that the head of the list is settled first; ``grade-prior`` asks within the highest
    ``grades`` first; ``random`` asks at random, rarely asked pairs first; ``decide`` takes the pairs whose
    answers tell most about which of the systems behind ``scores`` is better (see :class:`Decision`), ``gain``
    then being the variance of the systems' difference that an answer should take off. Preferences may be empty where
    their items are given (``Preferences.from_rows(items=…)``).

    >>> judged = [("q", "x", "y")] * 9 + [("q", "y", "z")]
    >>> list(next_pairs(judged, 1))
    [('q', 'y', 'z')]
    """
    judged = as_preferences(preferences)
    budget, ridge = check_whole("budget", budget, 1), check_number("ridge", ridge, 0, ends=True)
    _check(strategy, grades, scores)
    if scores is not None and strategy == "decide":
        return NextPairs(list(Decision(judged, scores, seed=seed).batch(budget)), budget, strategy, seed)
    fit = fit_model(judged, "bradley-terry", Options(ridge, "half"))
    rng = generator(seed)
    factors, starts = fit.factors, judged.starts
    asked = _asked(judged)
    queries = []
    for number, query in enumerate(judged.queries):
        block = slice(starts[number], starts[number + 1])
        graded = _grades(judged, query, block, grades) if grades is not None else None
        queries.append(_Query(fit.values[block], factors[number], strategy, rng, asked[number], graded))
    rows = [
        (judged.queries[q], judged.items[starts[q] + a], judged.items[starts[q] + b], gain)
        for q, a, b, gain in _pick(queries, budget)
    ]
    return NextPairs(rows, budget, strategy, seed)


def information(mean: Floats, variance: Floats) -> Floats:
    """Mutual information, in bits, between an answer and a strength difference N(mean, variance)."""
    d = mean[:, None] + np.sqrt(variance)[:, None] * NODES
    chance = 0.5 + 0.5 * np.tanh(d / 2)
    weights = NODE_WEIGHTS / NODE_WEIGHTS.sum()
    return np.maximum(_entropy(chance @ weights) - _entropy(chance) @ weights, 0.0)


def _entropy(p: Floats) -> Floats:
    p = np.clip(p, 1e-12, 1 - 1e-12)
    return np.asarray(-(p * np.log2(p) + (1 - p) * np.log2(1 - p)))


def _pick(queries: list[_Query], budget: int) -> Iterator[tuple[int, int, int, float]]:
    best = [query.best() if len(query.i) else (-np.inf, 0) for query in queries]
    if all(worth == -np.inf for worth, _ in best):
        raise DataError("no pairs to ask: no query has two items")
    for _ in range(budget):
        q = max(range(len(best)), key=lambda number: best[number][0])
        query, k = queries[q], best[q][1]
        yield q, int(query.i[k]), int(query.j[k]), float(query.gains(np.array([k]))[0])
        query.ask(k)
        best[q] = query.best()


def _candidates(n: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    if n * (n - 1) // 2 <= CANDIDATES:
        return np.triu_indices(n, 1)
    a = rng.integers(n, size=CANDIDATES)
    b = (a + 1 + rng.integers(n - 1, size=CANDIDATES)) % n
    pairs = np.unique(np.stack([np.minimum(a, b), np.maximum(a, b)]), axis=1)
    return pairs[0], pairs[1]


def _asked(judged: Preferences) -> list[Ints]:
    """How often each pair was asked, by query, as a flat table of first × second for short lists."""
    pairs, starts = judged.pairs, judged.starts
    result = []
    for start, stop in pairwise(starts):
        n = int(stop - start)
        mine = slice(*np.searchsorted(pairs.first, [start, stop]))
        table = np.zeros(n * n if n * (n - 1) // 2 <= CANDIDATES else 0, np.int64)
        if len(table):
            table[(pairs.first[mine] - start) * n + pairs.second[mine] - start] = pairs.count[mine]
        result.append(table)
    return result


def _grades(judged: Preferences, query: str, block: slice, grades: Mapping[str, Mapping[str, float]]) -> Floats:
    known = grades.get(query, {})
    items = judged.items[block]
    for item in items:
        if item not in known:
            raise DataError(f"query {query!r}: item {item!r} has no grade; grade-prior needs one for every item")
    return np.array([float(known[item]) for item in items])


def _check(strategy: str, grades: object, scores: object) -> None:
    check_choice("strategy", strategy, STRATEGIES)
    if strategy == "grade-prior" and grades is None:
        raise UsageError("strategy 'grade-prior' needs grades={query: {item: grade}}")
    if strategy == "decide" and scores is None:
        raise UsageError("strategy 'decide' needs scores, a function of a query and orders of its items")
