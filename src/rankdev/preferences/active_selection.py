"""Active selection: which pairs to judge next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import polars as pl

from rankdev._common.arrays import Floats, Ints
from rankdev._common.checks import check_choice, check_number, check_whole
from rankdev._common.result import Result
from rankdev._common.tables import check_mapping
from rankdev.errors import DataError, UsageError, shown
from rankdev.preferences._uncertainty import generator
from rankdev.preferences.decision import Decision, Scorer
from rankdev.preferences.judgments import Preferences
from rankdev.preferences.models import Options
from rankdev.preferences.strengths import fit_model
from rankdev.preferences.tiers import as_preferences

CANDIDATES = 200_000  # most pairs of one query that are evaluated; of more a sample is
AT_A_TIME = 64  # pairs evaluated again at a time
CELLS = 4_000_000  # numbers held at once while all pairs are evaluated
DRAWS = 400  # orders drawn to see which answers change the top, in antithetic pairs
NODES, NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(15)


class Candidates:
    """Candidate pairs of one query, their value, and the posterior of its strengths.

    Asking a pair never makes another one more informative, so a value once computed is an upper bound: only the pairs
    with the highest bounds are evaluated again (lazy greedy selection). For the first ``top`` places that holds nearly.
    """

    def __init__(
        self,
        strengths: Floats,
        factor: Floats,
        strategy: str,
        rng: np.random.Generator,
        asked: Ints,
        grades: Floats | None,
        top: int = 5,
    ) -> None:
        self.strengths, self.factor = strengths, factor
        self.i, self.j = _candidates(len(strengths), rng)
        self.asked = asked[self.i * len(strengths) + self.j] if len(asked) else np.zeros(len(self.i), int)
        noise = rng.random(len(self.i))
        self.pull = _pull(strengths, factor, top, rng) if strategy == "top-heavy" else None
        self.fixed: Floats | None = None
        if strategy == "random":
            self.fixed = noise
        elif strategy == "grade-prior" and grades is not None:
            # within a grade before across, higher grades before lower
            a, b = grades[self.i], grades[self.j]
            self.fixed = np.empty(len(a))
            self.fixed[np.lexsort((noise, np.maximum(a, b), -np.abs(a - b)))] = np.arange(len(a)) / max(len(a), 1)
        chunks = _chunks(len(self.i), CELLS // self._width())
        self.bound = np.concatenate([np.zeros(0), *map(self.value, chunks)])

    def _width(self) -> int:
        """Count the numbers held while one pair is evaluated."""
        if len(self.strengths) ** 2 <= CELLS:
            return 6 * len(NODES)  # what `information` needs; the product of the rows is formed once per chunk
        return max(1, self.factor.shape[1], 0 if self.pull is None else self.pull.shape[1])

    def value(self, k: Any) -> Floats:
        """Value of pairs, larger first; of fixed values the pairs asked least often come first."""
        if self.fixed is not None:
            return np.asarray(self.fixed[k] - self.asked[k])
        return self.gains(k) if self.pull is None else self.explained(k)

    def explained(self, k: Any) -> Floats:
        """Expected reduction of the variance of the items' credit at the top by the answers."""
        assert self.pull is not None
        i, j = self.i[k], self.j[k]
        # a logistic answer seen through a normal difference: both slope and mean shrink with its variance
        shrink = 1 + np.pi / 8 * _apart(self.factor, i, j)
        lead = np.tanh((self.strengths[i] - self.strengths[j]) / np.sqrt(shrink) / 2)
        return np.asarray(_apart(self.pull, i, j) * (0.25 - 0.25 * lead * lead) / shrink)

    def gains(self, k: Any) -> Floats:
        """Expected information of the answers, in bits, if the strengths were as uncertain as fitted."""
        i, j = self.i[k], self.j[k]
        return information(self.strengths[i] - self.strengths[j], _apart(self.factor, i, j))

    def best(self) -> tuple[float, int]:
        """Return the highest value, and its pair; minus infinity where no pair is left."""
        while len(self.bound) and self.bound.max() > -np.inf:
            top = np.sort(np.argpartition(-self.bound, min(AT_A_TIME, len(self.bound)) - 1)[:AT_A_TIME])
            top = top[self.bound[top] > -np.inf]
            self.bound[top] = self.value(top)
            first = int(top[np.argmax(self.bound[top])])
            if self.bound[first] >= self.bound.max():
                return float(self.bound[first]), first
        return -np.inf, 0

    def find(self, i: Ints, j: Ints) -> Ints:
        """Find the candidates that are the pairs of items i < j; others are left out."""
        codes, wanted = self.i * len(self.strengths) + self.j, i * len(self.strengths) + j
        found = np.minimum(np.searchsorted(codes, wanted), len(codes) - 1)
        return found[codes[found] == wanted]

    def close(self, pairs: Ints) -> None:
        """Exclude pairs from now on."""
        self.bound[pairs] = -np.inf

    @contextmanager
    def without(self, pairs: Ints) -> Iterator[None]:
        """Exclude pairs from one choice."""
        kept = self.bound[pairs]
        self.close(pairs)
        yield
        self.bound[pairs] = kept

    def ask(self, k: int) -> None:
        """Anticipate an answer to pair k: uncertainty shrinks (Sherman–Morrison on the factor)."""
        self.asked[k] += 1
        v = self.factor[self.i[k]] - self.factor[self.j[k]]
        d = self.strengths[self.i[k]] - self.strengths[self.j[k]]
        size, h = v @ v, 0.25 / np.cosh(d / 2) ** 2
        if self.pull is not None:
            toward = self.pull[self.i[k]] - self.pull[self.j[k]]
            self.pull = self.pull - h / (1 + h * size) * np.outer(self.factor @ v, toward)
        if size > 0:
            shrink = (1 - 1 / np.sqrt(1 + h * size)) / size
            self.factor = self.factor - shrink * np.outer(self.factor @ v, v)


def _apart(rows: Floats, i: Ints, j: Ints) -> Floats:
    """Squared distances of rows i and j; of many pairs by one matrix product."""
    if len(i) <= len(rows):
        return np.asarray(((rows[i] - rows[j]) ** 2).sum(axis=1))
    products = rows @ rows.T
    squares = products.diagonal()
    return np.maximum(squares[i] + squares[j] - 2 * products[i, j], 0.0)


def _pull(strengths: Floats, factor: Floats, top: int, rng: np.random.Generator) -> Floats:
    """Covariance of strengths (rows) with the credit of each item: 1/log₂(1 + position), 0 below the top.

    It is estimated from orders drawn from the posterior, so that an item that may still be among the first counts.
    """
    half = rng.standard_normal((DRAWS // 2, factor.shape[1]))
    drawn = strengths + np.concatenate([half, -half]) @ factor.T
    place = np.argsort(np.argsort(-drawn, axis=1, kind="stable"), axis=1) + 1
    credit = np.where(place <= top, 1 / np.log2(1 + place), 0.0)
    credit = (credit - credit.mean(axis=0))[:, credit.any(axis=0)]
    return np.asarray((drawn - strengths).T @ credit / DRAWS)


def information(mean: Floats, variance: Floats) -> Floats:
    """Mutual information, in bits, between an answer and a strength difference N(mean, variance)."""
    d = mean[:, None] + np.sqrt(variance)[:, None] * NODES
    chance = 0.5 + 0.5 * np.tanh(d / 2)
    weights = NODE_WEIGHTS / NODE_WEIGHTS.sum()
    return np.maximum(_entropy(chance @ weights) - _entropy(chance) @ weights, 0.0)


def _entropy(p: Floats) -> Floats:
    p = np.clip(p, 1e-12, 1 - 1e-12)
    return np.asarray(-(p * np.log2(p) + (1 - p) * np.log2(1 - p)))


def _chunks(n: int, size: int) -> Iterator[slice]:
    return (slice(start, start + max(1, size)) for start in range(0, n, max(1, size)))


def _candidates(n: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    if n * (n - 1) // 2 <= CANDIDATES:
        return np.triu_indices(n, 1)
    a = rng.integers(n, size=CANDIDATES)
    b = (a + 1 + rng.integers(n - 1, size=CANDIDATES)) % n
    pairs = np.unique(np.stack([np.minimum(a, b), np.maximum(a, b)]), axis=1)
    return pairs[0], pairs[1]


MOST_PAIRS = 10**6  # largest budget
STRATEGIES = ("information", "random", "grade-prior", "top-heavy", "decide")


@dataclass(frozen=True, eq=False)
class NextPairs(Result):
    """Pairs to judge next, the most useful first.

    Attributes
    ----------
    rows : list of tuple
        Query, two items, and gain: expected information of the answer in bits; for the strategy ``decide`` the
        expected reduction of the variance of the systems' difference.
    budget : int
        Number of pairs asked for.
    strategy : str
        How the pairs were chosen.
    seed : int
        Seed of random choices.
    remarks : tuple of str
        Notes.

    See Also
    --------
    next_pairs : Choose them.
    """

    display: ClassVar = "rankdev.display.preferences"

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
        """Tabulate the pairs.

        Returns
        -------
        polars.DataFrame
            One row per pair: query, a, b, gain.

        Examples
        --------
        >>> next_pairs([("q", "x", "y")] * 9 + [("q", "y", "z")], 1).to_polars().select("query", "a", "b").rows()
        [('q', 'y', 'z')]
        """
        schema = {"query": pl.String, "a": pl.String, "b": pl.String, "gain": pl.Float64}
        return pl.DataFrame(self.rows, schema=schema, orient="row")


def next_pairs(
    preferences: Any,
    budget: int,
    strategy: str = "information",
    *,
    grades: Mapping[str, Mapping[str, float]] | None = None,
    scores: Scorer | None = None,
    top: int = 5,
    ridge: float = 0.1,
    seed: int = 0,
) -> NextPairs:
    """Choose the next pairs to judge, over all queries.

    Parameters
    ----------
    preferences : Preferences, table, or rows
        Judgments so far. May be empty if the items are known (``Preferences.from_rows(items=…)``).
    budget : int
        Number of pairs.
    strategy : {"information", "random", "grade-prior", "top-heavy", "decide"}
        ``information``: pairs whose answers are most informative about the strengths under the current posterior,
        with the expected effect of each chosen answer taken into account. ``top-heavy``: most informative about the
        first ``top`` places. ``grade-prior``: pairs within the highest ``grades`` first. ``random``: at random,
        rarely asked pairs first. ``decide``: most informative about which of the systems behind ``scores`` is better
        (see :class:`Decision`).
    grades : dict of str to dict of str to float, optional
        ``{query: {item: grade}}``, for ``grade-prior``.
    scores : callable, optional
        ``scores(query, orders)``, for ``decide``; see :class:`Decision`.
    top : int, default 5
        Places that count, for ``top-heavy``.
    ridge : float, default 0.1
        Regularisation of the strengths.
    seed : int, default 0
        Seed of random choices.

    Returns
    -------
    NextPairs
        The pairs, the most useful first.

    Examples
    --------
    >>> judged = [("q", "x", "y")] * 9 + [("q", "y", "z")]
    >>> list(next_pairs(judged, 1))
    [('q', 'y', 'z')]
    """
    judged = as_preferences(preferences)
    budget, ridge = check_whole("budget", budget, 1, MOST_PAIRS), check_number("ridge", ridge, 0, ends=True)
    top = check_whole("top", top, 1)
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
        queries.append(Candidates(fit.values[block], factors[number], strategy, rng, asked[number], graded, top))
    rows = [
        (judged.queries[q], judged.items[starts[q] + a], judged.items[starts[q] + b], gain)
        for q, a, b, gain in _pick(queries, budget)
    ]
    return NextPairs(rows, budget, strategy, seed)


def _pick(queries: list[Candidates], budget: int) -> Iterator[tuple[int, int, int, float]]:
    best = [query.best() if len(query.i) else (-np.inf, 0) for query in queries]
    if all(value == -np.inf for value, _ in best):
        raise DataError("no pairs to ask: no query has two items")
    for _ in range(budget):
        q = max(range(len(best)), key=lambda number: best[number][0])
        query, k = queries[q], best[q][1]
        yield q, int(query.i[k]), int(query.j[k]), float(query.gains(np.array([k]))[0])
        query.ask(k)
        best[q] = query.best()


def _asked(judged: Preferences) -> list[Ints]:
    """Count how often each pair was asked, by query; a flat table first × second for short lists."""
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
    known = check_mapping(grades, "grades", "{query: {item: grade}}").get(query, {})
    check_mapping(known, f"grades of query {shown(query)}", "{item: grade}")
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
