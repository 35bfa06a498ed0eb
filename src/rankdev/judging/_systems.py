"""Scores of systems under orders of the items, for a decision between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankdev._common.arrays import Floats, Ints
from rankdev.errors import DataError, UsageError, shown
from rankdev.io.loading import load_runs, named_systems
from rankdev.measures import Measure, parse
from rankdev.measures.match import Ideals, Match

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
