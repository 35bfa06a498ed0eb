"""People check a model: they are asked what it was asked, query by query, in a random order of the queries."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np

from rankdev._common.arrays import Floats
from rankdev.errors import DataError, shown
from rankdev.judging.items import Pair, Pool, sorted_pair
from rankdev.judging.store import StoredAnswer
from rankdev.judging.strategies import Left


class CheckStrategy:
    """Asks the pairs that a model has answered; one query is finished before the next.

    The finished queries are a random sample of those that the model judged, whatever it answered: that is what
    prediction-powered estimates need.
    """

    def __init__(self, pool: Pool, model: str, answers: Iterable[StoredAnswer], *, repeats: int, seed: int = 0) -> None:
        by_query: dict[str, dict[Pair, float]] = {}
        for answer in answers:
            if answer.worker == model and answer.outcome != "skip" and pool.knows(*answer.pair):
                by_query.setdefault(answer.query, {})[sorted_pair(answer.pair)] = 0.0
        if not by_query:
            raise DataError(f"{shown(model)} has not judged these items; ask it first, with --model")
        self.pool, self.repeats = pool, repeats
        queries = sorted(by_query)
        rng = np.random.default_rng(seed)
        self._asked = {queries[k]: by_query[queries[k]] for k in rng.permutation(len(queries))}

    def ask(
        self,
        skip: Collection[Pair] = (),
        under_way: Collection[Pair] = (),
        *,
        within: Collection[str] | None = None,
        stay: str | None = None,
    ) -> Pair | None:
        """Return the first pair that lacks answers, other than those to skip; queries come one after the other."""
        taken = {sorted_pair(pair) for pair in [*skip, *under_way]}
        for query, pairs in self._asked.items():
            for pair, count in pairs.items() if within is None or query in within else ():
                if count < self.repeats and pair not in taken:
                    return pair
        return None

    def tell(self, query: str, winner: str, loser: str, *, tie: bool = False, times: float = 1) -> None:
        """Count an answer of a person."""
        pair, pairs = sorted_pair((query, winner, loser)), self._asked.get(query, {})
        if pair in pairs:
            pairs[pair] += times

    def unsettled(self) -> list[str]:
        """List the queries with pairs that lack answers."""
        return [query for query, pairs in self._asked.items() if min(pairs.values()) < self.repeats]

    def left(self) -> Left:
        """Count the answers that are left."""
        left = sum(max(0, round(self.repeats - n)) for pairs in self._asked.values() for n in pairs.values())
        return Left(left, left, left)

    def errors(self) -> dict[str, float]:
        """Return nothing: a check estimates no order."""
        return {}

    def strengths(self) -> dict[str, Floats]:
        """Return nothing: a check estimates no order."""
        return {}

    def given_up(self) -> dict[str, float]:
        """Return nothing: every pair can be asked."""
        return {}
