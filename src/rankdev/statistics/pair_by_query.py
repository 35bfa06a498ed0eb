"""Two systems query by query."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from rankdev._common.arrays import Floats
from rankdev.evaluation.scores import ScoresLike
from rankdev.statistics.panels import as_scores, families_of


@dataclass(frozen=True, eq=False)
class PairByQuery:
    """Two systems query by query, largest difference a − b first: ``scores[system, query]``."""

    queries: tuple[str, ...]
    scores: Floats = field(repr=False)
    differences: Floats = field(repr=False)
    mean: float
    wins: int
    ties: int
    losses: int


def pair_by_query(scores: ScoresLike, a: str, b: str, measure: str) -> PairByQuery:
    """Compare two systems on the queries for which both have a value; equal but for rounding is a tie.

    >>> from rankdev.evaluation.scores import Scores
    >>> scores = Scores(("x", "y"), ("q1", "q2"), ("P@1",), np.array([[[0.5], [1.0]], [[0.5], [0.0]]]))
    >>> found = pair_by_query(scores, "x", "y", "P@1")
    >>> found.queries, found.mean, (found.wins, found.ties, found.losses)
    (('q2', 'q1'), 0.5, (1, 1, 0))
    """
    pair = as_scores(scores, [measure]).select(systems=[a, b])
    family = families_of(pair, np.array([0]), np.array([1]))[0]
    values = family.values.T
    order = np.argsort(values[1] - values[0], kind="stable")
    wins, ties, losses = (int(family.statistics[name][0]) for name in ("wins", "ties", "losses"))
    queries = tuple(pair.queries[i] for i in family.queries[order])
    differences = (values[0] - values[1])[order]
    return PairByQuery(queries, values[:, order], differences, float(differences.mean()), wins, ties, losses)
