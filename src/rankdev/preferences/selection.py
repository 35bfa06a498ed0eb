"""Which pair to ask next: the batch of pairs whose answers are expected to teach most."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from rankdev.arguments import check_choice, check_number, check_whole
from rankdev.arrays import Floats, Ints
from rankdev.errors import DataError, UsageError, shown
from rankdev.preferences.build import as_preferences
from rankdev.preferences.candidates import CANDIDATES, Candidates
from rankdev.preferences.deciding import Decision, Scorer
from rankdev.preferences.models import Options
from rankdev.preferences.preferences import Preferences
from rankdev.preferences.resampling import generator
from rankdev.preferences.strengths import fit_model
from rankdev.results import Result
from rankdev.tabular import check_mapping

MOST_PAIRS = 10**6  # asked at a time
STRATEGIES = ("information", "random", "grade-prior", "top-heavy", "decide")


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
        """One row per pair: query, a, b, gain."""
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
    """Choose the next ``budget`` pairs to ask, over all queries.

    ``information`` takes the pairs whose answers tell most about the strengths under the present posterior,
    reckoning after each pick with the answer to come; ``top-heavy`` those whose answers tell most about which items
    stand where in the first ``top`` places; ``grade-prior`` asks within the highest ``grades`` first; ``random``
    asks at random, rarely asked pairs first; ``decide`` takes the pairs whose answers tell most about which of the
    systems behind ``scores`` is better (see :class:`Decision`), ``gain`` then being the variance of the systems'
    difference that an answer should take off. Preferences may be empty where their items are given
    (``Preferences.from_rows(items=…)``).

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
    if all(worth == -np.inf for worth, _ in best):
        raise DataError("no pairs to ask: no query has two items")
    for _ in range(budget):
        q = max(range(len(best)), key=lambda number: best[number][0])
        query, k = queries[q], best[q][1]
        yield q, int(query.i[k]), int(query.j[k]), float(query.gains(np.array([k]))[0])
        query.ask(k)
        best[q] = query.best()


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
